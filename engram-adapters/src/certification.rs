//! What the compatibility kit needs to know about one adapter, beyond its registration.

use std::fmt;

use engram_conformance::gaps::GapRow;
use engram_core::descriptor::AdapterDescriptor;

/// Rewrites a session as if an unknown version had written it; `None` if that does not apply to the session.
pub type UnknownVersionFn = fn(&str) -> Option<String>;

/// What the compatibility kit needs to know about one adapter. Every part is optional.
#[derive(Clone, Copy)]
pub struct Certification {
    gap_rows: &'static [GapRow],
    unit_tests: &'static [(&'static str, &'static str)],
    with_unknown_version: Option<UnknownVersionFn>,
    prints_sessions: bool,
    unmarked_captures: &'static [&'static str],
    base: Option<&'static AdapterDescriptor>,
}

impl fmt::Debug for Certification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certification")
            .field("unit_tests", &self.unit_tests)
            .field("prints_sessions", &self.prints_sessions)
            .finish_non_exhaustive()
    }
}

impl Default for Certification {
    fn default() -> Self {
        Certification::new()
    }
}

impl Certification {
    /// Nothing beyond the registration.
    pub const fn new() -> Certification {
        Certification {
            gap_rows: &[],
            unit_tests: &[],
            with_unknown_version: None,
            prints_sessions: false,
            unmarked_captures: &[],
            base: None,
        }
    }

    /// Adds how recordings show the gaps that only this harness has.
    #[must_use]
    pub const fn with_gap_rows(self, gap_rows: &'static [GapRow]) -> Certification {
        Certification { gap_rows, ..self }
    }

    /// Adds omission rules that no recording uses, each with the name of the unit test that proves it.
    #[must_use]
    pub const fn with_unit_tests(
        self,
        unit_tests: &'static [(&'static str, &'static str)],
    ) -> Certification {
        Certification { unit_tests, ..self }
    }

    /// Adds how to fake an unknown version, for logs that do not name their version.
    #[must_use]
    pub const fn with_unknown_version(self, rewrite: UnknownVersionFn) -> Certification {
        Certification {
            with_unknown_version: Some(rewrite),
            ..self
        }
    }

    /// States that what the harness prints (`stdout/*.jsonl` in a recording) is a session too.
    #[must_use]
    pub const fn with_printed_sessions(self) -> Certification {
        Certification {
            prints_sessions: true,
            ..self
        }
    }

    /// States the versions that print lines without a mark of the harness. No adapter can recognise them, so they are no sessions.
    #[must_use]
    pub const fn with_unmarked_captures(self, versions: &'static [&'static str]) -> Certification {
        Certification {
            unmarked_captures: versions,
            ..self
        }
    }

    /// States that the harness is a fork of the one with this descriptor. The recordings of that one prove what both claim.
    #[must_use]
    pub const fn with_base(self, base: &'static AdapterDescriptor) -> Certification {
        Certification {
            base: Some(base),
            ..self
        }
    }

    /// The descriptor of the harness that this one is a fork of.
    pub fn base(&self) -> Option<&'static AdapterDescriptor> {
        self.base
    }

    /// How recordings show the gaps that only this harness has.
    pub fn gap_rows(&self) -> &'static [GapRow] {
        self.gap_rows
    }

    /// Omission rules that no recording uses, each with the name of the unit test that proves it.
    pub fn unit_tests(&self) -> &'static [(&'static str, &'static str)] {
        self.unit_tests
    }

    /// How to fake an unknown version.
    pub fn unknown_version(&self) -> Option<UnknownVersionFn> {
        self.with_unknown_version
    }

    /// True if what the harness prints is a session too.
    pub fn prints_sessions(&self) -> bool {
        self.prints_sessions
    }

    /// The versions that print lines without a mark of the harness.
    pub fn unmarked_captures(&self) -> &'static [&'static str] {
        self.unmarked_captures
    }
}
