//! The fields of the SDK's messages.

use crate::shared::view::view;

view! {
    /// A message of any type (SDK 1.0.9 to 1.0.36).
    pub(in crate::cursor) Message {
        kind: "type" Any,
        agent_id: "agent_id" Any,
        request_id: "request_id" Any,
        status: "status" Any,
        message: "message" Object,
        text: "text" Any,
        call_id: "call_id" Any,
        name: "name" Any,
        args: "args" Any,
        result: "result" Object,
        usage: "usage" Object,
    }
}

view! {
    /// A message of the user or the agent.
    Content {
        content: "content" Array,
    }
}

view! {
    /// One part of a message.
    Part {
        kind: "type" Any,
        text: "text" Any,
    }
}

view! {
    /// The result of a call: how it ended, and what it returned.
    CallResult {
        status: "status" Any,
        value: "value" Any,
        error: "error" Any,
    }
}

view! {
    /// The fields of returned values for which the tape has a place.
    Returned {
        exit_code: "exitCode" Any,
        stdout: "stdout" Any,
        stderr: "stderr" Any,
        execution_time: "executionTime" Any,
        content: "content" Any,
        total_lines: "totalLines" Any,
        diff_string: "diffString" Any,
        lines_added: "linesAdded" Any,
        lines_removed: "linesRemoved" Any,
        is_error: "isError" Any,
        message: "message" Any,
    }
}
