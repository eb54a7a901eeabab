//! The records of a session: the fields that the tape needs, under the names that Goose gives them.

use engram_adapters::shared::view::view;

/// Every field of the header in the one known schema.
pub const HEADER_FIELDS: &[&str] = &[
    "working_dir",
    "description",
    "schedule_id",
    "project_id",
    "message_count",
    "total_tokens",
    "input_tokens",
    "output_tokens",
    "accumulated_total_tokens",
    "accumulated_input_tokens",
    "accumulated_output_tokens",
];

view! {
    /// The first line.
    Header {
        working_dir: "working_dir" String,
        description: "description" String,
        total_tokens: "total_tokens" Number,
        input_tokens: "input_tokens" Number,
        output_tokens: "output_tokens" Number,
    }
}

view! {
    /// Every other line.
    Message {
        id: "id" String,
        /// `user` or `assistant`.
        role: "role" String,
        /// Seconds since 1970.
        created: "created" Number,
        content: "content" Array,
    }
}

view! {
    /// A block of a message's content.
    Block {
        kind: "type" String,
        text: "text" String,
        thinking: "thinking" String,
        id: "id" String,
        call: "toolCall" Object,
        result: "toolResult" Object,
    }
}

view! {
    /// A tool call or a tool result: a value, or an error.
    Settled {
        value: "value" Any,
        error: "error" String,
    }
}

view! {
    /// The value of a tool call.
    Call {
        name: "name" String,
        arguments: "arguments" Object,
    }
}
