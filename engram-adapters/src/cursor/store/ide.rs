//! Opened editor conversations: bubbles of 2026 with their tool data, and the plainer ones of 2024.

use engram_core::adapter::Session;
use engram_core::emit::{Emitter, Fault, Stamp};
use engram_core::event::{
    CodeEdit, Decision, EditOp, Meta, MsgIn, MsgOut, Number, Permission, Role, SessionFacts, Status, Tokens, ToolCall, ToolResult, Usage,
};
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::chat::millis;
use crate::cursor::edits::whole_file_edits;
use crate::cursor::transcript::reasoning;
use crate::cursor::{decoded, text_or_json, tools, word};
use crate::kit::json::{self, Raw, boolean, filled_text, integer, is_array, is_object, text};
use crate::kit::time;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    store: Raw<'a>,
    #[serde(borrow)]
    composer: Option<Composer<'a>>,
    #[serde(borrow)]
    bubble: Raw<'a>,
    #[serde(borrow)]
    before: Raw<'a>,
    #[serde(borrow)]
    after: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Composer<'a> {
    #[serde(borrow)]
    name: Raw<'a>,
    #[serde(borrow)]
    chat_title: Raw<'a>,
    #[serde(borrow)]
    created_at: Raw<'a>,
    #[serde(borrow)]
    last_send_time: Raw<'a>,
    #[serde(borrow)]
    unified_mode: Raw<'a>,
    #[serde(borrow)]
    model_config: Option<ModelConfig<'a>>,
    #[serde(borrow)]
    workspace_identifier: Option<WorkspaceIdentifier<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelConfig<'a> {
    #[serde(borrow)]
    model_name: Raw<'a>,
}

#[derive(Deserialize)]
struct WorkspaceIdentifier<'a> {
    #[serde(borrow)]
    uri: Option<Uri<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Uri<'a> {
    #[serde(borrow)]
    fs_path: Raw<'a>,
}

/// A message. `type` is 1 or `user`, 2 or `ai`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bubble<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    bubble_id: Raw<'a>,
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    created_at: Raw<'a>,
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    raw_text: Raw<'a>,
    #[serde(borrow)]
    thinking: Option<Thinking<'a>>,
    #[serde(borrow)]
    model_info: Option<ModelConfig<'a>>,
    #[serde(borrow)]
    model_type: Raw<'a>,
    #[serde(borrow)]
    code_blocks: Raw<'a>,
    #[serde(borrow)]
    token_count: Option<TokenCount<'a>>,
    #[serde(borrow)]
    tool_former_data: Option<ToolFormerData<'a>>,
}

#[derive(Deserialize)]
struct Thinking<'a> {
    #[serde(borrow)]
    text: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TokenCount<'a> {
    #[serde(borrow)]
    input_tokens: Raw<'a>,
    #[serde(borrow)]
    output_tokens: Raw<'a>,
}

/// A call of 2026. `params`, `rawArgs`, `result` and `error` are JSON inside a string.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolFormerData<'a> {
    #[serde(borrow)]
    name: Raw<'a>,
    #[serde(borrow)]
    tool_call_id: Raw<'a>,
    #[serde(borrow)]
    status: Raw<'a>,
    #[serde(borrow)]
    raw_args: Raw<'a>,
    #[serde(borrow)]
    params: Raw<'a>,
    #[serde(borrow)]
    result: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
    #[serde(borrow)]
    user_decision: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    #[serde(borrow)]
    relative_workspace_path: Raw<'a>,
    #[serde(borrow)]
    target_file: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcomes<'a> {
    #[serde(borrow)]
    output: Raw<'a>,
    #[serde(borrow)]
    exit_code: Raw<'a>,
    #[serde(borrow)]
    apply_failed: Raw<'a>,
}

/// Converts one opened conversation.
pub(in crate::cursor) struct Converter;

impl Session for Converter {
    fn record(&mut self, record: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let line: Line<'_> = json::parse(record)?;
        match word(line.store) {
            "composer" | "tab" => {
                let composer = line.composer.ok_or_else(|| Fault::malformed("/composer", "an object", "nothing"))?;
                composer.convert(out)
            }
            "bubble" => {
                let Some(raw) = line.bubble.filter(|bubble| is_object(bubble)) else {
                    return Err(Fault::malformed("/bubble", "an object", line.bubble.map(RawValue::get).unwrap_or_default()));
                };
                let bubble: Bubble<'_> = json::read(raw, "/bubble", "a message")?;
                bubble.convert(&line, out)
            }
            name => Err(Fault::unrecognized(name)),
        }
    }
}

impl Composer<'_> {
    fn convert(&self, out: &mut Emitter) -> Result<Outcome, Fault> {
        let time = millis(self.created_at.or(self.last_send_time));
        out.stamp(Stamp { t: time.as_deref(), ..Stamp::default() });
        let facts = SessionFacts {
            model: self.model_config.as_ref().and_then(|config| filled_text(config.model_name)),
            title: filled_text(self.name).or(filled_text(self.chat_title)),
            cwd: self.workspace_identifier.as_ref().and_then(|workspace| filled_text(workspace.uri.as_ref()?.fs_path)),
            agent: filled_text(self.unified_mode),
            ..SessionFacts::default()
        };
        out.emit(Meta::Session(facts), Pointer::At("/composer"))?;
        Ok(Outcome::Mapped)
    }
}

impl Bubble<'_> {
    fn convert(&self, line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let created = decoded(self.created_at);
        let time = created.as_deref().and_then(time::rfc3339);
        out.stamp(Stamp { t: time.as_deref(), id: text(self.bubble_id.or(self.id)), replay: false });
        let said = filled_text(self.text).or(filled_text(self.raw_text));
        let mut events = 0;
        match self.kind.map(RawValue::get) {
            Some("1" | "\"user\"") => {
                if said.is_some() {
                    let prompt = MsgIn { role: Role::User, text: said, synthetic: false, attachments: Vec::new() };
                    out.emit(prompt, Pointer::At("/bubble/text"))?;
                    events += 1;
                }
            }
            Some("2" | "\"ai\"") => {
                if let Some(thought) = self.thinking.as_ref().and_then(|thinking| filled_text(thinking.text)) {
                    events += reasoning(thought, Pointer::At("/bubble/thinking/text"), out)?;
                }
                let model = self.model_info.as_ref().and_then(|info| filled_text(info.model_name)).or(filled_text(self.model_type));
                if said.is_some() {
                    out.emit(MsgOut { text: said, model, ..MsgOut::default() }, Pointer::At("/bubble/text"))?;
                    events += 1;
                }
            }
            kind => return Err(Fault::unrecognized(&format!("bubble/{}", kind.unwrap_or_default()))),
        }
        if let Some(blocks) = self.code_blocks.filter(|blocks| is_array(blocks) && blocks.get().len() > 2) {
            let notice = Meta::System { name: Text::Plain("codeBlocks"), text: Some(Text::Plain(blocks.get())) };
            out.emit(notice, Pointer::At("/bubble/codeBlocks"))?;
            events += 1;
        }
        if let Some(call) = &self.tool_former_data {
            events += call.convert(line, out)?;
        }
        events += self.usage(out)?;
        Ok(if events == 0 { Outcome::Bookkeeping { record: "bubble", rule: "empty_bubble" } } else { Outcome::Mapped })
    }

    /// Tokens of the message. 0 of both is how the editor says that it does not know.
    fn usage(&self, out: &mut Emitter) -> Result<usize, Fault> {
        let Some(count) = &self.token_count else { return Ok(0) };
        let known = [count.input_tokens, count.output_tokens].into_iter().any(|raw| integer(raw).is_some_and(|tokens| tokens > 0));
        if !known {
            return Ok(0);
        }
        let tokens = Tokens {
            input: count.input_tokens.and_then(Number::of),
            output: count.output_tokens.and_then(Number::of),
            ..Tokens::default()
        };
        out.emit(Meta::Usage(Usage { tokens, ..Usage::default() }), Pointer::At("/bubble/tokenCount"))?;
        Ok(1)
    }
}

impl ToolFormerData<'_> {
    /// A call and, where it has ended, its result and the edit that it shows.
    fn convert(&self, line: &Line<'_>, out: &mut Emitter) -> Result<usize, Fault> {
        let Some(tool) = filled_text(self.name) else { return Ok(0) };
        let pointer = Pointer::At("/bubble/toolFormerData");
        let call_id = filled_text(self.tool_call_id);
        let (params, raw_args) = (decoded(self.params), decoded(self.raw_args));
        let is_json = |args: &&str| serde_json::from_str::<IgnoredAny>(args).is_ok();
        let args = raw_args.as_deref().filter(is_json).or(params.as_deref().filter(is_json));
        let kind = tools::TOOLS.kind(&tool.decode_lossy());
        let call = out.emit(ToolCall { tool, kind, call_id, args }, pointer)?;
        let mut events = 1;
        if let Some(params) = params.as_deref().filter(|params| args != Some(*params)) {
            out.emit(Meta::System { name: Text::Plain("params"), text: Some(Text::Plain(params)) }, pointer)?;
        }
        let rejected = word(self.user_decision) == "rejected";
        if let Some(decision) = match word(self.user_decision) {
            "accepted" => Some(Decision::Allow),
            "rejected" => Some(Decision::Deny),
            _ => None,
        } {
            out.emit(Meta::Permission(Permission { decision, tool: Some(tool), call_id, text: None }), pointer)?;
        }
        let status = match word(self.status) {
            "completed" => Status::Ok,
            "error" => Status::Error,
            "cancelled" => Status::Cancelled,
            _ => return Ok(events),
        };
        let told = decoded(self.result);
        let outcomes: Outcomes<'_> = told.as_deref().and_then(|told| serde_json::from_str(told).ok()).unwrap_or_default();
        let exit = integer(outcomes.exit_code);
        let result = ToolResult {
            tool: Some(tool),
            call_id,
            status: Some(if exit.is_some_and(|exit| exit != 0) { Status::Error } else { status }),
            exit,
            stdout: filled_text(outcomes.output).or(told.as_deref().map(Text::Plain)).filter(|text| !text.is_empty()),
            stderr: text_or_json(self.error).filter(|text| !text.is_empty()),
            ..ToolResult::default()
        };
        out.parent_of_next(Some(call));
        out.emit(result, pointer)?;
        events += 1;
        if status == Status::Ok && !rejected && boolean(outcomes.apply_failed) != Some(true) {
            let params: Option<Params<'_>> = params.as_deref().and_then(|params| serde_json::from_str(params).ok());
            let file = params.and_then(|params| filled_text(params.relative_workspace_path).or(filled_text(params.target_file)));
            if let (Some(file), Some(after)) = (file, text(line.after)) {
                let op = if line.before.is_some() { EditOp::Update } else { EditOp::Create };
                let edit = CodeEdit { call_id, ..CodeEdit::new(op, file) };
                for edit in whole_file_edits(edit, text(line.before), after, None) {
                    out.parent_of_next(Some(call));
                    out.emit(edit, pointer)?;
                }
            }
        }
        Ok(events)
    }
}
