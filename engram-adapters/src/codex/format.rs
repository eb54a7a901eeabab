//! The record types, marks and rules of the format. Generated from `members/*.members` (`ENGRAM_BLESS=1` with the unit tests writes
//! it). Do not edit it.

#![allow(dead_code, reason = "an adapter need not use each name of its format")]

use engram_core::descriptor::OmissionRule;
use engram_core::ledger::Outcome;

/// The record types `in completed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompletedKind {
    UserMessage, AgentMessage, Reasoning, Plan, HookPrompt, WebSearch, ImageGeneration, Sleep, DynamicToolCall, EnteredReviewMode,
    ExitedReviewMode, CommandExecution, FileChange, McpToolCall, ImageView, ContextCompaction, SubAgentActivity, CollabAgentToolCall,
}

impl CompletedKind {
    /// The type `event_msg/item_completed/` and this name.
    pub(super) fn named(name: &str) -> Option<CompletedKind> {
        Some(match name {
            "UserMessage" => CompletedKind::UserMessage,
            "AgentMessage" => CompletedKind::AgentMessage,
            "Reasoning" => CompletedKind::Reasoning,
            "Plan" => CompletedKind::Plan,
            "HookPrompt" => CompletedKind::HookPrompt,
            "WebSearch" => CompletedKind::WebSearch,
            "ImageGeneration" => CompletedKind::ImageGeneration,
            "Sleep" => CompletedKind::Sleep,
            "DynamicToolCall" => CompletedKind::DynamicToolCall,
            "EnteredReviewMode" => CompletedKind::EnteredReviewMode,
            "ExitedReviewMode" => CompletedKind::ExitedReviewMode,
            "CommandExecution" => CompletedKind::CommandExecution,
            "FileChange" => CompletedKind::FileChange,
            "McpToolCall" => CompletedKind::McpToolCall,
            "ImageView" => CompletedKind::ImageView,
            "ContextCompaction" => CompletedKind::ContextCompaction,
            "SubAgentActivity" => CompletedKind::SubAgentActivity,
            "CollabAgentToolCall" => CompletedKind::CollabAgentToolCall,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            CompletedKind::UserMessage => "event_msg/item_completed/UserMessage",
            CompletedKind::AgentMessage => "event_msg/item_completed/AgentMessage",
            CompletedKind::Reasoning => "event_msg/item_completed/Reasoning",
            CompletedKind::Plan => "event_msg/item_completed/Plan",
            CompletedKind::HookPrompt => "event_msg/item_completed/HookPrompt",
            CompletedKind::WebSearch => "event_msg/item_completed/WebSearch",
            CompletedKind::ImageGeneration => "event_msg/item_completed/ImageGeneration",
            CompletedKind::Sleep => "event_msg/item_completed/Sleep",
            CompletedKind::DynamicToolCall => "event_msg/item_completed/DynamicToolCall",
            CompletedKind::EnteredReviewMode => "event_msg/item_completed/EnteredReviewMode",
            CompletedKind::ExitedReviewMode => "event_msg/item_completed/ExitedReviewMode",
            CompletedKind::CommandExecution => "event_msg/item_completed/CommandExecution",
            CompletedKind::FileChange => "event_msg/item_completed/FileChange",
            CompletedKind::McpToolCall => "event_msg/item_completed/McpToolCall",
            CompletedKind::ImageView => "event_msg/item_completed/ImageView",
            CompletedKind::ContextCompaction => "event_msg/item_completed/ContextCompaction",
            CompletedKind::SubAgentActivity => "event_msg/item_completed/SubAgentActivity",
            CompletedKind::CollabAgentToolCall => "event_msg/item_completed/CollabAgentToolCall",
        }
    }
}

/// The record types `in event`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventKind {
    GuardianAssessment, EnteredReviewMode, ExitedReviewMode, SubAgentActivity, CollabAgentSpawnEnd, CollabAgentInteractionEnd,
    CollabWaitingEnd, CollabCloseEnd, CollabResumeEnd, UserMessage, AgentMessage, AgentReasoning, AgentReasoningRawContent, TokenCount,
    TaskComplete, TurnAborted, Error, ContextCompacted, ThreadRolledBack, UndoCompleted, ThreadGoalUpdated, ExecCommandEnd,
    PatchApplyEnd, McpToolCallEnd, DynamicToolCallRequest, DynamicToolCallResponse, WebSearchEnd, ImageGenerationEnd,
    ViewImageToolCall, ThreadSettingsApplied, ThreadNameUpdated,
    /// A type whose records give no event, and what becomes of them.
    Omitted(Outcome),
}

impl EventKind {
    /// The type `event_msg/` and this name.
    pub(super) fn named(name: &str) -> Option<EventKind> {
        Some(match name {
            "guardian_assessment" => EventKind::GuardianAssessment,
            "entered_review_mode" => EventKind::EnteredReviewMode,
            "exited_review_mode" => EventKind::ExitedReviewMode,
            "sub_agent_activity" => EventKind::SubAgentActivity,
            "collab_agent_spawn_end" => EventKind::CollabAgentSpawnEnd,
            "collab_agent_interaction_end" => EventKind::CollabAgentInteractionEnd,
            "collab_waiting_end" => EventKind::CollabWaitingEnd,
            "collab_close_end" => EventKind::CollabCloseEnd,
            "collab_resume_end" => EventKind::CollabResumeEnd,
            "user_message" => EventKind::UserMessage,
            "agent_message" => EventKind::AgentMessage,
            "agent_reasoning" => EventKind::AgentReasoning,
            "agent_reasoning_raw_content" => EventKind::AgentReasoningRawContent,
            "token_count" => EventKind::TokenCount,
            "task_started" => EventKind::Omitted(Outcome::Bookkeeping { record: "event_msg/task_started", rule: "turn.start" }),
            "task_complete" => EventKind::TaskComplete,
            "turn_aborted" => EventKind::TurnAborted,
            "error" => EventKind::Error,
            "context_compacted" => EventKind::ContextCompacted,
            "thread_rolled_back" => EventKind::ThreadRolledBack,
            "undo_completed" => EventKind::UndoCompleted,
            "thread_goal_updated" => EventKind::ThreadGoalUpdated,
            "exec_command_end" => EventKind::ExecCommandEnd,
            "patch_apply_end" => EventKind::PatchApplyEnd,
            "mcp_tool_call_end" => EventKind::McpToolCallEnd,
            "dynamic_tool_call_request" => EventKind::DynamicToolCallRequest,
            "dynamic_tool_call_response" => EventKind::DynamicToolCallResponse,
            "web_search_end" => EventKind::WebSearchEnd,
            "image_generation_end" => EventKind::ImageGenerationEnd,
            "view_image_tool_call" => EventKind::ViewImageToolCall,
            "thread_settings_applied" => EventKind::ThreadSettingsApplied,
            "thread_name_updated" => EventKind::ThreadNameUpdated,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            EventKind::GuardianAssessment => "event_msg/guardian_assessment",
            EventKind::EnteredReviewMode => "event_msg/entered_review_mode",
            EventKind::ExitedReviewMode => "event_msg/exited_review_mode",
            EventKind::SubAgentActivity => "event_msg/sub_agent_activity",
            EventKind::CollabAgentSpawnEnd => "event_msg/collab_agent_spawn_end",
            EventKind::CollabAgentInteractionEnd => "event_msg/collab_agent_interaction_end",
            EventKind::CollabWaitingEnd => "event_msg/collab_waiting_end",
            EventKind::CollabCloseEnd => "event_msg/collab_close_end",
            EventKind::CollabResumeEnd => "event_msg/collab_resume_end",
            EventKind::UserMessage => "event_msg/user_message",
            EventKind::AgentMessage => "event_msg/agent_message",
            EventKind::AgentReasoning => "event_msg/agent_reasoning",
            EventKind::AgentReasoningRawContent => "event_msg/agent_reasoning_raw_content",
            EventKind::TokenCount => "event_msg/token_count",
            EventKind::TaskComplete => "event_msg/task_complete",
            EventKind::TurnAborted => "event_msg/turn_aborted",
            EventKind::Error => "event_msg/error",
            EventKind::ContextCompacted => "event_msg/context_compacted",
            EventKind::ThreadRolledBack => "event_msg/thread_rolled_back",
            EventKind::UndoCompleted => "event_msg/undo_completed",
            EventKind::ThreadGoalUpdated => "event_msg/thread_goal_updated",
            EventKind::ExecCommandEnd => "event_msg/exec_command_end",
            EventKind::PatchApplyEnd => "event_msg/patch_apply_end",
            EventKind::McpToolCallEnd => "event_msg/mcp_tool_call_end",
            EventKind::DynamicToolCallRequest => "event_msg/dynamic_tool_call_request",
            EventKind::DynamicToolCallResponse => "event_msg/dynamic_tool_call_response",
            EventKind::WebSearchEnd => "event_msg/web_search_end",
            EventKind::ImageGenerationEnd => "event_msg/image_generation_end",
            EventKind::ViewImageToolCall => "event_msg/view_image_tool_call",
            EventKind::ThreadSettingsApplied => "event_msg/thread_settings_applied",
            EventKind::ThreadNameUpdated => "event_msg/thread_name_updated",
            EventKind::Omitted(outcome) => outcome.record(),
        }
    }
}

/// The record types `in exec`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExecKind {
    TurnFailed, Error, ItemCompletedError, ItemCompletedAgentMessage, ItemCompletedReasoning, ItemStartedTodoList, ItemUpdatedTodoList,
    ItemCompletedTodoList, ItemStartedCommandExecution, ItemCompletedCommandExecution, ItemStartedFileChange, ItemCompletedFileChange,
    ItemStartedMcpToolCall, ItemCompletedMcpToolCall, ItemStartedCollabToolCall, ItemCompletedCollabToolCall, ItemStartedWebSearch,
    ItemCompletedWebSearch,
    /// A type whose records give no event, and what becomes of them.
    Omitted(Outcome),
}

impl ExecKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<ExecKind> {
        Some(match name {
            "thread.started" => ExecKind::Omitted(Outcome::Bookkeeping { record: "thread.started", rule: "exec.thread" }),
            "turn.started" => ExecKind::Omitted(Outcome::Bookkeeping { record: "turn.started", rule: "exec.turn" }),
            "turn.completed" => ExecKind::Omitted(Outcome::Bookkeeping { record: "turn.completed", rule: "exec.total" }),
            "turn.failed" => ExecKind::TurnFailed,
            "error" => ExecKind::Error,
            "item.completed/error" => ExecKind::ItemCompletedError,
            "item.completed/agent_message" => ExecKind::ItemCompletedAgentMessage,
            "item.completed/reasoning" => ExecKind::ItemCompletedReasoning,
            "item.started/todo_list" => ExecKind::ItemStartedTodoList,
            "item.updated/todo_list" => ExecKind::ItemUpdatedTodoList,
            "item.completed/todo_list" => ExecKind::ItemCompletedTodoList,
            "item.started/command_execution" => ExecKind::ItemStartedCommandExecution,
            "item.completed/command_execution" => ExecKind::ItemCompletedCommandExecution,
            "item.started/file_change" => ExecKind::ItemStartedFileChange,
            "item.completed/file_change" => ExecKind::ItemCompletedFileChange,
            "item.started/mcp_tool_call" => ExecKind::ItemStartedMcpToolCall,
            "item.completed/mcp_tool_call" => ExecKind::ItemCompletedMcpToolCall,
            "item.started/collab_tool_call" => ExecKind::ItemStartedCollabToolCall,
            "item.completed/collab_tool_call" => ExecKind::ItemCompletedCollabToolCall,
            "item.started/web_search" => ExecKind::ItemStartedWebSearch,
            "item.completed/web_search" => ExecKind::ItemCompletedWebSearch,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            ExecKind::TurnFailed => "turn.failed",
            ExecKind::Error => "error",
            ExecKind::ItemCompletedError => "item.completed/error",
            ExecKind::ItemCompletedAgentMessage => "item.completed/agent_message",
            ExecKind::ItemCompletedReasoning => "item.completed/reasoning",
            ExecKind::ItemStartedTodoList => "item.started/todo_list",
            ExecKind::ItemUpdatedTodoList => "item.updated/todo_list",
            ExecKind::ItemCompletedTodoList => "item.completed/todo_list",
            ExecKind::ItemStartedCommandExecution => "item.started/command_execution",
            ExecKind::ItemCompletedCommandExecution => "item.completed/command_execution",
            ExecKind::ItemStartedFileChange => "item.started/file_change",
            ExecKind::ItemCompletedFileChange => "item.completed/file_change",
            ExecKind::ItemStartedMcpToolCall => "item.started/mcp_tool_call",
            ExecKind::ItemCompletedMcpToolCall => "item.completed/mcp_tool_call",
            ExecKind::ItemStartedCollabToolCall => "item.started/collab_tool_call",
            ExecKind::ItemCompletedCollabToolCall => "item.completed/collab_tool_call",
            ExecKind::ItemStartedWebSearch => "item.started/web_search",
            ExecKind::ItemCompletedWebSearch => "item.completed/web_search",
            ExecKind::Omitted(outcome) => outcome.record(),
        }
    }
}

/// The record types `in item`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    Message, Reasoning, FunctionCall, FunctionCallOutput, CustomToolCall, CustomToolCallOutput, LocalShellCall, ToolSearchCall,
    ToolSearchOutput, AdditionalTools, WebSearchCall, ImageGenerationCall, AgentMessage, GhostSnapshot,
}

impl ItemKind {
    /// The type `response_item/` and this name.
    pub(super) fn named(name: &str) -> Option<ItemKind> {
        Some(match name {
            "message" => ItemKind::Message,
            "reasoning" => ItemKind::Reasoning,
            "function_call" => ItemKind::FunctionCall,
            "function_call_output" => ItemKind::FunctionCallOutput,
            "custom_tool_call" => ItemKind::CustomToolCall,
            "custom_tool_call_output" => ItemKind::CustomToolCallOutput,
            "local_shell_call" => ItemKind::LocalShellCall,
            "tool_search_call" => ItemKind::ToolSearchCall,
            "tool_search_output" => ItemKind::ToolSearchOutput,
            "additional_tools" => ItemKind::AdditionalTools,
            "web_search_call" => ItemKind::WebSearchCall,
            "image_generation_call" => ItemKind::ImageGenerationCall,
            "agent_message" => ItemKind::AgentMessage,
            "ghost_snapshot" => ItemKind::GhostSnapshot,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            ItemKind::Message => "response_item/message",
            ItemKind::Reasoning => "response_item/reasoning",
            ItemKind::FunctionCall => "response_item/function_call",
            ItemKind::FunctionCallOutput => "response_item/function_call_output",
            ItemKind::CustomToolCall => "response_item/custom_tool_call",
            ItemKind::CustomToolCallOutput => "response_item/custom_tool_call_output",
            ItemKind::LocalShellCall => "response_item/local_shell_call",
            ItemKind::ToolSearchCall => "response_item/tool_search_call",
            ItemKind::ToolSearchOutput => "response_item/tool_search_output",
            ItemKind::AdditionalTools => "response_item/additional_tools",
            ItemKind::WebSearchCall => "response_item/web_search_call",
            ItemKind::ImageGenerationCall => "response_item/image_generation_call",
            ItemKind::AgentMessage => "response_item/agent_message",
            ItemKind::GhostSnapshot => "response_item/ghost_snapshot",
        }
    }
}

/// The record types `in line`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Compacted, TokenUsageRecord, SessionMeta, TurnContext, WorldState,
    /// A type whose records give no event, and what becomes of them.
    Omitted(Outcome),
}

impl LineKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<LineKind> {
        Some(match name {
            "inter_agent_communication_metadata" => LineKind::Omitted(Outcome::Bookkeeping { record: "inter_agent_communication_metadata", rule: "agents.delivery" }),
            "compacted" => LineKind::Compacted,
            "token_usage_record" => LineKind::TokenUsageRecord,
            "session_meta" => LineKind::SessionMeta,
            "turn_context" => LineKind::TurnContext,
            "world_state" => LineKind::WorldState,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            LineKind::Compacted => "compacted",
            LineKind::TokenUsageRecord => "token_usage_record",
            LineKind::SessionMeta => "session_meta",
            LineKind::TurnContext => "turn_context",
            LineKind::WorldState => "world_state",
            LineKind::Omitted(outcome) => outcome.record(),
        }
    }
}

/// The record types `in printed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PrintedKind {
    AgentMessage, AgentReasoning, AgentReasoningRawContent, BackgroundEvent, Error, ExecCommandBegin, ExecCommandEnd, PatchApplyBegin,
    PatchApplyEnd, McpToolCallBegin, McpToolCallEnd, WebSearchBegin, WebSearchEnd, TokenCount,
    /// A type whose records give no event, and what becomes of them.
    Omitted(Outcome),
}

impl PrintedKind {
    /// The type `msg/` and this name.
    pub(super) fn named(name: &str) -> Option<PrintedKind> {
        Some(match name {
            "task_started" => PrintedKind::Omitted(Outcome::Bookkeeping { record: "msg/task_started", rule: "events.turn" }),
            "agent_message" => PrintedKind::AgentMessage,
            "agent_reasoning" => PrintedKind::AgentReasoning,
            "agent_reasoning_raw_content" => PrintedKind::AgentReasoningRawContent,
            "agent_reasoning_section_break" => PrintedKind::Omitted(Outcome::Bookkeeping { record: "msg/agent_reasoning_section_break", rule: "events.section" }),
            "background_event" => PrintedKind::BackgroundEvent,
            "error" => PrintedKind::Error,
            "exec_command_begin" => PrintedKind::ExecCommandBegin,
            "exec_command_output_delta" => PrintedKind::Omitted(Outcome::Duplicate { record: "msg/exec_command_output_delta", rule: "events.output" }),
            "exec_command_end" => PrintedKind::ExecCommandEnd,
            "patch_apply_begin" => PrintedKind::PatchApplyBegin,
            "patch_apply_end" => PrintedKind::PatchApplyEnd,
            "turn_diff" => PrintedKind::Omitted(Outcome::Duplicate { record: "msg/turn_diff", rule: "events.diff" }),
            "mcp_tool_call_begin" => PrintedKind::McpToolCallBegin,
            "mcp_tool_call_end" => PrintedKind::McpToolCallEnd,
            "web_search_begin" => PrintedKind::WebSearchBegin,
            "web_search_end" => PrintedKind::WebSearchEnd,
            "token_count" => PrintedKind::TokenCount,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            PrintedKind::AgentMessage => "msg/agent_message",
            PrintedKind::AgentReasoning => "msg/agent_reasoning",
            PrintedKind::AgentReasoningRawContent => "msg/agent_reasoning_raw_content",
            PrintedKind::BackgroundEvent => "msg/background_event",
            PrintedKind::Error => "msg/error",
            PrintedKind::ExecCommandBegin => "msg/exec_command_begin",
            PrintedKind::ExecCommandEnd => "msg/exec_command_end",
            PrintedKind::PatchApplyBegin => "msg/patch_apply_begin",
            PrintedKind::PatchApplyEnd => "msg/patch_apply_end",
            PrintedKind::McpToolCallBegin => "msg/mcp_tool_call_begin",
            PrintedKind::McpToolCallEnd => "msg/mcp_tool_call_end",
            PrintedKind::WebSearchBegin => "msg/web_search_begin",
            PrintedKind::WebSearchEnd => "msg/web_search_end",
            PrintedKind::TokenCount => "msg/token_count",
            PrintedKind::Omitted(outcome) => outcome.record(),
        }
    }
}

/// The record types `in retained`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetainedKind {
    VerifiedAnswer,
}

impl RetainedKind {
    /// The type `retained_context/` and this name.
    pub(super) fn named(name: &str) -> Option<RetainedKind> {
        Some(match name {
            "verified_answer" => RetainedKind::VerifiedAnswer,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            RetainedKind::VerifiedAnswer => "retained_context/verified_answer",
        }
    }
}

/// The marks by which a log is recognised.
pub(super) mod mark {
    /// The document that the TypeScript version wrote.
    pub(in super::super) const TS_DOCUMENT: &str = "ts_document";
    /// The header line of bare records.
    pub(in super::super) const BARE_HEADER: &str = "bare_header";
    /// A bare record after it.
    pub(in super::super) const BARE_RECORDS: &str = "bare_records";
    /// A record in an envelope.
    pub(in super::super) const ENVELOPE: &str = "envelope";
    /// The envelope with the session's header.
    pub(in super::super) const SESSION_META: &str = "session_meta";
    /// The line with which `exec --json` begins.
    pub(in super::super) const EXEC_THREAD: &str = "exec_thread";
    /// The settings with which it begins up to 0.42.
    pub(in super::super) const EXEC_SETTINGS: &str = "exec_settings";

    /// Every mark.
    pub(in super::super) const ALL: &[&str] = &[TS_DOCUMENT, BARE_HEADER, BARE_RECORDS, ENVELOPE, SESSION_META, EXEC_THREAD, EXEC_SETTINGS];
}

/// The rules that leave out whole records.
pub(super) mod rule {
    pub(in super::super) const STATE: &str = "state";
    pub(in super::super) const TURN_START: &str = "turn.start";
    pub(in super::super) const TURN_END: &str = "turn.end";
    pub(in super::super) const TOKENS_NONE: &str = "tokens.none";
    pub(in super::super) const AGENTS_DELIVERY: &str = "agents.delivery";
    pub(in super::super) const ASSESSMENT_BEGUN: &str = "assessment.begun";
    pub(in super::super) const RECORD_REPEATED: &str = "record.repeated";
    pub(in super::super) const SETTINGS_HEADER: &str = "settings.header";
    pub(in super::super) const SETTINGS_SAME: &str = "settings.same";
    pub(in super::super) const SETTINGS_APPLIED: &str = "settings.applied";
    pub(in super::super) const MESSAGE_TWIN: &str = "message.twin";
    pub(in super::super) const REASONING_TWIN: &str = "reasoning.twin";
    pub(in super::super) const TURN_LAST_MESSAGE: &str = "turn.last_message";
    pub(in super::super) const TOKENS_SAME: &str = "tokens.same";
    pub(in super::super) const COMPACTION_MARK: &str = "compaction.mark";
    pub(in super::super) const COMPACTION_ITEM: &str = "compaction.item";
    pub(in super::super) const OUTPUT_CUT: &str = "output.cut";
    pub(in super::super) const OUTPUT_ITEM: &str = "output.item";
    pub(in super::super) const OUTPUT_EVENT: &str = "output.event";
    pub(in super::super) const IMAGE_VIEW: &str = "image.view";
    pub(in super::super) const SLEEP_ITEM: &str = "sleep.item";
    pub(in super::super) const HOOK_PROMPT: &str = "hook.prompt";
    pub(in super::super) const SEARCH_TWIN: &str = "search.twin";
    pub(in super::super) const SEARCH_ITEM: &str = "search.item";
    pub(in super::super) const SEARCH_RESULT: &str = "search.result";
    pub(in super::super) const IMAGE_MADE: &str = "image.made";
    pub(in super::super) const IMAGE_VIEW_EVENT: &str = "image.view_event";
    pub(in super::super) const CLIENT_CALL: &str = "client.call";
    pub(in super::super) const CLIENT_OUTPUT: &str = "client.output";
    pub(in super::super) const PLAN_ANSWER: &str = "plan.answer";
    pub(in super::super) const EXEC_SAME_LIST: &str = "exec.same_list";
    pub(in super::super) const EVENTS_TURN: &str = "events.turn";
    pub(in super::super) const EVENTS_SECTION: &str = "events.section";
    pub(in super::super) const EVENTS_OUTPUT: &str = "events.output";
    pub(in super::super) const EVENTS_DIFF: &str = "events.diff";
    pub(in super::super) const EXEC_THREAD: &str = "exec.thread";
    pub(in super::super) const EXEC_TURN: &str = "exec.turn";
    pub(in super::super) const EXEC_TOTAL: &str = "exec.total";
}

/// Every rule, with its reason.
pub(super) const RULES: &[OmissionRule] = &[
    OmissionRule::bookkeeping("state", "state", "an empty marker between requests (0.8: with the id of the last response)"),
    OmissionRule::bookkeeping("turn.start", "event_msg/task_started", "a turn begins: its id, the size of the context window, clock times"),
    OmissionRule::bookkeeping("turn.end", "event_msg/task_complete", "a turn ends without an answer or error of its own: its id and clock times"),
    OmissionRule::bookkeeping("tokens.none", "*/token_count", "rate limits without token counts"),
    OmissionRule::bookkeeping("agents.delivery", "inter_agent_communication_metadata", "whether the next message between agents begins a turn"),
    OmissionRule::bookkeeping("assessment.begun", "event_msg/guardian_assessment", "a call is under review: the verdict has its own record"),
    OmissionRule::duplicate("record.repeated", "*", "all bytes of the record, its id or its time among them, were read before"),
    OmissionRule::duplicate("settings.header", "session_meta", "the thread's own header repeated, with a flag that a client has set since (0.140 to 0.146)"),
    OmissionRule::duplicate("settings.same", "turn_context", "model, directory and instructions are those of the last turn"),
    OmissionRule::duplicate("settings.applied", "event_msg/thread_settings_applied", "model, provider and directory are those in session_meta or turn_context"),
    OmissionRule::duplicate("message.twin", "*essage", "the same message is recorded as response_item and as event_msg/user_message, event_msg/agent_message or an item: the first one is mapped; the citation list at the end of a response item is a field of the event"),
    OmissionRule::duplicate("reasoning.twin", "*easoning*", "the same reasoning is recorded as response_item/reasoning and as an event or item: the first one is mapped; an item without text adds nothing to it"),
    OmissionRule::duplicate("turn.last_message", "event_msg/task_complete", "last_agent_message is the last answer of the turn, which has its own record"),
    OmissionRule::duplicate("tokens.same", "*token_*", "the same counts as in the previous record of counts: 0.44 to 0.130 write each token_count twice, 0.160 and later write each next to a token_usage_record"),
    OmissionRule::duplicate("compaction.mark", "event_msg/context_compacted", "marks the compaction whose record is `compacted`"),
    OmissionRule::duplicate("compaction.item", "event_msg/item_completed/ContextCompaction", "marks the compaction whose record is `compacted`"),
    OmissionRule::duplicate("output.cut", "response_item/*_output", "the output for the model is a truncated copy of the text of the item or event that ended the call"),
    OmissionRule::duplicate("output.item", "event_msg/item_completed/*", "the call's output has the text of the item; exit code, status and duration are in its result"),
    OmissionRule::duplicate("output.event", "event_msg/*_end", "the call's output has the text of the event; exit code, status and duration are in its result"),
    OmissionRule::duplicate("image.view", "event_msg/item_completed/ImageView", "the path is an argument of the view_image call that it belongs to"),
    OmissionRule::duplicate("sleep.item", "event_msg/item_completed/Sleep", "how long the call sleeps is in its arguments"),
    OmissionRule::duplicate("hook.prompt", "event_msg/item_completed/HookPrompt", "the text of the hook is in the message directly before it"),
    OmissionRule::duplicate("search.twin", "response_item/web_search_call", "the web search is in the event directly before it"),
    OmissionRule::duplicate("search.item", "event_msg/item_completed/WebSearch", "the query and the results are in the call and its output"),
    OmissionRule::duplicate("search.result", "event_msg/web_search_end", "the query and the results are in the call and its output"),
    OmissionRule::duplicate("image.made", "*/image_generation_*", "the same image is recorded as event and as response item: the first one is mapped"),
    OmissionRule::duplicate("image.view_event", "event_msg/view_image_tool_call", "the path is an argument of the view_image call that it belongs to"),
    OmissionRule::duplicate("client.call", "event_msg/dynamic_tool_call_request", "the same call as the client receives it"),
    OmissionRule::duplicate("client.output", "event_msg/dynamic_tool_call_response", "the call's output has the text of the event; status and duration are in its result"),
    OmissionRule::duplicate("plan.answer", "event_msg/item_completed/Plan", "the plan is in the answer that proposes it"),
    OmissionRule::duplicate("exec.same_list", "item.*/todo_list", "the same list as it was printed before"),
    OmissionRule::bookkeeping("events.turn", "msg/task_started", "a turn begins, and the size of the context window"),
    OmissionRule::bookkeeping("events.section", "msg/agent_reasoning_section_break", "a section of the reasoning ends"),
    OmissionRule::piece("events.output", "msg/exec_command_output_delta", "a piece of the output, which the end of the command has whole"),
    OmissionRule::duplicate("events.diff", "msg/turn_diff", "all changes of the turn so far, which the edits state"),
    OmissionRule::bookkeeping("exec.thread", "thread.started", "the thread's id, which is the session of the tape"),
    OmissionRule::bookkeeping("exec.turn", "turn.started", "a turn begins"),
    OmissionRule::bookkeeping("exec.total", "turn.completed", "the running totals of the thread, which are no counts of this turn"),
    OmissionRule::field("search.screen", "event_msg/web_search_end", "/payload/query", "the action as it is displayed"),
    OmissionRule::field("search.screen", "event_msg/web_search_end", "/payload/results/**", "title, address and excerpt of each page are in the result; the rest is for display"),
    OmissionRule::opaque("image.data", "*/image_generation_*", "/payload/result", "an image, represented by its hash"),
    OmissionRule::field("assessment.action", "event_msg/guardian_assessment", "/payload/action/**", "the action under review: it is in the call, or in a system event if there is no call"),
    OmissionRule::field("review.words", "event_msg/entered_review_mode", "/payload/target/**", "the target of the review: the system event has its text"),
    OmissionRule::field("review.words", "event_msg/exited_review_mode", "/payload/review_output/**", "the review, which the next answer contains as text"),
    OmissionRule::field("agents.prompt", "event_msg/collab_*_end", "/payload/prompt", "the prompt for the agent, which is in the call's arguments"),
    OmissionRule::field("agents.states", "event_msg/collab_*_end", "/payload/status/**", "the state of the agent, which is in the call's output"),
    OmissionRule::field("agents.states", "event_msg/collab_*_end", "/payload/statuses/**", "the state of the agents, which is in the call's output"),
    OmissionRule::field("agents.states", "event_msg/collab_*_end", "/payload/agent_statuses/**", "the state of the agents, which is in the call's output"),
    OmissionRule::field("snapshot.files", "response_item/ghost_snapshot", "/payload/ghost_commit/**", "files that existed before the snapshot and are not in it"),
    OmissionRule::field("client.name", "session_meta", "/payload/originator", "the name of the program that runs the harness"),
    OmissionRule::field("tools.dynamic", "session_meta", "/payload/dynamic_tools/**", "descriptions of the client's tools are represented by their hash"),
    OmissionRule::field("settings.sandbox", "turn_context", "/payload/workspace_roots/**", "directories that the session may use besides the current one"),
    OmissionRule::field("settings.sandbox", "turn_context", "/payload/permission_profile/**", "rules of the sandbox: the paths that may be read and written"),
    OmissionRule::field("settings.sandbox", "turn_context", "/payload/file_system_sandbox_policy/**", "rules of the sandbox: the paths that may be read and written"),
    OmissionRule::field("settings.sandbox", "event_msg/thread_settings_applied", "/payload/thread_settings/permission_profile/**", "rules of the sandbox: the paths that may be read and written"),
    OmissionRule::field("prompt.system", "session_meta", "/payload/base_instructions/**", "the harness's own system prompt is represented by its hash"),
    OmissionRule::field("tools.offered", "response_item/additional_tools", "/payload/tools/**", "the harness's own tool descriptions are represented by their hash"),
    OmissionRule::field("tools.found", "response_item/tool_search_output", "/payload/tools/**", "descriptions of the tools that were found are represented by their hash"),
    OmissionRule::field("world.state", "world_state", "/payload/state/**", "the harness's own state behind its messages is represented by its hash; instruction files keep their text"),
    OmissionRule::field("compaction.history", "compacted", "/payload/replacement_history/**", "the history that the model gets from now on: the summary and earlier messages, which have their own records"),
    OmissionRule::field("edit.changes", "event_msg/item_completed/FileChange", "/payload/item/changes/**", "applied changes are code.edit events with hashes; the text is in the call's patch"),
    OmissionRule::field("edit.patch_end", "event_msg/patch_apply_end", "/payload/changes/**", "applied changes are code.edit events with hashes; the text is in the call's patch"),
    OmissionRule::field("edit.item_stdout", "event_msg/item_completed/FileChange", "/payload/item/stdout", "the output of `apply_patch`, which is in the call's output"),
    OmissionRule::field("edit.event_stdout", "event_msg/patch_apply_end", "/payload/stdout", "the output of `apply_patch`, which is in the call's output"),
    OmissionRule::field("command.item", "event_msg/item_completed/CommandExecution", "/payload/item/command/**", "the command of the call as the shell receives it"),
    OmissionRule::field("command.parsed", "event_msg/item_completed/CommandExecution", "/payload/item/parsed_cmd/**", "the harness's guess at what the command does, for display"),
    OmissionRule::field("command.formatted", "event_msg/item_completed/CommandExecution", "/payload/item/formatted_output", "aggregated_output as it is truncated for the model"),
    OmissionRule::field("command.event", "event_msg/exec_command_end", "/payload/command/**", "the command of the call as the shell receives it"),
    OmissionRule::field("command.event_parsed", "event_msg/exec_command_end", "/payload/parsed_cmd/**", "the harness's guess at what the command does, for display"),
    OmissionRule::field("command.for_model", "msg/exec_command_end", "/msg/formatted_output", "aggregated_output as it is truncated for the model"),
    OmissionRule::field("command.guess", "msg/exec_command_begin", "/msg/parsed_cmd/**", "the harness's guess at what the command does, for display"),
    OmissionRule::field("mcp.structured", "msg/mcp_tool_call_end", "/msg/result/Ok/structuredContent/**", "a server's structured answer beside the texts"),
    OmissionRule::field("mcp.structured", "event_msg/mcp_tool_call_end", "/payload/result/Ok/structuredContent/**", "a server's structured answer: the result has it as the JSON that the model gets"),
    OmissionRule::field("mcp.structured", "event_msg/item_completed/McpToolCall", "/payload/item/result/structuredContent/**", "a server's structured answer: the result has it as the JSON that the model gets"),
    OmissionRule::field("agents.states", "event_msg/item_completed/CollabAgentToolCall", "/payload/item/agents_states/**", "the state of the agents, which is in the call's output"),
    OmissionRule::opaque("attachment.image", "*", "/payload/content/*/image_url", "an image, represented by its hash"),
    OmissionRule::opaque("attachment.bare_image", "*", "/content/*/image_url", "an image, represented by its hash"),
    OmissionRule::opaque("attachment.output", "response_item/*_output", "/payload/output/*/image_url", "an image, represented by its hash"),
    OmissionRule::opaque("agents.encrypted", "response_item/agent_message", "/payload/content/*/encrypted_content", "only the provider can read it"),
    OmissionRule::opaque("reasoning.encrypted", "*reasoning", "/payload/encrypted_content", "only the provider can read it"),
    OmissionRule::opaque("reasoning.bare_encrypted", "reasoning", "/encrypted_content", "only the provider can read it"),
];
