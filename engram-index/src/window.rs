//! Windows of tapes: the prompt, the reasoning and the arguments that belong to a call, read from their bytes.

use std::borrow::Cow;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use engram_core::event::{Channel, Event, EventRecord};
use engram_core::redact::{redacted, redacted_json};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use crate::answer::{About, CallInfo, Quote};
use crate::arguments::Arguments;
use crate::line_key::{keys, lines};
use crate::{diff, names, tape_file};

/// Longest quotation of a prompt, of reasoning, and of arguments, in characters.
const PROMPT_CHARS: usize = 1500;
const REASONING_CHARS: usize = 600;
const CHANGE_CHARS: usize = 1500;
/// Most quotations of reasoning.
const MAX_REASONING: usize = 3;
/// Most bytes between a prompt and its call that are read.
const MAX_WINDOW: u64 = 4 << 20;
/// Longest line that is read.
const MAX_LINE: u64 = 64 << 20;
/// How many sessions above a sub-agent are named.
const MAX_DEPTH: usize = 10;
const STATUS: [&str; 4] = ["ok", "error", "denied", "cancelled"];

/// Whether keys and tokens of a tape stand in quotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// As the tape has them.
    Shown,
    /// Each is replaced by `[redacted:<rule>]`, as by [`engram_core::redact`].
    Replaced,
}

/// A call, with what is needed to read around it.
pub struct Call {
    pub info: CallInfo,
    pub tape: i64,
    pub prompt: Option<i64>,
    pub offset: Option<u64>,
    path: Option<PathBuf>,
    keys: Keys,
}

/// A call of a tape, or its event where the tape names no call.
pub fn call(db: &Connection, tape: i64, seq: i64, keys: Keys) -> rusqlite::Result<Call> {
    let (path, there) = checked_place(db, tape)?;
    let sql = "SELECT h.text, s.text, a.text FROM tape JOIN name h ON h.id = harness LEFT JOIN name s ON s.id = session
        LEFT JOIN name a ON a.id = agent WHERE tape.id = ?1";
    let (harness, session, agent) = db
        .prepare_cached(sql)?
        .query_row([tape], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let about = about(db, tape)?;
    let sql = "SELECT prompt, offset, tool.text, i.text, model.text, status, t, agent.text, k.text FROM call JOIN name tool ON tool.id = tool JOIN name k ON k.id = kind
        LEFT JOIN name i ON i.id = call_id LEFT JOIN name model ON model.id = model LEFT JOIN name agent ON agent.id = agent
        WHERE tape = ?1 AND seq = ?2";
    let mut info = CallInfo {
        harness,
        session,
        agent,
        about,
        tape: path.to_string_lossy().into_owned(),
        seq,
        absent: there == There::Gone,
        changed: there == There::Changed,
        ..CallInfo::default()
    };
    let found = db.prepare_cached(sql)?.query_row([tape, seq], |row| {
        info.tool = row.get(2)?;
        info.call_id = row.get(3)?;
        info.model = row.get(4)?;
        info.status = row
            .get::<_, Option<usize>>(5)?
            .and_then(|status| STATUS.get(status).copied());
        info.t = row.get::<_, Option<i64>>(6)?.map(names::time);
        info.kind = row.get(8)?;
        if let Some(agent) = row.get(7)? {
            info.agent = Some(agent);
        }
        Ok((row.get(0)?, row.get(1)?))
    });
    let (prompt, offset) = found.optional()?.unzip();
    Ok(Call {
        info,
        tape,
        prompt: prompt.flatten(),
        offset,
        path: Some(path).filter(|_| there == There::Tape),
        keys,
    })
}

/// What a tape says that its session is about.
pub fn about(db: &Connection, tape: i64) -> rusqlite::Result<About> {
    let sql = "SELECT ifnull(title, (SELECT max(of.title) FROM tape of WHERE of.harness = tape.harness AND of.session = tape.session
        AND of.agent IS NULL AND of.superseded_by IS NULL)), cwd FROM tape WHERE id = ?1";
    db.prepare_cached(sql)?.query_row([tape], |row| {
        Ok(About {
            title: row.get(0)?,
            project: row.get(1)?,
        })
    })
}

/// Where a tape lies; and true if it is not there any more.
pub fn place(db: &Connection, tape: i64) -> rusqlite::Result<(PathBuf, bool)> {
    let mut find = db.prepare_cached("SELECT path FROM place WHERE tape = ?1 ORDER BY path")?;
    let paths: Vec<String> = find
        .query_map([tape], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    if let Some(there) = paths.iter().find(|path| Path::new(path).is_file()) {
        return Ok((there.into(), false));
    }
    match paths.into_iter().next() {
        Some(path) => Ok((path.into(), true)),
        None => {
            let sql = "SELECT ifnull(text, '?') FROM tape LEFT JOIN name ON name.id = session WHERE tape.id = ?1";
            let session: String = db
                .prepare_cached(sql)?
                .query_row([tape], |row| row.get(0))?;
            Ok((session.into(), true))
        }
    }
}

/// What is in the file of a tape now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum There {
    /// The text that was taken in.
    Tape,
    /// Another text. Nothing is quoted from it.
    Changed,
    /// There is no file.
    Gone,
}

/// Where a tape lies, for what is quoted from it.
pub fn checked_place(db: &Connection, tape: i64) -> rusqlite::Result<(PathBuf, There)> {
    let (path, absent) = place(db, tape)?;
    if absent {
        return Ok((path, There::Gone));
    }
    let hash = db
        .prepare_cached("SELECT tape_hash FROM tape WHERE id = ?1")?
        .query_row([tape], |row| row.get(0))?;
    match tape_file::is_tape(&path, &hash) {
        true => Ok((path, There::Tape)),
        false => Ok((path, There::Changed)),
    }
}

impl Call {
    /// The prompt of the turn of the call.
    pub fn prompt(&self, db: &Connection) -> rusqlite::Result<Option<Quote>> {
        let Some(seq) = self.prompt else {
            return Ok(None);
        };
        let sql = "SELECT offset FROM prompt WHERE tape = ?1 AND seq = ?2";
        let offset: Option<u64> = db
            .prepare_cached(sql)?
            .query_row([self.tape, seq], |row| row.get(0))
            .optional()?;
        Ok(offset.zip(self.path.as_ref()).and_then(|(offset, path)| {
            let Prompt { text, attachments } = prompt_at(path, offset, seq)?;
            let text = text.unwrap_or_else(|| format!("({attachments} attachments)"));
            Some(quote(path, seq, &text, PROMPT_CHARS, self.keys))
        }))
    }

    /// The prompts of the sessions that started this one, the nearest first.
    pub fn started_by(&self, db: &Connection) -> rusqlite::Result<Vec<Quote>> {
        let mut quotes = Vec::new();
        let (mut tape, mut seen) = (self.tape, vec![self.tape]);
        while quotes.len() < MAX_DEPTH {
            let sql = "SELECT c.tape, c.seq FROM tape t JOIN call c ON c.call_id = t.parent_call JOIN tape p ON p.id = c.tape
                WHERE t.id = ?1 AND p.session = ifnull(t.parent_session, t.session) AND p.harness = t.harness AND p.superseded_by IS NULL
                AND c.replay = 0 ORDER BY c.t, p.tape_hash LIMIT 1";
            let parent: Option<(i64, i64)> = db
                .prepare_cached(sql)?
                .query_row([tape], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let Some((parent, seq)) = parent.filter(|(parent, _)| !seen.contains(parent)) else {
                break;
            };
            seen.push(parent);
            tape = parent;
            quotes.extend(call(db, parent, seq, self.keys)?.prompt(db)?);
        }
        Ok(quotes)
    }

    /// What the agent said and thought between the prompt and the call: the last of it.
    pub fn before(&self, db: &Connection) -> rusqlite::Result<Before> {
        let (Some(end), Some(path)) = (self.offset, &self.path) else {
            return Ok(Before::default());
        };
        let sql = "SELECT offset FROM prompt WHERE tape = ?1 AND seq = ?2";
        let prompt: Option<u64> = db
            .prepare_cached(sql)?
            .query_row(params![self.tape, self.prompt], |row| row.get(0))
            .optional()?;
        let begin = prompt.unwrap_or(0).max(end.saturating_sub(MAX_WINDOW));
        let Ok(text) = tape_file::open_at(path, begin) else {
            return Ok(Before::default());
        };
        let mut window = Vec::new();
        if end < begin || text.take(end - begin).read_to_end(&mut window).is_err() {
            return Ok(Before::default());
        }
        let window = String::from_utf8_lossy(&window);
        let mut before = Before::default();
        for line in window.lines().rev() {
            if before.said.len() + before.thought.len() == MAX_REASONING {
                break;
            }
            if !line.contains("\"k\":\"msg.out\"") {
                continue;
            }
            let Ok(record) = EventRecord::parse(line) else {
                continue;
            };
            let Event::MsgOut(message) = &record.event else {
                continue;
            };
            let agent = record
                .source
                .agent_id
                .map(|agent| agent.decode_lossy().into_owned());
            if message.channel == Some(Channel::Final) || agent != self.info.agent {
                continue;
            }
            if let Some(text) = message.text.filter(|text| !text.is_empty()) {
                let kept = match message.channel {
                    Some(Channel::Reasoning) => &mut before.thought,
                    _ => &mut before.said,
                };
                kept.push(quote(
                    path,
                    record.seq.get() as i64,
                    &text.decode_lossy(),
                    REASONING_CHARS,
                    self.keys,
                ));
            }
        }
        before.said.reverse();
        before.thought.reverse();
        Ok(before)
    }

    /// What the call was asked to change in a file, as a diff; else its arguments, string by string.
    pub fn change(&self, file: &str) -> Option<Quote> {
        let path = self.path.as_ref()?;
        let args = self.args()?;
        let mut text = difference(&Arguments::of(&args), file);
        let has_difference = !text.is_empty();
        names::strings(&args, &mut |key, value| {
            if !has_difference && text.len() < CHANGE_CHARS * 4 {
                let sign = if value.contains('\n') { ":\n" } else { ": " };
                text.push_str(&format!("{key}{sign}{}\n", value.trim_end_matches('\n')));
            }
        });
        // The arguments have no keys any more: what a diff makes of them, no rule would find.
        let text = quote(
            path,
            self.info.seq,
            text.trim_end(),
            CHANGE_CHARS,
            Keys::Shown,
        );
        Some(text).filter(|quote| !quote.text.is_empty())
    }

    /// The arguments of the call.
    pub fn args(&self) -> Option<Value> {
        let line = line_at(self.path.as_ref()?, self.offset?)?;
        let record = EventRecord::parse(&line)
            .ok()
            .filter(|record| record.seq.get() as i64 == self.info.seq)?;
        let Event::ToolCall(call) = record.event else {
            return None;
        };
        let args = match self.keys {
            Keys::Shown => Cow::Borrowed(call.args?),
            Keys::Replaced => redacted_json(call.args?),
        };
        serde_json::from_str(&args).ok()
    }
}

/// A prompt on a tape.
struct Prompt {
    text: Option<String>,
    attachments: usize,
}

/// The prompt at a byte of a tape; `None` if the tape is not as it was.
fn prompt_at(path: &Path, offset: u64, seq: i64) -> Option<Prompt> {
    let line = line_at(path, offset)?;
    let record = EventRecord::parse(&line)
        .ok()
        .filter(|record| record.seq.get() as i64 == seq)?;
    let Event::MsgIn(message) = record.event else {
        return None;
    };
    Some(Prompt {
        text: message.text.map(|text| text.decode_lossy().into_owned()),
        attachments: message.attachments.len(),
    })
}

/// The text of the prompt at a byte of a tape; `None` if the tape is not as it was, or the prompt has no text.
pub fn text_of_prompt(path: &Path, offset: u64, seq: i64) -> Option<String> {
    prompt_at(path, offset, seq)?.text
}

/// What was said and thought before a call.
#[derive(Default)]
pub struct Before {
    pub said: Vec<Quote>,
    pub thought: Vec<Quote>,
}

/// The change of a file that arguments ask for: lines behind `-`, `+` or a space. All changes, if a patch does not name the file: it may move it.
fn difference(arguments: &Arguments, file: &str) -> String {
    let own = arguments.patch_of(file);
    let patches = own.map_or(&*arguments.patches, std::slice::from_ref);
    let mut text = String::new();
    let mut add = |sign: char, line: &str| {
        if text.len() < CHANGE_CHARS * 4 {
            text.push_str(&format!("{sign}{line}\n"));
        }
    };
    for (sign, line) in patches.iter().flat_map(|it| it.hunks.iter().flatten()) {
        add(*sign, line);
    }
    for strings in &arguments.replaced {
        let (old, new): (Vec<&str>, Vec<&str>) =
            (lines(&strings.old).collect(), lines(&strings.new).collect());
        let mut at = 0;
        for hunk in diff::hunks(&keys(&strings.old), &keys(&strings.new)) {
            old[at..hunk.old.start]
                .iter()
                .for_each(|line| add(' ', line));
            old[hunk.old.clone()].iter().for_each(|line| add('-', line));
            new[hunk.new].iter().for_each(|line| add('+', line));
            at = hunk.old.end;
        }
        old[at..].iter().for_each(|line| add(' ', line));
    }
    arguments
        .content
        .iter()
        .flat_map(|content| lines(content))
        .for_each(|line| add('+', line));
    text
}

/// The event at a byte of a tape; `None` if the tape is not as it was.
pub fn line_at(path: &Path, offset: u64) -> Option<String> {
    let mut line = Vec::new();
    tape_file::open_at(path, offset)
        .ok()?
        .take(MAX_LINE)
        .read_until(b'\n', &mut line)
        .ok()?;
    String::from_utf8(line)
        .ok()
        .map(|line| line.trim_end_matches('\n').to_owned())
}

/// A quotation with at most so many characters. Keys are replaced before it is cut: no rule knows half a key.
pub fn quote(path: &Path, seq: i64, text: &str, chars: usize, keys: Keys) -> Quote {
    let text = match keys {
        Keys::Shown => Cow::Borrowed(text),
        Keys::Replaced => redacted(text),
    };
    let end = text.char_indices().nth(chars).map(|(at, _)| at);
    let text_shown = end.map_or(&*text, |end| &text[..end]).to_owned();
    Quote {
        quoted: true,
        from: format!("{}#{seq}", path.to_string_lossy()),
        text: text_shown,
        cut: end.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_change_of_a_file_is_its_part_of_a_patch() {
        let patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** Add File: src/c.py\n+c\n*** End Patch";
        let arguments = Arguments::of(&json!({"input": patch}));
        let of = |file| difference(&arguments, file);
        assert_eq!(
            [of("/p/src/a.py"), of("/p/src/c.py"), of("/p/moved.py")],
            ["-a\n+b\n", "+c\n", "-a\n+b\n+c\n"]
        );
    }
}
