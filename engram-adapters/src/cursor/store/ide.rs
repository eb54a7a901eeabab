//! Opened editor conversations: bubbles of 2026 with their tool data, and the plainer ones of 2024.

use engram_core::adapter::Session;
use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::event::{
    Attachment, CodeEdit, Decision, EditOp, ImplicitInput, Meta, MsgIn, MsgOut, Permission, Role, SessionFacts, Status, Tokens, ToolCall,
    ToolResult, Usage,
};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::cursor::edits::whole_file_edits;
use crate::cursor::transcript::reasoning;
use crate::cursor::{decoded, millis, text_or_json, tools};
use crate::shared::time;
use crate::shared::value::{StructuralIndex, Value, integer, is_true, non_empty_text, number, parse, raw_str, text};
use crate::shared::view::view;

view! {
    /// One line of the opened text.
    Line {
        store: "store" Any,
        composer: "composer" Object,
        bubble: "bubble" Object,
        before: "before" Any,
        after: "after" Any,
    }
}

view! {
    /// The conversation's own record.
    Composer {
        name: "name" Any,
        chat_title: "chatTitle" Any,
        created_at: "createdAt" Any,
        last_send_time: "lastSendTime" Any,
        unified_mode: "unifiedMode" Any,
        model_config: "modelConfig" Object,
        workspace_identifier: "workspaceIdentifier" Object,
    }
}

view! {
    /// A message. `type` is 1 or `user`, 2 or `ai`.
    Bubble {
        kind: "type" Any,
        bubble_id: "bubbleId" Any,
        id: "id" Any,
        created_at: "createdAt" Any,
        text: "text" Any,
        raw_text: "rawText" Any,
        thinking: "thinking" Object,
        model_info: "modelInfo" Object,
        model_type: "modelType" Any,
        code_blocks: "codeBlocks" Any,
        token_count: "tokenCount" Object,
        tool_former_data: "toolFormerData" Object,
        selections: "selections" Array,
        file_selections: "fileSelections" Array,
        selected_images: "selectedImages" Array,
    }
}

view! {
    /// A file, or a part of one, that a person added to a prompt (2024 and 2025).
    Selection {
        uri: "uri" Object,
        raw_text: "rawText" String,
        text: "text" String,
    }
}

view! {
    /// A call of 2026. `params`, `rawArgs`, `result` and `error` are JSON inside a string.
    ToolFormerData {
        name: "name" Any,
        tool_call_id: "toolCallId" Any,
        status: "status" Any,
        raw_args: "rawArgs" Any,
        params: "params" Any,
        result: "result" Any,
        error: "error" Any,
        user_decision: "userDecision" Any,
    }
}

view! {
    /// The `params` of an edit.
    Params {
        relative_workspace_path: "relativeWorkspacePath" Any,
        target_file: "targetFile" Any,
    }
}

view! {
    /// What a `result` says of how the call ended.
    Outcomes {
        output: "output" Any,
        exit_code: "exitCode" Any,
        apply_failed: "applyFailed" Any,
    }
}

/// Converts one opened conversation.
#[derive(Default)]
pub(in crate::cursor) struct Converter {
    index: StructuralIndex,
}

impl Session for Converter {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let nothing = |pointer| Fault::malformed(pointer, "an object", "nothing");
        let line = Line::strict(parse(source, &mut self.index)?, "")?;
        match raw_str(line.store()) {
            "composer" | "inline_composer" | "tab" => Composer::lenient(line.composer().ok_or_else(|| nothing("/composer"))?).convert(out),
            "bubble" => Bubble::strict(line.bubble().ok_or_else(|| nothing("/bubble"))?, "/bubble")?.convert(&line, out),
            name => Err(Fault::unrecognized(name)),
        }
    }
}

impl Composer<'_> {
    fn convert(&self, out: &mut Emitter) -> Result<Outcome, Fault> {
        let time = millis(self.created_at().or(self.last_send_time()));
        out.set_header(RecordHeader { t: time.as_deref(), ..RecordHeader::default() });
        let facts = SessionFacts {
            model: self.model_config().and_then(|config| non_empty_text(config.member("modelName"))),
            title: non_empty_text(self.name()).or(non_empty_text(self.chat_title())),
            cwd: self.workspace_identifier().and_then(|workspace| non_empty_text(workspace.member("uri")?.member("fsPath"))),
            agent: non_empty_text(self.unified_mode()),
            ..SessionFacts::default()
        };
        out.emit(Meta::Session(facts), Pointer::At("/composer"))?;
        Ok(Outcome::Mapped)
    }
}

impl Bubble<'_> {
    fn convert(&self, line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let created = decoded(self.created_at());
        let time = created.as_deref().and_then(time::rfc3339);
        out.set_header(RecordHeader { t: time.as_deref(), id: text(self.bubble_id().or(self.id())), replay: false });
        let said = non_empty_text(self.text()).or(non_empty_text(self.raw_text()));
        let mut events = 0;
        match self.kind().map(Value::raw) {
            Some("1" | "\"user\"") => {
                let attachments = self.images();
                if said.is_some() || !attachments.is_empty() {
                    let prompt = MsgIn { role: Role::User, text: said, synthetic: false, attachments };
                    out.emit(prompt, Pointer::At("/bubble/text"))?;
                    events += 1;
                }
                events += self.selected(out)?;
            }
            Some("2" | "\"ai\"") => {
                if let Some(thought) = self.thinking().and_then(|thinking| non_empty_text(thinking.member("text"))) {
                    events += reasoning(thought, Pointer::At("/bubble/thinking/text"), out)?;
                }
                let model =
                    self.model_info().and_then(|info| non_empty_text(info.member("modelName"))).or(non_empty_text(self.model_type()));
                if said.is_some() {
                    out.emit(MsgOut { text: said, model, ..MsgOut::default() }, Pointer::At("/bubble/text"))?;
                    events += 1;
                }
            }
            kind => return Err(Fault::unrecognized(&format!("bubble/{}", kind.unwrap_or_default()))),
        }
        if let Some(blocks) = self.code_blocks().filter(|blocks| blocks.elements().next().is_some()) {
            let notice = Meta::System { name: Text::Plain("codeBlocks"), text: Some(Text::Plain(blocks.raw())) };
            out.emit(notice, Pointer::At("/bubble/codeBlocks"))?;
            events += 1;
        }
        if let Some(call) = self.tool_former_data() {
            events += ToolFormerData::lenient(call).convert(line, out)?;
        }
        events += self.usage(out)?;
        Ok(if events == 0 { Outcome::Bookkeeping { record: "bubble", rule: "empty_bubble" } } else { Outcome::Mapped })
    }

    /// Images that a person added to the prompt, by name.
    fn images(&self) -> Vec<Attachment<'_>> {
        let images = self.selected_images().into_iter().flat_map(Value::elements);
        let names = images.filter_map(|image| non_empty_text(image.member("path")));
        names.map(|name| Attachment { media_type: None, hash: None, bytes: None, name: Some(name) }).collect()
    }

    /// Files, and parts of files, that a person added to the prompt.
    fn selected(&self, out: &mut Emitter) -> Result<usize, Fault> {
        let mut events = 0;
        for (name, path, list) in
            [("selection", "/bubble/selections", self.selections()), ("file", "/bubble/fileSelections", self.file_selections())]
        {
            for (index, selection) in list.into_iter().flat_map(Value::elements).enumerate() {
                let selection = Selection::lenient(selection);
                let file = selection.uri().and_then(|uri| non_empty_text(uri.member("fsPath").or(uri.member("path"))));
                let text = non_empty_text(selection.raw_text()).or(non_empty_text(selection.text()));
                let context = ImplicitInput { name: Text::Plain(name), file, hash: None, bytes: None, text };
                out.emit(Meta::Context(context), Pointer::Item(path, index))?;
                events += 1;
            }
        }
        Ok(events)
    }

    /// Tokens of the message. 0 of both is how the editor says that it does not know.
    fn usage(&self, out: &mut Emitter) -> Result<usize, Fault> {
        let count = |name| self.token_count()?.member(name);
        let (input, output) = (count("inputTokens"), count("outputTokens"));
        if ![input, output].into_iter().any(|tokens| integer(tokens).is_some_and(|tokens| tokens > 0)) {
            return Ok(0);
        }
        let tokens = Tokens { input: number(input), output: number(output), ..Tokens::default() };
        out.emit(Meta::Usage(Usage { tokens, ..Usage::default() }), Pointer::At("/bubble/tokenCount"))?;
        Ok(1)
    }
}

impl ToolFormerData<'_> {
    /// A call and, where it has ended, its result and the edit that it shows.
    fn convert(&self, line: &Line<'_>, out: &mut Emitter) -> Result<usize, Fault> {
        let Some(tool) = non_empty_text(self.name()) else { return Ok(0) };
        let pointer = Pointer::At("/bubble/toolFormerData");
        let call_id = non_empty_text(self.tool_call_id());
        let (params, raw_args) = (decoded(self.params()), decoded(self.raw_args()));
        let is_json = |args: &&str| parse(args, &mut StructuralIndex::default()).is_ok();
        let args = raw_args.as_deref().filter(is_json).or(params.as_deref().filter(is_json));
        let kind = tools::TOOLS.kind(&tool.decode_lossy());
        let call = out.emit(ToolCall { tool, kind, call_id, args }, pointer)?;
        let mut events = 1;
        if let Some(params) = params.as_deref().filter(|params| args != Some(*params)) {
            out.emit(Meta::System { name: Text::Plain("params"), text: Some(Text::Plain(params)) }, pointer)?;
        }
        let rejected = raw_str(self.user_decision()) == "rejected";
        if let Some(decision) = match raw_str(self.user_decision()) {
            "accepted" => Some(Decision::Allow),
            "rejected" => Some(Decision::Deny),
            _ => None,
        } {
            out.emit(Meta::Permission(Permission { decision, tool: Some(tool), call_id, text: None }), pointer)?;
        }
        let status = match raw_str(self.status()) {
            "completed" => Status::Ok,
            "error" => Status::Error,
            "cancelled" => Status::Cancelled,
            _ => return Ok(events),
        };
        let told = decoded(self.result());
        let mut index = StructuralIndex::default();
        let outcomes = told.as_deref().and_then(|told| parse(told, &mut index).ok()).map(Outcomes::lenient).unwrap_or_default();
        let exit = integer(outcomes.exit_code());
        let result = ToolResult {
            tool: Some(tool),
            call_id,
            status: Some(if exit.is_some_and(|exit| exit != 0) { Status::Error } else { status }),
            exit,
            stdout: non_empty_text(outcomes.output()).or(told.as_deref().map(Text::Plain)).filter(|text| !text.is_empty()),
            stderr: text_or_json(self.error()).filter(|text| !text.is_empty()),
            ..ToolResult::default()
        };
        out.parent_of_next(Some(call));
        out.emit(result, pointer)?;
        events += 1;
        if status == Status::Ok && !rejected && !is_true(outcomes.apply_failed()) {
            let mut index = StructuralIndex::default();
            let params = params.as_deref().and_then(|params| parse(params, &mut index).ok()).map(Params::lenient).unwrap_or_default();
            let file = non_empty_text(params.relative_workspace_path()).or(non_empty_text(params.target_file()));
            if let (Some(file), Some(after)) = (file, text(line.after())) {
                let op = if line.before().is_some() { EditOp::Update } else { EditOp::Create };
                let edit = CodeEdit { call_id, ..CodeEdit::new(op, file) };
                for edit in whole_file_edits(edit, text(line.before()), after, None) {
                    out.parent_of_next(Some(call));
                    out.emit(edit, pointer)?;
                }
            }
        }
        Ok(events)
    }
}
