//! Slash commands, which a log may state twice: as they were typed, and in the harness's tags.

use engram_core::keys::hash64;
use engram_core::text::Text;

use crate::claude_code::schema::Line;
use crate::shared::restorable::Restorable;
use crate::shared::value::{Field, Value, raw_str, text};

/// The last command, and the last result of a call that runs a command.
#[derive(Default)]
pub struct TypedCommands {
    /// Hash of the last command that was typed, with its prompt id.
    typed: Restorable<Option<u64>>,
    /// Hash of the `uuid` of the last result that states that a command was started.
    launched: Restorable<Option<u64>>,
    /// Of a capture: the last `user` line has the result of a call that starts a command. Captures state no parents.
    is_next_launched: Restorable<bool>,
}

impl TypedCommands {
    /// A person typed this text.
    pub fn set_typed(&mut self, line: &Line<'_>, typed: Text<'_>) {
        if typed.starts_with("/") {
            self.typed.set(key(line, &typed.decode_lossy()));
        }
    }

    /// True if the line before stated this command as it was typed: both have the same prompt id.
    pub fn is_typed_again(&self, line: &Line<'_>, typed: &str) -> bool {
        self.typed.is_some() && *self.typed == key(line, typed)
    }

    /// Takes the structured result of a call: it may launch a command.
    pub fn set_result(&mut self, line: &Line<'_>) {
        let is_launched = |result: Value<'_>| result.is_object() && result.member("commandName").is_some();
        if line.tool_use_result().is_some_and(is_launched) {
            self.launched.set(uuid_key(line.uuid()));
        }
    }

    /// The next line of a capture follows the result of a call that starts a command, or it does not.
    pub fn set_next_launched(&mut self, is_next: bool) {
        if *self.is_next_launched != is_next {
            self.is_next_launched.set(is_next);
        }
    }

    /// True if the line follows the result of a call that launches a command.
    pub fn is_launched(&self, line: &Line<'_>) -> bool {
        *self.is_next_launched || (self.launched.is_some() && *self.launched == uuid_key(line.parent_uuid()))
    }

    /// The record is converted.
    pub(super) fn commit(&mut self) {
        self.typed.commit();
        self.launched.commit();
        self.is_next_launched.commit();
    }

    /// The record is malformed: what it stated is forgotten.
    pub(super) fn roll_back(&mut self) {
        self.typed.roll_back();
        self.launched.roll_back();
        self.is_next_launched.roll_back();
    }
}

fn key(line: &Line<'_>, typed: &str) -> Option<u64> {
    let prompt = raw_str(line.object().member("promptId"));
    (!prompt.is_empty()).then(|| hash64((prompt, typed)))
}

fn uuid_key(uuid: Field<'_>) -> Option<u64> {
    text(uuid).map(|uuid| hash64(uuid.raw()))
}
