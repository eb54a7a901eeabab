//! Bounds on everything that the input controls.

/// Bounds that a conversion keeps. `Default` gives the documented values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one source record (a line, or a whole document).
    pub record_bytes: u64,
    /// Levels of nesting in a value that is copied to the tape. Below the 128 that common JSON readers accept.
    pub nesting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { record_bytes: 256 << 20, nesting: 96 }
    }
}

/// A bound that the input went over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitExceeded {
    /// The name of the bound: `record_bytes` or `nesting`.
    pub limit: &'static str,
    /// Its value.
    pub allowed: u64,
}
