//! What a header, or a change of it, states of the session.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{ImplicitInput, Meta, SessionFacts};
use engram_core::text::Text;

use super::converter::Converter;
use super::schema::{Record, under};
use crate::shared::value::{Field, Value, non_empty_text, raw_str, text};

impl Converter {
    /// Converts what stands before the messages: the first line, or the document without its messages.
    #[cold]
    pub fn header(&mut self, header: &Record<'_>, out: &mut Emitter) -> Result<(), Fault> {
        self.enter(header.start_time(), None, out);
        self.in_subagent = raw_str(header.role()) == "subagent";
        self.change_session(header.session_id(), out);
        let context = self.context.clone();
        let mut facts = SessionFacts::default();
        if !std::mem::replace(&mut self.introduced, true) {
            facts.parent_session_id = context.parent_session_id.as_deref().map(Text::Plain);
            facts.parent_call_id = context.parent_call_id.as_deref().map(Text::Plain);
            facts.agent = context.agent.as_deref().map(Text::Plain);
        }
        self.session_facts(facts, header, "", out)
    }

    /// Says what a header, or a change of it, states of the session.
    #[cold]
    pub fn session_facts<'f>(
        &mut self,
        mut facts: SessionFacts<'f>,
        header: &Record<'f>,
        base: &str,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        let directories: Vec<Text<'_>> = header.directories().into_iter().flat_map(Value::elements).filter_map(Value::text).collect();
        // The harness lists the directory that it works in first, then those that the user added.
        facts.cwd = directories.first().copied();
        let summary = non_empty_text(header.summary());
        // What a sub-agent hands back is no title.
        facts.title = summary.filter(|_| !self.in_subagent);
        self.emit(Meta::Session(facts), Pointer::Root, out)?;
        if let Some(summary) = summary.filter(|_| self.in_subagent) {
            let system = Meta::System { name: Text::Plain("summary"), text: Some(summary) };
            self.emit(system, Pointer::At(&under(base, "/summary")), out)?;
        }
        for (n, directory) in directories.iter().enumerate().skip(1) {
            let name = Text::Plain("directory");
            let context = ImplicitInput { name, file: Some(*directory), hash: None, bytes: None, text: None };
            self.emit(Meta::Context(context), Pointer::Item(&under(base, "/directories"), n), out)?;
        }
        Ok(())
    }

    /// True when the events from here on belong to another session than before.
    pub fn change_session(&mut self, session_id: Field<'_>, out: &mut Emitter) -> bool {
        let Some(session_id) = text(session_id).map(|id| id.decode_lossy()) else { return false };
        if self.session_id.as_deref() == Some(&*session_id) {
            return false;
        }
        out.set_source(Some(&*session_id), self.in_subagent.then_some(&*session_id));
        self.session_id = Some(session_id.into_owned());
        true
    }
}
