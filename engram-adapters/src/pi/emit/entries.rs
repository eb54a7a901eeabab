//! The header, and entries that are no message of the conversation.

use engram_core::emit::Pointer;
use engram_core::event::{Meta, SessionFacts};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::usage::usage;
use crate::pi::readers::{Entry, Header, Message};
use crate::shared::stated::emit_facts;
use crate::shared::value::{Value, is_true, non_empty_text, text};

/// The header: directory, and the session that this one was made of. With copies of its entries it is a fork; without, that session started
/// this one (`/new`, or a fork of the first prompt).
///
/// `started_by` is what the store says of a sub-agent's session.
pub fn header(
    value: Value<'_>,
    last_copy: Option<usize>,
    started_by: SessionFacts<'_>,
    out: &mut Emitter<'_>,
) {
    let header = Header::lenient(value);
    let parent = text(header.parent()).map(|path| path.decode_lossy());
    let parent = parent.as_deref().and_then(session_of).map(Text::Plain);
    let (fork_of, parent_session_id) = match last_copy {
        Some(_) => (parent, None),
        None => (None, parent),
    };
    let facts = SessionFacts {
        cwd: non_empty_text(header.cwd()),
        fork_of,
        parent_session_id: started_by.parent_session_id.or(parent_session_id),
        ..started_by
    };
    emit_facts(facts, Pointer::Root, out);
}

/// The id of a session by the path of its file, `<time>_<id>.jsonl`, or by its place in a store of OpenClaw, `sqlite:<agent>:<id>:<path>`.
fn session_of(path: &str) -> Option<&str> {
    if let Some(place) = path.strip_prefix("sqlite:") {
        return place.split(':').nth(1).filter(|id| !id.is_empty());
    }
    let (_, name) = path.rsplit_once(['/', '\\']).unwrap_or(("", path));
    let (_, id) = name.strip_suffix(".jsonl")?.split_once('_')?;
    Some(id).filter(|id| !id.is_empty())
}

/// The name that the person gave the session. Without one it has none any more.
pub fn title(entry: &Entry<'_>, out: &mut Emitter<'_>) {
    let facts = SessionFacts {
        title: non_empty_text(entry.name()),
        ..SessionFacts::default()
    };
    emit_facts(facts, "/name", out);
}

/// A mark that the person set at an entry, or took away.
pub fn label(entry: &Entry<'_>, out: &mut Emitter<'_>) {
    system("label", text(entry.label()), "/label", out);
}

/// What an extension keeps in the session.
pub fn custom(entry: &Entry<'_>, out: &mut Emitter<'_>) {
    let name = text(entry.custom_type()).unwrap_or_default();
    let data = entry.data().map(Value::text_or_json);
    out.emit(Meta::system(name, data), "/data");
}

/// From here on the model sees nothing of what was before.
pub fn reset(name: &str, entry: &Entry<'_>, out: &mut Emitter<'_>) {
    system(name, text(entry.reason()), "/reason", out);
}

/// What OpenClaw keeps in the place of a message: a text, or its details.
pub fn custom_of_message(message: &Message<'_>, out: &mut Emitter<'_>) {
    let name = text(message.custom_type()).unwrap_or_default();
    if let Some(content) = message.content().filter(|content| !content.is_empty_list()) {
        let words =
            non_empty_text(Some(content)).or_else(|| content.is_array().then(|| content.json()));
        if words.is_some() {
            out.emit(Meta::system(name, words), "/message/content");
        }
    }
    if let Some(details) = message.details() {
        out.emit(Meta::system(name, Some(details.json())), "/message/details");
    }
}

/// What the model sees in the place of an earlier entry from here on; nothing without a text.
pub fn context_edit(name: &str, entry: &Entry<'_>, out: &mut Emitter<'_>) {
    let text = entry.replacement().map(Value::json);
    system(name, text, "/replacement", out);
}

/// A summary that replaces history: of a compaction, or (`trigger`) of a branch that was left. No response has its tokens.
pub fn summary(entry: &Entry<'_>, trigger: Option<&'static str>, out: &mut Emitter<'_>) {
    let event = Meta::Compaction {
        text: text(entry.summary()),
        trigger: trigger.map(Text::Plain),
    };
    out.emit(event, "/summary");
    if let Some(tokens) = entry.usage() {
        out.emit(Meta::Usage(usage(tokens)), "/usage");
    }
}

/// Tokens of a request that no message is of.
pub fn usage_alone(entry: &Entry<'_>, out: &mut Emitter<'_>) {
    let name = text(entry.kind()).unwrap_or_default();
    out.emit(Meta::system(name, text(entry.note())), "/kind");
    if let Some(tokens) = entry.usage() {
        let mut usage = usage(tokens);
        usage.model = non_empty_text(entry.usage_model());
        out.emit(Meta::Usage(usage), "/usage");
    }
}

/// A command that the person ran: the command, what it printed, and how it ended.
pub fn person_shell(message: &Message<'_>, out: &mut Emitter<'_>) {
    let place = |name| Pointer::Member("/message", name);
    system("user_shell", text(message.command()), place("command"), out);
    let output = non_empty_text(message.output());
    if output.is_some() {
        system("user_shell_output", output, place("output"), out);
    }
    if is_true(message.cancelled()) {
        system(
            "user_shell_end",
            Some(Text::Plain("cancelled")),
            place("cancelled"),
            out,
        );
    } else if let Some(exit) = message.exit() {
        system("user_shell_exit", Some(exit.json()), place("exitCode"), out);
    }
}

fn system<'p>(
    name: &str,
    text: Option<Text<'_>>,
    pointer: impl Into<Pointer<'p>>,
    out: &mut Emitter<'_>,
) {
    out.emit(Meta::system(name, text), pointer);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_has_the_id_of_its_session() {
        let id = |path| session_of(path);
        assert_eq!(
            id("/h/2026-11-28T21-12-05-743Z_01a2-b.jsonl"),
            Some("01a2-b")
        );
        assert_eq!(id("C:\\h\\2026_my_id.jsonl"), Some("my_id"));
        assert_eq!(id("/h/notes.jsonl"), None);
        assert_eq!(id("sqlite:main:01a2-b:/h/a.sqlite"), Some("01a2-b"));
        assert_eq!(id("sqlite:main"), None);
    }
}
