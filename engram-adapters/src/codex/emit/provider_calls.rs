//! Calls that the provider makes itself: web searches and generated images.

use engram_core::emit::Pointer;
use engram_core::event::{Attachment, SideFile, Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::codex::readers::{GeneratedImage, WebSearch};
use crate::shared::media;
use crate::shared::value::{Field, Value, elements, non_empty_text, raw_str, text};

use super::State;
use super::nested_calls::sleep;
use crate::codex::blocks::unquote;
use crate::codex::format::rule;
use crate::codex::plan::calls::Is;
use crate::codex::record::Record;
use crate::codex::tools;

const WEB_SEARCH: &str = "web_search";
const IMAGE_GENERATION: &str = "image_generation";

/// A call of a tool that an extension of the harness has.
pub fn extension(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    match raw_str(record.value.first_member("kind")) {
        "web.search" => web_search_event(state, record, out),
        "clock.sleep" => sleep(state, record, out),
        "image_gen.generation" => generated_image(state, record, out),
        kind => {
            out.unrecognized_block(kind, record.value.raw(), Pointer::At(record.at));
            Outcome::Mapped
        }
    }
}

/// A web search as an event or a completed item. The response item directly after it repeats it.
pub fn web_search_event(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let search = WebSearch::lenient(record.value);
    let id = text(search.call_id().or(search.id()));
    if state.call().1.is == Is::Told {
        return record.duplicate(if search.call_id().is_some() {
            rule::SEARCH_RESULT
        } else {
            rule::SEARCH_ITEM
        });
    }
    let args = search.action().or(search.query()).map(Value::raw);
    let at = Pointer::At(record.at);
    emit_call((state, record), WEB_SEARCH, id, args, at, out);
    if let Some(id) = id {
        let pages = pages(search.results());
        let stdout = pages.as_deref().map(Text::Token);
        out.emit(
            ToolResult {
                stdout,
                ..ok_result(WEB_SEARCH, id)
            },
            record.at,
        );
    }
    Outcome::Mapped
}

/// A web search as a response item: the only record of it in 0.104.
pub fn web_search_item(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let search = WebSearch::lenient(record.value);
    if state.is_told() {
        return record.duplicate(rule::SEARCH_TWIN);
    }
    let id = text(search.id());
    emit_call(
        (state, record),
        WEB_SEARCH,
        id,
        search.action().map(Value::raw),
        Pointer::Root,
        out,
    );
    if let Some(id) = id.filter(|_| raw_str(search.status()) == "completed") {
        out.emit(ok_result(WEB_SEARCH, id), Pointer::Root);
    }
    Outcome::Mapped
}

/// A generated image, as an event or a response item.
pub fn generated_image(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    if state.call().1.is == Is::Told {
        return record.duplicate(rule::IMAGE_MADE);
    }
    let image = GeneratedImage::lenient(record.value);
    let id = text(image.call_id().or(image.id())).unwrap_or_default();
    emit_call(
        (state, record),
        IMAGE_GENERATION,
        Some(id),
        None,
        Pointer::Root,
        out,
    );
    let data = non_empty_text(image.result()).and_then(media::base64_hash);
    let attachment = data.map(|(hash, bytes)| Attachment {
        media_type: None,
        hash: Some(hash),
        bytes: Some(bytes),
        name: None,
    });
    let artifact = text(image.saved_path().or(image.extension_path())).map(|path| SideFile {
        path,
        hash: None,
        bytes: None,
    });
    let (stdout, attachments) = (
        non_empty_text(image.revised_prompt().or(image.extension_prompt())),
        attachment.into_iter().collect(),
    );
    let failure = image
        .failure()
        .and_then(|failure| failure.first_member("type"));
    let status = if raw_str(image.status()) == "failed" {
        Status::Error
    } else {
        Status::Ok
    };
    out.emit(
        ToolResult {
            stdout,
            stderr: text(failure),
            artifact,
            attachments,
            status: Some(status),
            ..ok_result(IMAGE_GENERATION, id)
        },
        Pointer::Root,
    );
    Outcome::Mapped
}

fn emit_call(
    (state, record): (&State, &Record<'_>),
    tool: &str,
    call_id: Option<Text<'_>>,
    args: Option<&str>,
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    out.emit_child(
        state.scripts.maker(call_id, record),
        ToolCall {
            call_id,
            args,
            ..ToolCall::new(Text::Plain(tool), tools::kind(tool, ""))
        },
        at,
    );
}

fn ok_result<'a>(tool: &'a str, call_id: Text<'a>) -> ToolResult<'a> {
    ToolResult {
        tool: Some(Text::Plain(tool)),
        call_id: Some(call_id),
        status: Some(Status::Ok),
        ..ToolResult::default()
    }
}

/// The title, address and excerpt of each page that a search found, as one JSON token.
fn pages(results: Field<'_>) -> Option<String> {
    let fields = elements(results).flat_map(|page| {
        ["title", "url", "snippet"]
            .into_iter()
            .filter_map(move |name| page.first_member(name))
    });
    let texts: Vec<&str> = fields
        .filter(|field| field.text().is_some())
        .map(|text| unquote(text.raw()))
        .collect();
    (!texts.is_empty()).then(|| format!("\"{}\"", texts.join("\\n")))
}
