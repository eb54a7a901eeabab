//! The shapes of the logs' records: which fields the tape needs, under the names that the harness gives them.

use crate::kit::value::{Field, Value, view};

view! {
    /// A line of a JSON Lines log, a whole document, or a message in one. Which it is follows from the fields that it has.
    Record {
        /// What a line changes in the header and the history.
        set: "$set",
        rewind_to: "$rewindTo",
        session_id: "sessionId",
        start_time: "startTime",
        /// `main` or `subagent`.
        role: "kind",
        directories: "directories",
        summary: "summary",
        messages: "messages",
        id: "id",
        timestamp: "timestamp",
        /// `user`, `gemini`, `info`, `warning`, `error`.
        kind: "type",
        /// A string, or a list of parts.
        content: "content",
        /// What the user typed, where `content` holds it expanded (0.31.0 and later).
        display_content: "displayContent",
        thoughts: "thoughts",
        tokens: "tokens",
        model: "model",
        tool_calls: "toolCalls",
    }
}

view! {
    /// A summary of a thought: the harness takes `**subject** description` apart.
    Thought {
        subject: "subject",
        description: "description",
    }
}

view! {
    /// Tokens of one model turn.
    Tokens {
        input: "input",
        output: "output",
        cached: "cached",
        thoughts: "thoughts",
        total: "total",
    }
}

view! {
    /// A tool call with its result (0.10.0 and later).
    Call {
        id: "id",
        name: "name",
        args: "args",
        /// Parts; the first is the response.
        result: "result",
        /// `success`, `error`, `cancelled`.
        status: "status",
        /// When it ended.
        timestamp: "timestamp",
        /// What the terminal shows: text, or an object such as [`FileChange`].
        display: "resultDisplay",
    }
}

view! {
    /// The `resultDisplay` of an edit (0.25.0 and later).
    FileChange {
        file_path: "filePath",
        original: "originalContent",
        new: "newContent",
        is_new_file: "isNewFile",
    }
}

view! {
    /// Arguments that say which file and which text a call is about.
    FileArgs {
        file_path: "file_path",
        /// The file of a read (up to 0.12.0).
        absolute_path: "absolute_path",
        old_string: "old_string",
        new_string: "new_string",
        content: "content",
        /// 0-based first line of a read (up to 0.30.1).
        offset: "offset",
        /// 1-based first line of a read (0.31.0 and later).
        start_line: "start_line",
    }
}

view! {
    /// One part of what a person, the model or a tool says, in the form of the model's interface.
    Part {
        text: "text",
        /// True when `text` is a thought.
        thought: "thought",
        call: "functionCall",
        response: "functionResponse",
        inline_data: "inlineData",
        file_data: "fileData",
    }
}

view! {
    /// A call as the model made it.
    FunctionCall {
        id: "id",
        name: "name",
        args: "args",
    }
}

view! {
    /// A result as the model gets it.
    FunctionResponse {
        id: "id",
        name: "name",
        response: "response",
        parts: "parts",
    }
}

view! {
    /// What a tool answered: `output` where it did what it was asked, `error` where not.
    Response {
        output: "output",
        error: "error",
    }
}

view! {
    /// A file beside the text: in base64, or by address.
    Blob {
        media_type: "mimeType",
        data: "data",
        uri: "fileUri",
        name: "displayName",
    }
}

view! {
    /// One entry of `logs.json`: what was typed at the terminal.
    Typed {
        session_id: "sessionId",
        message_id: "messageId",
        kind: "type",
        message: "message",
        timestamp: "timestamp",
    }
}

view! {
    /// One message of a saved conversation.
    Turn {
        /// `user` or `model`.
        role: "role",
        parts: "parts",
    }
}

/// The parts of a list, or the one part that stands in place of one. A string is a part that is text.
pub(super) fn parts(list: Field<'_>) -> impl Iterator<Item = Part<'_>> {
    let alone = list.filter(|list| !list.is_array());
    let listed = list.into_iter().flat_map(Value::elements);
    alone.into_iter().chain(listed).map(|part| match part.text() {
        Some(_) => Part { text: Some(part), ..Part::default() },
        None => Part::of(part),
    })
}

impl<'a> Call<'a> {
    /// True when the call did what it was asked.
    pub fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.raw() == "\"success\"")
    }

    /// True when the outcome is known.
    pub fn is_settled(&self) -> bool {
        self.status.is_some_and(|status| matches!(status.raw(), "\"success\"" | "\"error\"" | "\"cancelled\""))
    }

    /// The response's output, where it stands alone.
    pub fn output(&self) -> Field<'a> {
        let response = parts(self.result).find_map(|part| part.response)?;
        Response::of(FunctionResponse::of(response).response?).output
    }
}
