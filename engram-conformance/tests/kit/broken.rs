//! Every broken adapter is found by exactly the check that exists for it, and without that check it passes.

use std::io::Write;

use engram_conformance::{CHECKS, Offered, Options, registry, run};
use engram_core::adapter::{Evidence, Identity, Session, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::head::Head;
use engram_core::policy::Policy;
use rayon::prelude::*;

use crate::adapter::{Changed, Real, all_fixtures, certify, fixtures};
use crate::breaks::{BREAKS, Break, EDIT};
use crate::tape::Tape;

/// Checks that no broken adapter fails alone: what they find, other checks find too. Each has a test below.
const NEVER_ALONE: &[&str] = &["session.detected", "scenario.declared", "call.parallel", "result.all"];

fn failing(broken: &Break, changed: &Changed, without: Option<&str>) -> Vec<&'static str> {
    let recordings = if broken.fixtures.is_empty() { all_fixtures() } else { fixtures(broken.fixtures) };
    let report = certify(changed, &recordings, broken.with_stream, without);
    report.failing().into_iter().map(|(_, check)| check).collect()
}

/// What is wrong with how the kit meets a broken adapter.
fn wrong(broken: &Break) -> Option<String> {
    let found = failing(broken, &broken.adapter(), None);
    if found != [broken.check] {
        return Some(format!("{}: found by {found:?}, not by {} alone", broken.name, broken.check));
    }
    let let_through = failing(broken, &broken.adapter(), Some(broken.check));
    (!let_through.is_empty()).then(|| format!("{}: without {} found by {let_through:?}", broken.name, broken.check))
}

#[test]
fn each_is_found_by_the_check_that_exists_for_it() {
    // Past the test runner's capture: a kit that passes says what it was tried on.
    let names: String = BREAKS.iter().map(|broken| format!("{:20} {}\n", broken.check, broken.name)).collect();
    let _ = std::io::stderr().write_all(names.as_bytes());
    let wrong: Vec<String> = BREAKS.par_iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{} of {} broken adapters:\n{}", wrong.len(), BREAKS.len(), wrong.join("\n"));
    assert!(BREAKS.len() >= 20);
}

#[test]
fn what_is_not_broken_passes() {
    let wrong: Vec<String> = BREAKS
        .par_iter()
        .filter(|broken| !broken.fixtures.is_empty())
        .filter_map(|broken| {
            let found = failing(broken, &Changed::nothing(broken.adapter, broken.policy), None);
            (!found.is_empty()).then(|| format!("{}: {found:?}", broken.name))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_check_has_an_adapter_that_it_finds() {
    let without: Vec<&str> = CHECKS.iter().map(|check| check.id).filter(|id| !BREAKS.iter().any(|broken| broken.check == *id)).collect();
    assert_eq!(without, NEVER_ALONE);
}

/// The checks among these that fail for a changed adapter.
fn found_by(changed: &Changed, id: &str) -> bool {
    registry::offered(changed.real.entry, |offered| {
        let options = Options { check: Some(id), offered: Offered { stream: None, ..offered }, ..Options::default() };
        !run(changed, &fixtures(EDIT), &options).holds()
    })
}

fn with_events(change: fn(&mut Tape)) -> Changed {
    let mut changed = Changed::nothing("claude-code", Policy::Permissive);
    changed.convert = Box::new(move |real: &Real, input| {
        let mut tape = Tape::of(&real.convert(input)?);
        change(&mut tape);
        Ok(tape.sealed())
    });
    changed
}

#[test]
fn a_lost_result_and_a_result_of_no_call_are_found() {
    let lost = with_events(|tape| {
        let at = tape.find(&["\"k\":\"tool.result\"", "\"tool\":\"Grep\""]).unwrap_or_default();
        tape.remove(at);
    });
    assert!(found_by(&lost, "result.all"));
    let of_none = with_events(|tape| {
        for at in tape.all(&["\"k\":\"tool.result\"", "\"tool\":\"Grep\""]) {
            let id = tape.field(at, "call_id").unwrap_or_default().to_owned();
            tape.replace(at, &format!("\"call_id\":{id}"), "\"call_id\":\"toolu_none\"");
        }
    });
    assert!(found_by(&of_none, "call.parallel"));
}

#[test]
fn a_scenario_that_is_declared_and_not_shown_is_found_and_the_other_way_round() {
    let real = Changed::nothing("claude-code", Policy::Permissive);
    for declared in [&["text_response", "mcp_tool"][..], &["text_response"]] {
        let mut recordings = fixtures(EDIT);
        recordings.is_declared = true;
        recordings.all[0].declared = Some(declared.iter().copied().collect());
        registry::offered(real.real.entry, |offered| {
            let report = run(&real, &recordings, &Options { check: Some("scenario.declared"), offered, ..Options::default() });
            assert!(!report.holds(), "{report}");
        });
    }
}

/// An adapter that recognises nothing.
struct Blind(&'static dyn StreamAdapter);

impl StreamAdapter for Blind {
    fn describe(&self) -> &'static AdapterDescriptor {
        self.0.describe()
    }

    fn probe(&self, _head: &Head<'_>) -> Option<Evidence> {
        None
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        self.0.identify(head)
    }

    fn session(&self, init: &SessionInit<'_>) -> Box<dyn Session> {
        self.0.session(init)
    }
}

#[test]
fn an_adapter_that_does_not_recognise_its_sessions_is_found() {
    let real = Changed::nothing("claude-code", Policy::Permissive);
    let blind = Blind(real.real.entry.adapter);
    registry::offered(real.real.entry, |offered| {
        let offered = Offered { stream: Some(&blind), ..offered };
        let report = run(&blind, &fixtures(EDIT), &Options { check: Some("session.detected"), offered, ..Options::default() });
        assert_eq!(report.failing(), [("claude-code", "session.detected")]);
    });
}
