//! Each way not to notice a member is found.

use engram_conformance::{Outcome, Verdict};

use crate::toy::{Defect, LOG, Toy, document, table};

fn known(toy: &Toy, source: &str) -> Outcome {
    toy.outcome("member.known", source)
}

/// The failures of an adapter that uses one table and declares another.
fn failures(used: (&str, &str), declared: (&str, &str), defect: Defect) -> Vec<String> {
    let outcome = known(
        &Toy::new(table(used.0, used.1), table(declared.0, declared.1), defect),
        LOG,
    );
    outcome
        .examples
        .iter()
        .map(|example| format!("{} {}", example.place, example.what))
        .collect()
}

const SAME: (&str, &str) = ("rule", "rule");

#[test]
fn every_change_of_a_declared_member_is_noticed() {
    for (source, renames, types) in [(LOG, 23, 44), (&document(), 24, 48)] {
        let outcome = known(
            &Toy::new(
                table("rule", "rule"),
                table("rule", "rule"),
                Defect::Nothing,
            ),
            source,
        );
        assert_eq!(outcome.verdict, Verdict::Pass, "{outcome:?}");
        let count = |what: &str| outcome.notes.get(what).copied().unwrap_or_default();
        // A key of a map keeps its name, and user data keep their type.
        assert_eq!(
            (count("renames"), count("renames noticed")),
            (renames, renames)
        );
        assert_eq!(
            (count("type changes"), count("type changes noticed")),
            (types, types)
        );
    }
}

#[test]
fn a_sample_is_bounded_and_says_so() {
    let more: String = (0..30)
        .map(|n| format!("{{\"type\":\"say\",\"text\":\"{n}\",\"n{n}\":1}}\n"))
        .collect();
    let rows: String = (0..30)
        .map(|n| format!("  n{n}?  number  omit ui.state\n"))
        .collect();
    let members = table("  mood?", &format!("{rows}  mood?"));
    let outcome = known(
        &Toy::new(members, members, Defect::Nothing),
        &format!("{LOG}{more}"),
    );
    let count = |what: &str| outcome.notes.get(what).copied().unwrap_or_default();
    assert_eq!(
        (
            count("renames") + count("type changes"),
            count("changes beyond the size of the sample")
        ),
        (80, 77),
        "{outcome:?}"
    );
}

#[test]
fn an_adapter_without_a_table_or_with_a_broken_one_fails() {
    let outcome = known(&Toy::new(None, None, Defect::Nothing), LOG);
    assert_eq!(
        (outcome.verdict, outcome.examples[0].what.as_str()),
        (Verdict::Fail, "no member table")
    );
    let found = failures(
        SAME,
        ("record toy", "record toy\n  x text"),
        Defect::Nothing,
    );
    assert!(found[0].contains("is no JSON type"), "{found:?}");
}

#[test]
fn a_member_that_the_table_misses_is_found() {
    let without = ("  mood?    string  omit ui.state\n", "");
    assert_eq!(
        failures(SAME, without, Defect::Nothing),
        ["toy/1.0.0/main/log.jsonl:2 `say` /mood: the table does not name it"]
    );
    let without = ("record wrap", "record other");
    assert_eq!(
        failures(SAME, without, Defect::Nothing),
        ["toy/1.0.0/main/log.jsonl:6 `wrap` : the table has no record `wrap`"]
    );
}

#[test]
fn an_adapter_that_accepts_another_name_is_found() {
    let lax = (
        "  parts?   array\n    []     object\n      text string  omit ui.state\n",
        "  parts?   array\n    []     any free omit ui.state\n",
    );
    let found = failures(lax, SAME, Defect::Nothing);
    assert!(
        found.contains(
            &"toy/1.0.0/main/log.jsonl:3 `say` /parts/*/text renamed: unnoticed".to_owned()
        ),
        "{found:?}"
    );
}

#[test]
fn an_adapter_that_accepts_another_type_is_found() {
    let found = failures(
        ("  screen   bool", "  screen   bool|string"),
        SAME,
        Defect::Nothing,
    );
    assert_eq!(
        found,
        ["toy/1.0.0/main/log.jsonl:7 `state` /screen changed to \"changed\": unnoticed"]
    );
    let found = failures(
        ("  tool     string", "  tool     string|number"),
        SAME,
        Defect::Nothing,
    );
    assert_eq!(
        found,
        [
            "toy/1.0.0/main/log.jsonl:4 `call` /tool changed to 7: unnoticed, and the tape is another one"
        ]
    );
}

#[test]
fn an_adapter_that_accepts_null_is_found() {
    for (strict, lax, what) in [
        (
            "  screen   bool",
            "  screen   bool|null",
            "7 `state` /screen changed to null: unnoticed",
        ),
        (
            "    input  count ",
            "    input  count|null ",
            "2 `say` /tokens/input changed to null: unnoticed",
        ),
    ] {
        assert_eq!(
            failures((strict, lax), SAME, Defect::Nothing),
            [format!("toy/1.0.0/main/log.jsonl:{what}")]
        );
    }
}

#[test]
fn an_adapter_that_accepts_another_form_is_found() {
    for (strict, lax, member) in [
        (
            "    input  count ",
            "    input  number",
            ":2 `say` /tokens/input",
        ),
        (
            "    input  count ",
            "    input  integer|string ",
            ":2 `say` /tokens/input",
        ),
        (
            "      code integer",
            "      code number",
            ":4 `call` /result/code",
        ),
        ("  at       time  ", "  at       string", ":1 `toy` /at"),
    ] {
        let found = failures((strict, lax), SAME, Defect::Nothing);
        let of_member = format!("toy/1.0.0/main/log.jsonl{member} changed to ");
        assert!(
            !found.is_empty() && found.iter().all(|found| found.starts_with(&of_member)),
            "{found:?}"
        );
    }
}

#[test]
fn records_that_the_adapter_does_not_check_are_found() {
    let found = failures(SAME, SAME, Defect::ChecksRecordsWithEvents);
    assert!(
        found.contains(&"toy/1.0.0/main/log.jsonl:7 `state` /back renamed: unnoticed".to_owned()),
        "{found:?}"
    );
    assert_eq!(found.len(), 5);
}

#[test]
fn an_adapter_that_accepts_under_strict_policy_what_it_reports_is_found() {
    let found = failures(SAME, SAME, Defect::ChecksUnderPermissivePolicy);
    assert!(
        !found.is_empty()
            && found
                .iter()
                .all(|found| found.ends_with("not refused by strict policy")),
        "{found:?}"
    );
}

#[test]
fn a_panic_is_not_a_notice() {
    let found = failures(SAME, SAME, Defect::Panics);
    assert_eq!(
        found,
        ["toy/1.0.0/main/log.jsonl:7 `state` /screen changed to \"changed\": the adapter panics"]
    );
}

/// What `leaf.audited` finds, for a table and a log with one text in place of another.
fn leaves(table_change: (&str, &str), from: &str, to: &str) -> Outcome {
    assert!(LOG.contains(from), "{from}");
    let members = table(table_change.0, table_change.1);
    Toy::new(members, members, Defect::Nothing).outcome("leaf.audited", &LOG.replacen(from, to, 1))
}

#[test]
fn every_value_is_audited() {
    let outcome = leaves(SAME, "", "");
    assert_eq!(
        (outcome.verdict, outcome.notes.get("values")),
        (Verdict::Pass, Some(&28)),
        "{outcome:?}"
    );
}

#[test]
fn a_value_that_is_lost_is_found() {
    let outcome = leaves(
        (
            "    input  count   omit ui.state",
            "    input  count   tape",
        ),
        "\"input\":3",
        "\"input\":31",
    );
    assert_eq!(
        (outcome.failures, outcome.examples[0].what.as_str()),
        (1, "lost: say /tokens/input `31`"),
        "{outcome:?}"
    );
    let outcome = Toy::new(None, None, Defect::Nothing).outcome("leaf.audited", LOG);
    assert_eq!(
        (outcome.verdict, outcome.examples[0].what.as_str()),
        (Verdict::Fail, "no member table")
    );
}
