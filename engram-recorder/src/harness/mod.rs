//! The harnesses that can be recorded, and the profiles under which they are.

use engram_profiles::Profile;
use engram_profiles::profile::AdapterMode;
use engram_profiles::registry::{self, Shipped};

use crate::error::{Fault, RecorderError};

mod claude_code;
mod codex;
mod copilot;
mod gemini;
mod openclaw;
mod opencode;
mod pi;
mod setting;

pub use setting::{FAKE_KEY, Harness, Setting, new_session};

/// Every harness that can be recorded.
pub const HARNESSES: &[&dyn Harness] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &opencode::OPENCODE,
    &opencode::KILO,
    &gemini::GEMINI,
    &gemini::QWEN,
    &copilot::Copilot,
    &pi::Pi,
    &openclaw::OpenClaw,
];

/// The harness of this family.
///
/// # Errors
/// `unknown_recorder` if there is none.
pub fn named(family: &str) -> Result<&'static dyn Harness, RecorderError> {
    HARNESSES
        .iter()
        .find(|harness| harness.family() == family)
        .copied()
        .ok_or_else(|| {
            let known: Vec<&str> = HARNESSES.iter().map(|harness| harness.family()).collect();
            RecorderError::new(
                Fault::UnknownHarness,
                format!("nothing records `{family}`; there are {}", known.join(", ")),
            )
        })
}

/// The shipped profile under which this harness is recorded. Its environment is that of every version; its arguments and files are those of
/// the versions that it is for.
///
/// # Errors
/// `adapter_misconfigured` if there is none.
pub fn profile(family: &str) -> Result<&'static Shipped, RecorderError> {
    let found = registry::all().find(|shipped| records(&shipped.profile, family));
    found.ok_or_else(|| {
        RecorderError::new(
            Fault::Misconfigured,
            format!("no shipped profile records {family}"),
        )
    })
}

/// True if this harness can be recorded under this profile: it is for the harness, and leaves the agent its own tools and its log.
pub fn records(profile: &Profile, family: &str) -> bool {
    profile.adapter_mode == AdapterMode::StructuredOutput
        && profile.harness.adapter_id() == Some(family)
}
