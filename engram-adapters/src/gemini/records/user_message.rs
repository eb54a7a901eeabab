//! Messages in the user's place: prompts, expanded prompts, results as the model gets them, files.

use std::cell::OnceCell;
use std::collections::HashSet;

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{MsgIn, Role};
use engram_core::text::Text;

use super::message_record::MessageRecord;
use super::unknown_part::emit_unknown_part;
use crate::gemini::blocks::{UserTextOrigin, attachment, emit_user_text};
use crate::gemini::results::responses::{emit_displayed_response, emit_response};
use crate::gemini::schema::{FunctionResponse, Part, parts};
use crate::gemini::state::occurrences::HistoryPass;
use crate::gemini::state::session_state::SessionState;
use crate::shared::value::{Value, text};
use engram_core::keys::hash64;

/// Converts a message in the user's place.
#[inline(never)]
pub(super) fn user(
    state: &mut SessionState,
    record: &MessageRecord<'_>,
    mut pass: Option<&mut HistoryPass>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let path = record.content_path();
    let Some(content) = record.message.content() else { return Ok(()) };
    if let Some(text) = content.text() {
        return emit_user_text(state, text, UserTextOrigin::Typed, pass, Pointer::At(&path), out);
    }
    if !content.is_array() {
        return Err(Fault::malformed(path, "text or a list of parts", content.raw()));
    }
    let typed = TypedTexts::of(record.message.display_content());
    if !typed.texts.is_empty() && !parts(Some(content)).any(|part| text(part.plain_text()).is_some_and(|text| typed.contains(text))) {
        let pointer = record.path("/displayContent");
        for text in &typed.texts {
            emit_user_text(state, *text, UserTextOrigin::Typed, pass.as_deref_mut(), Pointer::At(&pointer), out)?;
        }
    }
    if let Some(shown) = record.message.display_content().filter(|shown| shown.is_array()) {
        displayed_responses(state, shown, record, out)?;
    }
    let list = PartList { content, path: &path, responses: OnceCell::new() };
    for (n, part) in parts(Some(content)).enumerate() {
        list.part(n, &part, &typed, state, pass.as_deref_mut(), out)?;
    }
    Ok(())
}

/// What the user typed, if the message has it expanded (`displayContent`). Empty if not.
#[derive(Default)]
struct TypedTexts<'a> {
    texts: Vec<Text<'a>>,
    /// Their tokens. Equal texts of a record have equal tokens.
    tokens: HashSet<&'a str>,
}

impl<'a> TypedTexts<'a> {
    fn of(display_content: Option<Value<'a>>) -> Self {
        let texts: Vec<Text<'a>> = parts(display_content).filter_map(|part| text(part.plain_text())).collect();
        let tokens = texts.iter().map(Text::raw).collect();
        TypedTexts { texts, tokens }
    }

    fn contains(&self, text: Text<'_>) -> bool {
        self.tokens.contains(text.raw())
    }

    /// Who wrote a text of the message.
    fn origin_of(&self, text: Text<'_>) -> UserTextOrigin {
        if self.texts.is_empty() || self.contains(text) { UserTextOrigin::Typed } else { UserTextOrigin::Expanded }
    }
}

/// The parts of one message.
struct PartList<'r> {
    content: Value<'r>,
    path: &'r str,
    /// The number of results among the parts. Counted on first use.
    responses: OnceCell<usize>,
}

impl PartList<'_> {
    fn responses(&self) -> usize {
        *self.responses.get_or_init(|| parts(Some(self.content)).filter(|part| part.response().is_some()).count())
    }

    fn part(
        &self,
        n: usize,
        part: &Part<'_>,
        typed: &TypedTexts<'_>,
        state: &mut SessionState,
        pass: Option<&mut HistoryPass>,
        out: &mut Emitter<'_>,
    ) -> Result<(), Fault> {
        if let Some(response) = part.response() {
            // Usually the model's turn has the result already.
            if response.first_member("id").is_some_and(|id| state.dedup.repeats_response(hash64(id.raw()), response)) {
                return Ok(());
            }
            // A file next to a single result is part of that result.
            let files = (self.responses() == 1).then_some(self.content);
            emit_response(state, response, files, Pointer::Field(self.path, n, "/functionResponse"), out)
        } else if let Some(text) = text(part.plain_text()) {
            emit_user_text(state, text, typed.origin_of(text), pass, Pointer::Field(self.path, n, "/text"), out)
        } else if let Some(blob) = part.inline_data().or(part.file_data()) {
            if self.responses() > 0 || !state.dedup.is_new_text(hash64(("file", blob.raw())), pass) {
                return Ok(());
            }
            let by = state.session.prompt_author();
            let message = MsgIn { role: Role::User, by, text: None, attachments: vec![attachment(blob)] };
            state.tally.emit(message, Pointer::Item(self.path, n), out)
        } else {
            emit_unknown_part(self.content, n, self.path, out)
        }
    }
}

/// Emits the results in `displayContent` that differ from the calls' own results. The harness adds them when it tells the model to
/// continue. They are complete, even if the calls' own results are masked since.
#[cold]
fn displayed_responses(state: &mut SessionState, shown: Value<'_>, record: &MessageRecord<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    for (n, part) in parts(Some(shown)).enumerate() {
        let Some(response) = part.response().map(FunctionResponse::lenient) else { continue };
        if !response.id().is_some_and(|id| state.dedup.repeats_own_response(hash64(id.raw()), &response)) {
            let path = format!("{}/displayContent/{n}/functionResponse", record.base);
            emit_displayed_response(&mut state.tally, &response, Pointer::At(&path), out)?;
        }
    }
    Ok(())
}
