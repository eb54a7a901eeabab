//! The shapes of an export and of a stream: which fields the tape needs, under the names that the harness gives them.

use engram_core::emit::Fault;

use crate::kit::value::{Field, Value};
use crate::kit::view::view;

view! {
    /// `opencode export`: a session with its messages and their parts.
    Document {
        info: "info" Any,
        messages: "messages" List,
    }
}

view! {
    /// One message with its parts.
    Message {
        info: "info" Any,
        parts: "parts" List,
    }
}

view! {
    /// What a session says of itself.
    Info {
        id: "id" Text,
        version: "version" Text,
        directory: "directory" Text,
        title: "title" Text,
        parent_id: "parentID" Text,
        /// 1.14.34 and later.
        agent: "agent" Text,
        /// 1.14.34 and later.
        model: "model" Object,
        time: "time" Object,
        /// Messages that the user took back. They stay until the next prompt.
        revert: "revert" Object,
        /// Where the session is published.
        share: "share" Object,
        /// The permissions that the session was started with.
        permission: "permission" List,
    }
}

view! {
    /// A model: `id` on sessions, `modelID` on messages.
    Model {
        id: "id" Text,
        model_id: "modelID" Text,
        provider_id: "providerID" Text,
    }
}

view! {
    /// A permission that the session was started with.
    Rule {
        permission: "permission" Text,
        pattern: "pattern" Text,
        action: "action" Text,
    }
}

view! {
    /// Times in milliseconds since the epoch.
    Time {
        created: "created" Number,
        start: "start" Number,
        end: "end" Number,
        archived: "archived" Number,
    }
}

view! {
    /// What a message says of itself.
    Envelope {
        id: "id" Text,
        /// `user` or `assistant`.
        role: "role" Text,
        time: "time" Object,
        agent: "agent" Text,
        mode: "mode" Text,
        /// User messages, 1.0.98 and later.
        model: "model" Object,
        model_id: "modelID" Text,
        provider_id: "providerID" Text,
        path: "path" Object,
        /// System prompts: a list on assistant messages up to 0.5.29, a string on user messages.
        system: "system" Any,
        /// `true` on the assistant message that holds a compaction's summary; an object on user messages.
        summary: "summary" Any,
        error: "error" Object,
        cost: "cost" Number,
        tokens: "tokens" Object,
        /// 0.1.174: everything above but `id` and `role` stands in here, some of it under `assistant`.
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
        title: "title" Text,
        body: "body" Text,
    }
}

view! {
    /// An error that the harness recorded.
    Error {
        name: "name" Text,
        data: "data" Object,
    }
}

view! {
    /// Details of an [`Error`].
    ErrorData {
        message: "message" Text,
        /// What the provider answered.
        response_body: "responseBody" Text,
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
        kind: "type" Text,
        id: "id" Text,
        message_id: "messageID" Text,
        time: "time" Object,
        text: "text" Text,
        synthetic: "synthetic" Flag,
        /// What a provider added, reasoning that only it can read among it.
        metadata: "metadata" Any,
        tool: "tool" Text,
        call_id: "callID" Text,
        state: "state" Object,
        invocation: "toolInvocation" Object,
        cost: "cost" Number,
        tokens: "tokens" Object,
        snapshot: "snapshot" Text,
        files: "files" List,
        mime: "mime" Text,
        /// 0.1.174.
        media_type: "mediaType" Text,
        url: "url" Text,
        filename: "filename" Text,
        auto: "auto" Flag,
        name: "name" Text,
        prompt: "prompt" Text,
        description: "description" Text,
        error: "error" Object,
    }
}

view! {
    /// What a tool part says about its call.
    State {
        /// `pending`, `running`, `completed` or `error`.
        status: "status" Text,
        input: "input" Any,
        /// The arguments of a pending call as far as they have come.
        raw: "raw" Text,
        output: "output" Text,
        error: "error" Text,
        metadata: "metadata" Object,
        time: "time" Object,
        attachments: "attachments" List,
    }
}

view! {
    /// A call of 0.1.174 with its result.
    Invocation {
        /// `partial-call`, `call` or `result`.
        state: "state" Text,
        call_id: "toolCallId" Text,
        name: "toolName" Text,
        args: "args" Any,
        result: "result" Text,
    }
}

view! {
    /// What a tool adds to its result. Each tool has its own fields, and tools of others may use the same names otherwise.
    Metadata {
        /// `bash`: `null` when the command was stopped.
        exit: "exit" Number,
        output: "output" Text,
        truncated: "truncated" Flag,
        output_path: "outputPath" Text,
        exists: "exists" Flag,
        diff: "diff" Text,
        filediff: "filediff" Object,
        files: "files" List,
        /// `task`: the session that the call started (1.0.98 and later).
        session_id: "sessionId" Text,
        /// 0.1.174: the call failed.
        error: "error" Flag,
        /// 0.1.174: when the call ran.
        time: "time" Object,
    }
}

view! {
    /// `metadata.filediff` of `edit`.
    FileDiff {
        /// The whole file before, 1.0.0 to 1.3.2.
        before: "before" Text,
        /// The whole file after, 1.0.0 to 1.3.2.
        after: "after" Text,
        /// A unified diff, 1.14.34 and later.
        patch: "patch" Text,
    }
}

view! {
    /// One file in the result of `apply_patch` (1.1.65 and later).
    PatchedFile {
        file_path: "filePath" Text,
        /// `add`, `update`, `delete` or `move`.
        kind: "type" Text,
        move_path: "movePath" Text,
        relative_path: "relativePath" Text,
        before: "before" Text,
        after: "after" Text,
        patch: "patch" Text,
    }
}

view! {
    /// Arguments that say which file and which text a call is about.
    FileArgs {
        file_path: "filePath" Text,
        old_string: "oldString" Text,
        new_string: "newString" Text,
        replace_all: "replaceAll" Flag,
        content: "content" Text,
        patch_text: "patchText" Text,
    }
}

view! {
    /// A file that is attached to a message or a result.
    File {
        mime: "mime" Text,
        url: "url" Text,
        filename: "filename" Text,
    }
}

view! {
    /// One line of `run --format json`.
    Line {
        kind: "type" Text,
        timestamp: "timestamp" Number,
        session_id: "sessionID" Text,
        part: "part" Object,
        error: "error" Object,
    }
}

impl<'a> Envelope<'a> {
    /// Reads a message's own record into an empty envelope where it stands: it is large.
    pub fn fill_message(&mut self, value: Value<'a>) -> Result<(), Fault> {
        self.fill(value, "")?;
        self.metadata().map_or(Ok(()), |metadata| self.add_metadata(metadata))
    }

    /// Puts what 0.1.174 has under `metadata` and `metadata.assistant` in its later place.
    fn add_metadata(&mut self, metadata: Value<'a>) -> Result<(), Fault> {
        let common = Envelope::read(metadata, "/metadata")?;
        let of_assistant = match common.assistant() {
            Some(assistant) => Envelope::read(assistant, "/metadata/assistant")?,
            None => Envelope::default(),
        };
        self.set("time", self.time().or(common.time()));
        self.set("error", self.error().or(common.error()));
        self.set("modelID", self.model_id().or(of_assistant.model_id()));
        self.set("providerID", self.provider_id().or(of_assistant.provider_id()));
        self.set("path", self.path().or(of_assistant.path()));
        self.set("system", self.system().or(of_assistant.system()));
        self.set("summary", self.summary().or(of_assistant.summary()));
        self.set("cost", self.cost().or(of_assistant.cost()));
        self.set("tokens", self.tokens().or(of_assistant.tokens()));
        self.set("tool", common.tool());
        Ok(())
    }
}

/// True or false, where it is stated.
pub(super) fn flag(field: Field<'_>) -> Option<bool> {
    field.map(Value::is_true)
}
