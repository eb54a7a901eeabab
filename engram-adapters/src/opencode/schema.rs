//! The records of an export and of a stream: the fields that the tape needs, by the names that the harness gives them.

use engram_core::emit::Fault;

use crate::shared::value::{Field, Value};
use crate::shared::view::view;

view! {
    /// `opencode export`: a session with its messages and their parts.
    Document {
        info: "info" Any,
        messages: "messages" Array,
    }
}

view! {
    /// One message with its parts.
    Message {
        info: "info" Any,
        parts: "parts" Array,
    }
}

view! {
    /// The session's own record.
    Info {
        id: "id" String,
        version: "version" String,
        directory: "directory" String,
        title: "title" String,
        parent_id: "parentID" String,
        /// 1.14.34 and later.
        agent: "agent" String,
        /// 1.14.34 and later.
        model: "model" Object,
        time: "time" Object,
        /// Messages that the user reverted. They stay until the next prompt.
        revert: "revert" Object,
        /// Messages that the user reverted, and that a later prompt deleted.
        reverts: "reverts" Array,
        /// Where the user published the session.
        share: "share" Object,
    }
}

view! {
    /// A model: `id` on sessions, `modelID` on messages.
    Model {
        id: "id" String,
        model_id: "modelID" String,
        provider_id: "providerID" String,
        /// The effort of reasoning.
        variant: "variant" Any,
    }
}

view! {
    /// Times in milliseconds since the epoch.
    Time {
        created: "created" Number,
        completed: "completed" Number,
        start: "start" Number,
        end: "end" Number,
        archived: "archived" Number,
    }
}

view! {
    /// A message's own record.
    Envelope {
        id: "id" String,
        /// `user` or `assistant`.
        role: "role" String,
        time: "time" Object,
        agent: "agent" String,
        mode: "mode" String,
        /// User messages, 1.0.98 and later.
        model: "model" Object,
        model_id: "modelID" String,
        provider_id: "providerID" String,
        path: "path" Object,
        /// System prompts: a list on assistant messages up to 0.5.29, a string on user messages.
        system: "system" Any,
        /// `true` on the assistant message with a compaction's summary; an object on user messages.
        summary: "summary" Any,
        error: "error" Object,
        cost: "cost" Number,
        tokens: "tokens" Object,
        /// Why the request ended (1.0.98 and later).
        finish: "finish" Any,
        /// The effort of reasoning.
        variant: "variant" Any,
        /// 0.1.174: everything above but `id` and `role` is in here, some of it under `assistant`.
        metadata: "metadata" Object,
        /// 0.1.174, under `metadata`.
        assistant: "assistant" Object,
        /// 0.1.174, under `metadata`: what a tool adds to its result, by call id.
        tool: "tool" Object,
    }
}

view! {
    /// The summary of a user message's turn.
    Summary {
        title: "title" String,
        body: "body" String,
    }
}

view! {
    /// An error that the harness recorded.
    Error {
        name: "name" String,
        data: "data" Object,
    }
}

view! {
    /// Details of an [`Error`].
    ErrorData {
        message: "message" String,
        /// The provider's response.
        response_body: "responseBody" String,
    }
}

view! {
    /// Tokens of one request.
    Tokens {
        input: "input" Number,
        output: "output" Number,
        reasoning: "reasoning" Number,
        /// 1.1.65 and later.
        total: "total" Number,
        cache: "cache" Object,
    }
}

view! {
    /// Cached tokens of one request.
    Cache {
        read_from_cache: "read" Number,
        written_to_cache: "write" Number,
    }
}

view! {
    /// One part of a message. Which fields it has follows from its `type`.
    Part {
        kind: "type" String,
        id: "id" String,
        message_id: "messageID" String,
        time: "time" Object,
        text: "text" String,
        synthetic: "synthetic" Bool,
        /// Provider-specific data, such as encrypted reasoning.
        metadata: "metadata" Any,
        tool: "tool" String,
        call_id: "callID" String,
        state: "state" Object,
        invocation: "toolInvocation" Object,
        cost: "cost" Number,
        tokens: "tokens" Object,
        /// `step-finish`: why the request ended.
        reason: "reason" Any,
        snapshot: "snapshot" String,
        files: "files" Array,
        mime: "mime" String,
        /// 0.1.174.
        media_type: "mediaType" String,
        url: "url" String,
        filename: "filename" String,
        auto: "auto" Bool,
        name: "name" String,
        prompt: "prompt" String,
        /// `subtask`: the command whose template the prompt is.
        command: "command" Any,
        description: "description" String,
        error: "error" Object,
    }
}

view! {
    /// The state of the call of a tool part.
    State {
        /// `pending`, `running`, `completed` or `error`.
        status: "status" String,
        input: "input" Any,
        /// The arguments of a pending call, as far as the model has written them.
        raw: "raw" String,
        output: "output" String,
        error: "error" String,
        metadata: "metadata" Object,
        time: "time" Object,
        attachments: "attachments" Array,
    }
}

view! {
    /// A call of 0.1.174 with its result.
    Invocation {
        /// `partial-call`, `call` or `result`.
        state: "state" String,
        call_id: "toolCallId" String,
        name: "toolName" String,
        args: "args" Any,
        result: "result" String,
    }
}

view! {
    /// What a tool adds to its result. Each tool has its own fields; third-party tools may give the same names other meanings.
    Metadata {
        /// `bash`: `null` if the command was stopped.
        exit: "exit" Number,
        output: "output" String,
        truncated: "truncated" Bool,
        output_path: "outputPath" String,
        exists: "exists" Bool,
        diff: "diff" String,
        filediff: "filediff" Object,
        files: "files" Array,
        /// `task`: the session that the call started (1.0.98 and later).
        session_id: "sessionId" String,
        /// `subagent`: the session that the call started (2.x).
        step_session_id: "sessionID" String,
        /// 0.1.174: the call failed.
        error: "error" Bool,
        /// 0.1.174: when the call ran.
        time: "time" Object,
    }
}

view! {
    /// `metadata.filediff` of `edit`.
    FileDiff {
        /// The whole file before, 1.0.0 to 1.3.2.
        before: "before" String,
        /// The whole file after, 1.0.0 to 1.3.2.
        after: "after" String,
        /// A unified diff, 1.14.34 and later.
        patch: "patch" String,
    }
}

view! {
    /// One file in the result of `apply_patch` (1.1.65 and later).
    PatchedFile {
        file_path: "filePath" String,
        /// `add`, `update`, `delete` or `move`.
        kind: "type" String,
        move_path: "movePath" String,
        relative_path: "relativePath" String,
        before: "before" String,
        after: "after" String,
        patch: "patch" String,
    }
}

view! {
    /// The arguments of file tools.
    FileArgs {
        file_path: "filePath" String,
        /// 2.x.
        path: "path" String,
        old_string: "oldString" String,
        new_string: "newString" String,
        replace_all: "replaceAll" Bool,
        content: "content" String,
        patch_text: "patchText" String,
    }
}

view! {
    /// A file that is attached to a message or a result.
    File {
        mime: "mime" String,
        url: "url" String,
        filename: "filename" String,
    }
}

view! {
    /// One line of `run --format json`.
    Line {
        kind: "type" String,
        timestamp: "timestamp" Number,
        session_id: "sessionID" String,
        part: "part" Object,
        error: "error" Object,
    }
}

impl<'a> Envelope<'a> {
    /// Reads a message's own record into an empty envelope, in place: it is large.
    pub fn fill_message(&mut self, value: Value<'a>) -> Result<(), Fault> {
        self.strict_into(value, "")?;
        self.metadata().map_or(Ok(()), |metadata| self.add_metadata(metadata))
    }

    /// Moves what 0.1.174 has under `metadata` and `metadata.assistant` to where later versions have it.
    fn add_metadata(&mut self, metadata: Value<'a>) -> Result<(), Fault> {
        let common = Envelope::strict(metadata, "/metadata")?;
        let of_assistant = match common.assistant() {
            Some(assistant) => Envelope::strict(assistant, "/metadata/assistant")?,
            None => Envelope::default(),
        };
        self.set(const { Self::number("time") }, self.time().or(common.time()));
        self.set(const { Self::number("error") }, self.error().or(common.error()));
        self.set(const { Self::number("modelID") }, self.model_id().or(of_assistant.model_id()));
        self.set(const { Self::number("providerID") }, self.provider_id().or(of_assistant.provider_id()));
        self.set(const { Self::number("path") }, self.path().or(of_assistant.path()));
        self.set(const { Self::number("system") }, self.system().or(of_assistant.system()));
        self.set(const { Self::number("summary") }, self.summary().or(of_assistant.summary()));
        self.set(const { Self::number("cost") }, self.cost().or(of_assistant.cost()));
        self.set(const { Self::number("tokens") }, self.tokens().or(of_assistant.tokens()));
        self.set(const { Self::number("tool") }, common.tool());
        Ok(())
    }
}

/// The boolean of a field, if it is present.
pub(super) fn bool_opt(field: Field<'_>) -> Option<bool> {
    field.map(Value::is_true)
}

impl Tokens<'_> {
    /// False for a response without counts, or that has not ended: the harness then writes zeros.
    pub fn is_spent(&self) -> bool {
        let cache = Cache::lenient_opt(self.cache());
        let counts = [self.input(), self.output(), cache.read_from_cache(), cache.written_to_cache()];
        counts.into_iter().flatten().any(|count| count.raw() != "0")
    }
}
