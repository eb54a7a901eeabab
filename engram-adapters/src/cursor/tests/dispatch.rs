//! The record tables agree with the omission rules.

use crate::cursor::descriptor::{DESCRIPTOR, omitted};
use crate::cursor::transcript::{document, jsonl};
use crate::cursor::{chat_store, hooks, ide, run_store, sdk_messages, stream};

/// The record types of all tables, and whether they are omitted.
pub(super) fn all_rows() -> Vec<(&'static str, bool)> {
    let messages = sdk_messages::rows().into_iter().chain(run_store::record_rows()).map(|record| (record, false)).collect();
    [jsonl::rows(), document::rows(), stream::rows(), hooks::rows(), ide::rows(), chat_store::rows(), messages].concat()
}

#[test]
fn every_omitted_record_type_has_a_rule() {
    let rows = all_rows();
    assert!(rows.contains(&("workspaceOpen", true)) && rows.contains(&("assistant", false)));
    for (record, _) in rows.into_iter().filter(|(_, is_omitted)| *is_omitted) {
        assert!(omitted(record).is_ok(), "{record}");
    }
    assert!(omitted("a type without a rule").is_err());
}

#[test]
fn every_rule_for_whole_records_has_a_row() {
    let rows = all_rows();
    for rule in DESCRIPTOR.omission_rules.iter().filter(|rule| rule.outcome().is_some()) {
        // `session*` is for all rows that begin so; `result/success` is for one subtype of the row `result`.
        let is_for = |row: &str| match rule.record.strip_suffix('*') {
            Some(beginning) => row.starts_with(beginning),
            None => row == rule.record || rule.record.strip_prefix(row).is_some_and(|rest| rest.starts_with('/')),
        };
        assert!(rows.iter().any(|(row, _)| is_for(row)), "{}: {}", rule.rule, rule.record);
    }
}
