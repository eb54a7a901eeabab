//! The shapes of the logs' records: which fields the tape needs, under the names that the harness gives them.

use std::borrow::Cow;

use crate::shared::correlate::hash64;
use crate::shared::value::{Field, one_or_many};
use crate::shared::view::view;

/// How the context begins that the harness puts before the first prompt.
pub(super) const SESSION_CONTEXT: &str = "<session_context>";

/// The list of a whole-file log.
pub(super) const MESSAGES: &str = "messages";

view! {
    /// A line of a JSON Lines log, a whole document, or a message in one. Which it is follows from the fields that it has.
    Record {
        /// What a line changes in the header and the history.
        changes: "$set" Object,
        rewind_to: "$rewindTo" Any,
        session_id: "sessionId" String,
        start_time: "startTime" String,
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
        /// What the user typed, where `content` holds it expanded (0.31.0 and later).
        display_content: "displayContent" Any,
        thoughts: "thoughts" Array,
        tokens: "tokens" Object,
        model: "model" String,
        tool_calls: "toolCalls" Array,
    }
}

view! {
    /// A summary of a thought: the harness takes `**subject** description` apart.
    Thought {
        subject: "subject" String,
        description: "description" String,
    }
}

view! {
    /// Tokens of one model turn.
    Tokens {
        input: "input" Any,
        output: "output" Any,
        cached: "cached" Any,
        thoughts: "thoughts" Any,
        total: "total" Any,
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
        /// When it ended.
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
    /// Arguments that say which file and which text a call is about.
    FileArgs {
        file_path: "file_path" String,
        /// The file of a read (up to 0.12.0).
        absolute_path: "absolute_path" String,
        old_string: "old_string" String,
        new_string: "new_string" String,
        content: "content" Any,
        /// 0-based first line of a read (up to 0.30.1).
        offset: "offset" Any,
        /// 1-based first line of a read (0.31.0 and later).
        start_line: "start_line" Any,
    }
}

view! {
    /// One part of what a person, the model or a tool says, in the form of the model's interface.
    Part {
        text: "text" String,
        /// True when `text` is a thought.
        thought: "thought" Any,
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
        response: "response" Any,
        parts: "parts" Array,
    }
}

view! {
    /// What a tool answered: `output` where it did what it was asked, `error` where not.
    Response {
        output: "output" Any,
        error: "error" Any,
    }
}

view! {
    /// A file beside the text: in base64, or by address.
    Blob {
        media_type: "mimeType" String,
        data: "data" String,
        uri: "fileUri" String,
        name: "displayName" String,
    }
}

view! {
    /// One entry of `logs.json`: what was typed at the terminal.
    Typed {
        session_id: "sessionId" String,
        message_id: "messageId" Number,
        kind: "type" String,
        message: "message" String,
        timestamp: "timestamp" String,
    }
}

view! {
    /// One message of a saved conversation.
    Turn {
        /// `user` or `model`.
        role: "role" String,
        parts: "parts" Array,
    }
}

/// The path of a field of the record, or of a message inside it.
pub(super) fn under(base: &str, field: &'static str) -> Cow<'static, str> {
    if base.is_empty() { Cow::Borrowed(field) } else { Cow::Owned([base, field].concat()) }
}

/// The parts of a list, or the one part that stands in place of one. A string is a part that is text.
pub(super) fn parts(list: Field<'_>) -> impl Iterator<Item = Part<'_>> {
    one_or_many(list).map(Part::lenient)
}

impl<'a> Part<'a> {
    /// What is said in text.
    pub fn said(&self) -> Field<'a> {
        if self.object().text().is_some() { Some(self.object()) } else { self.text() }
    }
}

impl<'a> Call<'a> {
    /// What tells the call apart from others, if it has an id.
    pub fn key(&self) -> Option<u64> {
        self.id().map(|id| hash64(id.raw()))
    }

    /// True when the call did what it was asked.
    pub fn succeeded(&self) -> bool {
        self.status().is_some_and(|status| status.raw() == "\"success\"")
    }

    /// True when the outcome is known.
    pub fn is_settled(&self) -> bool {
        self.status().is_some_and(|status| matches!(status.raw(), "\"success\"" | "\"error\"" | "\"cancelled\""))
    }

    /// The response's output, where it stands alone.
    pub fn output(&self) -> Field<'a> {
        let response = parts(self.result()).find_map(|part| part.response())?;
        Response::lenient(FunctionResponse::lenient(response).response()?).output()
    }
}
