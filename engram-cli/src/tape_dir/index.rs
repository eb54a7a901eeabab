//! The index of a directory of tapes: `index.jsonl`, one line per source. Files that are not sessions are remembered in a file of their
//! own.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::Path;

use crate::tapes::open_tape;
use engram_adapters::open;
use engram_command::interrupt;
use engram_core::overview::{Overview, OverviewSink};
use engram_core::tape::replay;
use tempfile::NamedTempFile;

use super::entry::{Entry, Failure, Key, State};
use super::file_hash::hash_of;
use super::files;
use super::names::is_tape_path;

/// The index.
pub const INDEX: &str = "index.jsonl";
/// What is known of files that are not sessions, so that they are not read again.
const OTHERS: &str = ".engram-others.jsonl";

/// The longest line of an index that is read, and the most bytes of one. An entry has some hundred bytes, and a few paths.
const LINE_BYTES: u64 = 16 << 20;
const INDEX_BYTES: u64 = 4 << 30;

/// Which forms the tapes of a directory have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TapeForms {
    pub has_zstd: bool,
    pub has_plain: bool,
}

/// All entries, by source.
#[derive(Debug, Default)]
pub struct Index {
    entries: BTreeMap<Key, Entry>,
    /// The sources of each tape.
    claims: HashMap<String, BTreeSet<Key>>,
    /// The other forms of the sessions of each source.
    forms: HashMap<String, BTreeSet<Key>>,
    has_changed: bool,
}

impl Index {
    /// The index of the directory at `root`; empty if there is none. Lines that are not entries are left out: their sources are read again.
    ///
    /// # Errors
    /// As the file system gives them.
    pub fn load(root: &Path) -> io::Result<Index> {
        Index::load_with(root, &mut |_, _| ())
    }

    /// As [`Index::load`], and calls `other` with the file and number of each line that is no entry.
    ///
    /// # Errors
    /// As [`Index::load`].
    pub fn load_with(root: &Path, other: &mut dyn FnMut(&str, usize)) -> io::Result<Index> {
        let mut index = Index::default();
        for name in [OTHERS, INDEX] {
            index.load_file(&root.join(name), &mut |line| other(name, line))?;
        }
        index.has_changed = false;
        Ok(index)
    }

    fn load_file(&mut self, path: &Path, other: &mut dyn FnMut(usize)) -> io::Result<()> {
        match path.symlink_metadata() {
            Ok(found) if found.is_file() && found.len() <= INDEX_BYTES => {}
            Ok(found) if found.is_file() => {
                return Err(io::Error::new(
                    ErrorKind::InvalidInput,
                    format!("the index has more than {INDEX_BYTES} bytes"),
                ));
            }
            Ok(_) => {
                return Err(io::Error::new(
                    ErrorKind::InvalidInput,
                    "the index is not a regular file",
                ));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        let mut lines = BufReader::new(open::regular(path)?);
        let (mut line, mut number) = (Vec::new(), 0);
        while read_line(&mut lines, &mut line)? {
            number += 1;
            if let Ok(entry) = serde_json::from_slice::<Entry>(&line)
                && entry.tape.as_deref().is_none_or(is_tape_path)
                && entry.supersedes.iter().all(|old| is_tape_path(&old.tape))
            {
                self.insert(entry);
            } else {
                other(number);
            }
        }
        Ok(())
    }

    /// Writes the index, if it has changed. The file is complete before it takes the place of the old one.
    ///
    /// # Errors
    /// As the file system gives them.
    pub fn save(&mut self, root: &Path) -> io::Result<()> {
        if !self.has_changed {
            return Ok(());
        }
        let is_other = |entry: &&Entry| {
            matches!(
                entry.state,
                State::NoSession | State::Nothing | State::Filtered
            ) && entry.tape.is_none()
        };
        write(root, OTHERS, self.entries.values().filter(is_other))?;
        write(
            root,
            INDEX,
            self.entries.values().filter(|entry| !is_other(entry)),
        )?;
        self.has_changed = false;
        Ok(())
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entry of a source.
    pub fn get(&self, key: &Key) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// The entries of a file or store.
    pub fn of_source<'i>(&'i self, source: &str) -> impl Iterator<Item = &'i Entry> + use<'i> {
        let source = source.to_owned();
        self.entries
            .range((source.clone(), None)..)
            .map(|(_, entry)| entry)
            .take_while(move |entry| entry.source == source)
    }

    /// The tapes that a newer one of the same source supersedes: paths in the directory of tapes.
    pub fn superseded(&self) -> impl Iterator<Item = &str> {
        self.entries
            .values()
            .flat_map(|entry| &entry.supersedes)
            .map(|old| old.tape.as_str())
    }

    /// True if a tape was made with this word among the options.
    pub fn has_made_with(&self, word: &str) -> bool {
        let is_made = |entry: &Entry| {
            entry.tape.is_some() && entry.setup.options.split(' ').any(|option| option == word)
        };
        self.entries.values().any(is_made)
    }

    /// The number of tapes that were not made with these options: older ones that stayed, and those whose source is gone.
    pub fn made_otherwise(&self, options: &str) -> usize {
        let others = self
            .entries
            .values()
            .filter(|entry| entry.tape.is_some() && entry.setup.options != options)
            .count();
        others + self.superseded().count()
    }

    /// The forms of the tapes.
    pub fn tape_forms(&self) -> TapeForms {
        let mut forms = TapeForms::default();
        for entry in self.entries.values() {
            let Some(tape) = &entry.tape else { continue };
            forms.has_zstd |= tape.ends_with(".zst");
            forms.has_plain |= !tape.ends_with(".zst");
        }
        forms
    }

    /// All entries.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// The sources that have tapes, each once, with one of its entries that has a tape.
    pub fn sources_with_tapes(&self) -> impl Iterator<Item = (&str, &Entry)> {
        let mut last = None;
        let with_tapes = self.entries.values().filter(|entry| entry.tape.is_some());
        with_tapes
            .filter(move |entry| last.replace(&entry.source) != Some(&entry.source))
            .map(|entry| (&*entry.source, entry))
    }

    /// Adds an entry, in place of the one of the same source.
    pub fn insert(&mut self, entry: Entry) {
        let key = entry.key();
        self.remove(&key);
        if let Some(tape) = &entry.tape {
            self.claims
                .entry(tape.clone())
                .or_default()
                .insert(key.clone());
        }
        if let Some((source, _)) = &entry.form_of {
            self.forms
                .entry(source.clone())
                .or_default()
                .insert(key.clone());
        }
        self.entries.insert(key, entry);
        self.has_changed = true;
    }

    /// The sources that a tape was made from.
    pub fn sources_of(&self, tape: &str) -> impl Iterator<Item = &Key> {
        self.claims.get(tape).into_iter().flatten()
    }

    /// Removes the entry of a source.
    pub fn remove(&mut self, key: &Key) {
        let Some(entry) = self.entries.remove(key) else {
            return;
        };
        self.has_changed = true;
        if let Some(keys) = entry
            .tape
            .as_ref()
            .and_then(|tape| self.claims.get_mut(tape))
        {
            keys.remove(key);
        }
        if let Some(keys) = entry
            .form_of
            .as_ref()
            .and_then(|(source, _)| self.forms.get_mut(source))
        {
            keys.remove(key);
        }
    }

    /// The entries of other forms of the sessions of a source.
    pub fn forms_of(&self, source: &str) -> impl Iterator<Item = &Entry> {
        self.forms
            .get(source)
            .into_iter()
            .flatten()
            .filter_map(|key| self.entries.get(key))
    }

    /// Removes the entries of sources that are not there any more, and whose tape gets a new source.
    pub fn forget_missing(&mut self, tape: &str, own: Option<&Key>) {
        let is_missing = |key: &&Key| Some(*key) != own && is_missing(Path::new(&key.0));
        let missing: Vec<Key> = self.sources_of(tape).filter(is_missing).cloned().collect();
        missing.iter().for_each(|key| self.remove(key));
    }

    /// Makes the entries true that a killed run was about to make true.
    ///
    /// # Errors
    /// As the file system gives them.
    pub fn recover(&mut self, root: &Path) -> io::Result<()> {
        let unsettled: Vec<Entry> = self
            .entries
            .values()
            .filter(|entry| entry.state == State::Writing)
            .cloned()
            .collect();
        for mut entry in unsettled {
            let path = entry
                .tape
                .as_ref()
                .map(|tape| root.join(tape))
                .unwrap_or_default();
            let there = if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
                Some(hash_of(&path)?)
            } else {
                None
            };
            let old = entry.replaces_hash.take();
            match there {
                Some((hash, _)) if Some(&hash) == entry.tape_hash.as_ref() => {
                    entry.state = State::Current;
                    self.insert(entry);
                }
                Some((hash, bytes)) if Some(&hash) == old.as_ref() => {
                    entry.overview = overview_of(&path);
                    (entry.state, entry.tape_hash, entry.tape_bytes) =
                        (State::Failed, Some(hash), Some(bytes));
                    let message = "the run was killed before it could replace the tape".to_owned();
                    entry.error = Some(Failure {
                        code: "interrupted".to_owned(),
                        message,
                    });
                    self.insert(entry);
                }
                _ => self.remove(&entry.key()),
            }
        }
        Ok(())
    }

    /// The tape of a source has its name.
    pub fn settle(&mut self, key: &Key) {
        if let Some(entry) = self
            .entries
            .get_mut(key)
            .filter(|entry| entry.state == State::Writing)
        {
            (entry.state, entry.replaces_hash) = (State::Current, None);
            self.has_changed = true;
        }
    }

    /// An older tape of a source is not there any more.
    pub fn forget_superseded(&mut self, key: &Key, tape: &str) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.supersedes.retain(|old| old.tape != tape);
            self.has_changed = true;
        }
    }

    /// Changes the state of a source's entry.
    pub fn set_state(&mut self, key: &Key, state: State) {
        if let Some(entry) = self
            .entries
            .get_mut(key)
            .filter(|entry| entry.state != state)
        {
            (entry.state, entry.error) = (state, None);
            self.has_changed = true;
        }
    }

    /// The source of an entry could not be read. Its tape is that of the last time that it could.
    pub fn set_failed(&mut self, key: &Key, failure: &Failure) {
        let is_new = |entry: &&mut Entry| {
            (entry.state, entry.error.as_ref()) != (State::Failed, Some(failure))
        };
        if let Some(entry) = self.entries.get_mut(key).filter(is_new) {
            (entry.state, entry.error) = (State::Failed, Some(failure.clone()));
            self.has_changed = true;
        }
    }
}

/// Reads the next line; an empty one in place of one that is too long. False at the end.
fn read_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    if lines.take(LINE_BYTES).read_until(b'\n', line)? as u64 == LINE_BYTES
        && line.last() != Some(&b'\n')
    {
        line.clear();
        lines.skip_until(b'\n')?;
        return Ok(true);
    }
    Ok(!line.is_empty())
}

/// True if nothing is at this path. What cannot be looked at may be there. A source that is no whole path is not known.
pub fn is_missing(path: &Path) -> bool {
    !path.is_absolute()
        || path.symlink_metadata().is_err_and(|error| {
            matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        })
}

/// What a tape is about; `None` if it cannot be read.
pub(super) fn overview_of(tape: &Path) -> Option<Overview> {
    let mut sink = OverviewSink::default();
    open_tape(tape)
        .and_then(|tape| replay(tape, &mut sink))
        .ok()?;
    Some(sink.overview())
}

fn write<'e>(root: &Path, name: &str, entries: impl Iterator<Item = &'e Entry>) -> io::Result<()> {
    let mut file = interrupt::temporary(|| files::temporary_in(root))?;
    let temporary = file.path().to_owned();
    let written = write_lines(&mut file, entries).and_then(|()| files::sync(&file));
    let saved = written.and_then(|()| files::replace(file.into_temp_path(), &root.join(name)));
    interrupt::forget(&temporary);
    saved.and_then(|()| files::sync_directory(root))
}

fn write_lines<'e>(
    file: &mut NamedTempFile,
    entries: impl Iterator<Item = &'e Entry>,
) -> io::Result<()> {
    let mut out = BufWriter::new(files::Writer(file));
    for entry in entries {
        serde_json::to_writer(&mut out, entry)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use engram_adapters::sessions::Stamp;

    use super::*;
    use crate::tape_dir::entry::Setup;

    fn entry(source: &str, session: Option<&str>, state: State) -> Entry {
        let stamp = Stamp {
            size: 1,
            modified: "2026-01-01T00:00:00Z".to_owned(),
            changed: None,
            with: None,
        };
        Entry::new(
            &(source.to_owned(), session.map(str::to_owned)),
            state,
            stamp,
            &Setup::default(),
        )
    }

    #[test]
    fn an_index_is_read_as_it_was_written_and_files_that_are_no_sessions_are_apart() {
        let root = tempfile::tempdir().unwrap();
        let mut index = Index::default();
        index.insert(entry("/b", Some("2"), State::Current));
        index.insert(entry("/b", Some("1"), State::Failed));
        index.insert(entry("/a", None, State::NoSession));
        index.save(root.path()).unwrap();
        assert_eq!(
            fs::read_to_string(root.path().join(INDEX))
                .unwrap()
                .lines()
                .count(),
            2
        );
        let read = Index::load(root.path()).unwrap();
        assert_eq!(read.entries().count(), 3);
        assert_eq!(
            read.of_source("/b")
                .map(|entry| entry.session.clone().unwrap())
                .collect::<Vec<_>>(),
            ["1", "2"]
        );
        assert_eq!(read.of_source("/").count(), 0);
    }

    #[test]
    fn what_is_no_entry_or_leads_elsewhere_is_left_out() {
        let root = tempfile::tempdir().unwrap();
        let mut outside = entry("/a", None, State::Current);
        outside.tape = Some("../../a.tape.jsonl".to_owned());
        let lines = format!(
            "{}\nnonsense\n{{}}\n",
            serde_json::to_string(&outside).unwrap()
        );
        fs::write(root.path().join(INDEX), lines).unwrap();
        assert_eq!(Index::load(root.path()).unwrap().entries().count(), 0);
    }

    #[test]
    fn a_line_without_an_end_is_skipped_and_not_kept() {
        let root = tempfile::tempdir().unwrap();
        let line = serde_json::to_string(&entry("/a", None, State::Current)).unwrap();
        let long = "x".repeat(LINE_BYTES as usize);
        fs::write(
            root.path().join(INDEX),
            format!(
                "{line}\n{long}\n{line}\n{long}yy\n\n{}",
                line.replace("/a", "/b")
            ),
        )
        .unwrap();
        assert_eq!(Index::load(root.path()).unwrap().entries().count(), 2);
        let mut kept = Vec::new();
        let mut lines = BufReader::new(long.as_bytes());
        assert!(read_line(&mut lines, &mut kept).unwrap() && kept.is_empty());
        fs::File::options()
            .write(true)
            .open(root.path().join(INDEX))
            .unwrap()
            .set_len(INDEX_BYTES + 1)
            .unwrap();
        assert!(Index::load(root.path()).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("elsewhere"), "").unwrap();
        std::os::unix::fs::symlink("elsewhere", root.path().join(INDEX)).unwrap();
        assert!(Index::load(root.path()).is_err());
    }
}
