//! The records of OpenCode 2: one record per message, and per part of an answer. Only the fields that the tape needs.

use crate::shared::view::view;

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
    /// What a tool states about its result.
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
