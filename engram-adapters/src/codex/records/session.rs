//! A session that is read record by record: the entry point from the pipeline.

use engram_core::adapter::{Session, SessionInit, SideInfo};
use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::Meta;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::shared::by_session::{BySession, Ended};
use crate::shared::value::{StructuralIndex, Value, parse, raw_str, text};

use super::dispatch;
use super::{ts_document, undecided};
use crate::codex::omissions;
use crate::codex::results::end_result::emit_without_output;
use crate::codex::revisions::EXEC_JSON;
use crate::codex::source::cut_line::{is_cut_record, next_record};
use crate::codex::state::session_state::SessionState;

/// The name of a record that a kill cut.
const CUT_RECORD: &str = "cut_record";

/// One file under conversion. Several runs may have printed to it, one after the other.
pub struct CodexSession {
    threads: BySession<SessionState>,
    is_printed: bool,
    /// The values of the current line. Kept only to spare allocations.
    index: StructuralIndex,
}

impl CodexSession {
    /// A session before its first record.
    pub fn new(init: &SessionInit<'_>) -> Self {
        let begin = || SessionState::new(&SideInfo::default());
        CodexSession {
            threads: BySession::new(SessionState::new(init.context), begin),
            is_printed: init.identity.schema == Some(EXEC_JSON),
            index: StructuralIndex::default(),
        }
    }
}

/// The thread that a run of `exec --json` names when it begins. Its other lines have no id: they belong to the run that began last.
fn printed_thread(line: Value<'_>) -> Option<Text<'_>> {
    text(line.first_member("thread_id")).filter(|_| raw_str(line.first_member("type")) == "thread.started")
}

/// Emits what no later record of a thread completes.
fn finish(mut ended: Ended<SessionState>, out: &mut Emitter) -> Result<(), Fault> {
    let state = &mut *ended.state;
    undecided::finish(state, dispatch::convert_waiting, out)?;
    for (call_id, end) in state.pending_ends.take_all() {
        emit_without_output(&end, &state.calls, &call_id, out)?;
    }
    Ok(())
}

impl Session for CodexSession {
    fn record(&mut self, text: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        if is_state_line(text) {
            return dispatch::omitted("state");
        }
        let line = parse(text, &mut self.index)?;
        if let Some(thread) = printed_thread(line).filter(|_| self.is_printed).map(|id| id.decode_lossy()) {
            // What a run prints leaves nothing open.
            drop(self.threads.switch_to(&thread));
            if self.threads.has_several() {
                out.set_source(Some(&*thread), None);
            }
        }
        let state = self.threads.current();
        let outcome = dispatch::convert_line(state, line, out);
        state.end_record(outcome.is_ok());
        outcome
    }

    /// A rollout is one session, whatever was copied into it.
    fn sessions_are_apart(&self) -> bool {
        self.is_printed
    }

    fn document(&mut self, text: &str, out: &mut Emitter) -> Result<(), Fault> {
        ts_document::convert_document(self.threads.current(), text, out)
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.threads.end_all().into_iter().try_for_each(|ended| finish(ended, out))
    }

    fn fragment(&mut self, text: &str, out: &mut Emitter) -> Option<Result<Outcome, Fault>> {
        let is_cut = is_cut_record(text);
        let state = self.threads.current();
        if is_cut && !state.records.insert(text) {
            return Some(Ok(Outcome::Duplicate { record: CUT_RECORD, rule: omissions::REPEATED.rule }));
        }
        state.records.commit();
        if let Err(fault) = undecided::finish(state, dispatch::convert_waiting, out) {
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
