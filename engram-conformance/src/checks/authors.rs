//! Compares the authors of messages with the ground truth: what a model wrote in a call is by an agent, and wrappers are no part of it.

use std::collections::BTreeSet;

use engram_core::error::excerpt;
use engram_core::event::Kind;

use super::spans::strings;
use crate::case::Case;
use crate::outcome::Findings;

/// How the sections begin that harnesses put around the words of persons and of agents.
const WRAPPERS: &[&str] = &[
    "<user_query>",
    "<teammate-message",
    "<cross-session-message",
    "<hook_context>",
    "<system-reminder>",
    "<fork-boilerplate>",
    "<session_context>",
    "<loaded_context>",
    "<objective>",
    "The coordinator sent a message while you were working:",
    "[Workflow harness",
    "Message Type: ",
];

/// A message of a sub-agent with the words of a call is by an agent, and so is one of a session that no person sent. No message by a person
/// or an agent has a wrapper that was not sent.
pub fn of_messages(case: &Case<'_>, findings: &mut Findings) {
    let sent = |text: &str| {
        case.truth
            .prompts
            .iter()
            .any(|prompt| prompt.contains(text))
    };
    let written: BTreeSet<&str> = case
        .truth
        .calls
        .iter()
        .flat_map(|call| strings(&call.args))
        .map(str::trim)
        .collect();
    for (session, event) in case
        .own_events(Kind::MsgIn)
        .filter(|(_, event)| event.text("role") == Some("user"))
    {
        let (text, by) = (
            event.text("text").unwrap_or_default().trim(),
            event.text("by").unwrap_or_default(),
        );
        // The harness may send what a model asked it to send later.
        let is_notice = by == "harness" && event.0.pointer("/source/agent_id").is_none();
        let is_written = !text.is_empty() && written.contains(text);
        let place = || case.place_of(session, event);
        if let Some(wrapper) = WRAPPERS
            .iter()
            .find(|wrapper| text.contains(**wrapper) && by != "harness" && !sent(wrapper))
        {
            findings.fail(
                place(),
                format!(
                    "`{}` is by {by}, with the harness's `{wrapper}`",
                    excerpt(text)
                ),
            );
        } else if is_written && by != "agent" && !is_notice && !sent(text) {
            findings.fail(
                place(),
                format!(
                    "a model wrote `{}` in a call, but it is by {by}",
                    excerpt(text)
                ),
            );
        } else if is_written || by != "harness" {
            findings.count("messages by persons and agents");
        }
    }
}
