//! Member tables: each can be read, and names only rules, fields of the tape and record types that exist.

use engram_core::descriptor::{AdapterDescriptor, OmissionRule};
use engram_core::event_schema::{ENVELOPE_HEAD, ENVELOPE_TAIL, EVENTS, Field, FieldType};
use engram_core::members::{FateKind, MemberTable, RecordShape, ValueForms};

use crate::report::{self, Tally};
use crate::tree::registered;

/// The violations of an adapter's table. An adapter without a table has none.
fn violations(descriptor: &AdapterDescriptor) -> (Tally, Vec<String>) {
    let (mut tally, mut wrong) = (Tally::default(), Vec::new());
    let Some(source) = descriptor.members else {
        return (tally, wrong);
    };
    match source.table() {
        Err(error) => wrong.push(error.to_string()),
        Ok(table) => {
            tally.count_many("rows", table.rows().len() as u64);
            tally.count_many("rules", table.rules().len() as u64);
            tally.count_many("records", table.records().len() as u64);
            wrong.extend(fate_violations(table, descriptor));
            wrong.extend(rule_violations(table, descriptor));
            wrong.extend(record_violations(table, descriptor));
        }
    }
    (
        tally,
        wrong
            .into_iter()
            .map(|problem| format!("{}: {problem}", descriptor.adapter_id))
            .collect(),
    )
}

/// The fields of the tape with costs.
const COSTS: [&str; 2] = ["meta.usage.cost_usd", "meta.session.cost_total_usd"];

/// What becomes of values: rules and fields of the tape that do not exist, and costs that may be negative.
fn fate_violations(table: &MemberTable, descriptor: &AdapterDescriptor) -> Vec<String> {
    let mut wrong = Vec::new();
    for fate in table.rows().iter().filter_map(|row| row.fate.as_ref()) {
        let problem = match fate.kind {
            FateKind::Tape => None,
            FateKind::As => (!is_field(&fate.name))
                .then(|| format!("`as {}`: a tape has no such field", fate.name)),
            FateKind::Omit | FateKind::Opaque => {
                let is_rule = has_rule(table, &fate.name) || descriptor.rule(&fate.name).is_some();
                (!is_rule).then(|| format!("there is no rule `{}`", fate.name))
            }
        };
        wrong.extend(problem);
    }
    let amount = ValueForms::named("amount").expect("it is a form");
    let costs = table.rows().iter().filter(|row| {
        row.fate
            .as_ref()
            .is_some_and(|fate| COSTS.contains(&&*fate.name))
    });
    wrong.extend(
        costs
            .filter(|row| row.forms != amount)
            .map(|row| format!("a cost is {}, not amount", row.expected())),
    );
    wrong.sort_unstable();
    wrong.dedup();
    wrong
}

fn has_rule(table: &MemberTable, name: &str) -> bool {
    table.rules().iter().any(|rule| rule.name == name)
}

/// Rules of the table that no row uses, or that the descriptor has too.
fn rule_violations(table: &MemberTable, descriptor: &AdapterDescriptor) -> Vec<String> {
    let is_used = |name: &str| {
        table
            .rows()
            .iter()
            .filter_map(|row| row.fate.as_ref())
            .any(|fate| &*fate.name == name)
    };
    let problem = |name: &str| match (is_used(name), descriptor.rule(name)) {
        (false, _) => Some(format!("no row uses the rule `{name}`")),
        (_, Some(_)) => Some(format!("the descriptor has a rule `{name}` too")),
        _ => None,
    };
    table
        .rules()
        .iter()
        .filter_map(|rule| problem(&rule.name))
        .collect()
}

/// Record types of the descriptor's rules that the table lacks, and records that give events but name no kinds.
fn record_violations(table: &MemberTable, descriptor: &AdapterDescriptor) -> Vec<String> {
    let has_record = |rule: &&OmissionRule| {
        table
            .records()
            .iter()
            .any(|shape| matches(rule.record, &shape.name))
    };
    let rules = descriptor
        .omission_rules
        .iter()
        .filter(|rule| !rule.record.is_empty());
    let mut wrong: Vec<String> = rules
        .filter(|rule| !has_record(rule))
        .map(|rule| {
            format!(
                "the rule `{}` is for records `{}`, which the table does not have",
                rule.rule, rule.record
            )
        })
        .collect();
    let is_omitted = |shape: &RecordShape| {
        descriptor
            .omission_rules
            .iter()
            .any(|rule| rule.outcome().is_some() && matches(rule.record, &shape.name))
    };
    let without_kinds = table
        .records()
        .iter()
        .filter(|shape| shape.feeds.is_empty() && !is_omitted(shape));
    wrong.extend(without_kinds.map(|shape| {
        format!(
            "the record `{}` gives events of no kind, and no rule omits it",
            shape.name
        )
    }));
    wrong
}

/// True if a record type of the table can be one that the pattern of a rule means.
fn matches(pattern: &str, record: &str) -> bool {
    let beginning = |text: &str| text.split('*').next().unwrap_or_default().to_owned();
    let (of_rule, of_table) = (beginning(pattern), beginning(record));
    match (pattern.contains('*'), record.contains('*')) {
        (false, false) => pattern == record,
        (false, true) => pattern.starts_with(&of_table),
        (true, false) => record.starts_with(&of_rule),
        (true, true) => of_rule.starts_with(&of_table) || of_table.starts_with(&of_rule),
    }
}

/// True if events have this field: `t`, `source.agent_id`, `tool.result.status`, `meta.usage.tokens.input`; or for an event as such.
fn is_field(name: &str) -> bool {
    let of_event = EVENTS.iter().any(|event| {
        let kind = match event.label {
            Some(label) => format!("{}.{label}", event.kind.as_str()),
            None => event.kind.as_str().to_owned(),
        };
        name.strip_prefix(&kind).is_some_and(|rest| {
            rest.is_empty()
                || rest
                    .strip_prefix('.')
                    .is_some_and(|path| has(event.fields, path))
        })
    });
    of_event || has(ENVELOPE_HEAD, name) || has(ENVELOPE_TAIL, name)
}

/// True if an object with these fields has this one, or one of the objects in it.
fn has(fields: &[Field], path: &str) -> bool {
    fields
        .iter()
        .any(|field| match path.strip_prefix(field.key) {
            Some("") => true,
            Some(rest) => rest
                .strip_prefix('.')
                .is_some_and(|path| has(members(&field.field_type), path)),
            None => false,
        })
}

/// The members of an object, or of the objects in a list.
fn members(field_type: &FieldType) -> &'static [Field] {
    match field_type {
        FieldType::Object(fields) => fields,
        FieldType::List(item, _) => members(item),
        _ => &[],
    }
}

#[test]
fn every_member_table_names_only_what_exists() {
    let (mut total, mut found) = (Tally::default(), Vec::new());
    for entry in registered().adapters() {
        let (tally, violations) = violations(&entry.descriptor());
        total.add(&tally);
        found.extend(violations);
    }
    report::print("members", format!("{total}; {} findings", found.len()));
    report::assert_none("members", &found);
}

#[cfg(test)]
mod broken {
    use engram_core::members::MemberSource;

    use super::*;

    const RULES: &[OmissionRule] = &[
        OmissionRule::bookkeeping("state", "state", "state"),
        OmissionRule::opaque("key", "message", "/key", "a key"),
    ];

    /// The violations of a table under a descriptor with [`RULES`].
    fn of(table: &'static str) -> Vec<String> {
        let parts: &'static [&'static str] = Box::leak(Box::new([table]));
        let members = Some(&*Box::leak(Box::new(MemberSource::new(parts))));
        let entry = registered()
            .adapters()
            .next()
            .expect("an adapter is registered");
        violations(&AdapterDescriptor {
            adapter_id: "x",
            members,
            omission_rules: RULES,
            ..entry.descriptor()
        })
        .1
    }

    const GOOD: &str = "rule ui  Screen.\nrecord state omit state\n  a string\nrecord message feeds msg.in\n  key string opaque key\n  b \
                        string omit ui\n  c number as meta.usage.tokens.input\n  d string as source.agent_id\n  e any free as msg.in\n";

    #[test]
    fn each_violation_is_found() {
        assert_eq!(of(GOOD), Vec::<String>::new());
        for (good, bad, finding) in [
            ("omit ui", "omit none", "there is no rule `none`"),
            ("opaque key", "opaque lock", "there is no rule `lock`"),
            (
                "usage.tokens.input",
                "usage.cost_usd",
                "a cost is number, not amount",
            ),
            ("omit ui", "tape", "no row uses the rule `ui`"),
            (
                "rule ui  Screen.",
                "rule key  Key.\nrule ui  Screen.",
                "the descriptor has a rule `key` too",
            ),
            (
                "tokens.input",
                "tokens.inputs",
                "`as meta.usage.tokens.inputs`: a tape has no such field",
            ),
            (
                "source.agent_id",
                "source.agent",
                "`as source.agent`: a tape has no such field",
            ),
            (
                "as msg.in",
                "as msg.inner",
                "`as msg.inner`: a tape has no such field",
            ),
            (
                "record state omit state",
                "record other omit state",
                "the rule `state` is for records `state`, which the table does not have",
            ),
            (
                " feeds msg.in",
                "",
                "the record `message` gives events of no kind, and no rule omits it",
            ),
            (
                "key string",
                "key text",
                "member table, line 5: `text` is no JSON type",
            ),
        ] {
            assert!(GOOD.contains(good), "{good}");
            let table: &'static str = Box::leak(GOOD.replace(good, bad).into_boxed_str());
            assert!(
                of(table).contains(&format!("x: {finding}")),
                "{finding}: {:?}",
                of(table)
            );
        }
    }

    #[test]
    fn patterns_of_rules_and_of_the_table_meet() {
        for (pattern, record, expected) in [
            ("a/*", "a/b", true),
            ("a/b", "a/*", true),
            ("a/*", "a/b*", true),
            ("a/b", "a/c", false),
            ("b*", "a/*", false),
        ] {
            assert_eq!(matches(pattern, record), expected, "{pattern} {record}");
        }
    }
}
