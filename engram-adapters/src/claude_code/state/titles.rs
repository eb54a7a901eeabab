//! Titles that name the last line of their session (`summary`, up to 2.0.10): of this session only if it has that line.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Meta, SessionFacts};
use engram_core::keys::hash64;
use engram_core::text::Text;

use super::deferred::DeferredText;
use crate::claude_code::omission_rules::rule;
use crate::claude_code::record::Record;
use crate::claude_code::schema::Line;
use crate::shared::value::{Value, text};

/// The limit of titles that wait for their line.
const MAX_PENDING: usize = 256;

/// Where the title is in its line.
const SUMMARY: Pointer<'static> = Pointer::At("/summary");

/// Titles whose line has not been read, oldest first.
#[derive(Default)]
pub struct PendingTitles {
    pending: Vec<PendingTitle>,
}

struct PendingTitle {
    /// Hash of the `uuid` of its session's last line.
    leaf: u64,
    title: DeferredText,
}

impl PendingTitles {
    /// Defers a title; emits it now, as that of another session, if there is no room for it. Returns whether it was deferred.
    pub fn defer(&mut self, leaf: Text<'_>, title: Value<'_>, line: &Line<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let has_room = self.pending.len() < MAX_PENDING;
        let deferred = has_room.then(|| DeferredText::new(title, line, out)).flatten();
        let fits = deferred.is_some();
        match deferred {
            Some(title) => self.pending.push(PendingTitle { leaf: hash64(leaf.raw()), title }),
            None => title.text().map_or(Ok(()), |title| emit_foreign(title, out))?,
        }
        Ok(fits)
    }

    /// Emits the titles that name this line. Returns whether there were any.
    #[inline]
    pub fn resolve(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        if self.pending.is_empty() { Ok(false) } else { self.resolve_pending(record, out) }
    }

    #[inline(never)]
    fn resolve_pending(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let Some(line) = text(record.line.uuid()).map(|uuid| hash64(uuid.raw())) else { return Ok(false) };
        let mut is_any = false;
        while let Some(at) = self.pending.iter().position(|pending| pending.leaf == line) {
            let found = self.pending.remove(at);
            let title = Some(found.title.restore_location(out));
            out.emit(Meta::Session(SessionFacts { title, ..SessionFacts::default() }), SUMMARY)?;
            out.duplicate_was_mapped("summary", rule::FOREIGN_TITLE);
            is_any = true;
        }
        Ok(is_any)
    }

    /// Emits the titles of other sessions.
    pub(super) fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        for pending in self.pending.drain(..) {
            emit_foreign(pending.title.restore_location(out), out)?;
            out.duplicate_was_mapped("summary", rule::FOREIGN_TITLE);
        }
        Ok(())
    }
}

/// The title of another session is a notice, not a fact about this session.
fn emit_foreign(title: Text<'_>, out: &mut Emitter) -> Result<(), Fault> {
    out.emit(Meta::System { name: Text::Plain("summary"), text: Some(title) }, SUMMARY)?;
    Ok(())
}
