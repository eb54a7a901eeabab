//! Accounting: nothing of a source is lost in silence, and no rule of omission stands idle or hides too much.

use std::collections::{BTreeMap, BTreeSet};

use engram_adapters::REGISTRY;
use engram_core::audit::audit;
use engram_core::descriptor::{AdapterDescriptor, Omission, OmissionRule};
use rayon::prelude::*;
use serde_json::Value;

use crate::report::{self, Tally};
use crate::tape::{events, tape_of};
use crate::tree::{Artifact, Corpus, Form, fixtures};

/// Field rules that would omit all that a record says, whatever it is.
const TOO_WIDE: &[&str] = &["/**", "/message/**", "/payload/**", "/toolUseResult/**", "/payload/item/**", "/attachment/**"];
/// Rules of which there is no recording, each with the unit test that shows it: the file and the test's name.
const UNIT_TESTED: &[(&str, &str, &str)] =
    &[("history.appended_again", "engram-adapters/src/claude_code/tests.rs", "a_message_that_is_appended_again_is_a_duplicate")];
/// The most examples of one artifact that are reported.
const SHOWN: usize = 4;

/// What an audit saw: the rules that were at work, and what it finds wrong.
#[derive(Default)]
struct Seen {
    rules: BTreeSet<(String, String)>,
    tally: Tally,
    findings: Vec<String>,
}

/// Audits one tape. Rules are collected as pairs of name and record type; the type is empty for rules of fields.
fn of_tape(name: &str, source: &[u8], tape: &str, descriptor: &AdapterDescriptor) -> Seen {
    let mut seen = Seen::default();
    let report = match audit(source, tape, descriptor) {
        Ok(report) => report,
        Err(error) => {
            seen.findings.push(format!("{name}: {error}"));
            return seen;
        }
    };
    seen.tally.count_many("records", report.records);
    seen.tally.count_many("bytes of text in tapes", report.in_tape.bytes);
    seen.tally.count_many("omitted by rules", report.omitted.values().map(|amount| amount.bytes).sum());
    seen.tally.count_many("opaque", report.opaque.values().map(|amount| amount.bytes).sum());
    seen.tally.count_many("left over", report.left_over.bytes);
    seen.rules.extend(report.omitted.keys().chain(report.opaque.keys()).map(|rule| (rule.clone(), String::new())));
    if report.left_over.strings > 0 {
        let shown: Vec<String> = report
            .examples
            .iter()
            .take(SHOWN)
            .map(|left| format!("line {} {} {} `{}`", left.line, left.record, left.pointer, left.excerpt))
            .collect();
        seen.findings.push(format!("{name}: {} strings left over: {}", report.left_over.strings, shown.join("; ")));
    }
    seen.findings.extend(report.disagreements.iter().take(SHOWN).map(|differs| format!("{name}: {differs}")));
    let stop = events(tape).pop().map(|event| event.0).unwrap_or_default();
    for row in stop["ledger"]["omitted"].as_array().into_iter().flatten() {
        let (record, rule) = (row["type"].as_str().unwrap_or_default(), row["rule"].as_str().unwrap_or_default());
        match descriptor.rule(rule) {
            Some(_) => drop(seen.rules.insert((rule.to_owned(), record.to_owned()))),
            None => seen.findings.push(format!("{name}: the ledger names the rule `{rule}`, which the descriptor does not have")),
        }
    }
    seen
}

fn of_corpus(corpus: &'static Corpus) -> BTreeMap<&'static str, Seen> {
    let artifacts: Vec<&'static Artifact> = corpus.artifacts().collect();
    let audited: Vec<(&'static str, Seen)> = artifacts
        .par_iter()
        .map(|artifact| {
            let descriptor = artifact.entry.adapter.describe();
            let seen = match tape_of(artifact) {
                Ok(tape) => of_tape(&artifact.full_name(), &artifact.bytes, &tape.text, descriptor),
                Err(error) => Seen { findings: vec![error], ..Seen::default() },
            };
            (descriptor.adapter_id, seen)
        })
        .collect();
    let mut total: BTreeMap<&'static str, Seen> = BTreeMap::new();
    for (adapter, seen) in audited {
        let sum = total.entry(adapter).or_default();
        sum.rules.extend(seen.rules);
        sum.tally.add(&seen.tally);
        sum.findings.extend(seen.findings);
    }
    total
}

/// True when `*` in a pattern may stand for any run of characters.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text
            .strip_prefix(start)
            .is_some_and(|text| (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| matches(rest, &text[at..]))),
    }
}

/// True when the unit test that shows a rule is there.
fn is_unit_tested(rule: &str) -> bool {
    UNIT_TESTED.iter().filter(|(tested, _, _)| *tested == rule).any(|(_, file, test)| {
        let source = std::fs::read_to_string(crate::tree::root().join(file)).unwrap_or_default();
        source.contains(&format!("fn {test}()"))
    })
}

/// Rules that no fixture needs, and rules that would hide anything.
fn idle_or_wide(descriptor: &AdapterDescriptor, used: &BTreeSet<(String, String)>) -> Vec<String> {
    let mut findings = Vec::new();
    for rule in descriptor.omission_rules {
        let is_used = used.iter().any(|(name, record)| name == rule.rule && (rule.pointer.is_some() || matches(rule.record, record)));
        if !is_used && !is_unit_tested(rule.rule) {
            findings.push(format!("no fixture needs the rule {} of {}", rule.rule, rule.record));
        }
        if rule.omission == Omission::Field && rule.pointer.is_some_and(|pointer| TOO_WIDE.contains(&pointer)) {
            findings.push(format!("the rule {} of {} hides whatever is at {}", rule.rule, rule.record, rule.pointer.unwrap_or_default()));
        }
        if rule.reason.is_empty() {
            findings.push(format!("the rule {} gives no reason", rule.rule));
        }
    }
    findings
}

#[test]
fn nothing_is_lost_in_silence() {
    report::run("accounting", |corpus| {
        let mut total = (Tally::default(), Vec::new());
        for seen in of_corpus(corpus).into_values() {
            total.0.add(&seen.tally);
            total.1.extend(seen.findings);
        }
        total
    });
}

#[test]
fn no_rule_is_idle_or_hides_too_much() {
    let mut seen = of_corpus(fixtures());
    let mut findings = Vec::new();
    for entry in REGISTRY {
        let descriptor = entry.adapter.describe();
        let used = seen.remove(descriptor.adapter_id).unwrap_or_default().rules;
        findings.extend(idle_or_wide(descriptor, &used).into_iter().map(|what| format!("{}: {what}", descriptor.adapter_id)));
    }
    report::none("accounting", &findings);
}

#[test]
fn a_lost_event_and_an_unnamed_rule_are_findings() {
    let kept = fixtures().artifacts().filter(|artifact| artifact.form == Form::Kept);
    let artifact = kept.max_by_key(|artifact| artifact.name.ends_with(".jsonl")).expect("there are fixtures");
    let descriptor = artifact.entry.adapter.describe();
    let tape = &tape_of(artifact).expect("it converts").text;
    let good = of_tape("good", &artifact.bytes, tape, descriptor);
    assert_eq!(good.findings, Vec::<String>::new());
    let without: String =
        tape.lines().filter(|line| !line.contains("\"k\":\"msg.in\"")).fold(String::new(), |text, line| text + line + "\n");
    assert!(!of_tape("lossy", &artifact.bytes, &without, descriptor).findings.is_empty(), "a prompt is lost");
    let mut ruleless = *descriptor;
    ruleless.omission_rules = &[];
    let rows: Vec<Value> = good.rules.iter().filter(|(_, record)| !record.is_empty()).map(|(rule, _)| Value::from(rule.as_str())).collect();
    assert!(rows.is_empty() || !of_tape("ruleless", &artifact.bytes, tape, &ruleless).findings.is_empty());
}

#[test]
fn an_idle_or_wide_rule_is_a_finding() {
    let rule = |rule, omission, record, pointer| OmissionRule { rule, omission, record, pointer, reason: "for the test" };
    let rules: &'static [OmissionRule] = Box::leak(Box::new([
        rule("used", Omission::Duplicate, "event/*", None),
        rule("idle", Omission::Bookkeeping, "state", None),
        rule("wide", Omission::Field, "user", Some("/toolUseResult/**")),
    ]));
    let descriptor = AdapterDescriptor { omission_rules: rules, ..*REGISTRY[0].adapter.describe() };
    let used = BTreeSet::from([("used".to_owned(), "event/x".to_owned()), ("wide".to_owned(), String::new())]);
    let found = idle_or_wide(&descriptor, &used);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("rule idle") && found[1].contains("rule wide"));
    assert!(matches("a/*/c*", "a/b/cd") && !matches("a/*/c", "a/b/cd"));
}
