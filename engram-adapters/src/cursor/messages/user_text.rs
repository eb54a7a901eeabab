//! The events of a text with the role of the user: a person's words, and the sections around them.

use std::mem;

use engram_core::emit::{Fault, Pointer, RecordHeader};
use engram_core::event::{Attachment, Author, ImplicitInput, Meta, MsgIn};
use engram_core::hash::Hash;
use engram_core::text::Text;

use super::prompt_timestamp::prompt_time;
use crate::cursor::steps::Out;
use crate::cursor::wrappers::{Part, is_written_by_a_person, parts};

/// The longest other section whose text is kept. Of a longer one the tape has hash and size.
const NOTICE_BYTES: usize = 4096;

/// A text with the role of the user, and what else its message says.
pub(in crate::cursor) struct UserText<'a> {
    /// The text.
    pub(in crate::cursor) text: Text<'a>,
    /// Who wrote the words in it.
    pub(in crate::cursor) by: Author,
    /// The id of its record.
    pub(in crate::cursor) id: Option<Text<'a>>,
    /// Its place.
    pub(in crate::cursor) pointer: Pointer<'a>,
}

impl UserText<'_> {
    /// Emits the words, with the attachments of their message, and the sections. Returns the number of events.
    pub(in crate::cursor) fn emit(
        &self,
        attachments: &mut Vec<Attachment<'_>>,
        out: &mut Out<'_, '_>,
    ) -> Result<usize, Fault> {
        // Parts of a text with half a character could not be written as the source has them.
        let Ok(decoded) = self.text.decode() else {
            return self.emit_words(self.text, mem::take(attachments), out);
        };
        if let Some(time) = prompt_time(&decoded) {
            out.set_header(RecordHeader::new(Some(&time), self.id));
        }
        let parts = parts(&decoded);
        if matches!(parts[..], [Part::Words(words)] if words.len() == decoded.len()) {
            return self.emit_words(self.text, mem::take(attachments), out);
        }
        for part in &parts {
            match part {
                Part::Words(words) => {
                    self.emit_words(Text::Plain(words), mem::take(attachments), out)?
                }
                Part::Section { name, text } => self.emit_section(name, text, out)?,
            };
        }
        Ok(parts.len())
    }

    fn emit_words(
        &self,
        words: Text<'_>,
        attachments: Vec<Attachment<'_>>,
        out: &mut Out<'_, '_>,
    ) -> Result<usize, Fault> {
        out.emit(
            MsgIn::user(self.by, Some(words)).with(attachments),
            self.pointer,
        )?;
        Ok(1)
    }

    fn emit_section(&self, name: &str, text: &str, out: &mut Out<'_, '_>) -> Result<usize, Fault> {
        let is_kept = text.len() <= NOTICE_BYTES || is_written_by_a_person(name);
        let context = ImplicitInput {
            name: Text::Plain(name),
            file: None,
            hash: (!is_kept).then(|| Hash::of_text(text)),
            bytes: (!is_kept).then_some(text.len() as u64),
            text: is_kept.then_some(Text::Plain(text)),
        };
        out.emit(Meta::Context(context), self.pointer)?;
        Ok(1)
    }
}
