//! Texts and files, in messages and in results alike.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Attachment, Author, ImplicitInput, Meta, MsgIn, Role};
use engram_core::text::Text;

use super::schema::{Blob, SESSION_CONTEXT, STATE_SNAPSHOT, UNTAGGED_CONTEXT};
use super::state::occurrences::{HistoryPass, text_key};
use super::state::session_state::SessionState;
use crate::shared::media::base64_hash;
use crate::shared::value::{Value, text};

/// Prefixes of texts that the harness writes in the user's place, as raw JSON.
const HARNESS_TEXTS: &[&str] = &[
    // In a message in place of a tool result (0.16.0).
    "[Function Response: ",
    // The output of a command that the user ran with `!`.
    "I ran the following shell command:\\n",
    // Files that the user named with `@`, inserted in the prompt.
    "\\n--- Content from referenced files ---",
    "\\nContent from @",
    "\\n--- End of content ---",
    "System: Please continue.",
    // The request for a summary, which 0.4.1 records as a prompt.
    "First, reason in your scratchpad. Then, generate the <state_snapshot>.",
];

/// Who wrote a text in the user's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UserTextOrigin {
    /// The user, unless the text itself shows that it is the harness's.
    Typed,
    /// The harness expanded what the user typed.
    Expanded,
}

/// Emits a text in the user's place: a prompt, the environment, or the summary of a compaction.
#[inline(never)]
pub(super) fn emit_user_text(
    state: &mut SessionState,
    text: Text<'_>,
    origin: UserTextOrigin,
    pass: Option<&mut HistoryPass>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let in_history = pass.is_some();
    let is_context = text.starts_with(SESSION_CONTEXT) || text.starts_with(UNTAGGED_CONTEXT);
    state.follows_context = is_context || text.starts_with(STATE_SNAPSHOT);
    let key = text_key("user", text);
    if text.is_empty() || (!in_history && state.dedup.repeats_interjection(key)) || !state.dedup.is_new_text(key, pass) {
        return Ok(());
    }
    if is_context {
        let input = ImplicitInput { name: Text::Plain("environment"), file: None, hash: None, bytes: None, text: Some(text) };
        return state.tally.emit(Meta::Context(input), pointer, out);
    }
    if in_history && text.starts_with(STATE_SNAPSHOT) {
        return state.tally.emit(Meta::Compaction { text: Some(text), trigger: None }, pointer, out);
    }
    let is_harness_text = || HARNESS_TEXTS.iter().any(|prefix| text.starts_with(prefix));
    let by = if origin == UserTextOrigin::Expanded || is_harness_text() { Author::Harness } else { state.session.prompt_author() };
    state.tally.emit(MsgIn { role: Role::User, by, text: Some(text), attachments: Vec::new() }, pointer, out)
}

/// A file next to a text, as its hash.
pub(super) fn attachment(blob: Value<'_>) -> Attachment<'_> {
    let blob = Blob::lenient(blob);
    let (hash, bytes) = text(blob.data()).and_then(base64_hash).unzip();
    Attachment { media_type: text(blob.media_type()), hash, bytes, name: text(blob.uri()).or_else(|| text(blob.name())) }
}
