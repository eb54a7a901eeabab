//! What the caller of the kit may choose, and what an adapter may provide beyond the three methods of the contract.

use std::fmt;

use engram_core::adapter::StreamAdapter;
use engram_core::descriptor::AdapterDescriptor;
use engram_core::tool_kind::ToolKind;

use crate::gaps::GapRow;
use crate::session::{Files, Open};
use crate::tier::Tier;

/// Which checks to run, and what the adapter provides.
#[derive(Clone, Copy, Default)]
pub struct Options<'o> {
    /// Run only the checks of this tier.
    pub tier: Option<Tier>,
    /// Run only the check with this id.
    pub check: Option<&'o str>,
    /// Do not run the check with this id. Tests use it to prove that only this check finds a defect.
    pub without: Option<&'o str>,
    /// What the adapter provides. More checks run when it provides more.
    pub capabilities: Capabilities<'o>,
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("tier", &self.tier)
            .field("check", &self.check)
            .finish_non_exhaustive()
    }
}

/// The kinds that a tool with this name may have; none for a name that the adapter does not know. Two tools may have one name.
pub type ToolKinds<'o> = dyn Fn(&str) -> Vec<ToolKind> + Sync + 'o;

/// What an adapter provides beyond [`engram_core::adapter::HarnessAdapter`].
#[derive(Clone, Copy)]
pub struct Capabilities<'o> {
    /// The streaming adapter. Needed to check detection, both policies, chunked input, and files beside a session.
    pub stream: Option<&'o dyn StreamAdapter>,
    /// The adapter's table of tools.
    pub tools: Option<&'o ToolKinds<'o>>,
    /// Opens the sessions of a recording.
    pub open: &'o dyn Open,
    /// How recordings exhibit the gap codes that [`crate::gaps::ROWS`] does not list.
    pub gaps: &'o [GapRow],
    /// Rewrites a session as if an unknown version had written it. `None` if it does not apply to this session: then the kit
    /// replaces the version number that the tape names.
    pub with_unknown_version: Option<fn(&str) -> Option<String>>,
    /// Omission rules that no recording uses and that unit tests of the adapter prove.
    pub unit_tested_rules: &'o [&'o str],
    /// For a fork of another harness, the descriptor of that one: the recordings there prove the claims, gaps and rules that both have.
    pub base: Option<&'static AdapterDescriptor>,
}

impl fmt::Debug for Capabilities<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capabilities")
            .field("stream", &self.stream.is_some())
            .field("gaps", &self.gaps.len())
            .finish_non_exhaustive()
    }
}

impl Default for Capabilities<'_> {
    fn default() -> Self {
        Capabilities {
            stream: None,
            tools: None,
            open: &Files,
            gaps: &[],
            with_unknown_version: None,
            unit_tested_rules: &[],
            base: None,
        }
    }
}
