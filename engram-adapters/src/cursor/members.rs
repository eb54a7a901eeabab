//! The check of a record against the member table.

use engram_core::emit::Pointer;

use crate::cursor::steps::Out;
use crate::shared::value::Value;

/// Compares a record with the table.
pub(super) fn check(record: &str, value: Value<'_>, out: &mut Out<'_, '_>) {
    out.check_members(record, value, Pointer::Root, None);
}

/// As [`check`], for a part of a record, or a record whose type has several forms: `chosen` is the case of its selector that begins with
/// `@`.
pub(super) fn check_chosen(
    record: &str,
    value: Value<'_>,
    at: Pointer<'_>,
    chosen: &str,
    out: &mut Out<'_, '_>,
) {
    out.check_members(record, value, at, Some(chosen));
}

/// What distinguishes the forms of the records `user` and `assistant`.
pub(super) mod form {
    /// A line of a transcript.
    pub(in crate::cursor) const TRANSCRIPT: &str = "transcript";
    /// A message of a transcript that is one document.
    pub(in crate::cursor) const DOCUMENT: &str = "document";
    /// A line of a capture.
    pub(in crate::cursor) const CAPTURE: &str = "capture";
    /// A message of the SDK.
    pub(in crate::cursor) const MESSAGES: &str = "messages";
}
