//! The views of the objects that the adapter reads. Generated from `members/*.members` (`ENGRAM_BLESS=1` with the unit tests writes
//! it). Do not edit it.

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
        variant: "variant" String,
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

view! {
    /// The session's own record in an export of 2.x. It has no version.
    StepInfo {
        id: "id" String,
        parent_id: "parentID" String,
        /// The session that this one copies the beginning of.
        fork: "fork" Object,
        agent: "agent" String,
        model: "model" Object,
        cost: "cost" Number,
        time: "time" Object,
        title: "title" String,
        location: "location" Object,
        revert: "revert" Object,
    }
}

view! {
    /// A message. Which fields it has follows from its `type`.
    StepMessage {
        id: "id" String,
        kind: "type" String,
        time: "time" Object,
        text: "text" String,
        files: "files" Array,
        agents: "agents" Array,
        skills: "skills" Array,
        description: "description" Any,
        /// `skill`: its id.
        skill: "skill" Any,
        name: "name" Any,
        agent: "agent" Any,
        model: "model" Object,
        content: "content" Array,
        snapshot: "snapshot" Object,
        finish: "finish" Any,
        cost: "cost" Number,
        tokens: "tokens" Object,
        error: "error" Object,
        retry: "retry" Object,
        /// `shell` and `compaction`: how far it is.
        status: "status" Any,
        reason: "reason" Any,
        summary: "summary" Any,
        location: "location" Object,
        shell_id: "shellID" Any,
        /// Betas, `shell`: what later versions have as `shellID`.
        call_id: "callID" Any,
        command: "command" String,
        exit: "exit" Number,
        /// `shell`: an object, in betas a text.
        output: "output" Any,
    }
}

view! {
    /// Times in milliseconds since the epoch.
    StepTime {
        created: "created" Number,
        completed: "completed" Number,
    }
}

view! {
    /// A part of an answer.
    StepPart {
        kind: "type" String,
        text: "text" String,
        /// Of a call: its id.
        id: "id" String,
        name: "name" String,
        state: "state" Object,
        time: "time" Object,
    }
}

view! {
    /// The state of a call.
    StepState {
        /// `streaming`, `running`, `completed` or `error`.
        status: "status" String,
        /// The arguments; a string while the model still writes them.
        input: "input" Any,
        content: "content" Array,
        metadata: "metadata" Object,
        /// Betas: what later versions have under `metadata`, and the output of tools that return no text.
        structured: "structured" Object,
        error: "error" Object,
        /// Betas: the error as the model got it.
        result: "result" Object,
    }
}

view! {
    /// One piece of what a call returned.
    StepContent {
        kind: "type" String,
        text: "text" String,
        uri: "uri" String,
        mime: "mime" String,
        name: "name" String,
    }
}

view! {
    /// An error of a call or a request.
    StepError {
        kind: "type" String,
        message: "message" String,
        /// The error as the model got it.
        value: "value" String,
        response: "response" Object,
    }
}

view! {
    /// A file of a prompt.
    StepFile {
        data: "data" String,
        mime: "mime" String,
        name: "name" String,
        source: "source" Object,
    }
}

view! {
    /// What a tool says about its result.
    StepDetails {
        /// Betas, `read`: the text of the file or of a page of it.
        content: "content" String,
        /// Betas, `read` of a complete file.
        encoding: "encoding" String,
        /// Betas, `read` of a page: its first line.
        offset: "offset" Number,
        /// Betas, `read` of a directory.
        entries: "entries" Array,
        /// Betas, `write`.
        existed: "existed" Bool,
        files: "files" Array,
        /// `execute`: the calls that the program made.
        tool_calls: "toolCalls" Array,
        error: "error" Bool,
        signal: "signal" String,
        timeout: "timeout" Any,
    }
}

view! {
    /// A file that a call changed.
    ChangedFile {
        file: "file" String,
        patch: "patch" String,
        /// `added`, `modified` or `deleted`.
        status: "status" String,
    }
}

view! {
    /// A call that the program of an `execute` call made.
    InnerCall {
        tool: "tool" String,
        status: "status" String,
        input: "input" Any,
    }
}

view! {
    /// What a stream line of 2.x says about a result.
    StreamDetails {
        metadata: "metadata" Object,
        structured: "structured" Object,
        content: "content" Array,
        provider_call: "providerCall" Object,
    }
}
