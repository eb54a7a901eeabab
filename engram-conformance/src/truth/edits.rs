//! Edits: every one that an edit tool made is found, none is made up, and no hash or range is refuted by the real files.

use std::collections::BTreeMap;

use engram_core::event::Kind;
use engram_core::hash::{Hash, is_lossless};
use serde_json::Value;

use super::spans::{self, Lines};
use super::{Call, RealEdit};
use crate::gaps::{lacks_hash_by_a_gap, lacks_lines_by_a_gap};
use crate::outcome::Found;
use crate::scene::{Scene, Side};
use crate::tape::Event;

/// Where the recorded project lay.
const PROJECT: &str = "/home/dev/proj/";

/// A file of the project as truth names it.
pub(super) fn in_project(file: &str) -> &str {
    file.strip_prefix(PROJECT).unwrap_or(file).trim_start_matches("./")
}

/// The text of a file on one side of an edit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Real<'t> {
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

    pub(super) fn text(self) -> Option<&'t str> {
        match self {
            Real::Text(text) => Some(text),
            Real::Absent | Real::Unknown => None,
        }
    }
}

impl RealEdit {
    pub(super) fn real_before(&self) -> Real<'_> {
        Real::of(&self.before, &self.before_sha256)
    }

    pub(super) fn real_after(&self) -> Real<'_> {
        Real::of(&self.after, &self.after_sha256)
    }
}

/// The `code.edit` events of one call on one file.
struct Made<'a> {
    side: &'a Side,
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

/// The edits of the tapes, grouped by call and file, in tape order.
fn made<'a>(scene: &'a Scene<'_>) -> Vec<Made<'a>> {
    let mut groups: Vec<Made<'a>> = Vec::new();
    let mut at: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for (side, event) in scene.own_events(Kind::CodeEdit) {
        let (id, file) = (event.text("call_id").unwrap_or_default(), in_project(event.text("file").unwrap_or_default()));
        let group = *at.entry((side.name(), id, file)).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Made { side, roots: side.roots(event), file, events: Vec::new() });
        }
        groups[group].events.push(event);
    }
    groups
}

/// The edits of the tapes that are of a real edit.
fn of<'m, 'a>(made: &'m [Made<'a>], real: &RealEdit) -> Vec<&'m Made<'a>> {
    made.iter().filter(|made| is_of(real, made)).collect()
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

/// Every `code.edit` of a call that did not fail is of a file that really changed, or says itself that nothing did.
pub fn real(scene: &Scene<'_>, found: &mut Found) {
    for made in made(scene) {
        let Some(first) = made.events.first() else { continue };
        if scene.truth.edits.iter().any(|real| is_of(real, &made)) {
            found.count_many("edit spans", made.events.len() as u64);
            continue;
        }
        let says_so = made.events.iter().all(|event| {
            let same = |before, after| event.text(before).is_some() && event.text(before) == event.text(after);
            same("file_before_hash", "file_after_hash") || same("before_hash", "after_hash")
        });
        if made.is_request() {
            found.count("edits that were asked for and not made, and say so");
        } else if says_so {
            found.count("edits that changed nothing and say so");
        } else if !made.side.has_failed(first) {
            let roots = made.roots.join(" < ");
            found.fail(scene.at(made.side, first), format!("code.edit of {roots} on {}: nothing changed in the real file", made.file));
        }
    }
}

/// The first file hash before and the last one after, against the real files of the turn.
pub fn whole_files(scene: &Scene<'_>, found: &mut Found) {
    let made = made(scene);
    for real in scene.truth.edits.iter().filter(|real| !real.is_reverted()) {
        let events: Vec<(&Side, &Event)> = of(&made, real)
            .into_iter()
            .filter(|made| made.file == real.file)
            .flat_map(|made| made.events.iter().map(|event| (made.side, *event)))
            .collect();
        let (Some(first), Some(last)) = (events.first(), events.last()) else { continue };
        let is_move = first.1.text("op") == Some("move");
        let others = real.call_ids.len() > 1 && events.len() < real.call_ids.len();
        hash_holds(scene, found, *first, "file_before_hash", real.real_before(), others);
        if !is_move {
            hash_holds(scene, found, *last, "file_after_hash", real.real_after(), others);
        }
    }
}

fn hash_holds(scene: &Scene<'_>, found: &mut Found, (side, event): (&Side, &Event), key: &'static str, text: Real<'_>, others: bool) {
    let Some(said) = event.text(key) else { return };
    let id = event.text("call_id").unwrap_or_default();
    let expected = text.text().filter(|text| is_lossless(text)).map(|text| Hash::of_text(text).to_string());
    let why = match text {
        Real::Text(_) if expected.as_deref() == Some(said) => return found.count("file hashes"),
        _ if others => return found.note("file hashes between calls of one turn"),
        // A file that is not UTF-8 is logged with U+FFFD.
        Real::Unknown if !scene.sides.iter().any(|side| side.logs_together(id, "\u{fffd}")) => {
            return found.note("file hashes that truth cannot decide");
        }
        Real::Unknown => "the file was not UTF-8",
        Real::Absent => "there was no file",
        Real::Text(text) if !is_lossless(text) => "its text holds U+FFFD",
        Real::Text(_) => "the file hashes to something else",
    };
    found.fail(scene.at(side, event), format!("{key} is refuted: {why}"));
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

/// The spans of a call that alone changed a file, against its real text; and what the call did to the file.
pub fn spans(scene: &Scene<'_>, found: &mut Found) {
    let made = made(scene);
    for real in scene.truth.edits.iter().filter(|real| !real.is_reverted()) {
        if let [only] = of(&made, real).as_slice()
            && is_alone(scene, real, only)
            && !only.is_request()
        {
            ops(scene, found, real, only);
            ranges(scene, found, real, only);
        }
    }
}

fn ops(scene: &Scene<'_>, found: &mut Found, real: &RealEdit, made: &Made<'_>) {
    let (before, after) = (real.real_before(), real.real_after());
    for event in &made.events {
        let op = event.text("op").unwrap_or_default();
        let (fits, was) = match (before, after) {
            (Real::Absent, _) => (op == "create", "was not there before"),
            (_, Real::Absent) => (matches!(op, "delete" | "move"), "was gone after"),
            _ => (matches!(op, "update" | "overwrite"), "was there before and after"),
        };
        // A patch may add a file as if there were none; of the file that was there nothing may be said then.
        let is_silent = ["before_range", "before_hash", "file_before_hash"].iter().all(|key| !event.has(key));
        if fits {
            found.count("ops");
        } else if op == "create" && is_silent && scene.subject.declares("edit.add_over_file") {
            found.gap("edit.add_over_file");
        } else {
            found.fail(scene.at(made.side, event), format!("op `{op}` on {}, but the file {was}", made.file));
        }
    }
}

fn ranges(scene: &Scene<'_>, found: &mut Found, real: &RealEdit, made: &Made<'_>) {
    let (before, after) = (real.real_before(), real.real_after());
    let is_unknown = [("before", before == Real::Unknown), ("after", after == Real::Unknown)];
    let (before, after) = (before.text().map(Lines::new), after.text().map(Lines::new));
    for ((part, is_unknown), text) in is_unknown.into_iter().zip([&before, &after]) {
        for event in &made.events {
            if is_unknown || (event.text("op") == Some("move") && part == "after") {
                continue;
            }
            match spans::refuted(event, part, text.as_ref()) {
                Some(why) => found.fail(scene.at(made.side, event), format!("{}: {why}", made.file)),
                None if event.range(&format!("{part}_range")).is_some() => found.count("ranges"),
                None => {}
            }
        }
    }
    let (Some(before), Some(after), Some(first)) = (&before, &after, made.events.first()) else { return };
    match spans::explain(&made.events, before, after) {
        Some(true) => found.count("edits that rebuild the file"),
        Some(false) => found.fail(scene.at(made.side, first), format!("outside of its spans {} changed too", made.file)),
        None => found.note("edits without all ranges"),
    }
}

/// A snippet hashes a text that the call gives, or whole lines of the file.
pub fn snippets(scene: &Scene<'_>, found: &mut Found) {
    for made in made(scene) {
        let Some(real) = scene.truth.edits.iter().find(|real| is_of(real, &made)) else { continue };
        let calls: Vec<&Call> = made.roots.iter().filter_map(|root| scene.call(root)).collect();
        let known: Vec<String> =
            calls.iter().flat_map(|call| spans::strings(&call.args)).map(|text| Hash::of_text(text).to_string()).collect();
        for event in made.events.iter().filter(|event| event.text("basis") == Some("snippet")) {
            for (key, text) in [("before_hash", real.before.as_deref()), ("after_hash", real.after.as_deref())] {
                let Some(said) = event.text(key) else { continue };
                let in_call = known.iter().any(|hash| hash == said) || calls.iter().any(|call| spans::in_patch(&call.args, said));
                if in_call || text.is_some_and(|text| spans::in_text(text, said)) {
                    found.count("snippets");
                } else {
                    found.fail(scene.at(made.side, event), format!("{key} is of no text of the call or of {}", made.file));
                }
            }
        }
    }
}

/// Every edit of an edit tool that the harness logged is there, with what the log lets be known.
pub fn all(scene: &Scene<'_>, found: &mut Found) {
    let made = made(scene);
    for real in &scene.truth.edits {
        let of_real = of(&made, real);
        let calls: Vec<&Call> =
            real.call_ids.iter().filter_map(|id| scene.call(id)).filter(|call| edits(scene, call, &real.file)).collect();
        for call in &calls {
            if !scene.logs_call(&call.id) {
                found.note("edits not logged");
                continue;
            }
            if scene.subject.declares("edit.after_error") && has_failed(scene, call) {
                found.gap("edit.after_error");
                continue;
            }
            let of_call: Vec<(&Side, &Event)> = of_real
                .iter()
                .filter(|made| made.roots.contains(&call.id.as_str()))
                .flat_map(|made| made.events.iter().map(|event| (made.side, *event)))
                .collect();
            if of_call.is_empty() {
                found.fail(scene.recording.name(), format!("no code.edit of {} ({}) on {}", call.id, call.tool, real.file));
                continue;
            }
            found.count("edits");
            let is_only = real.call_ids.len() == 1 && calls.len() == 1;
            in_full(scene, found, real, call, &of_call, is_only);
        }
    }
}

/// True for a call that the log says has failed. It may have written the file before.
fn has_failed(scene: &Scene<'_>, call: &Call) -> bool {
    let is_of = |result: &Event| result.text("call_id") == Some(call.id.as_str()) && result.text("status") == Some("error");
    scene.events(Kind::ToolResult).any(|(_, result)| is_of(result))
}

/// What the log states of an edit stands in it: its lines, and the hash of a file that the call's record holds whole.
fn in_full(scene: &Scene<'_>, found: &mut Found, real: &RealEdit, call: &Call, events: &[(&Side, &Event)], is_only: bool) {
    for (side, event) in events.iter().filter(|(_, event)| event.text("basis") == Some("snippet")) {
        match lacks_lines_by_a_gap(scene, side, event) {
            Some(code) => found.gap(code),
            None => found.fail(scene.at(side, event), format!("{} is a snippet, and no gap says why it has no lines", real.file)),
        }
    }
    let is_bare = events.iter().any(|(_, event)| event.text("basis") == Some("snippet") || event.has("confirmed"));
    if is_bare || !is_only || !call.is_main() || events.iter().any(|(_, event)| event.text("op") == Some("move")) {
        return;
    }
    for (key, text) in [("file_before_hash", real.before.as_deref()), ("file_after_hash", real.after.as_deref())] {
        let Some(text) = text.filter(|text| text.lines().count() > 1 && is_lossless(text)) else { continue };
        let whole = text.replace("\r\n", "\n");
        let Some((side, event)) = events.iter().find(|(_, event)| !event.has(key)) else { continue };
        if !scene.sides.iter().any(|side| side.logs_together(&call.id, &whole)) {
            continue;
        }
        if let Some(code) = lacks_hash_by_a_gap(scene, side, event) {
            found.gap(code);
        } else {
            found.fail(scene.at(side, event), format!("no {key} of {}, but the call's record holds the whole file", real.file));
        }
    }
}

/// True for the calls of tools that edit files, of this file.
fn edits(scene: &Scene<'_>, call: &Call, file: &str) -> bool {
    let args = call.args.to_string();
    let kind = scene.said_call(&call.id).and_then(|event| event.text("kind"));
    if args.contains("*** Begin Patch") {
        let named = |directive: &str| args.contains(&format!("{directive}{file}"));
        return ["Update File: ", "Add File: ", "Delete File: ", "Move to: "].into_iter().any(named);
    }
    matches!(kind, Some("edit" | "write" | "delete")) && args.contains(file)
}
