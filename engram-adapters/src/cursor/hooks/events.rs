//! Events that several steps have: notices, and token counts.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Meta, Tokens, Usage};

use crate::cursor::fields::text_or_json;
use crate::cursor::readers::Payload;
use crate::cursor::steps::Out;
use crate::shared::value::{Field, count};

/// Emits a notice with this name and text.
pub(super) fn emit_notice(
    name: &str,
    value: Field<'_>,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    out.emit(Meta::system(name, text_or_json(value)), Pointer::Root)?;
    Ok(())
}

/// Emits the tokens of a payload. True if it has any.
pub(super) fn emit_usage(payload: &Payload<'_>, out: &mut Out<'_, '_>) -> Result<bool, Fault> {
    let tokens = Tokens {
        input: count(payload.input_tokens()),
        output: count(payload.output_tokens()),
        cache_read: count(payload.cache_read_tokens()),
        cache_write: count(payload.cache_write_tokens()),
        ..Tokens::default()
    };
    let has_tokens = [
        tokens.input,
        tokens.output,
        tokens.cache_read,
        tokens.cache_write,
    ]
    .iter()
    .any(Option::is_some);
    if has_tokens {
        out.emit(
            Meta::Usage(Usage {
                tokens,
                ..Usage::default()
            }),
            Pointer::Root,
        )?;
    }
    Ok(has_tokens)
}
