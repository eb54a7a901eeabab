//! The structure of every event. The checker, the JSON Schema and the documentation are generated from it.

mod field;
mod table;

pub use self::field::{Empty, EventSchema, Field, FieldType, Presence};
pub use self::table::{ENVELOPE_HEAD, ENVELOPE_TAIL, EVENTS};
use crate::event::Kind;

/// The field_type of a kind, or of a label of `meta`.
pub fn of(kind: Kind, label: Option<&str>) -> Option<&'static EventSchema> {
    EVENTS.iter().find(|event| event.kind == kind && event.label == label)
}
