//! The chain of a file: its states as the edits of the tapes tell them, one after the other, from the real first to the real last.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::event::Kind;
use engram_core::hash::Hash;

use super::RealEdit;
use super::edits::in_project;
use crate::gaps::lacks_hash_by_a_gap;
use crate::outcome::Found;
use crate::scene::{Scene, Side};
use crate::tape::Event;

/// One change of a file, in the order in which changes happened: what truth has of it, and the edits that tell of it.
struct Step<'s> {
    real: &'s RealEdit,
    told: Vec<(&'s Side, &'s Event)>,
}

/// A state of a file between two changes.
#[derive(Clone, PartialEq)]
enum State {
    /// Its hash.
    Known(String),
    /// A named gap stands between: any state may follow.
    Lost,
    /// Truth does not hold it, and no edit told it.
    Untold,
}

/// Every state that an edit starts from is the one that the edit before it left, and the ends are the real ones.
pub fn holds(scene: &Scene<'_>, found: &mut Found) {
    for (file, steps) in files(scene) {
        let told = steps.iter().flat_map(|step| &step.told).filter(|(_, event)| has_hash(event)).count();
        // One edit is no chain: its two hashes are held against the real file where edits are.
        if told < 2 {
            found.note("files with fewer than two edits that hash the file");
            continue;
        }
        let mut chain = Chain { scene, found, file, gaps: BTreeSet::new(), is_cut: false, is_broken: false };
        let first = steps.first().map_or(State::Untold, |step| real_state(step.real.before.as_deref()));
        let last = steps.iter().fold(first, |state, step| chain.step(state, step));
        chain.end(&last, steps.last());
        let (gaps, is_cut, is_broken) = (chain.gaps, chain.is_cut, chain.is_broken);
        match (is_broken, gaps.is_empty()) {
            (true, _) => {}
            (false, true) if is_cut => found.count("files with a change that is not logged"),
            (false, true) => found.count("files unbroken from first to last"),
            (false, false) => {
                found.note("files with a named gap between");
                gaps.iter().for_each(|code| found.gap(code));
            }
        }
    }
}

/// The changes of every file, in order, each with the edits of its calls.
fn files<'s>(scene: &'s Scene<'_>) -> BTreeMap<&'s str, Vec<Step<'s>>> {
    let mut files: BTreeMap<&str, Vec<Step<'_>>> = BTreeMap::new();
    for real in scene.truth.edits.iter().filter(|real| !real.is_reverted()) {
        let is_of = |side: &Side, event: &Event| {
            in_project(event.text("file").unwrap_or_default()) == real.file
                && side.roots(event).iter().any(|id| real.call_ids.iter().any(|of| of == id))
        };
        let mut told: Vec<(&Side, &Event)> = scene.own_events(Kind::CodeEdit).filter(|(side, event)| is_of(side, event)).collect();
        // Calls of one turn may lie on tapes of several agents.
        told.sort_by_key(|(_, event)| event.text("t").unwrap_or_default());
        files.entry(&real.file).or_default().push(Step { real, told });
    }
    files
}

fn has_hash(event: &Event) -> bool {
    event.has("file_before_hash") || event.has("file_after_hash")
}

fn real_state(text: Option<&str>) -> State {
    text.map_or(State::Untold, |text| State::Known(Hash::of_text(text).to_string()))
}

struct Chain<'c, 's> {
    scene: &'c Scene<'s>,
    found: &'c mut Found,
    file: &'c str,
    gaps: BTreeSet<&'static str>,
    /// A change stands between that is not logged.
    is_cut: bool,
    is_broken: bool,
}

impl Chain<'_, '_> {
    /// The state that a change leaves.
    fn step(&mut self, before: State, step: &Step<'_>) -> State {
        let mut state = before;
        // Spans of one call share its two file hashes.
        let mut of_call: Option<(&str, State)> = None;
        for (side, event) in &step.told {
            let call = event.text("call_id").unwrap_or_default();
            if of_call.as_ref().is_none_or(|(known, _)| *known != call) {
                of_call = Some((call, state.clone()));
            }
            let from = of_call.as_ref().map_or(State::Untold, |(_, from)| from.clone());
            if !has_hash(event) {
                state = self.without_hash(side, event);
                continue;
            }
            if let (Some(said), State::Known(known)) = (event.text("file_before_hash"), &from)
                && said != known
            {
                self.breaks(side, event, "starts from another state than the change before it left");
            }
            state = match event.text("file_after_hash") {
                Some(said) => State::Known(said.to_owned()),
                None if event.text("op") == Some("delete") || event.text("op") == Some("move") => State::Untold,
                None => self.without_hash(side, event),
            };
        }
        if step.told.is_empty() {
            return self.without_edit(step);
        }
        // A call of the same turn that left no edit, a shell command, may have changed the file as well.
        let told: BTreeSet<&str> = step.told.iter().flat_map(|(side, event)| side.roots(event)).collect();
        let others = step.real.call_ids.iter().any(|id| !told.contains(id.as_str()));
        if others && state != real_state(step.real.after.as_deref()) { self.gap("edit.shell") } else { state }
    }

    /// A change that no edit tells: by a shell command, or not logged.
    fn without_edit(&mut self, step: &Step<'_>) -> State {
        let kinds: Vec<Option<&str>> =
            step.real.call_ids.iter().filter_map(|id| self.scene.said_call(id)).map(|call| call.text("kind")).collect();
        if kinds.contains(&Some("execute")) {
            return self.gap("edit.shell");
        }
        self.is_cut = true;
        State::Lost
    }

    /// An edit that does not hash its file: a declared gap says why.
    fn without_hash(&mut self, side: &Side, event: &Event) -> State {
        match lacks_hash_by_a_gap(self.scene, side, event) {
            Some(code) => self.gap(code),
            None => {
                self.breaks(side, event, "the edit does not hash the file, and no gap says why");
                State::Lost
            }
        }
    }

    fn gap(&mut self, code: &'static str) -> State {
        if !self.scene.subject.declares(code) {
            self.is_broken = true;
            self.found.fail(self.scene.recording.name(), format!("{}: the gap {code} stands between, which is not declared", self.file));
        }
        self.gaps.insert(code);
        State::Lost
    }

    /// The last state is the real one.
    fn end(&mut self, last: &State, step: Option<&Step<'_>>) {
        let Some(step) = step else { return };
        if let (State::Known(told), State::Known(real), Some((side, event))) =
            (last, real_state(step.real.after.as_deref()), step.told.last())
            && *told != real
        {
            self.breaks(side, event, "the last state told is not the real one");
        }
    }

    fn breaks(&mut self, side: &Side, event: &Event, why: &str) {
        self.is_broken = true;
        self.found.fail(self.scene.at(side, event), format!("{}: {why}", self.file));
    }
}
