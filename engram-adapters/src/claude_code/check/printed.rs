//! Step 1 for a printed line.

use engram_core::emit::Fault;
use engram_core::steps::Check;

use super::{Checker, key, shape};
use crate::claude_code::emit::stream::{agent_of, as_transcript, kind_of};
use crate::claude_code::format::PrintedKind;
use crate::claude_code::notes::{Flags, Kind};
use crate::claude_code::readers::{Message, Printed};
use crate::shared::value::{Value, raw_str};

impl Checker {
    /// Looks at one line, and notes it.
    pub fn printed_line(
        &mut self,
        value: Value<'_>,
        record: usize,
        check: &mut Check<'_>,
    ) -> Result<(), Fault> {
        let mut printed = Printed::default();
        printed.strict_into(value, "")?;
        let kind = raw_str(printed.kind());
        if kind.is_empty() {
            return Err(Fault::malformed(
                "/type",
                "the type of a record",
                value.raw(),
            ));
        }
        let is_conversation = matches!(kind, "assistant" | "user");
        if let Some(message) = printed
            .message()
            .filter(|message| is_conversation && !message.is_object())
        {
            return Err(Fault::malformed("/message", "an object", message.raw()));
        }
        let of = kind_of(&printed)?;
        let line = as_transcript(&printed);
        let mut message = Message::default();
        if let Some(value) = line.message() {
            message.strict_into(value, "/message")?;
        }
        self.members(&line, message.content(), check);
        let kind = match of {
            PrintedKind::Assistant => Kind::Assistant,
            PrintedKind::User => Kind::User,
            PrintedKind::Result | PrintedKind::SystemInit => Kind::TurnEnd,
            PrintedKind::SystemCompactBoundary => Kind::Boundary,
            _ => Kind::Other,
        };
        match kind {
            Kind::Assistant => shape::answer(&message, check)?,
            Kind::User => shape::input(&line, &message, check)?,
            Kind::Boundary => shape::notice(&line)?,
            _ => {}
        }
        let mut note = self.note(kind, &line, &message, record);
        match kind {
            Kind::Assistant => self.note_answer(&mut note, &line, &message),
            Kind::User => self.note_input(&mut note, &line, &message, check),
            _ => {}
        }
        if of == PrintedKind::SystemHookResponse {
            self.note_hook(printed.object().member("stdout"));
        }
        note.agent = key(agent_of(&printed));
        note.flags
            .set(Flags::OMITTED, matches!(of, PrintedKind::Omitted(_)));
        self.notes.push(note, &self.blocks);
        Ok(())
    }
}
