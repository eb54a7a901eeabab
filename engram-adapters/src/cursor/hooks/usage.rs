//! The token counts of answers and ended turns.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Meta, Tokens, Usage};

use super::schema::Payload;
use crate::shared::value::number;

/// Emits the tokens of a payload. True if it has any.
pub(super) fn emit_usage(payload: &Payload<'_>, out: &mut Emitter) -> Result<bool, Fault> {
    let tokens = Tokens {
        input: number(payload.input_tokens()),
        output: number(payload.output_tokens()),
        cache_read: number(payload.cache_read_tokens()),
        cache_write: number(payload.cache_write_tokens()),
        ..Tokens::default()
    };
    let has_tokens = [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write].iter().any(Option::is_some);
    if has_tokens {
        out.emit(Meta::Usage(Usage { tokens, ..Usage::default() }), Pointer::Root)?;
    }
    Ok(has_tokens)
}
