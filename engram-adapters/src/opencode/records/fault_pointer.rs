//! Faults of a nested record: their pointers begin at the document's root.

use engram_core::emit::{Fault, Pointer};

/// The fault of a field, whose pointer begins at the record at `record`, with a pointer that begins at the root.
pub(super) fn from_root(record: Pointer<'_>, fault: Fault) -> Fault {
    match fault {
        Fault::Malformed { pointer, expected, found } => Fault::Malformed { pointer: format!("{record}{pointer}"), expected, found },
        other => other,
    }
}
