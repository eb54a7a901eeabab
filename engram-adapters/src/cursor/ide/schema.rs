//! The fields of an opened conversation's lines.

use crate::shared::view::view;

view! {
    /// One line of the opened text.
    Line {
        store: "store" Any,
        composer: "composer" Object,
        bubble: "bubble" Object,
        before: "before" Any,
        after: "after" Any,
    }
}

view! {
    /// The record of the conversation itself.
    Composer {
        name: "name" Any,
        chat_title: "chatTitle" Any,
        created_at: "createdAt" Any,
        last_send_time: "lastSendTime" Any,
        unified_mode: "unifiedMode" Any,
        model_config: "modelConfig" Object,
        subagent_info: "subagentInfo" Object,
        workspace_identifier: "workspaceIdentifier" Object,
    }
}

view! {
    /// A message. `type` is 1 or `user`, 2 or `ai`.
    Bubble {
        kind: "type" Any,
        bubble_id: "bubbleId" Any,
        id: "id" Any,
        created_at: "createdAt" Any,
        text: "text" Any,
        raw_text: "rawText" Any,
        thinking: "thinking" Object,
        model_info: "modelInfo" Object,
        model_type: "modelType" Any,
        code_blocks: "codeBlocks" Any,
        token_count: "tokenCount" Object,
        tool_former_data: "toolFormerData" Object,
        selections: "selections" Array,
        file_selections: "fileSelections" Array,
        selected_images: "selectedImages" Array,
        is_simulated_msg: "isSimulatedMsg" Any,
    }
}

view! {
    /// Who started a sub-agent. The chat store has the same fact with other names.
    SubagentInfo {
        parent_composer_id: "parentComposerId" Any,
        parent_agent_id: "parentAgentId" Any,
        tool_call_id: "toolCallId" Any,
        type_name: "typeName" Any,
    }
}

view! {
    /// A file, or a part of one, that the user added to a prompt (2024 and 2025).
    Selection {
        uri: "uri" Object,
        raw_text: "rawText" String,
        text: "text" String,
    }
}

view! {
    /// A call of 2026. `params`, `rawArgs`, `result` and `error` are JSON inside a string.
    ToolFormerData {
        name: "name" Any,
        tool_call_id: "toolCallId" Any,
        status: "status" Any,
        raw_args: "rawArgs" Any,
        params: "params" Any,
        result: "result" Any,
        error: "error" Any,
        user_decision: "userDecision" Any,
    }
}

view! {
    /// The `params` of an edit.
    Params {
        relative_workspace_path: "relativeWorkspacePath" Any,
        target_file: "targetFile" Any,
    }
}

view! {
    /// The fields of a `result` that show how the call ended.
    ResultFields {
        output: "output" Any,
        exit_code: "exitCode" Any,
        apply_failed: "applyFailed" Any,
    }
}
