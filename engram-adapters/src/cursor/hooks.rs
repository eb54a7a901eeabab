//! Logs of hook payloads, a payload a line: the only artifact of Cursor that records its version.

use engram_core::adapter::Session;
use engram_core::emit::{Emitter, Fault, Stamp};
use engram_core::event::{
    Attachment, CodeEdit, Context, EditOp, Meta, MsgIn, MsgOut, Number, Role, SessionFacts, Status, Tokens, ToolCall, ToolResult, Usage,
};
use engram_core::hash::Hash;
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::edits::snippet;
use super::{decoded, text_or_json, tools, word};
use crate::kit::json::{self, Raw, boolean, filled_text, text};

/// The fields of all hook steps (SDK 1.0.32; `preCompact` also from the command line 2026.10.01).
#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    hook_event_name: Raw<'a>,
    #[serde(borrow)]
    conversation_id: Raw<'a>,
    #[serde(borrow)]
    generation_id: Raw<'a>,
    #[serde(borrow)]
    cursor_version: Raw<'a>,
    #[serde(borrow)]
    model: Raw<'a>,
    #[serde(borrow, default)]
    workspace_roots: Vec<&'a RawValue>,
    #[serde(borrow)]
    transcript_path: Raw<'a>,
    #[serde(borrow)]
    composer_mode: Raw<'a>,
    #[serde(borrow)]
    prompt: Raw<'a>,
    #[serde(borrow, default)]
    attachments: Vec<Attached<'a>>,
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    tool_name: Raw<'a>,
    #[serde(borrow)]
    tool_input: Raw<'a>,
    #[serde(borrow)]
    tool_use_id: Raw<'a>,
    #[serde(borrow)]
    tool_output: Raw<'a>,
    #[serde(borrow)]
    result_json: Raw<'a>,
    #[serde(borrow)]
    duration: Raw<'a>,
    #[serde(borrow)]
    error_message: Raw<'a>,
    #[serde(borrow)]
    failure_type: Raw<'a>,
    #[serde(borrow)]
    is_interrupt: Raw<'a>,
    #[serde(borrow)]
    command: Raw<'a>,
    #[serde(borrow)]
    output: Raw<'a>,
    #[serde(borrow)]
    file_path: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    edits: Raw<'a>,
    #[serde(borrow)]
    trigger: Raw<'a>,
    #[serde(borrow)]
    status: Raw<'a>,
    #[serde(borrow)]
    input_tokens: Raw<'a>,
    #[serde(borrow)]
    output_tokens: Raw<'a>,
    #[serde(borrow)]
    cache_read_tokens: Raw<'a>,
    #[serde(borrow)]
    cache_write_tokens: Raw<'a>,
    #[serde(borrow)]
    subagent_id: Raw<'a>,
    #[serde(borrow)]
    subagent_type: Raw<'a>,
    #[serde(borrow)]
    subagent_model: Raw<'a>,
    #[serde(borrow)]
    task: Raw<'a>,
    #[serde(borrow)]
    summary: Raw<'a>,
    #[serde(borrow)]
    agent_transcript_path: Raw<'a>,
    #[serde(borrow)]
    parent_conversation_id: Raw<'a>,
    #[serde(borrow)]
    tool_call_id: Raw<'a>,
    #[serde(borrow)]
    git_branch: Raw<'a>,
}

#[derive(Deserialize)]
struct Attached<'a> {
    #[serde(borrow)]
    file_path: Raw<'a>,
}

#[derive(Deserialize)]
struct Replaced<'a> {
    #[serde(borrow)]
    old_string: Raw<'a>,
    #[serde(borrow)]
    new_string: Raw<'a>,
}

/// Converts one log.
#[derive(Default)]
pub(super) struct Converter {
    /// The session facts that were stated last.
    stated: (String, String, String),
}

impl Session for Converter {
    fn record(&mut self, record: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let payload: Payload<'_> = json::parse(record)?;
        if let Some(version) = decoded(payload.cursor_version) {
            out.version(&version)?;
        }
        let session = decoded(payload.conversation_id).filter(|id| !id.is_empty());
        let agent = decoded(payload.subagent_id).filter(|id| !id.is_empty());
        out.source(session.as_deref(), agent.as_deref());
        out.stamp(Stamp { id: filled_text(payload.generation_id), ..Stamp::default() });
        let name = word(payload.hook_event_name);
        if !is_known(name) {
            return Err(Fault::unrecognized(name));
        }
        let stated = self.session(&payload, out)?;
        let events = payload.convert(name, out)?;
        Ok(if stated || events { Outcome::Mapped } else { nothing_said(name) })
    }
}

/// The hook steps (SDK 1.0.32).
const STEPS: &[&str] = &[
    "sessionStart",
    "sessionEnd",
    "workspaceOpen",
    "beforeSubmitPrompt",
    "afterAgentResponse",
    "afterAgentThought",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "beforeShellExecution",
    "afterShellExecution",
    "beforeMCPExecution",
    "afterMCPExecution",
    "beforeReadFile",
    "beforeTabFileRead",
    "afterFileEdit",
    "afterTabFileEdit",
    "preCompact",
    "subagentStart",
    "subagentStop",
    "stop",
];

/// The outcome of a step that says nothing beside its own name.
fn nothing_said(step: &str) -> Outcome {
    match step {
        "sessionStart" => Outcome::Bookkeeping { record: "sessionStart", rule: "hook_session" },
        "sessionEnd" => Outcome::Bookkeeping { record: "sessionEnd", rule: "hook_session" },
        "stop" => Outcome::Bookkeeping { record: "stop", rule: "hook_stop" },
        _ => Outcome::Bookkeeping { record: "workspaceOpen", rule: "hook_workspace" },
    }
}

fn is_known(step: &str) -> bool {
    STEPS.contains(&step)
}

impl Converter {
    /// Every payload repeats the facts of the session; only what is new is written. `preCompact` names the model that compacts.
    fn session(&mut self, payload: &Payload<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let is_sessions = !matches!(word(payload.hook_event_name), "preCompact" | "subagentStart");
        let model = if is_sessions { decoded(payload.model).unwrap_or_default().into_owned() } else { self.stated.0.clone() };
        let cwd = payload.workspace_roots.first().map(|root| decoded(Some(root)).unwrap_or_default().into_owned()).unwrap_or_default();
        let transcript = decoded(payload.transcript_path).unwrap_or_default().into_owned();
        let now = (model, cwd, transcript);
        if now == self.stated {
            return Ok(false);
        }
        let new = |now: &str, before: &str| !now.is_empty() && now != before;
        let facts = SessionFacts {
            model: new(&now.0, &self.stated.0).then_some(Text::Plain(&now.0)),
            cwd: new(&now.1, &self.stated.1).then_some(Text::Plain(&now.1)),
            agent: filled_text(payload.composer_mode),
            ..SessionFacts::default()
        };
        let mut written = false;
        if facts.model.is_some() || facts.cwd.is_some() || facts.agent.is_some() {
            out.emit(Meta::Session(facts), Pointer::Root)?;
            written = true;
        }
        if new(&now.2, &self.stated.2) {
            let notice = Meta::System { name: Text::Plain("transcript_path"), text: Some(Text::Plain(&now.2)) };
            out.emit(notice, Pointer::At("/transcript_path"))?;
            written = true;
        }
        self.stated = now;
        Ok(written)
    }
}

impl<'a> Payload<'a> {
    /// Writes the events of a payload. False when it says nothing beside its own name.
    fn convert(&self, step: &str, out: &mut Emitter) -> Result<bool, Fault> {
        match step {
            "beforeSubmitPrompt" => self.prompt(out)?,
            "afterAgentResponse" => {
                out.emit(MsgOut { text: self.said()?, ..MsgOut::default() }, Pointer::At("/text"))?;
                self.usage(out)?;
            }
            "afterAgentThought" => {
                let channel = Some(engram_core::event::Channel::Reasoning);
                out.emit(MsgOut { text: self.said()?, channel, ..MsgOut::default() }, Pointer::At("/text"))?;
            }
            "preToolUse" => self.call(out)?,
            "postToolUse" => self.result(Some(Status::Ok), self.tool_output, None, out)?,
            "postToolUseFailure" => {
                let status = match (boolean(self.is_interrupt), word(self.failure_type)) {
                    (Some(true), _) => Status::Cancelled,
                    (_, "permission_denied") => Status::Denied,
                    _ => Status::Error,
                };
                self.result(Some(status), None, text(self.error_message), out)?;
            }
            "beforeShellExecution" | "beforeMCPExecution" => self.notice(step, self.tool_input.or(self.command), out)?,
            "afterShellExecution" => self.notice(step, self.output, out)?,
            "afterMCPExecution" => self.notice(step, self.result_json, out)?,
            "beforeReadFile" | "beforeTabFileRead" => self.file_content(step, out)?,
            "afterFileEdit" | "afterTabFileEdit" => self.edited(step, out)?,
            "preCompact" => {
                out.emit(Meta::Compaction { text: None, trigger: filled_text(self.trigger) }, Pointer::Root)?;
            }
            "subagentStart" => self.subagent(out)?,
            "subagentStop" => {
                self.notice(step, self.summary, out)?;
                if filled_text(self.agent_transcript_path).is_some() {
                    self.notice("agent_transcript_path", self.agent_transcript_path, out)?;
                }
            }
            "stop" | "sessionEnd" => return self.ended(out),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn said(&self) -> Result<Option<Text<'a>>, Fault> {
        text(self.text).map(Some).ok_or_else(|| Fault::malformed("/text", "a string", "none"))
    }

    fn prompt(&self, out: &mut Emitter) -> Result<(), Fault> {
        let file =
            |attached: &Attached<'a>| Attachment { media_type: None, hash: None, bytes: None, name: filled_text(attached.file_path) };
        let attachments = self.attachments.iter().map(file).collect();
        let prompt = text(self.prompt).ok_or_else(|| Fault::malformed("/prompt", "a string", "none"))?;
        out.emit(MsgIn { role: Role::User, text: Some(prompt), synthetic: false, attachments }, Pointer::At("/prompt"))?;
        Ok(())
    }

    fn call(&self, out: &mut Emitter) -> Result<(), Fault> {
        let tool = filled_text(self.tool_name).ok_or_else(|| Fault::malformed("/tool_name", "a string", "none"))?;
        let kind = tools::TOOLS.kind(&tool.decode_lossy());
        let call = ToolCall { tool, kind, call_id: filled_text(self.tool_use_id), args: self.tool_input.map(RawValue::get) };
        out.emit(call, Pointer::At("/tool_input"))?;
        Ok(())
    }

    /// A result, after its call where no earlier payload gave the call.
    fn result(&self, status: Option<Status>, output: Raw<'a>, error: Option<Text<'a>>, out: &mut Emitter) -> Result<(), Fault> {
        let call_id = filled_text(self.tool_use_id);
        if call_id.is_none_or(|id| out.call(id).is_none()) {
            self.call(out)?;
        }
        let duration_ms = self.duration.and_then(|raw| raw.get().split('.').next()?.parse().ok());
        let (tool, stdout) = (filled_text(self.tool_name), text_or_json(output).filter(|text| !text.is_empty()));
        let result = ToolResult { tool, call_id, status, stdout, stderr: error, duration_ms, ..ToolResult::default() };
        out.emit(result, Pointer::Root)?;
        Ok(())
    }

    /// Shell and MCP steps run beside the tool steps of the same call and have no id, so they stay notices.
    fn notice(&self, step: &str, value: Raw<'_>, out: &mut Emitter) -> Result<(), Fault> {
        out.emit(Meta::System { name: Text::Plain(step), text: text_or_json(value) }, Pointer::Root)?;
        Ok(())
    }

    /// The whole file that is about to be read: its hash. Whether it was read is another step's to say.
    fn file_content(&self, step: &str, out: &mut Emitter) -> Result<(), Fault> {
        let content = text(self.content).and_then(|content| content.decode().ok());
        let hash = content.as_deref().and_then(Hash::of_pinned_text);
        let bytes = content.as_deref().map(|content| content.len() as u64);
        let context = Context { name: Text::Plain(step), file: filled_text(self.file_path), hash, bytes, text: None };
        out.emit(Meta::Context(context), Pointer::At("/content"))?;
        Ok(())
    }

    /// Edits that were made, by their old and new text, which stands in a notice: no call may have been logged.
    fn edited(&self, step: &str, out: &mut Emitter) -> Result<(), Fault> {
        let file = filled_text(self.file_path).ok_or_else(|| Fault::malformed("/file_path", "a string", "none"))?;
        let raw = self.edits.ok_or_else(|| Fault::malformed("/edits", "a list", "none"))?;
        let edits: Vec<Replaced<'_>> = json::read(raw, "/edits", "a list of edits")?;
        self.notice(step, self.edits, out)?;
        for (index, replaced) in edits.iter().enumerate() {
            let mut edit = CodeEdit::new(EditOp::Update, file);
            (edit.before_hash, edit.before_anchor_hashes) = snippet(text(replaced.old_string));
            (edit.after_hash, edit.after_anchor_hashes) = snippet(text(replaced.new_string));
            edit.snippet = edit.before_hash.is_some() || edit.after_hash.is_some();
            out.emit(edit, Pointer::Item("/edits", index))?;
        }
        Ok(())
    }

    fn subagent(&self, out: &mut Emitter) -> Result<(), Fault> {
        let facts = SessionFacts {
            model: filled_text(self.subagent_model),
            repo_branch: filled_text(self.git_branch),
            parent_session_id: filled_text(self.parent_conversation_id),
            parent_call_id: filled_text(self.tool_call_id),
            agent: filled_text(self.subagent_type),
            ..SessionFacts::default()
        };
        out.parent_of_next(filled_text(self.tool_call_id).and_then(|id| out.call(id)));
        out.emit(Meta::Session(facts), Pointer::Root)?;
        if let Some(task) = filled_text(self.task) {
            let task = MsgIn { role: Role::User, text: Some(task), synthetic: true, attachments: Vec::new() };
            out.emit(task, Pointer::At("/task"))?;
        }
        Ok(())
    }

    fn ended(&self, out: &mut Emitter) -> Result<bool, Fault> {
        let counted = self.usage(out)?;
        match word(self.status) {
            "aborted" => out.emit(Meta::Interrupt { text: filled_text(self.error_message) }, Pointer::At("/status"))?,
            "error" => {
                let code = Some(Text::Plain("error"));
                out.emit(Meta::Error { code, text: filled_text(self.error_message) }, Pointer::At("/status"))?
            }
            _ => return Ok(counted),
        };
        Ok(true)
    }

    fn usage(&self, out: &mut Emitter) -> Result<bool, Fault> {
        let tokens = Tokens {
            input: self.input_tokens.and_then(Number::of),
            output: self.output_tokens.and_then(Number::of),
            cache_read: self.cache_read_tokens.and_then(Number::of),
            cache_write: self.cache_write_tokens.and_then(Number::of),
            ..Tokens::default()
        };
        let stated = [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write].iter().any(Option::is_some);
        if stated {
            out.emit(Meta::Usage(Usage { tokens, ..Usage::default() }), Pointer::Root)?;
        }
        Ok(stated)
    }
}
