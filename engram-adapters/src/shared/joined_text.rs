//! A text that a log has in pieces. The pieces are joined as JSON, without being decoded.

use engram_core::emit::{Emitter, KeptText};

/// A JSON string without its quotation marks.
pub fn unquote(token: &str) -> &str {
    token.strip_prefix('"').and_then(|token| token.strip_suffix('"')).unwrap_or(token)
}

/// The pieces of a text so far. Their memory is part of what a conversion may keep ([`Emitter::keep`]).
#[derive(Debug)]
pub struct JoinedText {
    /// A JSON string without its last quotation mark.
    open: KeptText,
}

impl JoinedText {
    /// Begins a text. `None` if there is no memory left.
    pub fn begin(out: &Emitter<'_>) -> Option<JoinedText> {
        Some(JoinedText { open: out.keep("\"")? })
    }

    /// Adds a piece, as JSON without quotation marks. False, and nothing is added, if there is no memory left for it.
    pub fn push(&mut self, piece: &str) -> bool {
        self.open.push_str(piece)
    }

    /// The pieces so far, as JSON without quotation marks.
    pub fn as_str(&self) -> &str {
        self.open.get(1..).unwrap_or_default()
    }

    /// The whole text as a JSON string. It does not count as kept any more.
    pub fn into_token(self) -> String {
        let mut token = self.open.into_string();
        token.reserve_exact(1);
        token.push('"');
        token
    }
}
