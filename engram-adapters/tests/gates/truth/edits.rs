//! Edits: every one that an edit tool made is found, none is made up, and no hash or range is refuted by the real files.

use std::collections::BTreeMap;

use engram_core::event::Kind;
use engram_core::hash::{Hash, is_pinned};
use serde_json::Value;

use super::spans::{self, Lines};
use super::{Call, RealEdit, Scene, Side};
use crate::tape::Event;
use crate::tree::Case;

/// Where the recorded project lay.
const PROJECT: &str = "/home/dev/proj/";

/// A file of the project as truth names it.
pub fn in_project(file: &str) -> &str {
    file.strip_prefix(PROJECT).unwrap_or(file).trim_start_matches("./")
}

/// The text of a file on one side of an edit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Real<'t> {
    /// There was no file.
    Absent,
    /// Its text.
    Text(&'t str),
    /// Truth does not hold its text: it was big, or not UTF-8.
    Unknown,
}

impl<'t> Real<'t> {
    fn of(text: &'t Option<String>, sha256: &Option<String>) -> Real<'t> {
        match (text, sha256) {
            (Some(text), _) => Real::Text(text),
            (None, Some(_)) => Real::Unknown,
            (None, None) => Real::Absent,
        }
    }

    fn text(self) -> Option<&'t str> {
        match self {
            Real::Text(text) => Some(text),
            Real::Absent | Real::Unknown => None,
        }
    }
}

impl RealEdit {
    fn real_before(&self) -> Real<'_> {
        Real::of(&self.before, &self.before_sha256)
    }

    fn real_after(&self) -> Real<'_> {
        Real::of(&self.after, &self.after_sha256)
    }
}

/// The `code.edit` events of one call on one file.
struct Made<'a> {
    side: &'a Side<'a>,
    roots: Vec<&'a str>,
    file: &'a str,
    events: Vec<&'a Event>,
}

impl Made<'_> {
    /// True when the log shows what was asked for, not what became of it: nothing is said of the file then.
    fn is_request(&self) -> bool {
        self.events.iter().all(|event| event.0.get("confirmed") == Some(&Value::Bool(false)))
    }
}

/// Checks all edits of a case, both ways.
pub fn check(scene: &mut Scene<'_>) {
    let made = made(scene);
    for made in &made {
        let real: Vec<&RealEdit> = scene.truth.edits.iter().filter(|real| is_of(real, made)).collect();
        match real.as_slice() {
            [] => unreal(scene, made),
            [real, ..] => {
                scene.tally.count_many("edit spans", made.events.len() as u64);
                snippets(scene, made, real);
            }
        }
    }
    let case = scene.case;
    for real in scene.truth.edits.iter().filter(|real| !is_reverted(case, real)) {
        let of_real: Vec<&Made<'_>> = made.iter().filter(|made| is_of(real, made)).collect();
        whole_files(scene, real, &of_real);
        if let [only] = of_real.as_slice()
            && is_alone(scene, real, only)
            && !only.is_request()
        {
            one_call(scene, real, only);
        }
        found(scene, real, &of_real);
    }
}

/// True for a change of files that no call made: the user took back what calls had done.
fn is_reverted(case: &Case, real: &RealEdit) -> bool {
    case.harness == "opencode" && real.call_ids.is_empty()
}

/// The edits of the tapes, grouped by call and file, in tape order.
fn made<'a>(scene: &Scene<'a>) -> Vec<Made<'a>> {
    let mut groups: Vec<Made<'a>> = Vec::new();
    let mut at: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for (side, event) in scene.events(Kind::CodeEdit).filter(|(_, event)| !event.is_replay()) {
        let (id, file) = (event.text("call_id").unwrap_or_default(), in_project(event.text("file").unwrap_or_default()));
        let group = *at.entry((side.name, id, file)).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Made { side, roots: side.roots(event), file, events: Vec::new() });
        }
        groups[group].events.push(event);
    }
    groups
}

fn is_of(real: &RealEdit, made: &Made<'_>) -> bool {
    let by_call = real.call_ids.is_empty() || made.roots.iter().any(|root| real.call_ids.iter().any(|id| id == root));
    by_call && (real.file == made.file || moved_to(made).any(|to| to == real.file))
}

/// Where a move brought the file.
fn moved_to<'a>(made: &Made<'a>) -> impl Iterator<Item = &'a str> {
    let links = made.side.events.iter().filter(|event| event.is(Kind::SpanLink));
    let (file, call) = (made.file, made.events.first().and_then(|event| event.text("call_id")));
    links
        .filter(move |link| link.text("call_id") == call || link.text("call_id").is_none())
        .filter(move |link| link.text("from_file").map(in_project) == Some(file))
        .filter_map(|link| link.text("to_file").map(in_project))
}

/// An edit that changed nothing: right only if it says so itself.
fn unreal(scene: &mut Scene<'_>, made: &Made<'_>) {
    let says_so = made.events.iter().all(|event| {
        let same = |before, after| event.text(before).is_some() && event.text(before) == event.text(after);
        same("file_before_hash", "file_after_hash") || same("before_hash", "after_hash")
    });
    if made.is_request() {
        scene.tally.count("edits that were asked for and not made, and say so");
    } else if says_so {
        scene.tally.count("edits that changed nothing and say so");
    } else {
        scene.find(format!(
            "code.edit of {} on {} in {}: nothing changed in the real file",
            made.roots.join(" < "),
            made.file,
            made.side.name
        ));
    }
}

/// The first file hash before and the last one after, against the real files of the turn.
fn whole_files(scene: &mut Scene<'_>, real: &RealEdit, made: &[&Made<'_>]) {
    let events: Vec<&Event> = made.iter().filter(|made| made.file == real.file).flat_map(|made| made.events.iter().copied()).collect();
    let (Some(first), Some(last)) = (events.first(), events.last()) else { return };
    let is_move = first.text("op") == Some("move");
    let shell = real.call_ids.len() > 1 && events.len() < real.call_ids.len();
    hash_holds(scene, real, first, "file_before_hash", real.real_before(), shell);
    if !is_move {
        hash_holds(scene, real, last, "file_after_hash", real.real_after(), shell);
    }
}

fn hash_holds(scene: &mut Scene<'_>, real: &RealEdit, event: &Event, key: &'static str, text: Real<'_>, others: bool) {
    let Some(said) = event.text(key) else { return };
    let id = event.text("call_id").unwrap_or_default();
    let expected = text.text().filter(|text| is_pinned(text)).map(|text| Hash::of_text(text).to_string());
    let why = match text {
        Real::Text(_) if expected.as_deref() == Some(said) => return scene.tally.count("file hashes"),
        _ if others => return scene.tally.count("file hashes between calls of one turn"),
        // A file that is not UTF-8 is logged with U+FFFD.
        Real::Unknown if !scene.sides.iter().any(|side| side.logs_together(id, "\u{fffd}")) => {
            return scene.tally.count("file hashes not decidable");
        }
        Real::Unknown => "the file was not UTF-8",
        Real::Absent => "there was no file",
        Real::Text(text) if !is_pinned(text) => "its text holds U+FFFD",
        Real::Text(_) => "the file hashes to something else",
    };
    scene.find(format!("code.edit of {id} on {}: {key} is refuted: {why}", real.file));
}

/// True when no other call of the turn can have changed the file.
fn is_alone(scene: &Scene<'_>, real: &RealEdit, made: &Made<'_>) -> bool {
    made.file == real.file
        && real.call_ids.iter().all(|id| made.roots.contains(&id.as_str()) || scene.call(id).is_some_and(|call| !touches(call, &real.file)))
}

/// True when a call may change a file: it names it in its arguments.
fn touches(call: &Call, file: &str) -> bool {
    call.args.to_string().contains(file)
}

/// A patch adds a file as if there were none; only the file system knows that there was one. Of that file nothing may be said.
fn adds_over_file(scene: &Scene<'_>, event: &Event) -> bool {
    let silent = ["before_range", "before_hash", "file_before_hash"].iter().all(|key| event.0.get(*key).is_none());
    scene.case.harness == "codex" && silent
}

/// The spans of a call that alone changed a file, against its real text.
fn one_call(scene: &mut Scene<'_>, real: &RealEdit, made: &Made<'_>) {
    let Some(first) = made.events.first() else { return };
    let place = format!("code.edit of {} on {}", first.text("call_id").unwrap_or_default(), made.file);
    let (before, after) = (real.real_before(), real.real_after());
    for event in &made.events {
        let op = event.text("op").unwrap_or_default();
        let (fits, was) = match (before, after) {
            (Real::Absent, _) => (op == "create", "was not there before"),
            (_, Real::Absent) => (matches!(op, "delete" | "move"), "was gone after"),
            _ => (matches!(op, "update" | "overwrite"), "was there before and after"),
        };
        if fits {
            continue;
        }
        if op == "create" && adds_over_file(scene, first) {
            scene.tally.count("files created over one that the log does not know");
        } else {
            scene.find(format!("{place}: op `{op}`, but the file {was}"));
        }
    }
    let is_unknown = [("before", before == Real::Unknown), ("after", after == Real::Unknown)];
    let (before, after) = (before.text().map(Lines::new), after.text().map(Lines::new));
    for ((side, is_unknown), text) in is_unknown.into_iter().zip([&before, &after]) {
        for event in &made.events {
            if is_unknown || (event.text("op") == Some("move") && side == "after") {
                continue;
            }
            match spans::refuted(event, side, text.as_ref()) {
                Some(why) => scene.find(format!("{place}: {why}")),
                None if event.range(&format!("{side}_range")).is_some() => scene.tally.count("ranges"),
                None => {}
            }
        }
    }
    if let (Some(before), Some(after)) = (&before, &after) {
        match spans::explain(&made.events, before, after) {
            Some(true) => scene.tally.count("edits that rebuild the file"),
            Some(false) => scene.find(format!("{place}: outside of its spans the file changed too")),
            None => scene.tally.count("edits without all ranges"),
        }
    }
}

/// A snippet hashes a text that the call gives, or whole lines of the file.
fn snippets(scene: &mut Scene<'_>, made: &Made<'_>, real: &RealEdit) {
    let calls: Vec<&Call> = made.roots.iter().filter_map(|root| scene.call(root)).collect();
    for event in made.events.iter().filter(|event| event.text("basis") == Some("snippet")) {
        let known =
            calls.iter().flat_map(|call| spans::strings(&call.args)).map(|text| Hash::of_text(text).to_string()).collect::<Vec<_>>();
        for (key, text) in [("before_hash", real.before.as_deref()), ("after_hash", real.after.as_deref())] {
            let Some(said) = event.text(key) else { continue };
            let in_call = known.iter().any(|hash| hash == said) || calls.iter().any(|call| spans::in_patch(&call.args, said));
            if in_call || text.is_some_and(|text| spans::in_text(text, said)) {
                scene.tally.count("snippets");
            } else {
                scene.find(format!(
                    "code.edit of {} on {}: {key} is of no text of the call or the file",
                    made.roots.join(" < "),
                    made.file
                ));
            }
        }
    }
}

/// Every edit of an edit tool that the harness logged is there, with what the log lets be known.
fn found(scene: &mut Scene<'_>, real: &RealEdit, made: &[&Made<'_>]) {
    let calls: Vec<&Call> = real.call_ids.iter().filter_map(|id| scene.call(id)).filter(|call| edits(call, &real.file)).collect();
    for call in &calls {
        if !scene.logs_call(&call.id) {
            scene.tally.count("edits not logged");
            continue;
        }
        if scene.case.harness == "opencode" && failed(scene, call) {
            scene.tally.count("edits of calls that failed after them");
            continue;
        }
        scene.tally.count("edits");
        let of_call: Vec<&Event> =
            made.iter().filter(|made| made.roots.contains(&call.id.as_str())).flat_map(|made| made.events.iter().copied()).collect();
        if of_call.is_empty() {
            scene.find(format!("no code.edit of {} ({}) on {}", call.id, call.tool, real.file));
            continue;
        }
        let structured = match scene.case.harness.as_str() {
            "codex" => scene.since("0.135.0"),
            "gemini" => scene.since("0.25.0") && of_call.iter().all(|event| event.0.get("confirmed").is_none()),
            "cursor" => of_call.iter().all(|event| event.0.get("confirmed").is_none()),
            "opencode" => scene.since("1.0.0") && !asks_for_whole_file(call),
            _ => scene.since("1.0.10"),
        };
        if call.is_main() && structured {
            if of_call.iter().any(|event| event.text("basis") == Some("snippet")) {
                scene.find(format!("code.edit of {} ({}) on {} is a snippet: its lines are logged", call.id, call.tool, real.file));
            }
            if let ([_], [_]) = (real.call_ids.as_slice(), calls.as_slice()) {
                stated_whole_files(scene, real, call, &of_call);
            }
        }
    }
}

/// True for the calls of tools that edit files, of this file.
fn edits(call: &Call, file: &str) -> bool {
    let args = call.args.to_string();
    match call.tool.as_str() {
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" | "replace" | "write_file" | "edit" | "write" | "StrReplace" | "Delete"
        | "editToolCall" | "deleteToolCall" => args.contains(file),
        _ => {
            args.contains("*** Begin Patch")
                && ["Update File: ", "Add File: ", "Delete File: ", "Move to: "]
                    .iter()
                    .any(|directive| args.contains(&format!("{directive}{file}")))
        }
    }
}

/// True for a call that the log says has failed. It may have written the file before.
fn failed(scene: &Scene<'_>, call: &Call) -> bool {
    scene.events(Kind::ToolResult).any(|(_, result)| result.text("call_id") == Some(&call.id) && result.text("status") == Some("error"))
}

/// True for a call that gives a file's whole new text, whose result does not say what was there before.
fn asks_for_whole_file(call: &Call) -> bool {
    call.tool == "write" || call.args.get("oldString").is_some_and(|old| old == "")
}

/// Where a line of the log holds the call's id and the whole file, the file's hash is there.
fn stated_whole_files(scene: &mut Scene<'_>, real: &RealEdit, call: &Call, events: &[&Event]) {
    for (key, text) in [("file_before_hash", real.before.as_deref()), ("file_after_hash", real.after.as_deref())] {
        let Some(text) = text.filter(|text| text.lines().count() > 1 && is_pinned(text)) else { continue };
        let whole = text.replace("\r\n", "\n");
        let stated = scene.sides.iter().any(|side| side.logs_together(&call.id, &whole));
        let moved = events.iter().any(|event| event.text("op") == Some("move"));
        if stated && !moved && !events.iter().all(|event| event.text(key).is_some()) {
            scene.find(format!(
                "code.edit of {} ({}) on {} has no {key}, but its record holds the whole file",
                call.id, call.tool, real.file
            ));
        }
    }
}
