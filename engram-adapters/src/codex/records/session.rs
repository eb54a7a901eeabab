//! A session that is read record by record: the entry point from the pipeline.

use engram_core::adapter::{Session, SideInfo};
use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::Meta;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::shared::value::{StructuralIndex, parse};

use super::dispatch;
use super::prompts::{self, Twin};
use super::ts_document;
use crate::codex::omissions;
use crate::codex::results::end_result::emit_without_output;
use crate::codex::source::cut_line::{is_cut_record, next_record};
use crate::codex::state::session_state::SessionState;

/// The name of a record that a kill cut.
const CUT_RECORD: &str = "cut_record";

/// One file under conversion.
pub struct CodexSession {
    state: SessionState,
    /// The values of the current line. Kept only to spare allocations.
    index: StructuralIndex,
}

impl CodexSession {
    /// A session before its first record.
    pub fn new(side_info: &SideInfo) -> Self {
        CodexSession { state: SessionState::new(side_info), index: StructuralIndex::default() }
    }
}

impl Session for CodexSession {
    fn record(&mut self, text: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        if is_state_line(text) {
            return dispatch::omitted("state");
        }
        let line = parse(text, &mut self.index)?;
        let outcome = dispatch::convert_line(&mut self.state, line, out);
        self.state.end_record(outcome.is_ok());
        outcome
    }

    fn document(&mut self, text: &str, out: &mut Emitter) -> Result<(), Fault> {
        ts_document::convert_document(&mut self.state, text, out)
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        prompts::release(&mut self.state, || Twin::Unknown, out)?;
        for (call_id, end) in self.state.pending_ends.take_all() {
            emit_without_output(&end, &self.state.calls, &call_id, out)?;
        }
        Ok(())
    }

    fn fragment(&mut self, text: &str, out: &mut Emitter) -> Option<Result<Outcome, Fault>> {
        let is_cut = is_cut_record(text);
        if is_cut && !self.state.records.insert(text) {
            return Some(Ok(Outcome::Duplicate { record: CUT_RECORD, rule: omissions::REPEATED.rule }));
        }
        self.state.records.commit();
        if let Err(fault) = prompts::release(&mut self.state, || Twin::Unknown, out) {
            return Some(Err(fault));
        }
        is_cut.then(|| {
            let code = Some(Text::Plain(CUT_RECORD));
            out.emit(Meta::Error { code, text: Some(Text::Plain(text)) }, Pointer::Root).map(|_| Outcome::Mapped)
        })
    }

    fn resync(&self, text: &str) -> Option<usize> {
        next_record(text)
    }
}

/// True for a line of the bare form that has only the id of the last response (0.8 to 0.29). Two of them are around every request, so
/// they are recognized without parsing.
fn is_state_line(line: &str) -> bool {
    let id = line.strip_prefix(r#"{"record_type":"state","previous_response_id":"#).and_then(|rest| rest.strip_suffix('}'));
    // Without branches, so that it is vectorized.
    let is_plain = |id: &str| id.bytes().fold(true, |plain, byte| plain & (byte.is_ascii_alphanumeric() | (byte == b'_')));
    id.is_some_and(|id| id == "null" || id.strip_prefix('"').and_then(|id| id.strip_suffix('"')).is_some_and(is_plain))
}
