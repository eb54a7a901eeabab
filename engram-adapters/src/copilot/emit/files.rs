//! The texts of the files that change in a turn, as far as its snapshot proves them.
//!
//! The snapshot has the text of a file before the turn, and the hash of what it was after it. The changes that the results of calls show are
//! applied to the text one after the other. If the last text has the hash, each text between is what the file was, and nothing else has
//! changed it.

use std::borrow::Cow;

use engram_core::keys::KeyMap;
use engram_core::steps::Lookup;

use crate::copilot::notes::path_key;
use crate::copilot::plan::Turn;
use crate::copilot::readers::{End, FileArgs, Output, Start};
use crate::copilot::snapshots::{Changed, Image, Snapshots, is_content};
use crate::shared::shown::{Section, Texts, created, sections};
use crate::shared::spans::with_unix_line_ends;
use crate::shared::value::text;

/// The most bytes of all texts of a turn together. Of the files beyond it no text is known.
const MAX_BYTES: usize = 32 << 20;

/// The files of a turn that only calls have changed, by path: the text of each at this moment. None if there is no file.
#[derive(Debug, Default)]
pub struct TurnFiles {
    texts: KeyMap<Option<String>>,
}

/// The record of a change, and that in which its call begins.
type Change = (usize, Option<usize>);

impl TurnFiles {
    /// The files of a turn that begins.
    pub fn begin(turn: &Turn, snapshots: &Snapshots, others: Lookup<'_>) -> TurnFiles {
        let mut changes: KeyMap<Vec<Change>> = KeyMap::default();
        for (path, record, call) in &turn.changes {
            changes.entry(*path).or_default().push((*record, *call));
        }
        let (mut texts, mut bytes) = (KeyMap::default(), 0);
        for file in snapshots.files(turn.snapshot) {
            let path = path_key(&file.path);
            let Some(changes) = changes.get(&path) else {
                continue;
            };
            if let Some(before) = text_before(file, snapshots) {
                bytes += before.as_ref().map_or(0, String::len);
                if bytes <= MAX_BYTES
                    && is_proven((path, changes), before.clone(), &file.after, others)
                {
                    texts.insert(path, before);
                }
            }
        }
        TurnFiles { texts }
    }

    /// The texts around a change, if they are proven. The next change begins with the text after this one.
    pub fn change(&mut self, section: &Section<'_>, written: Option<&str>) -> Option<Texts> {
        let now = self.texts.get_mut(&path_key(section.path()))?;
        let after = applied(section, now.as_deref(), written)?;
        let before = std::mem::replace(now, after.clone());
        Some((before, after))
    }
}

/// The text of a file before the turn. Some(None) if there was no file.
fn text_before(file: &Changed, snapshots: &Snapshots) -> Option<Option<String>> {
    match &file.before {
        Image::Absent => Some(None),
        image => snapshots.text(image).map(|text| Some(unix(text))),
    }
}

fn unix(text: String) -> String {
    with_unix_line_ends(Cow::Owned(text)).into_owned()
}

/// True if the changes of a file by calls make of its text what it was after the turn.
fn is_proven(
    (path, changes): (u64, &[Change]),
    before: Option<String>,
    after: &Image,
    others: Lookup<'_>,
) -> bool {
    let mut text = before;
    // A call that changes a file twice is one record.
    let mut last = None;
    for (record, call) in changes {
        if last.replace(*record) == Some(*record) {
            continue;
        }
        match replayed(path, (*record, *call), text, others) {
            Some(next) => text = next,
            None => return false,
        }
    }
    match (after, text) {
        (Image::Absent, None) => true,
        (Image::Content(hash), Some(text)) => {
            is_content(&text, hash) || is_content(&text.replace('\n', "\r\n"), hash)
        }
        _ => false,
    }
}

/// The text after the changes of one record. None if they do not fit the text.
fn replayed(
    path: u64,
    (record, call): Change,
    mut text_now: Option<String>,
    others: Lookup<'_>,
) -> Option<Option<String>> {
    let mut again = others.get(record)?;
    let end = End::lenient(again.value()?.member("data")?);
    let detail = text(Output::lenient_opt(end.result()).detail())?.decode_lossy();
    let mut start = call.and_then(|call| others.get(call));
    let args = start
        .as_mut()
        .and_then(|start| Start::lenient(start.value()?.member("data")?).args());
    let args = FileArgs::lenient_opt(args.filter(|args| args.is_object()));
    let written = text(args.file_text()).map(|text| text.decode_lossy());
    for section in sections(&detail)?
        .iter()
        .filter(|one| path_key(one.path()) == path)
    {
        text_now = applied(section, text_now.as_deref(), written.as_deref())?;
    }
    Some(text_now)
}

/// The text of a file after a change. None if the change does not fit the text before. `written` is the text that the call gives.
fn applied(
    section: &Section<'_>,
    before: Option<&str>,
    written: Option<&str>,
) -> Option<Option<String>> {
    if section.after.is_none() {
        return before.is_some().then_some(None);
    }
    if section.before.is_none() {
        return (before.is_none()).then(|| created(section, written));
    }
    let old: Vec<&str> = before?.split('\n').collect();
    let (mut new, mut done) = (Vec::with_capacity(old.len()), 0);
    let runs = section.runs()?;
    for run in &runs {
        let first = usize::try_from(run.before_first).ok()?.checked_sub(1)?;
        let end = first.checked_add(run.before.len())?;
        if old.get(first..end)? != run.before {
            return None;
        }
        new.extend(old.get(done..first)?.iter().copied());
        new.extend(run.after.iter().map(|line| &**line));
        done = end;
    }
    new.extend(old.get(done..)?.iter().copied());
    Some(Some(new.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(hunks: &str, before: &str) -> Option<Option<String>> {
        let diff = format!(
            "\ndiff --git a/p/a b/p/a\nindex 0000000..0000000 100644\n--- a/p/a\n+++ b/p/a\n{hunks}"
        );
        let found = sections(&diff).unwrap();
        applied(&found[0], Some(before), None)
    }

    #[test]
    fn a_change_makes_the_text_after_of_the_text_before() {
        let text = |text: &str| Some(Some(text.to_owned()));
        let hunks = "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+C\n \n";
        assert_eq!(change(hunks, "a\nb\n"), text("a\nB\nC\n"));
        // The text is another one.
        assert_eq!(change(hunks, "a\nx\n"), None);
        // The last line gets a line end.
        assert_eq!(change("@@ -1,1 +1,2 @@\n a\n+\n", "a"), text("a\n"));
        let two = "@@ -1,2 +1,1 @@\n-a\n b\n@@ -9,1 +8,2 @@\n i\n+j\n";
        assert_eq!(
            change(two, "a\nb\nc\nd\ne\nf\ng\nh\ni"),
            text("b\nc\nd\ne\nf\ng\nh\ni\nj")
        );
    }
}
