//! Tier 3, as far as tapes alone show it: what failed left nothing, moves are linked, agents and implicit context are named.

use engram_core::event::Kind;

use crate::outcome::Found;
use crate::scene::{Scene, Side};
use crate::tape::Event;

/// Beginnings of values that nobody may read, each with the least number of bytes that must follow.
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

/// A call that failed leaves no edit; a request that stands in for one says that it is not confirmed.
pub fn applied(scene: &Scene<'_>, found: &mut Found) {
    for (side, edit) in scene.events(Kind::CodeEdit) {
        if side.has_failed(edit) && !edit.has("confirmed") {
            found.fail(scene.at(side, edit), format!("a code.edit of {}, which failed", edit.text("call_id").unwrap_or_default()));
        } else {
            found.count("edits");
        }
    }
}

/// Every move has a link from the old name.
pub fn moves(scene: &Scene<'_>, found: &mut Found) {
    for (side, edit) in scene.events(Kind::CodeEdit).filter(|(_, edit)| edit.text("op") == Some("move")) {
        let is_link = |link: &&Event| {
            let is_same_call = link.number("parent") == edit.number("parent");
            link.is(Kind::SpanLink) && link.text("from_file") == edit.text("file") && is_same_call
        };
        match side.events.iter().find(is_link) {
            Some(link) if link.has("to_file") => found.count("moves"),
            _ => found
                .fail(scene.at(side, edit), format!("{} was moved, and no span.link says where to", edit.text("file").unwrap_or_default())),
        }
    }
}

/// True for the session of an agent that another session started.
fn is_agents_session(side: &Side) -> bool {
    side.events.iter().any(|event| event.is_meta("session") && (event.has("parent_session_id") || event.has("parent_call_id")))
}

/// Calls that truth knows as a sub-agent's are the sub-agent's on the tape.
pub fn agents(scene: &Scene<'_>, found: &mut Found) {
    for (side, event) in scene.own_events(Kind::ToolCall) {
        let is_agents = event.text("call_id").and_then(|id| scene.call(id)).is_some_and(|call| !call.is_main());
        if !is_agents {
            continue;
        }
        if event.0.pointer("/source/agent_id").is_some() || event.has("parent") || is_agents_session(side) {
            found.count("calls of sub-agents");
        } else {
            found.fail(scene.at(side, event), "a sub-agent's call that does not say whose it is");
        }
    }
    for side in scene.sides.iter().filter(|side| is_agents_session(side)) {
        let names = side.events.iter().find(|event| event.is_meta("session") && event.has("parent_session_id"));
        match names {
            Some(_) => found.count("sessions of sub-agents"),
            None => found.fail(scene.place(side), "a sub-agent's session that does not name the session that started it"),
        }
    }
}

/// After an interrupt nothing runs until somebody says something.
pub fn interrupts(scene: &Scene<'_>, found: &mut Found) {
    for side in &scene.sides {
        let mut is_stopped = false;
        for event in side.events.iter().filter(|event| !event.is_replay()) {
            if event.is_meta("interrupt") {
                found.count("interrupts");
                is_stopped = true;
            }
            let goes_on = event.is(Kind::MsgIn) || event.is(Kind::MsgOut);
            is_stopped &= !goes_on;
            if is_stopped && event.is(Kind::ToolCall) && !side.has_failed(event) && has_result(side, event) {
                found.fail(scene.at(side, event), format!("{} ran after an interrupt", event.text("tool").unwrap_or("a tool")));
            }
        }
    }
}

fn has_result(side: &Side, call: &Event) -> bool {
    side.events.iter().any(|result| result.is(Kind::ToolResult) && result.text("call_id") == call.text("call_id"))
}

/// Implicit context has a hash or, where a person wrote it, its text; a file or folder that is only named has its name.
pub fn context(scene: &Scene<'_>, found: &mut Found) {
    for (side, event) in scene.events(Kind::Meta).filter(|(_, event)| event.is_meta("context")) {
        if event.has("hash") || event.has("text") || event.has("file") {
            found.count("pieces of context");
        } else {
            found.fail(scene.at(side, event), format!("context `{}` without hash, text or file", event.text("name").unwrap_or_default()));
        }
    }
}

/// Implicit context tells no secret's value.
pub fn secrets(scene: &Scene<'_>, found: &mut Found) {
    for (side, event) in scene.events(Kind::Meta).filter(|(_, event)| event.is_meta("context")) {
        found.count("pieces of context");
        if let Some(kind) = event.text("text").and_then(secret_in) {
            found.fail(
                scene.at(side, event),
                format!("context `{}` tells a secret that begins `{kind}`", event.text("name").unwrap_or_default()),
            );
        }
    }
}

fn secret_in(text: &str) -> Option<&'static str> {
    let is_secret = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let holds = |beginning: &str, least: usize| {
        text.match_indices(beginning)
            .any(|(at, _)| text.as_bytes()[at + beginning.len()..].iter().take_while(|byte| is_secret(byte)).count() >= least)
    };
    SECRETS.iter().find(|(beginning, least)| holds(beginning, *least)).map(|(beginning, _)| *beginning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_from_words_that_look_like_one() {
        assert_eq!(secret_in(&format!("key sk-ant-{}", "0".repeat(24))), Some("sk-ant-"));
        assert_eq!(secret_in("a task-list and sk-ant-short"), None);
    }
}
