//! The member table: every member of every record, from the texts in `members/`.

use engram_core::members::MemberSource;

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
