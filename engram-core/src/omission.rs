//! Why a tape may leave something out.

use serde::Serialize;

/// Why omitting a record or field loses nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Omission {
    /// The record repeats another record.
    Duplicate,
    /// The record is a piece of a text. All pieces are joined at the first one; the ledger counts the others as `duplicate`.
    Piece,
    /// The record is UI or cache state without content.
    Bookkeeping,
    /// A field of a mapped record that the tape represents in another form.
    Field,
    /// A field without readable content: a signature, encrypted text, base64.
    Opaque,
}
