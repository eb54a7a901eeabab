//! Logs of hook payloads, a payload a line: the only artifact of Cursor that records its version.

use engram_core::adapter::Session;
use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::event::{
    Attachment, CodeEdit, EditOp, ImplicitInput, Meta, MsgIn, MsgOut, Role, SessionFacts, Status, Tokens, ToolCall, ToolResult, Usage,
};
use engram_core::hash::Hash;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::edits::snippet;
use super::{decoded, text_or_json, tools};
use crate::shared::value::{Field, StructuralIndex, Value, is_true, non_empty_text, number, parse, raw_str, text};
use crate::shared::view::view;

view! {
    /// The fields of all hook steps (SDK 1.0.32; `preCompact` also from the command line 2026.10.01).
    Payload {
        hook_event_name: "hook_event_name" Any,
        conversation_id: "conversation_id" Any,
        generation_id: "generation_id" Any,
        cursor_version: "cursor_version" Any,
        model: "model" Any,
        workspace_roots: "workspace_roots" Array,
        transcript_path: "transcript_path" Any,
        composer_mode: "composer_mode" Any,
        prompt: "prompt" Any,
        attachments: "attachments" Array,
        text: "text" Any,
        tool_name: "tool_name" Any,
        tool_input: "tool_input" Any,
        tool_use_id: "tool_use_id" Any,
        tool_output: "tool_output" Any,
        result_json: "result_json" Any,
        duration: "duration" Any,
        error_message: "error_message" Any,
        failure_type: "failure_type" Any,
        is_interrupt: "is_interrupt" Any,
        command: "command" Any,
        output: "output" Any,
        file_path: "file_path" Any,
        content: "content" Any,
        edits: "edits" Any,
        trigger: "trigger" Any,
        status: "status" Any,
        input_tokens: "input_tokens" Any,
        output_tokens: "output_tokens" Any,
        cache_read_tokens: "cache_read_tokens" Any,
        cache_write_tokens: "cache_write_tokens" Any,
        subagent_id: "subagent_id" Any,
        subagent_type: "subagent_type" Any,
        subagent_model: "subagent_model" Any,
        task: "task" Any,
        summary: "summary" Any,
        agent_transcript_path: "agent_transcript_path" Any,
        parent_conversation_id: "parent_conversation_id" Any,
        tool_call_id: "tool_call_id" Any,
        git_branch: "git_branch" Any,
    }
}

/// Converts one log.
#[derive(Default)]
pub(super) struct Converter {
    /// The session facts that were stated last.
    stated: (String, String, String),
    index: StructuralIndex,
}

impl Session for Converter {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let mut index = std::mem::take(&mut self.index);
        let outcome = parse(source, &mut index).and_then(|payload| self.payload(&Payload::strict(payload, "")?, out));
        self.index = index;
        outcome
    }
}

impl Converter {
    fn payload(&mut self, payload: &Payload<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        if let Some(version) = decoded(payload.cursor_version()) {
            out.version(&version)?;
        }
        let session = decoded(payload.conversation_id()).filter(|id| !id.is_empty());
        let agent = decoded(payload.subagent_id()).filter(|id| !id.is_empty());
        out.set_source(session.as_deref(), agent.as_deref());
        out.set_header(RecordHeader { id: non_empty_text(payload.generation_id()), ..RecordHeader::default() });
        let name = raw_str(payload.hook_event_name());
        if !is_known(name) {
            return Err(Fault::unrecognized(name));
        }
        let stated = self.session(payload, out)?;
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
        let is_sessions = !matches!(raw_str(payload.hook_event_name()), "preCompact" | "subagentStart");
        let model = if is_sessions { decoded(payload.model()).unwrap_or_default().into_owned() } else { self.stated.0.clone() };
        let root = payload.workspace_roots().and_then(|roots| roots.elements().next());
        let cwd = decoded(root).unwrap_or_default().into_owned();
        let transcript = decoded(payload.transcript_path()).unwrap_or_default().into_owned();
        let now = (model, cwd, transcript);
        if now == self.stated {
            return Ok(false);
        }
        let new = |now: &str, before: &str| !now.is_empty() && now != before;
        let facts = SessionFacts {
            model: new(&now.0, &self.stated.0).then_some(Text::Plain(&now.0)),
            cwd: new(&now.1, &self.stated.1).then_some(Text::Plain(&now.1)),
            agent: non_empty_text(payload.composer_mode()),
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
            "beforeSubmitPrompt" => self.say_prompt(out)?,
            "afterAgentResponse" => {
                out.emit(MsgOut { text: self.said()?, ..MsgOut::default() }, Pointer::At("/text"))?;
                self.usage(out)?;
            }
            "afterAgentThought" => {
                let channel = Some(engram_core::event::Channel::Reasoning);
                out.emit(MsgOut { text: self.said()?, channel, ..MsgOut::default() }, Pointer::At("/text"))?;
            }
            "preToolUse" => self.call(out)?,
            "postToolUse" => self.result(Some(Status::Ok), self.tool_output(), None, out)?,
            "postToolUseFailure" => {
                let status = match (is_true(self.is_interrupt()), raw_str(self.failure_type())) {
                    (true, _) => Status::Cancelled,
                    (_, "permission_denied") => Status::Denied,
                    _ => Status::Error,
                };
                self.result(Some(status), None, text(self.error_message()), out)?;
            }
            "beforeShellExecution" | "beforeMCPExecution" => self.notice(step, self.tool_input().or(self.command()), out)?,
            "afterShellExecution" => self.notice(step, self.output(), out)?,
            "afterMCPExecution" => self.notice(step, self.result_json(), out)?,
            "beforeReadFile" | "beforeTabFileRead" => self.file_content(step, out)?,
            "afterFileEdit" | "afterTabFileEdit" => self.edited(step, out)?,
            "preCompact" => {
                out.emit(Meta::Compaction { text: None, trigger: non_empty_text(self.trigger()) }, Pointer::Root)?;
            }
            "subagentStart" => self.subagent(out)?,
            "subagentStop" => {
                self.notice(step, self.summary(), out)?;
                if non_empty_text(self.agent_transcript_path()).is_some() {
                    self.notice("agent_transcript_path", self.agent_transcript_path(), out)?;
                }
            }
            "stop" | "sessionEnd" => return self.ended(out),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn said(&self) -> Result<Option<Text<'a>>, Fault> {
        text(self.text()).map(Some).ok_or_else(|| Fault::malformed("/text", "a string", "none"))
    }

    fn say_prompt(&self, out: &mut Emitter) -> Result<(), Fault> {
        let file = |attached: Value<'a>| Attachment {
            media_type: None,
            hash: None,
            bytes: None,
            name: non_empty_text(attached.member("file_path")),
        };
        let attachments = self.attachments().into_iter().flat_map(Value::elements).map(file).collect();
        let prompt = text(self.prompt()).ok_or_else(|| Fault::malformed("/prompt", "a string", "none"))?;
        out.emit(MsgIn { role: Role::User, text: Some(prompt), synthetic: false, attachments }, Pointer::At("/prompt"))?;
        Ok(())
    }

    fn call(&self, out: &mut Emitter) -> Result<(), Fault> {
        let tool = non_empty_text(self.tool_name()).ok_or_else(|| Fault::malformed("/tool_name", "a string", "none"))?;
        let kind = tools::TOOLS.kind(&tool.decode_lossy());
        let call = ToolCall { tool, kind, call_id: non_empty_text(self.tool_use_id()), args: self.tool_input().map(Value::raw) };
        out.emit(call, Pointer::At("/tool_input"))?;
        Ok(())
    }

    /// A result, after its call where no earlier payload gave the call.
    fn result(&self, status: Option<Status>, output: Field<'a>, error: Option<Text<'a>>, out: &mut Emitter) -> Result<(), Fault> {
        let call_id = non_empty_text(self.tool_use_id());
        if call_id.is_none_or(|id| out.seq_of_call(id).is_none()) {
            self.call(out)?;
        }
        let duration_ms = self.duration().and_then(|value| value.raw().split('.').next()?.parse().ok());
        let (tool, stdout) = (non_empty_text(self.tool_name()), text_or_json(output).filter(|text| !text.is_empty()));
        let result = ToolResult { tool, call_id, status, stdout, stderr: error, duration_ms, ..ToolResult::default() };
        out.emit(result, Pointer::Root)?;
        Ok(())
    }

    /// Shell and MCP steps run beside the tool steps of the same call and have no id, so they stay notices.
    fn notice(&self, step: &str, value: Field<'_>, out: &mut Emitter) -> Result<(), Fault> {
        out.emit(Meta::System { name: Text::Plain(step), text: text_or_json(value) }, Pointer::Root)?;
        Ok(())
    }

    /// The whole file that is about to be read: its hash. Whether it was read is another step's to say.
    fn file_content(&self, step: &str, out: &mut Emitter) -> Result<(), Fault> {
        let content = text(self.content()).and_then(|content| content.decode().ok());
        let hash = content.as_deref().and_then(Hash::of_lossless_text);
        let bytes = content.as_deref().map(|content| content.len() as u64);
        let context = ImplicitInput { name: Text::Plain(step), file: non_empty_text(self.file_path()), hash, bytes, text: None };
        out.emit(Meta::Context(context), Pointer::At("/content"))?;
        Ok(())
    }

    /// Edits that were made, by their old and new text, which stands in a notice: no call may have been logged.
    fn edited(&self, step: &str, out: &mut Emitter) -> Result<(), Fault> {
        let file = non_empty_text(self.file_path()).ok_or_else(|| Fault::malformed("/file_path", "a string", "none"))?;
        let edits = self.edits().filter(|edits| edits.is_array()).ok_or_else(|| Fault::malformed("/edits", "a list", "none"))?;
        self.notice(step, self.edits(), out)?;
        for (index, replaced) in edits.elements().enumerate() {
            let mut edit = CodeEdit::new(EditOp::Update, file);
            (edit.before_hash, edit.before_anchor_hashes) = snippet(text(replaced.member("old_string")));
            (edit.after_hash, edit.after_anchor_hashes) = snippet(text(replaced.member("new_string")));
            edit.snippet = edit.before_hash.is_some() || edit.after_hash.is_some();
            out.emit(edit, Pointer::Item("/edits", index))?;
        }
        Ok(())
    }

    fn subagent(&self, out: &mut Emitter) -> Result<(), Fault> {
        let facts = SessionFacts {
            model: non_empty_text(self.subagent_model()),
            repo_branch: non_empty_text(self.git_branch()),
            parent_session_id: non_empty_text(self.parent_conversation_id()),
            parent_call_id: non_empty_text(self.tool_call_id()),
            agent: non_empty_text(self.subagent_type()),
            ..SessionFacts::default()
        };
        out.parent_of_next(non_empty_text(self.tool_call_id()).and_then(|id| out.seq_of_call(id)));
        out.emit(Meta::Session(facts), Pointer::Root)?;
        if let Some(task) = non_empty_text(self.task()) {
            let task = MsgIn { role: Role::User, text: Some(task), synthetic: true, attachments: Vec::new() };
            out.emit(task, Pointer::At("/task"))?;
        }
        Ok(())
    }

    fn ended(&self, out: &mut Emitter) -> Result<bool, Fault> {
        let counted = self.usage(out)?;
        match raw_str(self.status()) {
            "aborted" => out.emit(Meta::Interrupt { text: non_empty_text(self.error_message()) }, Pointer::At("/status"))?,
            "error" => {
                let code = Some(Text::Plain("error"));
                out.emit(Meta::Error { code, text: non_empty_text(self.error_message()) }, Pointer::At("/status"))?
            }
            _ => return Ok(counted),
        };
        Ok(true)
    }

    fn usage(&self, out: &mut Emitter) -> Result<bool, Fault> {
        let tokens = Tokens {
            input: number(self.input_tokens()),
            output: number(self.output_tokens()),
            cache_read: number(self.cache_read_tokens()),
            cache_write: number(self.cache_write_tokens()),
            ..Tokens::default()
        };
        let stated = [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write].iter().any(Option::is_some);
        if stated {
            out.emit(Meta::Usage(Usage { tokens, ..Usage::default() }), Pointer::Root)?;
        }
        Ok(stated)
    }
}
