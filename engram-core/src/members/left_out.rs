//! Lines of a table that say which records or members are left out.

use super::model::TableOmission;
use super::syntax::{Line, MemberTableError, Word};
use crate::omission::Omission;

/// Words as one text.
pub(super) fn text_of(words: &[Word<'_>]) -> String {
    words
        .iter()
        .map(|word| word.text.as_ref())
        .collect::<Vec<_>>()
        .join(" ")
}

/// A rule that leaves out records or members: its kind, name, record type, the pointer of members, and the reason.
pub(super) fn omission(line: &Line<'_>) -> Result<TableOmission, MemberTableError> {
    let [_, kind, rule, record, rest @ ..] = &line.words[..] else {
        return Err(line.error("a rule has a kind, a name and a record type"));
    };
    let (omission, has_pointer) = match kind.text.as_ref() {
        "duplicate" => (Omission::Duplicate, false),
        "piece" => (Omission::Piece, false),
        "bookkeeping" => (Omission::Bookkeeping, false),
        "field" => (Omission::Field, true),
        "opaque" => (Omission::Opaque, true),
        other => return Err(line.error(format!("`{other}` is no kind of omission"))),
    };
    let (pointer, reason) = rest.split_at(usize::from(has_pointer).min(rest.len()));
    if reason.is_empty() || pointer.iter().any(|pointer| !pointer.text.starts_with('/')) {
        return Err(line.error("a rule has a reason, and one about members a pointer"));
    }
    let pointer = pointer.first().map(|pointer| pointer.text.to_string());
    Ok(TableOmission {
        rule: rule.text.to_string(),
        omission,
        record: record.text.to_string(),
        pointer,
        reason: text_of(reason),
    })
}
