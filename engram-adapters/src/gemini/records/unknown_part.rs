//! Parts of an unknown type.

use engram_core::emit::{Emitter, Fault, Pointer};

use crate::shared::value::Value;

/// Keeps the n-th part of `content`, which is of an unknown type. Its name is that of its first member.
#[cold]
pub(super) fn emit_unknown_part(content: Value<'_>, n: usize, path: &str, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let Some(part) = content.elements().nth(n) else { return Ok(()) };
    let name = part.members().next().map_or("part", |(name, _)| name);
    out.unrecognized_block(name, part.raw(), Pointer::Item(path, n))
}
