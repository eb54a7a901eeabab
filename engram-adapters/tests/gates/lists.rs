//! The lists that a harness's own reader has (`matrix/lists/`): each type of a record in them is one that the adapter knows, or stands here
//! with the reason why it does not.

use std::collections::BTreeSet;

use engram_core::members::MemberTable;

use crate::report::{self, Tally};
use crate::tree::{files, registered, root};

/// A list that names types of records: the harness, the list, and the record type that an entry means.
type List = (&'static str, &'static str, fn(&str) -> String);

const LISTS: &[List] = &[
    ("claude-code", "line_types", str::to_owned),
    ("codex", "schema:ResponseItem", |entry| {
        format!("response_item/{entry}")
    }),
    // The schema is that of the app server, which writes the names of items in another case than a rollout.
    ("codex", "schema:ThreadItem", |entry| {
        format!(
            "event_msg/item_completed/{}{}",
            entry[..1].to_uppercase(),
            &entry[1..]
        )
    }),
];

/// Types that a list names and no adapter knows: no recording and no public log has shown their members.
const WITHOUT_A_LOG: &[(&str, &str)] = &[
    ("claude-code", "api-request-resumed"),
    ("claude-code", "attribution-snapshot"),
    ("claude-code", "data-flow-incomplete"),
    ("claude-code", "data-flow-records"),
    ("claude-code", "derived-from"),
    ("claude-code", "dev-mods"),
    ("claude-code", "ended-by-model"),
    ("claude-code", "history-suppression"),
    ("claude-code", "isolation-latch"),
    ("claude-code", "marble-origami-commit"),
    ("claude-code", "marble-origami-reset"),
    ("claude-code", "marble-origami-snapshot"),
    ("claude-code", "memory-mode"),
    ("claude-code", "observer-ref"),
    ("claude-code", "resume-head-vouch"),
    ("claude-code", "session-owner"),
    ("claude-code", "speculation-accept"),
    ("codex", "response_item/compaction"),
    ("codex", "response_item/compaction_summary"),
    ("codex", "response_item/compaction_trigger"),
    ("codex", "response_item/configuration_update"),
    ("codex", "response_item/context_compaction"),
    // The reader's name for what it does not know.
    ("codex", "response_item/other"),
    ("codex", "event_msg/item_completed/CodeReview"),
    ("codex", "event_msg/item_completed/TodoList"),
];

/// The record types that one file of lists of a harness names.
fn types(harness: &str, text: &str) -> Vec<String> {
    let mut types = Vec::new();
    for line in text.lines().skip(1) {
        let mut columns = line.split('\t');
        let (Some(list), Some(entry)) = (
            columns.next(),
            columns.next().filter(|entry| !entry.is_empty()),
        ) else {
            continue;
        };
        types.extend(
            LISTS
                .iter()
                .filter(|known| (known.0, known.1) == (harness, list))
                .map(|known| known.2(entry)),
        );
    }
    types
}

/// True for a type that has a row of its own, or a row for each of its subtypes.
fn is_known(table: &MemberTable, name: &str) -> bool {
    let is_subtype = |record: &str| {
        record
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    table.record(name).is_some()
        || table
            .records()
            .iter()
            .any(|record| is_subtype(&record.name))
}

/// What is wrong with the types that the lists of a harness name: unknown ones, and exceptions that are known or that no list names.
fn violations(
    harness: &str,
    types: &BTreeSet<String>,
    is_known: impl Fn(&str) -> bool,
    exceptions: &[(&str, &str)],
) -> Vec<String> {
    let exceptions: BTreeSet<&str> = exceptions
        .iter()
        .filter(|exception| exception.0 == harness)
        .map(|exception| exception.1)
        .collect();
    let unknown = types
        .iter()
        .filter(|name| !is_known(name) && !exceptions.contains(name.as_str()));
    let mut wrong: Vec<String> = unknown
        .map(|name| format!("{harness}: a list names `{name}`, which the adapter does not know"))
        .collect();
    let stale = exceptions
        .iter()
        .filter(|name| is_known(name) || !types.contains(**name));
    wrong.extend(stale.map(|name| format!("{harness}: `{name}` is no exception any more")));
    wrong
}

#[test]
fn every_type_that_a_list_names_is_known() {
    let (mut tally, mut wrong) = (Tally::default(), Vec::new());
    for registration in registered().adapters() {
        let descriptor = registration.descriptor();
        let Some(Ok(table)) = descriptor.members.map(|members| members.table()) else {
            continue;
        };
        let directory = root().join("matrix/lists").join(descriptor.adapter_id);
        if !directory.is_dir() {
            continue;
        }
        let mut named = BTreeSet::new();
        for path in files(&directory) {
            let text = std::fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            named.extend(types(descriptor.adapter_id, &text));
        }
        tally.count_many("types in lists", named.len() as u64);
        wrong.extend(violations(
            descriptor.adapter_id,
            &named,
            |name| is_known(table, name),
            WITHOUT_A_LOG,
        ));
    }
    report::print("lists", &tally);
    report::assert_none("lists", &wrong);
    for (harness, list, _) in LISTS {
        assert!(
            root().join("matrix/lists").join(harness).is_dir(),
            "no lists of {harness} for {list}"
        );
    }
}

#[test]
fn an_unknown_type_and_a_stale_exception_are_found() {
    let text = "list\tentry\tvalue\nschema:ResponseItem\tmessage\trole\nschema:ThreadItem\tuserMessage\tid\nschema:Account\tapiKey\t\n";
    let named: BTreeSet<String> = types("codex", text).into_iter().collect();
    assert_eq!(
        named.iter().collect::<Vec<_>>(),
        [
            "event_msg/item_completed/UserMessage",
            "response_item/message"
        ]
    );
    let of = |known: &str, exceptions: &[(&str, &str)]| {
        violations("codex", &named, |name| name.starts_with(known), exceptions).len()
    };
    assert_eq!(of("", &[]), 0);
    assert_eq!(of("response_item/", &[]), 1);
    assert_eq!(
        of(
            "response_item/",
            &[("codex", "event_msg/item_completed/UserMessage")]
        ),
        0
    );
    assert_eq!(
        (
            of("", &[("codex", "response_item/message")]),
            of("", &[("codex", "response_item/gone")])
        ),
        (1, 1)
    );
}
