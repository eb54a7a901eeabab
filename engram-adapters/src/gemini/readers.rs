//! The views of the objects that the adapter reads. Generated from `members/*.members` (`ENGRAM_BLESS=1` with the unit tests writes
//! it). Do not edit it.

use crate::shared::view::view;

view! {
    /// A line of a JSON Lines log, a whole document, or a message of one. Its members show which.
    Line {
        /// Changes of the header and the history.
        changes: "$set" Object,
        rewind_to: "$rewindTo" Any,
        session_id: "sessionId" String,
        start_time: "startTime" Any,
        /// `main` or `subagent`.
        role: "kind" String,
        directories: "directories" Array,
        summary: "summary" String,
        messages: "messages" Array,
        id: "id" String,
        timestamp: "timestamp" String,
        /// `user`, `gemini`, `info`, `warning`, `error`.
        kind: "type" String,
        /// A string, or a list of parts.
        content: "content" Any,
        /// What the user typed, if `content` has it expanded (0.31.0 and later).
        display_content: "displayContent" Any,
        thoughts: "thoughts" Array,
        tokens: "tokens" Object,
        model: "model" String,
        tool_calls: "toolCalls" Array,
    }
}

view! {
    /// A summary of a thought: the harness splits `**subject** description`.
    Thought {
        subject: "subject" String,
        description: "description" String,
    }
}

view! {
    /// Tokens of one model turn.
    Tokens {
        input: "input" Number,
        output: "output" Number,
        cached: "cached" Number,
        thoughts: "thoughts" Number,
        /// What results of the provider's own tools added to the prompt.
        tool: "tool" Number,
        total: "total" Number,
    }
}

view! {
    /// A tool call with its result (0.10.0 and later).
    Call {
        id: "id" String,
        name: "name" String,
        args: "args" Object,
        /// Parts; the first is the response.
        result: "result" Any,
        /// `success`, `error`, `cancelled`.
        status: "status" String,
        /// When the call ended.
        timestamp: "timestamp" String,
        /// What the terminal shows: text, or an object such as [`FileChange`].
        display: "resultDisplay" Any,
    }
}

view! {
    /// The `resultDisplay` of an edit (0.25.0 and later).
    FileChange {
        file_path: "filePath" String,
        original: "originalContent" String,
        new_content: "newContent" String,
        is_new_file: "isNewFile" Bool,
    }
}

view! {
    /// The arguments of file tools.
    FileArgs {
        file_path: "file_path" String,
        /// The file of a read (up to 0.12.0).
        absolute_path: "absolute_path" String,
        old_string: "old_string" String,
        new_string: "new_string" String,
        content: "content" Any,
        /// The first line of a read, 0-based (up to 0.30.1).
        offset: "offset" Any,
        /// The first line of a read, 1-based (0.31.0 and later).
        start_line: "start_line" Any,
    }
}

view! {
    /// One part of a message or result, in the form of the model's interface.
    Part {
        text: "text" String,
        /// True when `text` is a thought.
        thought: "thought" Bool,
        call: "functionCall" Object,
        response: "functionResponse" Object,
        inline_data: "inlineData" Object,
        file_data: "fileData" Object,
    }
}

view! {
    /// A call as the model made it.
    FunctionCall {
        id: "id" String,
        name: "name" String,
        args: "args" Object,
    }
}

view! {
    /// A result as the model gets it.
    FunctionResponse {
        id: "id" String,
        name: "name" String,
        /// An object such as [`Response`].
        response: "response" Object,
        parts: "parts" Array,
    }
}

view! {
    /// The content of a result: `output` if the call succeeded, else `error`.
    Response {
        output: "output" String,
        error: "error" String,
    }
}

view! {
    /// A file next to a text: as base64, or by URL.
    Blob {
        media_type: "mimeType" String,
        data: "data" String,
        uri: "fileUri" String,
        name: "displayName" String,
    }
}

view! {
    /// One entry of `logs.json`: what was typed at the terminal.
    TypedPrompt {
        session_id: "sessionId" String,
        message_id: "messageId" Number,
        kind: "type" String,
        message: "message" String,
        timestamp: "timestamp" String,
    }
}

view! {
    /// A line of `--output-format stream-json`.
    StreamLine {
        /// `init`, `message`, `tool_use`, `tool_result`, `error`, `result`.
        kind: "type" String,
        timestamp: "timestamp" String,
        session_id: "session_id" String,
        model: "model" Any,
        /// `user` or `assistant`.
        role: "role" String,
        content: "content" String,
        tool: "tool_name" String,
        call_id: "tool_id" Any,
        args: "parameters" Any,
        status: "status" Any,
        output: "output" Any,
        error: "error" Object,
        message: "message" Any,
        stats: "stats" Object,
    }
}

view! {
    /// What all requests of one model used.
    ModelStats {
        total: "total_tokens" Number,
        /// With what came from the cache.
        prompt: "input_tokens" Number,
        /// Without reasoning.
        output: "output_tokens" Number,
        cached: "cached" Number,
        input: "input" Number,
    }
}

view! {
    /// One turn of a saved conversation.
    SavedTurn {
        /// `user` or `model`.
        role: "role" String,
        parts: "parts" Array,
    }
}
