//! What stands at the end of a session: values of its own record, which the harness writes again at each change.

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::Meta;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::last_notices::LastNotices;
use super::session_state::SessionState;

/// Emits what stands at the end of a session.
#[cold]
pub(super) fn session_end(state: &mut SessionState, out: &mut Emitter<'_>) {
    state.undone.end(out);
    state.revert.end(out);
    state.titles.end(out);
    let LastNotices { share, archived } = std::mem::take(&mut state.last_notices);
    let end = state.last_stated.changed_at_end();
    out.of_record(0, RecordHeader::default(), |out| {
        if let Some(facts) = end.facts() {
            out.emit(Meta::Session(facts), Pointer::Root);
        }
        if let Some(url) = &share {
            emit_notice("share", Some(Text::Token(url)), out);
        }
    });
    if let Some(archived) = archived {
        let header = RecordHeader {
            t: archived.and_then(|archived| state.clock.format(archived)),
            ..RecordHeader::default()
        };
        out.of_record(0, header, |out| emit_notice("archived", None, out));
    }
}

fn emit_notice(name: &'static str, text: Option<Text<'_>>, out: &mut Emitter<'_>) {
    let name = Text::Plain(name);
    out.emit(Meta::system(name, text), Pointer::Root);
}
