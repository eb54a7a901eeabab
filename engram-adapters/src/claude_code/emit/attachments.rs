//! `attachment` lines (2.1.100 and later): what the harness gives the model beside the conversation.
//!
//! Short notices and what a person wrote are emitted as text, the harness's own lists and prompts as hash and size.

use engram_core::emit::Pointer;
use engram_core::event::{Author, CodeEdit, EditOp, ImplicitInput, Meta, Seq};
use engram_core::hash::Hash;
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::claude_code::authors;
use crate::claude_code::blocks::emit_prompt;
use crate::claude_code::context_events::{emit_file_text, emit_hash, emit_text};
use crate::claude_code::emit::state::State;
use crate::claude_code::format::{AttachmentKind, Context};
use crate::claude_code::readers::{Attachment, Line};
use crate::shared::media::base64_hash;
use crate::shared::value::{
    Field, Value, elements, is_true, non_empty_text, one_or_many, raw_str, text,
};

/// What the model got, as a pointer of the member tables.
const RENDERED: &str = "/rendered";

/// An `attachment` line.
pub(super) struct AttachmentLine<'a> {
    line: &'a Line<'a>,
    fields: Attachment<'a>,
}

impl<'a> AttachmentLine<'a> {
    /// The line and its attachment.
    pub(super) fn new(line: &'a Line<'a>) -> Self {
        AttachmentLine {
            line,
            fields: Attachment::lenient_opt(line.attachment()),
        }
    }

    /// The attachment's type.
    pub(super) fn kind(&self) -> &'a str {
        raw_str(self.fields.kind())
    }

    fn member(&self, name: &str) -> Field<'a> {
        self.fields.object().member(name)
    }

    /// The member of the attachment that this pointer names.
    fn field(&self, pointer: &str) -> Field<'a> {
        pointer
            .strip_prefix("/attachment/")
            .and_then(|name| self.member(name))
    }

    /// Converts the attachment.
    pub(super) fn convert(
        &self,
        kind: AttachmentKind,
        state: &mut State,
        out: &mut Emitter<'_>,
    ) -> Outcome {
        match kind {
            AttachmentKind::QueuedCommand => queued_command(self, out),
            AttachmentKind::SessionContext => session_context(self, out),
            AttachmentKind::RemoteSessionChange => remote_session_change(self, out),
            AttachmentKind::File | AttachmentKind::AlreadyReadFile => attached_file(self, out),
            AttachmentKind::AutoMode => auto_mode(state, self, out),
            AttachmentKind::PromptSnapshot => prompt_snapshot(state, self, out),
            AttachmentKind::Hook | AttachmentKind::AsyncHookResponse => hook(self, out),
            AttachmentKind::NestedMemory => nested_memory(self, out),
            AttachmentKind::Instructions => instructions(self, out),
            AttachmentKind::McpResource => mcp_resource(self, out),
            // A goal that a person set, and whether it is met; what the run may still cost.
            AttachmentKind::GoalStatus | AttachmentKind::BudgetUsd => {
                emit_value(self.kind(), self.line.attachment(), "/attachment", out)
            }
            AttachmentKind::MaxTurnsReached => turns_are_over(self, out),
            AttachmentKind::Context(_, context) => self.context(context, state, out),
            AttachmentKind::Omitted(outcome) => return outcome,
        }
        Outcome::Mapped
    }

    /// The words that the model got: the texts of all parts, with line ends between them.
    fn given_words(&self) -> Option<String> {
        let parts = elements(self.line.rendered()).filter_map(|part| part.member("content"));
        let blocks = parts.flat_map(|content| match content.is_array() {
            true => content
                .elements()
                .map(|block| block.member("text"))
                .collect(),
            false => vec![Some(content)],
        });
        let words: Vec<_> = blocks
            .filter_map(text)
            .map(|words| words.decode_lossy())
            .collect();
        (!words.is_empty()).then(|| words.join("\n"))
    }

    /// Emits what the model got, or all of an attachment from which it got nothing.
    fn given_text(&self, field: &str, out: &mut Emitter<'_>) {
        let attachment = self.line.attachment();
        let has_more = self.fields.object().members().nth(1).is_some();
        match self.given_words() {
            Some(words) => emit_text(
                self.kind(),
                Some(Text::Plain(&words)),
                Pointer::At(field),
                out,
            ),
            None => emit_value(
                self.kind(),
                attachment.filter(|_| has_more),
                "/attachment",
                out,
            ),
        }
    }

    /// Emits an attachment that is only data.
    fn context(&self, context: Context, state: &mut State, out: &mut Emitter<'_>) {
        match context {
            Context::Name => emit_value(self.kind(), None, "/attachment", out),
            Context::Text(field) => match self.field(field) {
                None => self.given_text(field, out),
                value => emit_value(self.kind(), value, field, out),
            },
            Context::File { name, text: field } => {
                let given = self.given_words();
                let words = match field {
                    RENDERED => given.as_deref().map(Text::Plain),
                    field => text(self.field(field)),
                };
                let file = text(self.field(name));
                emit_file_text(self.kind(), file, words, Pointer::At(field), out);
            }
            Context::Hash(field) => emit_hash(
                self.kind(),
                self.field(field),
                field,
                &mut state.scratch.text,
                out,
            ),
        }
    }
}

/// Emits a context with a value as text. A value that is not a string is emitted as its JSON.
fn emit_value(name: &str, value: Field<'_>, pointer: &str, out: &mut Emitter) {
    emit_text(
        name,
        value.map(Value::text_or_json),
        Pointer::At(pointer),
        out,
    )
}

/// A prompt that was queued while the agent worked, or a notice that a background task ended.
fn queued_command(line: &AttachmentLine<'_>, out: &mut Emitter<'_>) {
    let stated = queued_by(line);
    let by = |text: Option<Text<'_>>| {
        stated.unwrap_or_else(|| text.map_or(Author::Person, authors::of_queued))
    };
    if let Some(prompt) = line.fields.prompt() {
        emit_prompt(prompt, by, "/attachment/prompt", out);
    }
}

/// The author of a queued text, as far as the line says it.
fn queued_by(line: &AttachmentLine<'_>) -> Option<Author> {
    let origin = line
        .member("origin")
        .and_then(|origin| origin.member("kind"));
    if authors::is_agents(line.member("origin")) {
        return Some(Author::Agent);
    }
    let by = |is_persons| {
        Some(if is_persons {
            Author::Person
        } else {
            Author::Harness
        })
    };
    match (raw_str(origin), raw_str(line.member("commandMode"))) {
        _ if is_true(line.line.is_meta()) => by(false),
        ("", "") => None,
        ("", mode) => by(mode == "prompt" || mode == "bash"),
        (kind, _) => by(kind == "human"),
    }
}

/// Context of the project, one event for each member: the state of the repository, instruction files.
fn session_context(line: &AttachmentLine<'_>, out: &mut Emitter<'_>) {
    const CONTEXT: &str = "/attachment/context";
    let context = line.fields.context();
    let mut is_any = false;
    for (name, value) in context.iter().flat_map(|context| context.members()) {
        emit_value(name, Some(value), CONTEXT, out);
        is_any = true;
    }
    if !is_any {
        emit_value("session_context", context, CONTEXT, out);
    }
}

/// The texts with which the harness signs commits and pull requests.
fn remote_session_change(line: &AttachmentLine<'_>, out: &mut Emitter<'_>) {
    emit_value(
        "commit_attribution",
        line.fields.commit(),
        "/attachment/commit",
        out,
    );
    emit_value(
        "pull_request_attribution",
        line.fields.pr(),
        "/attachment/pr",
        out,
    );
}

/// A file that the user attached to the prompt, emitted with the hash of its content. The model may have read it before. The log may leave out the
/// bytes of a document.
fn attached_file(line: &AttachmentLine<'_>, out: &mut Emitter<'_>) {
    let file = line
        .fields
        .content()
        .and_then(|content| content.member("file"));
    let content = text(file.and_then(|file| file.member("content")))
        .and_then(|content| content.decode().ok());
    let of_file = |name| file.and_then(|file| file.member(name));
    let (hash, bytes) = match &content {
        Some(content) => (Hash::of_lossless_text(content), Some(content.len() as u64)),
        None => text(of_file("base64")).and_then(base64_hash).unzip(),
    };
    let size = || of_file("originalSize").and_then(Value::unsigned);
    let context = ImplicitInput {
        name: Text::Plain(line.kind()),
        file: text(line.fields.filename()),
        hash,
        bytes: bytes.or_else(size),
        // Of a notebook the log has the cells, not the file.
        text: of_file("cells").map(Value::json),
    };
    out.emit(Meta::Context(context), "/attachment/content");
}

/// The harness ends the run, since it had as many turns as it may have.
fn turns_are_over(line: &AttachmentLine<'_>, out: &mut Emitter<'_>) {
    out.emit(
        Meta::system(line.kind(), line.line.attachment().map(Value::json)),
        "/attachment",
    );
}

/// An instruction file of a directory that the session entered.
fn nested_memory(line: &AttachmentLine<'_>, out: &mut Emitter<'_>) {
    let content = line
        .fields
        .content()
        .and_then(|content| content.member("content"));
    emit_file_text(
        "nested_memory",
        text(line.member("path")),
        text(content),
        Pointer::At("/attachment/content"),
        out,
    );
}

/// A resource of an MCP server that a prompt names, with its texts. One that was not read has none.
fn mcp_resource(line: &AttachmentLine<'_>, out: &mut Emitter<'_>) {
    const CONTENTS: &str = "/attachment/content/contents";
    let contents = line
        .fields
        .content()
        .and_then(|content| content.member("contents"));
    let mut is_any = false;
    for (index, item) in contents.into_iter().flat_map(Value::elements).enumerate() {
        let bytes = text(item.member("blob")).and_then(base64_hash).unzip();
        let resource = ImplicitInput {
            name: Text::Plain(line.kind()),
            file: text(line.member("uri")),
            hash: bytes.0,
            bytes: bytes.1,
            text: text(item.member("text")),
        };
        out.emit(Meta::Context(resource), Pointer::Item(CONTENTS, index));
        is_any = true;
    }
    if !is_any {
        let uri = text(line.member("uri"));
        emit_file_text(line.kind(), uri, None, Pointer::At("/attachment"), out);
    }
}

/// The instruction files of the project and of the user (2.1.275 and later).
fn instructions(line: &AttachmentLine<'_>, out: &mut Emitter<'_>) {
    const FILES: &str = "/attachment/files";
    for (index, file) in elements(line.member("files")).enumerate() {
        let content = text(file.member("content"));
        emit_file_text(
            "instructions",
            text(file.member("path")),
            content,
            Pointer::Field(FILES, index, "/content"),
            out,
        );
    }
}

/// Instructions for a mode, as the model sees them; of a line that does not have these, the whole attachment.
fn auto_mode(state: &mut State, line: &AttachmentLine<'_>, out: &mut Emitter<'_>) {
    let instructions = line.line.rendered().or(line.line.attachment());
    emit_hash(
        "auto_mode",
        instructions,
        "/rendered",
        &mut state.scratch.text,
        out,
    );
}

/// The system prompt and the tools of the next requests.
fn prompt_snapshot(state: &mut State, line: &AttachmentLine<'_>, out: &mut Emitter<'_>) {
    let buffer = &mut state.scratch.text;
    emit_hash(
        "system_prompt",
        line.fields.system_prompt(),
        "/attachment/systemPrompt",
        buffer,
        out,
    );
    // A snapshot may have only the system prompt.
    if line.fields.tools().is_some() {
        emit_hash(
            "tools",
            line.fields.tools(),
            "/attachment/tools",
            buffer,
            out,
        );
    }
}

/// A hook that ran (2.1.111 and later): its command, or what became of it, and all that it printed. Its words that the model got are context.
fn hook(line: &AttachmentLine<'_>, out: &mut Emitter<'_>) {
    let member = |name| line.member(name);
    let name = non_empty_text(member("hookName")).unwrap_or(Text::Plain("hook"));
    let blocking = |name| member("blockingError").and_then(|error| error.member(name));
    let parent = text(member("toolUseID")).and_then(|id| out.seq_of_call(id));
    let words = texts_of([member("content"), blocking("blockingError")]);
    let own = [
        member("command").or(blocking("command")),
        member("stdout"),
        member("stderr"),
    ];
    // Later versions log the text that the model got (`rendered`); this type always stands for such a text.
    let is_given = line.line.rendered().is_some() || line.kind() == "hook_additional_context";
    let (shown, given) = if is_given {
        (texts_of(own), words.clone())
    } else {
        let [command, stdout, stderr] = own;
        let fields = [command, member("content"), stdout, stderr];
        (
            texts_of(fields.into_iter().chain([blocking("blockingError")])),
            Vec::new(),
        )
    };
    let kind = shown.is_empty().then_some(Text::Plain(line.kind()));
    for text in kind.into_iter().chain(shown) {
        out.emit_child(parent, Meta::system(name, Some(text)), "/attachment");
    }
    let response = |name| member("response").and_then(|response| response.member(name));
    let added =
        response("hookSpecificOutput").and_then(|output| output.member("additionalContext"));
    let from_behind = texts_of([response("systemMessage"), added]);
    for text in given.into_iter().chain(from_behind) {
        let context = ImplicitInput::of_text("hook", Some(text));
        out.emit_child(parent, Meta::Context(context), "/attachment");
    }
    if let Some(reason) = non_empty_text(member("message")) {
        let stopped = Meta::Interrupt { text: Some(reason) };
        out.emit_child(parent, stopped, Pointer::At("/attachment/message"));
    }
    if is_true(member("isOwnText")) {
        emit_modified_files(&words, (text(member("toolUseID")), parent), out);
    }
}

/// The texts of some members, each of them once in a row.
fn texts_of<'a>(fields: impl IntoIterator<Item = Field<'a>>) -> Vec<Text<'a>> {
    let mut texts: Vec<Text<'a>> = fields
        .into_iter()
        .flat_map(one_or_many)
        .filter_map(Value::text)
        .filter(|text| !text.is_empty())
        .collect();
    texts.dedup_by(|one, other| one.raw() == other.raw());
    texts
}

/// Emits the files that a hook has changed after an edit, as the harness's own texts name them (2.1.170 and later).
fn emit_modified_files(
    texts: &[Text<'_>],
    (call_id, parent): (Option<Text<'_>>, Option<Seq>),
    out: &mut Emitter<'_>,
) {
    const BEFORE: &str = "PostToolUse hook modified ";
    const AFTER: &str = " after your edit (likely a formatter).";
    for text in texts.iter().map(|text| text.decode_lossy()) {
        if let Some((file, _)) = text
            .strip_prefix(BEFORE)
            .and_then(|rest| rest.split_once(AFTER))
        {
            let event = CodeEdit {
                call_id,
                ..CodeEdit::new(EditOp::Update, Text::Plain(file))
            };
            out.emit_child(parent, event, "/attachment/content");
        }
    }
}
