//! From the type of an opened chat's line to its handler.

use std::borrow::Cow;

use engram_core::emit::{Fault, Pointer};
use engram_core::event::Author;
use engram_core::ledger::Outcome;

use super::state::ChatState;
use super::{messages, session_facts, steps};
use crate::cursor::fields::faults::absent;
use crate::cursor::format::ChatKind;
use crate::cursor::members;
use crate::cursor::readers::ChatLine;
use crate::cursor::steps::Out;
use crate::shared::value::{Value, raw_str};

/// Converts one line.
pub(super) fn convert(
    state: &mut ChatState,
    line: Value<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let line = ChatLine::strict(line, "")?;
    line.set_header(line.time(), out);
    let record = raw_str(line.store());
    let kind = ChatKind::named(record).ok_or_else(|| Fault::unrecognized(record))?;
    members::check(&type_of(record, raw_str(line.role())), line.object(), out);
    if line.is_of_subagent() {
        state.prompts_by = Author::Agent;
    }
    match kind {
        ChatKind::Message => messages::message(state, &line, out),
        ChatKind::Step => steps::step(state, &line, out),
        ChatKind::UserMessage => steps::user_message(state, &line, out),
        ChatKind::ShellCommand | ChatKind::ShellOutput => steps::user_shell(state, &line, out),
        ChatKind::Summary => session_facts::summary(state, &line, out),
        ChatKind::Chat => session_facts::chat(state, &line, out),
        ChatKind::ChatAgent => session_facts::agent(state, &line, out),
        ChatKind::ChatRun => session_facts::run(state, &line, out),
        ChatKind::Root => session_facts::root(state, &line, out),
        // Something in the chat is lost.
        ChatKind::Missing => Err(absent(
            Pointer::At("/blob"),
            "the id of a blob of the store",
            line.blob(),
        )),
    }
}

/// The type of a line. Only messages have a role.
fn type_of<'r>(record: &'r str, role: &str) -> Cow<'r, str> {
    Cow::Borrowed(match (record, role) {
        (_, "") => record,
        ("message", "system") => "system/message",
        ("message", "user") => "user/message",
        ("message", "assistant") => "assistant/message",
        ("message", "tool") => "tool/message",
        _ => return Cow::Owned(format!("{role}/{record}")),
    })
}
