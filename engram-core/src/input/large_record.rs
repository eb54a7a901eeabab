//! Large records in canonical form. They are rewritten in place, because a rewritten copy would need as much memory again.

use serde::de::IgnoredAny;

use crate::hash::Hash;
use crate::text::canonical::{has_other_escapes, rewrite_escapes};

/// A record of this size is rewritten in place. A smaller one is rewritten by whoever reads it.
pub(super) const LARGE_RECORD_BYTES: usize = 8 << 20;

/// A record as it was before it was rewritten.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OriginalRecord {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its hash.
    pub hash: Hash,
    /// Its hash without white space around it.
    pub trimmed_hash: Hash,
}

impl OriginalRecord {
    fn of(record: &[u8]) -> Self {
        let hash = Hash::of_bytes(record);
        let trimmed = record.trim_ascii();
        let trimmed_hash = if trimmed.len() == record.len() { hash } else { Hash::of_bytes(trimmed) };
        OriginalRecord { bytes: record.len() as u64, hash, trimmed_hash }
    }
}

/// True if a text is large, is JSON, and has escapes that are not canonical.
pub(super) fn needs_rewriting(text: &str) -> bool {
    text.len() >= LARGE_RECORD_BYTES && has_other_escapes(text.as_bytes()) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Writes all escapes of JSON text in canonical form, and spaces over the bytes that are left at its end.
pub(super) fn rewrite(json: &mut [u8]) -> OriginalRecord {
    let original = OriginalRecord::of(json);
    let len = rewrite_escapes(json);
    json[len..].fill(b' ');
    original
}
