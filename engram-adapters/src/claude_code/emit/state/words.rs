//! What the lines before show about the author of a text: commands and what they print, and what the harness adds to a result.

use engram_core::keys::hash64;
use engram_core::text::Text;

use crate::claude_code::readers::Line;
use crate::claude_code::revisions::Dialect;
use crate::shared::value::{Field, Value, raw_str, text};

/// The first of the messages that the harness adds to a result begins so (0.2.96): files that it has read again.
const FIRST_NOTE: &str = "⎿  ";

/// What the lines before show.
#[derive(Default)]
pub struct Words {
    /// The last text in the user's place was a command, or what one printed.
    pub follows_command: bool,
    /// Of a capture: the last `user` line has the result of a call that starts a command. Captures state no parents.
    pub is_next_launched: bool,
    /// Hash of the last command that was typed, with its prompt id.
    typed: Option<u64>,
    /// Hash of the `uuid` of the last result that says that a command was started.
    launched: Option<u64>,
    /// Hash of the `uuid` of the last result, or of the last message that was added to it. The model answers a result at once, so that a
    /// person can write nothing in between.
    last_result: Option<u64>,
    last_is_note: bool,
}

impl Words {
    /// A person typed this text.
    pub fn set_typed(&mut self, line: &Line<'_>, typed: Text<'_>) {
        if typed.starts_with("/") {
            self.typed = command_key(line, &typed.decode_lossy());
        }
    }

    /// True if the line before said this command as it was typed: both have the same prompt id.
    pub fn is_typed_again(&self, line: &Line<'_>, typed: &str) -> bool {
        self.typed.is_some() && self.typed == command_key(line, typed)
    }

    /// The line has a result, which may launch a command.
    pub fn set_result(&mut self, line: &Line<'_>, dialect: Dialect) {
        let is_launched =
            |result: Value<'_>| result.is_object() && result.member("commandName").is_some();
        if line.tool_use_result().is_some_and(is_launched) {
            self.launched = key(line.uuid());
        }
        if dialect.notes_are_messages() {
            (self.last_result, self.last_is_note) = (key(line.uuid()), false);
        }
    }

    /// True if the line follows the result of a call that launches a command.
    pub fn is_launched(&self, line: &Line<'_>) -> bool {
        self.is_next_launched
            || (self.launched.is_some() && self.launched == key(line.parent_uuid()))
    }

    /// True for a text that the harness adds to a result: the child of a result that begins as these do, or the child of one.
    pub fn is_note(&mut self, line: &Line<'_>, text: Text<'_>) -> bool {
        let follows = self.last_result.is_some() && self.last_result == key(line.parent_uuid());
        let is_note = follows && (self.last_is_note || text.starts_with(FIRST_NOTE));
        if is_note {
            (self.last_result, self.last_is_note) = (key(line.uuid()), true);
        }
        is_note
    }
}

fn command_key(line: &Line<'_>, typed: &str) -> Option<u64> {
    let prompt = raw_str(line.object().member("promptId"));
    (!prompt.is_empty()).then(|| hash64((prompt, typed)))
}

fn key(uuid: Field<'_>) -> Option<u64> {
    text(uuid).map(|uuid| hash64(uuid.raw()))
}
