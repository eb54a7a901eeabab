//! The parameters of the fingerprint scheme.

/// The name of the scheme in `tape.start`.
pub const SCHEME: &str = "winnow/2:k=24,w=32,max=1024";

/// Bytes per gram.
pub(super) const K: usize = 24;
/// Grams per window.
pub(super) const W: usize = 32;
/// The maximum number of fingerprints of one span. If there are more, the smallest are kept: a sketch of the text.
pub(super) const MAX_ANCHORS: usize = 1024;
/// Bytes of text that are processed together. Their grams fit into the first-level cache.
pub(super) const CHUNK_BYTES: usize = 1024;
/// In a text of this length, windows pick more than [`MAX_ANCHORS`] grams, unless the text repeats itself.
pub(super) const LONG_TEXT_BYTES: usize = 32 * CHUNK_BYTES;
