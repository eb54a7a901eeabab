//! The check of records that no decision needs: the types of the members that their handlers read.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::Kind as EventKind;
use engram_core::keys::hash64;
use engram_core::steps::Check;

use crate::shared::value::{Field, Value, text};

use super::{Checker, Facts};
use crate::codex::emit::agents::typed_instructions;
use crate::codex::emit::turns::closes_copied_turn;
use crate::codex::notes::Kind;
use crate::codex::readers::{
    AgentActivity, CallEnd, Invocation, McpResult, Notice, PrintedEvent, Review,
};
use crate::codex::record::Record;

type Checked = Result<Facts, Fault>;

/// A record without members that a handler requires.
pub fn any(_: &mut Checker, _: &Record<'_>, _: &mut Check<'_>) -> Checked {
    Ok(Facts::default())
}

/// An event with a text, or with a fact about the thread.
pub fn notice(_: &mut Checker, record: &Record<'_>, _: &mut Check<'_>) -> Checked {
    Notice::strict(record.value, record.at).map(|_| Facts::default())
}

/// The end of a turn before its time.
pub fn turn_aborted(_: &mut Checker, record: &Record<'_>, _: &mut Check<'_>) -> Checked {
    let kind = if closes_copied_turn(record) {
        Kind::TurnClosed
    } else {
        Kind::TurnAborted
    };
    Notice::strict(record.value, record.at).map(|_| Facts::of(kind))
}

/// A compaction.
pub fn compaction(_: &mut Checker, _: &Record<'_>, _: &mut Check<'_>) -> Checked {
    Ok(Facts::of(Kind::Compaction))
}

/// The mark of a compaction.
pub fn compaction_mark(_: &mut Checker, _: &Record<'_>, _: &mut Check<'_>) -> Checked {
    Ok(Facts::of(Kind::CompactionMark))
}

/// An action of another agent.
pub fn agent(_: &mut Checker, record: &Record<'_>, _: &mut Check<'_>) -> Checked {
    AgentActivity::strict(record.value, record.at).map(|_| Facts::default())
}

/// A review begins.
pub fn review_begins(_: &mut Checker, record: &Record<'_>, check: &mut Check<'_>) -> Checked {
    let review = Review::strict(record.value, record.at)?;
    let typed = typed_instructions(&review);
    if typed.is_some() {
        check.gives(EventKind::MsgIn, Pointer::At(record.at))?;
    }
    Ok(Facts {
        fact: typed.map_or(0, |typed| hash64(typed.raw())),
        ..Facts::of(Kind::ReviewBegins)
    })
}

/// A review ends.
pub fn review_ends(_: &mut Checker, _: &Record<'_>, _: &mut Check<'_>) -> Checked {
    Ok(Facts::of(Kind::ReviewEnds))
}

/// A line of `exec --json` with an item.
pub fn item(_: &mut Checker, record: &Record<'_>, _: &mut Check<'_>) -> Checked {
    item_of(record).map(|_| Facts::default())
}

/// A text of the agent that `exec --json` prints.
pub fn item_text(_: &mut Checker, record: &Record<'_>, check: &mut Check<'_>) -> Checked {
    check.gives(EventKind::MsgOut, Pointer::At("/item/text"))?;
    required_text(
        item_of(record)?.first_member("text"),
        "/item/text",
        "a text",
    )
}

/// The end of a call that `exec --json` prints.
pub fn item_completed(_: &mut Checker, record: &Record<'_>, _: &mut Check<'_>) -> Checked {
    required_text(
        item_of(record)?.first_member("id"),
        "/item/id",
        "the id of a call",
    )
}

fn item_of<'a>(record: &Record<'a>) -> Result<Value<'a>, Fault> {
    let item = record
        .value
        .first_member("item")
        .filter(|item| item.is_object());
    item.ok_or_else(|| Fault::malformed("/item", "an item", "nothing"))
}

/// Checks that a field is a string; an empty one will do.
fn required_text(field: Field<'_>, at: &'static str, what: &'static str) -> Checked {
    match text(field) {
        Some(_) => Ok(Facts::default()),
        None => Err(Fault::malformed(at, what, "nothing")),
    }
}

/// An event that `exec --json` prints up to 0.42.
pub fn event(_: &mut Checker, record: &Record<'_>, _: &mut Check<'_>) -> Checked {
    PrintedEvent::strict(record.value, record.at).map(|_| Facts::default())
}

/// An answer.
pub fn event_message(_: &mut Checker, record: &Record<'_>, check: &mut Check<'_>) -> Checked {
    check.gives(EventKind::MsgOut, Pointer::At(record.at))?;
    required_text(
        PrintedEvent::strict(record.value, record.at)?.message(),
        "/msg/message",
        "a text",
    )
}

/// A reasoning.
pub fn event_text(_: &mut Checker, record: &Record<'_>, check: &mut Check<'_>) -> Checked {
    check.gives(EventKind::MsgOut, Pointer::At(record.at))?;
    required_text(
        PrintedEvent::strict(record.value, record.at)?.text(),
        "/msg/text",
        "a text",
    )
}

/// The beginning of a patch, or the end of a search.
pub fn event_of_call(_: &mut Checker, record: &Record<'_>, _: &mut Check<'_>) -> Checked {
    required_text(
        PrintedEvent::strict(record.value, record.at)?.call_id(),
        "/msg/call_id",
        "a text",
    )
}

/// The beginning of a call of an MCP server's tool.
pub fn mcp_begun(_: &mut Checker, record: &Record<'_>, _: &mut Check<'_>) -> Checked {
    let event = PrintedEvent::strict(record.value, record.at)?;
    required_text(
        Invocation::lenient_opt(event.invocation()).tool(),
        "/msg/invocation/tool",
        "a text",
    )
}

/// The end of a command.
pub fn command_ended(_: &mut Checker, record: &Record<'_>, _: &mut Check<'_>) -> Checked {
    CallEnd::strict(record.value, record.at).map(|_| Facts::default())
}

/// The end of a patch.
pub fn patch_ended(_: &mut Checker, record: &Record<'_>, _: &mut Check<'_>) -> Checked {
    required_text(
        CallEnd::strict(record.value, record.at)?.call_id(),
        "/msg/call_id",
        "a text",
    )
}

/// The end of a call of an MCP server's tool.
pub fn mcp_ended(_: &mut Checker, record: &Record<'_>, _: &mut Check<'_>) -> Checked {
    let end = CallEnd::strict(record.value, record.at)?;
    McpResult::strict(end.result().unwrap_or(record.value), "/msg/result")?;
    Ok(Facts::default())
}
