//! Calls that the provider makes itself: web searches and generated images.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Attachment, SideFile, Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::shared::media;
use crate::shared::value::{Field, Value, non_empty_text, raw_str, text};
use crate::shared::view::view;

use crate::codex::blocks::unquote;
use crate::codex::omissions;
use crate::codex::record::Record;
use crate::codex::results::nested_calls::is_stated;
use crate::codex::schema::elements;
use crate::codex::state::open_calls::NewCall;
use crate::codex::state::session_state::SessionState;
use crate::codex::tools;

view! {
    /// A web search, as an event or a response item.
    WebSearch {
        id: "id" String,
        call_id: "call_id" String,
        status: "status" String,
        action: "action" Object,
        query: "query" String,
        results: "results" Array,
    }
}

view! {
    /// A generated image, as an event or a response item.
    GeneratedImage {
        id: "id" String,
        call_id: "call_id" String,
        revised_prompt: "revised_prompt" String,
        result: "result" String,
        saved_path: "saved_path" String,
    }
}

const WEB_SEARCH: &str = "web_search";
const IMAGE_GENERATION: &str = "image_generation";

/// A web search as an event or a completed item. The response item directly after it repeats it.
pub fn web_search_event(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let search = WebSearch::strict(record.value, record.at)?;
    let id = text(search.call_id().or(search.id()));
    if id.is_some_and(|id| state.calls.tool(&id.decode_lossy()).is_some()) {
        let rule = if search.call_id().is_some() { omissions::SEARCH_RESULT } else { omissions::ITEM_SEARCH };
        return Ok(record.omitted_by(&rule));
    }
    state.searches.add_event();
    let args = search.action().or(search.query()).map(Value::raw);
    emit_call(WEB_SEARCH, id, args, Pointer::At(record.at), out)?;
    if let Some(id) = id {
        let pages = pages(search.results());
        let stdout = pages.as_deref().map(Text::Token);
        out.emit(ToolResult { stdout, ..ok_result(WEB_SEARCH, id) }, Pointer::At(record.at))?;
    }
    Ok(Outcome::Mapped)
}

/// A web search as a response item: the only record of it in 0.104.
pub fn web_search_item(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let search = WebSearch::strict(record.value, record.at)?;
    if state.searches.follows_event() {
        return Ok(record.omitted_by(&omissions::SEARCH_MIRROR));
    }
    let id = text(search.id());
    emit_call(WEB_SEARCH, id, search.action().map(Value::raw), record.pointer(), out)?;
    if let Some(id) = id.filter(|_| raw_str(search.status()) == "completed") {
        out.emit(ok_result(WEB_SEARCH, id), record.pointer())?;
    }
    Ok(Outcome::Mapped)
}

/// A generated image, as an event or a response item.
pub fn generated_image(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let image = GeneratedImage::strict(record.value, record.at)?;
    let Some(id) = text(image.call_id().or(image.id())) else {
        return Err(Fault::malformed(record.at, "the id of a call", "nothing"));
    };
    let key = id.decode_lossy();
    let is_images = state.calls.tool(&key).is_none_or(|tool| tool == IMAGE_GENERATION);
    if is_images && is_stated(&mut state.calls, id, record, out) {
        state.calls.set_stated_by(&key, record.name);
        return Ok(record.omitted_by(&omissions::IMAGE_GENERATED));
    }
    emit_call(IMAGE_GENERATION, Some(id), None, record.pointer(), out)?;
    let data = non_empty_text(image.result()).and_then(media::base64_hash);
    let attachment = data.map(|(hash, bytes)| Attachment { media_type: None, hash: Some(hash), bytes: Some(bytes), name: None });
    let artifact = text(image.saved_path()).map(|path| SideFile { path, hash: None, bytes: None });
    let (stdout, attachments) = (non_empty_text(image.revised_prompt()), attachment.into_iter().collect());
    out.emit(ToolResult { stdout, artifact, attachments, ..ok_result(IMAGE_GENERATION, id) }, record.pointer())?;
    state.calls.open(&key, NewCall { tool: tools::name(IMAGE_GENERATION), ..NewCall::default() });
    state.calls.end_without_output(&key);
    state.calls.set_stated_by(&key, record.name);
    Ok(Outcome::Mapped)
}

fn emit_call(tool: &str, call_id: Option<Text<'_>>, args: Option<&str>, at: Pointer<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    out.emit(ToolCall { call_id, args, ..ToolCall::new(Text::Plain(tool), tools::kind(tool, "")) }, at)?;
    Ok(())
}

fn ok_result<'a>(tool: &'a str, call_id: Text<'a>) -> ToolResult<'a> {
    ToolResult { tool: Some(Text::Plain(tool)), call_id: Some(call_id), status: Some(Status::Ok), ..ToolResult::default() }
}

/// The title, address and excerpt of each page that a search found, as one JSON token.
fn pages(results: Field<'_>) -> Option<String> {
    let fields = elements(results).flat_map(|page| ["title", "url", "snippet"].into_iter().filter_map(move |name| page.first_member(name)));
    let texts: Vec<&str> = fields.filter(|field| field.text().is_some()).map(|text| unquote(text.raw())).collect();
    (!texts.is_empty()).then(|| format!("\"{}\"", texts.join("\\n")))
}
