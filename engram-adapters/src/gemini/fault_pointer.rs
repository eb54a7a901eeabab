//! Pointers of faults, from the root of the line or document.

use engram_core::emit::{Fault, Pointer};

/// The place of a field (`/name`) of the value at `pointer`.
pub(super) fn field_of(pointer: Pointer<'_>, field: &str) -> String {
    match pointer {
        Pointer::Root => field.to_owned(),
        Pointer::At(path) => format!("{path}{field}"),
        Pointer::Member(path, segment) => format!("{path}/{segment}{field}"),
        Pointer::Item(list, n) => format!("{list}/{n}{field}"),
        Pointer::Field(list, n, rest) => format!("{list}/{n}{rest}{field}"),
    }
}

/// The fault of a field, whose pointer begins at the value at `pointer`, with a pointer that begins at the root.
pub(super) fn from_root(pointer: Pointer<'_>, fault: Fault) -> Fault {
    match fault {
        Fault::Malformed { pointer: field, expected, found } => Fault::Malformed { pointer: field_of(pointer, &field), expected, found },
        other => other,
    }
}
