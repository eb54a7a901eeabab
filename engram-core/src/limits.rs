//! Limits on resources that the input could exhaust.

/// Limits of a conversion. The defaults are 256 MiB per record and 96 levels of nesting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of one source record in bytes: a line, or a complete document.
    pub record_bytes: u64,
    /// Maximum nesting of a JSON value that is copied to the tape. Less than the 128 levels that common JSON readers accept.
    pub nesting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            record_bytes: 256 << 20,
            nesting: 96,
        }
    }
}

/// The input exceeds a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitExceeded {
    /// The name of the limit: `record_bytes`, `nesting`, `values` or `long_names`.
    pub limit: &'static str,
    /// The value of the limit.
    pub allowed: u64,
}
