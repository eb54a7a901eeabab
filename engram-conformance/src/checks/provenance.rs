//! Tier 3, as far as tapes alone show it: failed calls have no edits, moves have links, and agents and implicit context are named.

use engram_core::event::Kind;

use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::outcome::Findings;
use crate::tape::Event;

/// Prefixes of secrets, each with the fewest bytes that must follow it.
const SECRETS: &[(&str, usize)] = &[
    ("sk-ant-", 16),
    ("sk-proj-", 16),
    ("sk-", 32),
    ("ghp_", 30),
    ("github_pat_", 20),
    ("xoxb-", 20),
    ("AKIA", 16),
    ("AIza", 30),
    ("-----BEGIN ", 2),
];

/// A failed call has no edit, except one that is marked as not confirmed.
pub fn applied(case: &Case<'_>, findings: &mut Findings) {
    for (session, edit) in case.events(Kind::CodeEdit) {
        if session.has_failed(edit) && !edit.has("confirmed") {
            findings.fail(
                case.place_of(session, edit),
                format!(
                    "a code.edit of {}, but this call failed",
                    edit.text("call_id").unwrap_or_default()
                ),
            );
        } else {
            findings.count("edits");
        }
    }
}

/// Every move has a link from the old name to the new one.
pub fn moves(case: &Case<'_>, findings: &mut Findings) {
    for (session, edit) in case
        .events(Kind::CodeEdit)
        .filter(|(_, edit)| edit.text("op") == Some("move"))
    {
        let is_link = |link: &&Event| {
            let is_same_call = link.number("parent") == edit.number("parent");
            link.is(Kind::SpanLink) && link.text("from_file") == edit.text("file") && is_same_call
        };
        match session.events.iter().find(is_link) {
            Some(link) if link.has("to_file") => findings.count("moves"),
            _ => findings.fail(
                case.place_of(session, edit),
                format!(
                    "{} was moved, but no span.link names the new file",
                    edit.text("file").unwrap_or_default()
                ),
            ),
        }
    }
}

/// True for the session of a sub-agent.
fn is_sub_agent_session(session: &ConvertedSession) -> bool {
    session.events.iter().any(|event| {
        event.is_meta("session") && (event.has("parent_session_id") || event.has("parent_call_id"))
    })
}

/// A sub-agent's calls name the agent, and its session names the session that started it.
pub fn agents(case: &Case<'_>, findings: &mut Findings) {
    for (session, event) in case.own_events(Kind::ToolCall) {
        let is_sub_agents = event
            .text("call_id")
            .and_then(|id| case.call(id))
            .is_some_and(|call| !call.is_main());
        if !is_sub_agents {
            continue;
        }
        if event.0.pointer("/source/agent_id").is_some()
            || event.has("parent")
            || is_sub_agent_session(session)
        {
            findings.count("calls of sub-agents");
        } else {
            findings.fail(
                case.place_of(session, event),
                "a sub-agent's call that does not name the agent",
            );
        }
    }
    for (session, event) in case.own_events(Kind::Meta) {
        let parent = event.text("parent_session_id");
        if parent.is_some()
            && parent != session.session_id()
            && event.0.pointer("/source/agent_id").is_none()
        {
            findings.fail(
                case.place_of(session, event),
                "the session of a sub-agent without the agent's id",
            );
        }
    }
    for session in case
        .sessions
        .iter()
        .filter(|session| is_sub_agent_session(session))
    {
        let names = session
            .events
            .iter()
            .find(|event| event.is_meta("session") && event.has("parent_session_id"));
        match names {
            Some(_) => findings.count("sessions of sub-agents"),
            None => findings.fail(
                case.place(session),
                "a sub-agent's session that does not name the session that started it",
            ),
        }
    }
}

/// After an interrupt, no tool runs before the next message.
pub fn interrupts(case: &Case<'_>, findings: &mut Findings) {
    for session in &case.sessions {
        let agent = |event: &Event| event.0.pointer("/source/agent_id").cloned();
        let has_prompts = |of: &Event| {
            session
                .events
                .iter()
                .any(|event| event.is(Kind::MsgIn) && agent(event) == agent(of))
        };
        let mut is_interrupted = false;
        for event in session.events.iter().filter(|event| !event.is_replay()) {
            if event.is_meta("interrupt") && !has_prompts(event) {
                // What a harness prints may lack the prompts: then nothing shows where the next turn begins.
                findings.note("interrupts without prompts");
            } else if event.is_meta("interrupt") {
                findings.count("interrupts");
                is_interrupted = true;
            }
            let continues = event.is(Kind::MsgIn) || event.is(Kind::MsgOut);
            is_interrupted &= !continues;
            if is_interrupted
                && event.is(Kind::ToolCall)
                && !session.has_failed(event)
                && has_result(session, event)
            {
                findings.fail(
                    case.place_of(session, event),
                    format!(
                        "{} ran after an interrupt",
                        event.text("tool").unwrap_or("a tool")
                    ),
                );
            }
        }
    }
}

fn has_result(session: &ConvertedSession, call: &Event) -> bool {
    session
        .events
        .iter()
        .any(|result| result.is(Kind::ToolResult) && result.text("call_id") == call.text("call_id"))
}

/// Implicit context has a hash, its text if a person wrote it, or the name of a file or directory.
pub fn context(case: &Case<'_>, findings: &mut Findings) {
    for (session, event) in case
        .events(Kind::Meta)
        .filter(|(_, event)| event.is_meta("context"))
    {
        if event.has("hash") || event.has("text") || event.has("file") {
            findings.count("context items");
        } else {
            findings.fail(
                case.place_of(session, event),
                format!(
                    "context `{}` without hash, text or file",
                    event.text("name").unwrap_or_default()
                ),
            );
        }
    }
}

/// Implicit context contains no secret.
pub fn secrets(case: &Case<'_>, findings: &mut Findings) {
    for (session, event) in case
        .events(Kind::Meta)
        .filter(|(_, event)| event.is_meta("context"))
    {
        findings.count("context items");
        if let Some(kind) = event.text("text").and_then(secret_in) {
            findings.fail(
                case.place_of(session, event),
                format!(
                    "context `{}` contains a secret that begins with `{kind}`",
                    event.text("name").unwrap_or_default()
                ),
            );
        }
    }
}

/// The prefix of a secret in a text.
fn secret_in(text: &str) -> Option<&'static str> {
    let is_secret = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let contains = |beginning: &str, least: usize| {
        text.match_indices(beginning).any(|(at, _)| {
            let (before, rest) = text.as_bytes().split_at(at);
            // Words that are joined by hyphens end in these letters, too: `brisk-`.
            !before.last().is_some_and(is_secret)
                && rest[beginning.len()..]
                    .iter()
                    .take_while(|byte| is_secret(byte))
                    .count()
                    >= least
        })
    };
    SECRETS
        .iter()
        .find(|(beginning, least)| contains(beginning, *least))
        .map(|(beginning, _)| *beginning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_distinguished_from_similar_words() {
        assert_eq!(
            secret_in(&format!("key sk-ant-{}", "0".repeat(24))),
            Some("sk-ant-")
        );
        assert_eq!(secret_in("a task-list and sk-ant-short"), None);
        let plan = "plans/make-a-brisk-walk-along-the-river-and-back-home.md";
        assert_eq!(secret_in(plan), None);
    }
}
