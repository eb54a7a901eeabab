//! The shapes of the logs' records: which fields the tape needs, under the names that the harness gives them.

use std::borrow::Cow;

use crate::kit::correlate::key;
use crate::kit::value::{Field, each};
use crate::kit::view::view;

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
        session_id: "sessionId" Text,
        start_time: "startTime" Text,
        /// `main` or `subagent`.
        role: "kind" Text,
        directories: "directories" List,
        summary: "summary" Text,
        messages: "messages" List,
        id: "id" Text,
        timestamp: "timestamp" Text,
        /// `user`, `gemini`, `info`, `warning`, `error`.
        kind: "type" Text,
        /// A string, or a list of parts.
        content: "content" Any,
        /// What the user typed, where `content` holds it expanded (0.31.0 and later).
        display_content: "displayContent" Any,
        thoughts: "thoughts" List,
        tokens: "tokens" Object,
        model: "model" Text,
        tool_calls: "toolCalls" List,
    }
}

view! {
    /// A summary of a thought: the harness takes `**subject** description` apart.
    Thought {
        subject: "subject" Text,
        description: "description" Text,
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
        id: "id" Text,
        name: "name" Text,
        args: "args" Object,
        /// Parts; the first is the response.
        result: "result" Any,
        /// `success`, `error`, `cancelled`.
        status: "status" Text,
        /// When it ended.
        timestamp: "timestamp" Text,
        /// What the terminal shows: text, or an object such as [`FileChange`].
        display: "resultDisplay" Any,
    }
}

view! {
    /// The `resultDisplay` of an edit (0.25.0 and later).
    FileChange {
        file_path: "filePath" Text,
        original: "originalContent" Text,
        new_content: "newContent" Text,
        is_new_file: "isNewFile" Flag,
    }
}

view! {
    /// Arguments that say which file and which text a call is about.
    FileArgs {
        file_path: "file_path" Text,
        /// The file of a read (up to 0.12.0).
        absolute_path: "absolute_path" Text,
        old_string: "old_string" Text,
        new_string: "new_string" Text,
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
        text: "text" Text,
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
        id: "id" Text,
        name: "name" Text,
        args: "args" Object,
    }
}

view! {
    /// A result as the model gets it.
    FunctionResponse {
        id: "id" Text,
        name: "name" Text,
        /// An object such as [`Response`].
        response: "response" Any,
        parts: "parts" List,
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
        media_type: "mimeType" Text,
        data: "data" Text,
        uri: "fileUri" Text,
        name: "displayName" Text,
    }
}

view! {
    /// One entry of `logs.json`: what was typed at the terminal.
    Typed {
        session_id: "sessionId" Text,
        message_id: "messageId" Number,
        kind: "type" Text,
        message: "message" Text,
        timestamp: "timestamp" Text,
    }
}

view! {
    /// One message of a saved conversation.
    Turn {
        /// `user` or `model`.
        role: "role" Text,
        parts: "parts" List,
    }
}

/// The path of a field of the record, or of a message inside it.
pub(super) fn under(base: &str, field: &'static str) -> Cow<'static, str> {
    if base.is_empty() { Cow::Borrowed(field) } else { Cow::Owned([base, field].concat()) }
}

/// The parts of a list, or the one part that stands in place of one. A string is a part that is text.
pub(super) fn parts(list: Field<'_>) -> impl Iterator<Item = Part<'_>> {
    each(list).map(Part::of)
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
        self.id().map(|id| key(id.raw()))
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
        Response::of(FunctionResponse::of(response).response()?).output()
    }
}
