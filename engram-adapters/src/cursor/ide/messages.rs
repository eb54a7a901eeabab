//! The record of a conversation, and its messages ("bubbles").

use engram_core::emit::{Fault, Pointer, RecordHeader};
use engram_core::event::{
    Attachment, Author, ImplicitInput, Meta, MsgIn, MsgOut, SessionFacts, Tokens, Usage,
};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::tool_data;
use crate::cursor::fields::{decoded, required, time_of_millis};
use crate::cursor::format::{EditorKind, rule};
use crate::cursor::members;
use crate::cursor::messages::emit_reasoning;
use crate::cursor::readers::{
    Bubble, Composer, ComposerSubagent, EditorLine, Selection, ToolFormerData,
};
use crate::cursor::steps::Out;
use crate::shared::time;
use crate::shared::value::{Value, count, elements, is_true, non_empty_text, raw_str, text};

/// What the record of the conversation says of its messages.
#[derive(Default)]
pub(super) struct Facts {
    /// Another agent started it.
    is_of_agent: bool,
}

impl Facts {
    /// Who writes its prompts.
    fn prompts_by(&self) -> Author {
        if self.is_of_agent {
            Author::Agent
        } else {
            Author::Person
        }
    }
}

/// The conversation: its name, model and directory.
pub(super) fn composer(
    conversation: &mut Facts,
    line: &EditorLine<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let pointer = Pointer::At("/composer");
    let composer = Composer::lenient(required(line.composer(), pointer, "an object")?);
    let time = time_of_millis(composer.created_at().or(composer.last_send_time()));
    out.set_header(RecordHeader {
        t: time.as_deref(),
        ..RecordHeader::default()
    });
    members::check(raw_str(line.store()), line.object(), out);
    let started_by = composer.subagent_info().map(ComposerSubagent::lenient);
    conversation.is_of_agent = started_by.is_some();
    let facts = SessionFacts {
        model: composer
            .model_config()
            .and_then(|config| non_empty_text(config.member("modelName"))),
        title: non_empty_text(composer.name()).or(non_empty_text(composer.chat_title())),
        cwd: composer
            .workspace_identifier()
            .and_then(|workspace| non_empty_text(workspace.member("uri")?.member("fsPath"))),
        parent_session_id: started_by.and_then(|by| {
            non_empty_text(by.parent_composer_id()).or(non_empty_text(by.parent_agent_id()))
        }),
        parent_call_id: started_by.and_then(|by| non_empty_text(by.tool_call_id())),
        agent: started_by
            .and_then(|by| non_empty_text(by.type_name()))
            .or(non_empty_text(composer.unified_mode())),
        ..SessionFacts::default()
    };
    out.emit(Meta::Session(facts), pointer)?;
    Ok(Outcome::Mapped)
}

/// A message: a prompt, or an answer with its call.
pub(super) fn bubble(
    conversation: &mut Facts,
    line: &EditorLine<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let bubble = required(line.bubble(), Pointer::At("/bubble"), "an object")?;
    let bubble = Bubble::strict(bubble, "/bubble")?;
    let created = decoded(bubble.created_at());
    let time = created.as_deref().and_then(time::rfc3339);
    out.set_header(RecordHeader::new(
        time.as_deref(),
        text(bubble.bubble_id().or(bubble.id())),
    ));
    members::check("bubble", line.object(), out);
    let mut events = match bubble.kind().map(Value::raw) {
        Some("1" | "\"user\"") if is_true(line.unlisted()) => emit_unlisted(&bubble, out)?,
        Some("1" | "\"user\"") => emit_prompt(&bubble, conversation.prompts_by(), out)?,
        Some("2" | "\"ai\"") => emit_answer(&bubble, out)?,
        kind => {
            return Err(Fault::unrecognized(&format!(
                "bubble/{}",
                kind.unwrap_or_default()
            )));
        }
    };
    if let Some(blocks) = bubble
        .code_blocks()
        .filter(|blocks| blocks.elements().next().is_some())
    {
        let notice = Meta::system("codeBlocks", Some(blocks.json()));
        out.emit(notice, "/bubble/codeBlocks")?;
        events += 1;
    }
    if let Some(call) = bubble.tool_former_data() {
        events += tool_data::emit(&ToolFormerData::lenient(call), line, out)?;
    }
    events += emit_usage(&bubble, out)?;
    let omitted = Outcome::bookkeeping(EditorKind::Bubble.name(), rule::EMPTY_BUBBLE);
    Ok(if events == 0 {
        omitted
    } else {
        Outcome::Mapped
    })
}

fn message_text<'a>(bubble: &Bubble<'a>) -> Option<Text<'a>> {
    non_empty_text(bubble.text()).or(non_empty_text(bubble.raw_text()))
}

/// Emits a prompt with what the user added to it, and returns the number of events.
fn emit_prompt(
    bubble: &Bubble<'_>,
    prompts_by: Author,
    out: &mut Out<'_, '_>,
) -> Result<usize, Fault> {
    let (text, attachments) = (message_text(bubble), images(bubble));
    let by = if is_true(bubble.is_simulated_msg()) {
        Author::Harness
    } else {
        prompts_by
    };
    let mut events = 0;
    if text.is_some() || !attachments.is_empty() {
        out.emit(MsgIn::user(by, text).with(attachments), "/bubble/text")?;
        events += 1;
    }
    Ok(events + emit_selections(bubble, out)?)
}

/// Emits a prompt that the conversation does not list: the person edited it, or went back to before it. What took its place is listed.
fn emit_unlisted(bubble: &Bubble<'_>, out: &mut Out<'_, '_>) -> Result<usize, Fault> {
    let Some(text) = message_text(bubble) else {
        return Ok(0);
    };
    let notice = Meta::system("unlisted", Some(text));
    out.emit(notice, "/bubble/text")?;
    Ok(1)
}

/// Emits reasoning and answer, and returns the number of events.
fn emit_answer(bubble: &Bubble<'_>, out: &mut Out<'_, '_>) -> Result<usize, Fault> {
    let mut events = 0;
    if let Some(reasoning) = bubble
        .thinking()
        .and_then(|thinking| non_empty_text(thinking.member("text")))
    {
        events += emit_reasoning(reasoning, Pointer::At("/bubble/thinking/text"), out)?;
    }
    if let Some(text) = message_text(bubble) {
        let model = bubble
            .model_info()
            .and_then(|info| non_empty_text(info.member("modelName")))
            .or(non_empty_text(bubble.model_type()));
        out.emit(
            MsgOut {
                text: Some(text),
                model,
                ..MsgOut::default()
            },
            "/bubble/text",
        )?;
        events += 1;
    }
    Ok(events)
}

/// The images that the user added to the prompt, by name.
fn images<'a>(bubble: &Bubble<'a>) -> Vec<Attachment<'a>> {
    let images = elements(bubble.selected_images());
    let names = images.filter_map(|image| non_empty_text(image.member("path")));
    names
        .map(|name| Attachment {
            media_type: None,
            hash: None,
            bytes: None,
            name: Some(name),
        })
        .collect()
}

/// Emits the files, and parts of files, that the user added to the prompt. Returns the number of events.
fn emit_selections(bubble: &Bubble<'_>, out: &mut Out<'_, '_>) -> Result<usize, Fault> {
    let mut events = 0;
    for (name, path, list) in [
        ("selection", "/bubble/selections", bubble.selections()),
        ("file", "/bubble/fileSelections", bubble.file_selections()),
    ] {
        for (index, selection) in elements(list).enumerate() {
            let selection = Selection::lenient(selection);
            let file = selection
                .uri()
                .and_then(|uri| non_empty_text(uri.member("fsPath").or(uri.member("path"))));
            let text = non_empty_text(selection.raw_text()).or(non_empty_text(selection.text()));
            let context = ImplicitInput {
                name: Text::Plain(name),
                file,
                hash: None,
                bytes: None,
                text,
            };
            out.emit(Meta::Context(context), Pointer::Item(path, index))?;
            events += 1;
        }
    }
    Ok(events)
}

/// Emits the tokens of a message, and returns the number of events. If both counts are 0, the editor does not know them.
fn emit_usage(bubble: &Bubble<'_>, out: &mut Out<'_, '_>) -> Result<usize, Fault> {
    let tokens = |name| count(bubble.token_count()?.member(name));
    let (input, output) = (tokens("inputTokens"), tokens("outputTokens"));
    if ![input, output]
        .into_iter()
        .flatten()
        .any(|tokens| tokens > 0)
    {
        return Ok(0);
    }
    let tokens = Tokens {
        input,
        output,
        ..Tokens::default()
    };
    out.emit(
        Meta::Usage(Usage {
            tokens,
            ..Usage::default()
        }),
        "/bubble/tokenCount",
    )?;
    Ok(1)
}
