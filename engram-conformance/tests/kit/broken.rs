//! Exactly one check finds each broken adapter; without this check the adapter passes.

use std::io::Write;
use std::path::Path;

use engram_adapters::{Registry, conformance};
use engram_conformance::{CHECKS, Capabilities, Open, Options, Session, run};
use engram_core::adapter::{Evidence, Identity, SessionInit, StreamAdapter};
use engram_core::coverage::Grade;
use engram_core::descriptor::AdapterDescriptor;
use engram_core::emit::Fault;
use engram_core::head::Head;
use engram_core::json::{StructuralIndex, parse};
use engram_core::ledger::Outcome;
use engram_core::policy::Policy;
use engram_core::steps::{Check, Conversion, Emitter, Record};
use rayon::prelude::*;

use crate::adapter::{Changed, Real, all_fixtures, certify, fixtures};
use crate::breaks::{Break, EDIT, breaks};
use crate::claims;
use crate::tape::Tape;
use crate::usage;

/// Checks whose defects other checks also find. Each has a test of its own, below or in `members.rs`.
const OVERLAPPING: &[&str] = &[
    "store.not_empty",
    "session.detected",
    "scenario.declared",
    AUDIT,
    "prompt.hook",
    "sessions.apart",
    "home.once",
    "parent.record",
    "call.parallel",
    "result.all",
    "edit.files",
    "replay.marked",
];
/// The check that finds every lost value, and so also what other checks exist for.
const AUDIT: &str = "leaf.audited";

fn failing(broken: &Break, changed: &Changed, without: Option<&str>) -> Vec<&'static str> {
    let mut recordings = if broken.fixtures.is_empty() {
        all_fixtures()
    } else {
        fixtures(broken.fixtures)
    };
    usage::add_counts(&mut recordings);
    let report = certify(changed, &recordings, broken.with_stream, without);
    report
        .failing()
        .into_iter()
        .map(|(_, check)| check)
        .filter(|check| *check != AUDIT)
        .collect()
}

/// What is wrong with the kit's verdict on a broken adapter. What the unchanged adapter fails too proves nothing.
fn problem(broken: &Break) -> Option<String> {
    let found_by = |without| -> Vec<&str> {
        let mut found = failing(broken, &broken.adapter(), without);
        if found.iter().any(|id| *id != broken.check) {
            let unchanged = Changed::unchanged(broken.adapter, broken.policy);
            let open = failing(broken, &unchanged, None);
            found.retain(|id| *id == broken.check || !open.contains(id));
        }
        found
    };
    let found = found_by(None);
    if found != [broken.check] {
        return Some(format!(
            "{}: found by {found:?}, not by {} only",
            broken.name, broken.check
        ));
    }
    let others = found_by(Some(broken.check));
    (!others.is_empty()).then(|| {
        format!(
            "{}: without {} found by {others:?}",
            broken.name, broken.check
        )
    })
}

#[test]
fn exactly_one_check_finds_each_broken_adapter() {
    // Bypasses the test runner's capture, so that the log of a passing run lists the broken adapters.
    let breaks = breaks();
    let names: String = breaks
        .iter()
        .map(|broken| format!("{:20} {}\n", broken.check, broken.name))
        .collect();
    let _ = std::io::stderr().write_all(names.as_bytes());
    let problems: Vec<String> = breaks
        .par_iter()
        .filter_map(|broken| problem(broken))
        .collect();
    assert!(
        problems.is_empty(),
        "{} of {} broken adapters:\n{}",
        problems.len(),
        breaks.len(),
        problems.join("\n")
    );
    assert!(breaks.len() >= 20);
}

#[test]
fn unchanged_adapters_pass() {
    let wrong: Vec<String> = breaks()
        .into_par_iter()
        .filter(|broken| !broken.fixtures.is_empty())
        .filter_map(|broken| {
            let found = failing(
                broken,
                &Changed::unchanged(broken.adapter, broken.policy),
                None,
            );
            (!found.is_empty()).then(|| format!("{}: {found:?}", broken.name))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_check_finds_a_broken_adapter() {
    let breaks = breaks();
    let without: Vec<&str> = CHECKS
        .iter()
        .map(|check| check.id)
        .filter(|id| !breaks.iter().any(|broken| broken.check == *id))
        .collect();
    assert_eq!(without, OVERLAPPING);
}

/// True if a check fails for a changed adapter.
fn is_found_by(changed: &Changed, id: &str) -> bool {
    conformance::with_capabilities(&Registry::builtin(), changed.real.entry, |capabilities| {
        let options = Options {
            check: Some(id),
            capabilities: Capabilities {
                stream: None,
                ..capabilities
            },
            ..Options::default()
        };
        !run(changed, &fixtures(EDIT), &options).passes()
    })
}

fn with_events(change: fn(&mut Tape)) -> Changed {
    let mut changed = Changed::unchanged("claude-code", Policy::Permissive);
    changed.convert = Box::new(move |real: &Real, input| {
        let mut tape = Tape::of(&real.convert(input)?);
        change(&mut tape);
        Ok(tape.sealed())
    });
    changed
}

#[test]
fn missing_result_and_result_without_a_call_are_found() {
    let lost = with_events(|tape| {
        let at = tape
            .find(&["\"k\":\"tool.result\"", "\"tool\":\"Grep\""])
            .unwrap_or_default();
        tape.remove(at);
    });
    assert!(is_found_by(&lost, "result.all"));
    let of_none = with_events(|tape| {
        for at in tape.all(&["\"k\":\"tool.result\"", "\"tool\":\"Grep\""]) {
            let id = tape.field(at, "call_id").unwrap_or_default().to_owned();
            tape.replace(
                at,
                &format!("\"call_id\":{id}"),
                "\"call_id\":\"toolu_none\"",
            );
        }
    });
    assert!(is_found_by(&of_none, "call.parallel"));
}

#[test]
fn result_of_another_call_is_found() {
    let other = with_events(|tape| {
        let calls = tape.all(&["\"k\":\"tool.call\""]);
        let at = tape
            .find(&["\"k\":\"tool.result\"", "\"tool\":\"Grep\""])
            .unwrap_or_default();
        let (parent, first) = (
            tape.field(at, "parent").unwrap_or_default().to_owned(),
            tape.field(calls[0], "seq").unwrap_or_default().to_owned(),
        );
        tape.replace(
            at,
            &format!("\"parent\":{parent}"),
            &format!("\"parent\":{first}"),
        );
    });
    assert!(is_found_by(&other, "parent.record"));
}

#[test]
fn lost_file_of_a_command_is_found() {
    let find = |changed: &Changed| {
        certify(
            changed,
            &fixtures(&["claude-code/2.1.329/b_edit"]),
            false,
            None,
        )
        .failing()
    };
    let lost = with_events(|tape| {
        let at = tape
            .find(&["\"k\":\"code.edit\"", "bybash.txt"])
            .unwrap_or_default();
        tape.remove(at);
    });
    assert!(find(&lost).contains(&("claude-code", "edit.files")));
    assert!(!find(&with_events(|_| {})).contains(&("claude-code", "edit.files")));
}

#[test]
fn words_of_a_hook_by_a_person_are_found() {
    let find = |changed: &Changed| {
        certify(
            changed,
            &fixtures(&["claude-code/2.1.331/n_hooks2"]),
            false,
            None,
        )
        .failing()
    };
    let by_person = with_events(|tape| {
        if let Some(at) = tape.find(&["\"label\":\"system\"", "\"name\":\"PostToolUse:"]) {
            let text = tape.field(at, "text").unwrap_or_default().to_owned();
            let fields = format!("\"role\":\"user\",\"by\":\"person\",\"text\":{text}");
            let message = crate::breaks::without_record(tape, at, "msg.in", &fields);
            tape.insert(at + 1, message);
        }
    });
    assert!(find(&by_person).contains(&("claude-code", "prompt.hook")));
    assert!(!find(&with_events(|_| {})).contains(&("claude-code", "prompt.hook")));
}

/// OpenCode, where the schema that lacks the input tokens does not declare it, and another one of the recording does.
fn with_gap_of_another_schema(descriptor: AdapterDescriptor) -> AdapterDescriptor {
    claims::with_revision(descriptor, |mut revision| {
        match revision.schema {
            "part-records" => revision.coverage.meta = Grade::Full,
            "counted-lines" => revision.coverage.meta = Grade::Partial(&["usage.cached_input"]),
            _ => {}
        }
        revision
    })
}

#[test]
fn gap_that_only_another_schema_of_the_recording_declares_is_found() {
    let mut changed = Changed::unchanged("opencode", Policy::Permissive);
    let find = |changed: &Changed| {
        certify(
            changed,
            &fixtures(&["opencode/1.18.34/upgrade"]),
            false,
            None,
        )
        .failing()
    };
    assert!(!find(&changed).contains(&("opencode", "claim.open")));
    changed.descriptor = with_gap_of_another_schema;
    assert!(find(&changed).contains(&("opencode", "claim.open")));
}

#[test]
fn repeated_history_without_a_mark_is_found() {
    let mut unmarked = with_events(|tape| {
        for at in tape.all(&[",\"replay\":true"]) {
            tape.replace(at, ",\"replay\":true", "");
        }
    });
    let find = |changed: &Changed| {
        certify(
            changed,
            &fixtures(&["claude-code/1.0.0/f_fatal"]),
            false,
            None,
        )
        .failing()
    };
    assert!(find(&unmarked).contains(&("claude-code", "replay.marked")));
    assert!(find(&unmarked).contains(&("claude-code", "home.once")));
    unmarked.convert = Box::new(Real::convert);
    assert!(!find(&unmarked).contains(&("claude-code", "replay.marked")));
    assert!(!find(&unmarked).contains(&("claude-code", "home.once")));
}

/// Finds no session anywhere.
struct Nothing;

impl Open for Nothing {
    fn sessions(&self, _recording: &Path) -> Result<Vec<Session>, String> {
        Ok(Vec::new())
    }
}

#[test]
fn store_in_which_nothing_is_found_is_noticed() {
    let real = Changed::unchanged("claude-code", Policy::Permissive);
    conformance::with_capabilities(&Registry::builtin(), real.real.entry, |capabilities| {
        let capabilities = Capabilities {
            open: &Nothing,
            stream: None,
            ..capabilities
        };
        let report = run(
            &real,
            &fixtures(EDIT),
            &Options {
                capabilities,
                ..Options::default()
            },
        );
        assert_eq!(
            report.failing(),
            [
                ("claude-code", "session.converts"),
                ("claude-code", "store.not_empty")
            ]
        );
    });
}

#[test]
fn declared_scenarios_must_equal_the_shown_ones() {
    let real = Changed::unchanged("claude-code", Policy::Permissive);
    for declared in [&["text_response", "mcp_tool"][..], &["text_response"]] {
        let mut recordings = fixtures(EDIT);
        recordings.is_declared = true;
        recordings.all[0].declared = Some(declared.iter().copied().collect());
        conformance::with_capabilities(&Registry::builtin(), real.real.entry, |capabilities| {
            let report = run(
                &real,
                &recordings,
                &Options {
                    check: Some("scenario.declared"),
                    capabilities,
                    ..Options::default()
                },
            );
            assert!(!report.passes(), "{report}");
        });
    }
}

/// An adapter that detects nothing.
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

    fn conversion(&self, init: &SessionInit<'_>) -> Box<dyn Conversion> {
        self.0.conversion(init)
    }
}

#[test]
fn adapter_that_detects_no_session_is_found() {
    let real = Changed::unchanged("claude-code", Policy::Permissive);
    let blind = Blind(real.real.adapter());
    conformance::with_capabilities(&Registry::builtin(), real.real.entry, |capabilities| {
        let capabilities = Capabilities {
            stream: Some(&blind),
            ..capabilities
        };
        let report = run(
            &blind,
            &fixtures(EDIT),
            &Options {
                check: Some("session.detected"),
                capabilities,
                ..Options::default()
            },
        );
        assert_eq!(report.failing(), [("claude-code", "session.detected")]);
    });
}

/// An adapter that takes all records of a capture for those of the session that it begins with.
struct Mixing(&'static dyn StreamAdapter);

impl StreamAdapter for Mixing {
    fn describe(&self) -> &'static AdapterDescriptor {
        self.0.describe()
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        self.0.probe(head)
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        self.0.identify(head)
    }

    fn conversion(&self, init: &SessionInit<'_>) -> Box<dyn Conversion> {
        Box::new(Mixed {
            inner: self.0.conversion(init),
            first: None,
        })
    }
}

/// The conversion of one capture.
struct Mixed {
    inner: Box<dyn Conversion>,
    first: Option<String>,
}

impl Mixed {
    /// The record with the id of the first session.
    fn mixed(&mut self, record: &Record<'_>) -> String {
        let text = record.value.raw();
        let of = serde_json::from_str::<serde_json::Value>(text).unwrap();
        let id = of["sessionID"].as_str().unwrap_or_default();
        let first = self.first.get_or_insert_with(|| id.to_owned());
        text.replace(id, first)
    }
}

impl Conversion for Mixed {
    fn sessions_are_apart(&self) -> bool {
        true
    }

    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        let (text, mut index) = (self.mixed(record), StructuralIndex::default());
        self.inner.check(
            &Record {
                value: parse(&text, &mut index)?,
                ..*record
            },
            check,
        )
    }

    fn decide(&mut self) {
        self.inner.decide();
    }

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        let (text, mut index) = (self.mixed(record), StructuralIndex::default());
        self.inner.emit(
            &Record {
                value: parse(&text, &mut index).unwrap(),
                ..*record
            },
            out,
        )
    }
}

#[test]
fn adapter_that_mixes_sessions_is_found() {
    let real = Changed::unchanged("opencode", Policy::Permissive);
    let mixing = Mixing(real.real.adapter());
    conformance::with_capabilities(&Registry::builtin(), real.real.entry, |capabilities| {
        for (stream, failing) in [
            (&mixing as &dyn StreamAdapter, true),
            (real.real.adapter(), false),
        ] {
            let capabilities = Capabilities {
                stream: Some(stream),
                ..capabilities
            };
            let captures = fixtures(&["opencode/1.18.34/resume"]);
            let report = run(
                &real,
                &captures,
                &Options {
                    check: Some("sessions.apart"),
                    capabilities,
                    ..Options::default()
                },
            );
            assert_eq!(!report.passes(), failing, "{report}");
        }
    });
}
