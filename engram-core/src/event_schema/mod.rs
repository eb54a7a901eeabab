//! The structure of every event. The checker, the JSON Schema and the documentation are generated from it.

pub(crate) mod field;
mod table;

pub use self::field::{Empty, EventSchema, Field, FieldType, Presence};
pub use self::table::{ENVELOPE_HEAD, ENVELOPE_TAIL, EVENTS};
use crate::event::Kind;

/// The schema of a kind of event. For `meta`, `label` chooses the label; for other kinds it is `None`.
pub fn of(kind: Kind, label: Option<&str>) -> Option<&'static EventSchema> {
    EVENTS
        .iter()
        .find(|event| event.kind == kind && event.label == label)
}
