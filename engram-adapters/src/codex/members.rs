//! The member table: every member of every record, from the texts in `members/`.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::members::MemberSource;

use crate::shared::value::Value;

/// See the texts.
pub(super) static MEMBERS: MemberSource = MemberSource::new(&[
    include_str!("members/shapes.members"),
    include_str!("members/session.members"),
    include_str!("members/items.members"),
    include_str!("members/events.members"),
    include_str!("members/agents.members"),
    include_str!("members/completed.members"),
    include_str!("members/exec.members"),
    include_str!("members/printed_events.members"),
]);

/// Compares a value with the members that the table has for this type.
///
/// # Errors
/// [`Fault::Fatal`] if the sink fails.
pub(super) fn check(record: &str, value: Value<'_>, at: Pointer<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    out.check_members(record, value, at, &|_| None)
}
