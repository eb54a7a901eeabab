//! The built-in adapters. A new harness is one line here, and its module in lib.rs.

use crate::registration::Registration;

/// The built-in adapters, in the order in which tables list them.
pub static BUILTIN: &[&Registration] = &[
    #[cfg(feature = "claude-code")]
    &crate::claude_code::REGISTRATION,
    #[cfg(feature = "codex")]
    &crate::codex::REGISTRATION,
    #[cfg(feature = "opencode")]
    &crate::opencode::REGISTRATION,
    #[cfg(feature = "opencode")]
    &crate::opencode::KILO,
    #[cfg(feature = "gemini")]
    &crate::gemini::REGISTRATION,
    #[cfg(feature = "cursor")]
    &crate::cursor::REGISTRATION,
    #[cfg(feature = "pi")]
    &crate::pi::REGISTRATION,
    #[cfg(feature = "pi")]
    &crate::pi::OPENCLAW,
    #[cfg(feature = "copilot")]
    &crate::copilot::REGISTRATION,
    #[cfg(feature = "qwen")]
    &crate::qwen::REGISTRATION,
    #[cfg(feature = "acp")]
    &crate::acp::REGISTRATION,
    #[cfg(feature = "tool-intent")]
    &crate::tool_intent::REGISTRATION,
];
