//! Whether an answer about a line is right, by the ground truth alone.
//!
//! The truth has the text of each file before and after each step, and the calls of the step. Its own line diff (the longest common lines) says
//! in which step a line was made. An answer is right if it names a call of that step ([`Verdict::Maker`]). The truth itself is not exact in three
//! places, and answers that rest on them are counted apart:
//!
//! * A diff is one reading of two texts. Where equal lines are removed and added, or a blank line stands beside new ones, another diff keeps
//!   another one of them ([`Verdict::SameText`]).
//! * A step has the calls that ran while the file changed. An agent in the background, an undo or a program changes it when others run, or none
//!   ([`Verdict::Untold`]).
//! * A line whose white space was changed since has two makers ([`Verdict::Reformatted`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use engram_conformance::{Recording, Truth};
use serde_json::Value;

use crate::blame::{RealFile, Turn};

/// What the truth says about an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The call made this line.
    Maker,
    /// The call wrote an equal line, which stood in the file ever since; the diff of the truth gives this one to another step.
    SameText,
    /// The call has the line in its arguments, and the truth names for its step only calls that have not.
    Untold,
    /// The answer says that white space or quotes were changed since, and the call wrote the rest of the line.
    Reformatted,
    /// The call did not write the line.
    Wrong,
}

/// A call on a tape.
#[derive(Debug, Default, Clone)]
pub struct Call {
    /// Its id, and those of the calls that it is a part of, up to the call that started the sub-agent.
    ids: Vec<String>,
    /// The truth names one of them.
    is_known: bool,
    pub tool: String,
    pub kind: String,
    args: Vec<String>,
}

/// The calls of tapes.
#[derive(Default)]
pub struct Calls {
    on_tapes: BTreeMap<(PathBuf, i64), Call>,
    /// The arguments of calls, as the model sent them, by id.
    sent: BTreeMap<String, Vec<String>>,
}

impl Calls {
    /// Reads all tapes of a directory.
    pub fn of(tapes: &Path, truth: &Truth, recording: &Recording) -> Calls {
        let mut calls = Calls::default();
        for call in recording.truth["calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap_or_default().to_owned();
            calls.sent.insert(id, strings(&call["args"]));
        }
        for tape in fs::read_dir(tapes).unwrap() {
            calls.read(&tape.unwrap().path());
        }
        let known: BTreeSet<String> = truth
            .edits
            .iter()
            .flat_map(|edit| edit.call_ids.clone())
            .collect();
        for call in calls.on_tapes.values_mut() {
            call.is_known = call.ids.iter().any(|id| has_id(&known, id));
        }
        calls
    }

    fn read(&mut self, tape: &Path) {
        let text = fs::read_to_string(tape).unwrap();
        // A parser that refuses half surrogate pairs reads no event that has one.
        let event = |line| serde_json::from_str(line).unwrap_or_default();
        let events: Vec<Value> = text.lines().map(event).collect();
        let started_by = events
            .iter()
            .find_map(|event| event["parent_call_id"].as_str());
        for (seq, event) in events.iter().enumerate() {
            let word = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
            let mut ids = Vec::new();
            let mut at = Some(event);
            while let Some(event) = at {
                ids.extend(event["call_id"].as_str().map(str::to_owned));
                let parent = event["parent"].as_u64().map(|parent| parent as usize);
                at = parent.and_then(|parent| events.get(parent));
            }
            ids.extend(started_by.map(str::to_owned));
            let call = Call {
                ids,
                is_known: false,
                tool: word("tool"),
                kind: word("kind"),
                args: strings(&event["args"]),
            };
            self.on_tapes.insert((tape.to_owned(), seq as i64), call);
        }
    }

    pub fn get(&self, call: &(PathBuf, i64)) -> &Call {
        &self.on_tapes[call]
    }

    /// The kind of the tool that a turn's calls used.
    pub fn kind_of(&self, turn: &Turn) -> &str {
        let is_own = |call: &&Call| call.ids.first().is_some_and(|id| has_id(&turn.calls, id));
        let of_tool = |call: &&Call| !call.kind.is_empty() && turn.tools.contains(&call.tool);
        let own = self.on_tapes.values().find(is_own);
        let known = own.or_else(|| self.on_tapes.values().find(of_tool));
        known.map_or("call not on a tape", |call| call.kind.as_str())
    }

    /// True if two answers name one call: it may stand on several tapes of its session.
    pub fn is_same(&self, one: &(PathBuf, i64), other: &(PathBuf, i64)) -> bool {
        let (own, id) = (self.get(one), self.get(other).ids.first());
        one == other || (id.is_some() && own.ids.first() == id)
    }
}

/// The strings of arguments.
fn strings(args: &Value) -> Vec<String> {
    match args {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().flat_map(strings).collect(),
        Value::Object(all) => all.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// One API of the model server of the recordings uses another prefix for the same number.
fn has_id(ids: &BTreeSet<String>, id: &str) -> bool {
    let number = |id: &str| {
        id.trim_start_matches("toolu_")
            .trim_start_matches("call_")
            .to_owned()
    };
    ids.iter().any(|known| number(known) == number(id))
}

/// What the truth says of a line that was given to a call.
pub fn verdict(calls: &Calls, file: &RealFile, at: usize, call: &Call) -> Verdict {
    let text = &file.lines[at];
    let maker = file.made_in[at].as_ref();
    if maker.is_some_and(|turn| is_of(turn, call, text) || is_in_program(calls, turn, call, text)) {
        return Verdict::Maker;
    }
    let count = |lines: &[String]| lines.iter().filter(|line| *line == text).count();
    // Steps since the last one after which no such line was there.
    let mut since = file
        .turns
        .iter()
        .rev()
        .take_while(|turn| count(&turn.after) > 0);
    if since.any(|turn| count(&turn.after) > count(&turn.before) && is_of(turn, call, text)) {
        return Verdict::SameText;
    }
    // Of a blank line beside a line of the call no diff tells which one was there.
    let beside = [at.checked_sub(1), at.checked_add(1)];
    let mut beside = beside
        .iter()
        .flatten()
        .filter_map(|at| file.made_in.get(*at)?.as_ref());
    if text.trim().is_empty() && beside.any(|turn| is_of(turn, call, text)) {
        return Verdict::SameText;
    }
    let has_line = |args: &Vec<String>| {
        args.iter()
            .flat_map(|arg| arg.lines())
            .any(|line| line.contains(text))
    };
    let sent = |turn: &Turn| {
        turn.calls
            .iter()
            .filter_map(|id| calls.sent.get(id))
            .any(has_line)
    };
    let is_untold = |turn: &Turn| !sent(turn) && has_line(&call.args) && names(call, &turn.file);
    match maker.is_some_and(|turn| !text.trim().is_empty() && is_untold(turn)) {
        true => Verdict::Untold,
        false => Verdict::Wrong,
    }
}

/// What the truth says of a line of which the answer says that it was reformatted since.
pub fn verdict_of_reformatted(file: &RealFile, at: usize, call: &Call) -> Verdict {
    let bare = |line: &str| line.replace(|c: char| c.is_whitespace() || "\"'`".contains(c), "");
    let text = bare(&file.lines[at]);
    let line_of = |turn: &Turn| {
        let is_new = |line: &&String| bare(line) == text && !turn.before.contains(line);
        turn.after.iter().find(is_new).cloned()
    };
    let is_maker = |turn: &Turn| line_of(turn).is_some_and(|line| is_of(turn, call, &line));
    match file.turns.iter().any(|turn| is_maker(turn)) {
        true => Verdict::Reformatted,
        false => Verdict::Wrong,
    }
}

/// True if the arguments have the name of the file.
fn names(call: &Call, file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or_default();
    call.args.iter().any(|arg| arg.contains(name))
}

/// True if the call is one of a program that a call of the turn sent: the truth knows the program alone.
fn is_in_program(calls: &Calls, turn: &Turn, call: &Call, text: &str) -> bool {
    let sent = turn.calls.iter().filter_map(|id| calls.sent.get(id));
    let name = turn.file.rsplit('/').next().unwrap_or_default();
    let asked = format!(".{}(", call.tool);
    let parts = [asked.as_str(), name, text.trim()];
    let has = |arg: &String| parts.iter().all(|part| arg.contains(part));
    !call.is_known && sent.flatten().any(has)
}

/// True if the call is one of the turn's. Where the truth does not know the id (logs of one harness have none, and hooks of another name calls in
/// their own way), the tool must be one of the turn, and its arguments must name the file and have the line or a part of it.
fn is_of(turn: &Turn, call: &Call, text: &str) -> bool {
    if call.is_known {
        return call.ids.iter().any(|id| has_id(&turn.calls, id));
    }
    let mut parts = call.args.iter().flat_map(|arg| arg.lines());
    let has_line =
        parts.any(|part| part.contains(text.trim()) || (!part.is_empty() && text.contains(part)));
    turn.tools.contains(&call.tool) && names(call, &turn.file) && has_line
}
