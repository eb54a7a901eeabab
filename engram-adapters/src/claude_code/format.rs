//! The record types, marks and rules of the format. Generated from `members/*.members` (`ENGRAM_BLESS=1` with the unit tests writes
//! it). Do not edit it.

#![allow(dead_code, reason = "an adapter need not use each name of its format")]

use engram_core::descriptor::OmissionRule;
use engram_core::ledger::Outcome;

/// The event of a record that is only data: a `meta context` with its name. Values are JSON pointers from the root of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    Name,
    Text(&'static str),
    File { name: &'static str, text: &'static str },
    Hash(&'static str),
}

/// The record types `in attachment`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttachmentKind {
    File, AlreadyReadFile, Instructions, NestedMemory, QueuedCommand, SessionContext, RemoteSessionChange, AutoMode, PromptSnapshot,
    GoalStatus, Hook,
    /// A type that is only data: its name, and its event.
    Context(&'static str, Context),
    /// A type whose records give no event, and what becomes of them.
    Omitted(Outcome),
}

impl AttachmentKind {
    /// The type `attachment/` and this name.
    pub(super) fn named(name: &str) -> Option<AttachmentKind> {
        Some(match name {
            "edited_text_file" => AttachmentKind::Context("attachment/edited_text_file", Context::File { name: "/attachment/filename", text: "/attachment/snippet" }),
            "file" => AttachmentKind::File,
            "already_read_file" => AttachmentKind::AlreadyReadFile,
            "instructions" => AttachmentKind::Instructions,
            "directory" => AttachmentKind::Context("attachment/directory", Context::File { name: "/attachment/path", text: "/attachment/content" }),
            "diagnostics" => AttachmentKind::Context("attachment/diagnostics", Context::Text("/attachment/files")),
            "opened_file_in_ide" => AttachmentKind::Context("attachment/opened_file_in_ide", Context::Text("/attachment/filename")),
            "plan_file_reference" => AttachmentKind::Context("attachment/plan_file_reference", Context::File { name: "/attachment/planFilePath", text: "/attachment/planContent" }),
            "read_truncation_notice" => AttachmentKind::Context("attachment/read_truncation_notice", Context::Text("/attachment/banner")),
            "compact_file_reference" => AttachmentKind::Context("attachment/compact_file_reference", Context::Text("/attachment/filename")),
            "dynamic_skill" => AttachmentKind::Context("attachment/dynamic_skill", Context::Text("/attachment/skillDir")),
            "invoked_skills" => AttachmentKind::Context("attachment/invoked_skills", Context::Hash("/attachment/skills")),
            "nested_memory" => AttachmentKind::NestedMemory,
            "selected_lines_in_ide" => AttachmentKind::Context("attachment/selected_lines_in_ide", Context::File { name: "/attachment/filename", text: "/attachment/content" }),
            "queued_command" => AttachmentKind::QueuedCommand,
            "total_tokens_reminder" => AttachmentKind::Context("attachment/total_tokens_reminder", Context::Text("/attachment/text")),
            "silent_turn_reminder" => AttachmentKind::Context("attachment/silent_turn_reminder", Context::Text("/attachment/text")),
            "model" => AttachmentKind::Context("attachment/model", Context::Text("/attachment/text")),
            "date" => AttachmentKind::Context("attachment/date", Context::Text("/attachment/date")),
            "date_change" => AttachmentKind::Context("attachment/date_change", Context::Text("/attachment/newDate")),
            "environment" => AttachmentKind::Context("attachment/environment", Context::Text("/attachment/snapshot")),
            "todo_reminder" => AttachmentKind::Context("attachment/todo_reminder", Context::Text("/attachment/content")),
            "task_reminder" => AttachmentKind::Context("attachment/task_reminder", Context::Text("/attachment/content")),
            "critical_system_reminder" => AttachmentKind::Context("attachment/critical_system_reminder", Context::Text("/attachment/content")),
            "session_context" => AttachmentKind::SessionContext,
            "remote_session_change" => AttachmentKind::RemoteSessionChange,
            "skill_listing" => AttachmentKind::Context("attachment/skill_listing", Context::Hash("/attachment/content")),
            "agent_listing_delta" => AttachmentKind::Context("attachment/agent_listing_delta", Context::Hash("/attachment/addedLines")),
            "deferred_tools_delta" => AttachmentKind::Context("attachment/deferred_tools_delta", Context::Hash("/attachment/addedLines")),
            "deferred_tools_record" => AttachmentKind::Context("attachment/deferred_tools_record", Context::Hash("/attachment/entries")),
            "auto_mode" => AttachmentKind::AutoMode,
            "prompt_snapshot" => AttachmentKind::PromptSnapshot,
            "command_permissions" => AttachmentKind::Context("attachment/command_permissions", Context::Text("/attachment/allowedTools")),
            "companion_intro" => AttachmentKind::Context("attachment/companion_intro", Context::Text("/attachment/name")),
            "plan_mode" => AttachmentKind::Context("attachment/plan_mode", Context::Text("/attachment/planFilePath")),
            "plan_mode_exit" => AttachmentKind::Context("attachment/plan_mode_exit", Context::Text("/attachment/planFilePath")),
            "plan_mode_reentry" => AttachmentKind::Context("attachment/plan_mode_reentry", Context::Text("/attachment/planFilePath")),
            "task_status" => AttachmentKind::Context("attachment/task_status", Context::Text("/attachment/description")),
            "advisor_tool" => AttachmentKind::Context("attachment/advisor_tool", Context::Text("/attachment/model")),
            "output_style" => AttachmentKind::Context("attachment/output_style", Context::Text("/attachment/style")),
            "output_style_instructions" => AttachmentKind::Context("attachment/output_style_instructions", Context::Text("/attachment/style")),
            "fork_briefing" => AttachmentKind::Context("attachment/fork_briefing", Context::Text("/attachment/text")),
            "session_cron_carry" => AttachmentKind::Context("attachment/session_cron_carry", Context::Text("/attachment/tasks")),
            "auto_mode_exit" => AttachmentKind::Context("attachment/auto_mode_exit", Context::Name),
            "ultra_effort_enter" => AttachmentKind::Context("attachment/ultra_effort_enter", Context::Name),
            "ultra_effort_exit" => AttachmentKind::Context("attachment/ultra_effort_exit", Context::Name),
            "budget_usd" => AttachmentKind::Context("attachment/budget_usd", Context::Name),
            "mcp_instructions_delta" => AttachmentKind::Context("attachment/mcp_instructions_delta", Context::Hash("/attachment/addedBlocks")),
            "structured_output" => AttachmentKind::Omitted(Outcome::Duplicate { record: "attachment/structured_output", rule: "result.structured" }),
            "unknown_command_fallback" => AttachmentKind::Context("attachment/unknown_command_fallback", Context::Text("/attachment/commandName")),
            "goal_status" => AttachmentKind::GoalStatus,
            name if name.starts_with("hook_") => AttachmentKind::Hook,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            AttachmentKind::File => "attachment/file",
            AttachmentKind::AlreadyReadFile => "attachment/already_read_file",
            AttachmentKind::Instructions => "attachment/instructions",
            AttachmentKind::NestedMemory => "attachment/nested_memory",
            AttachmentKind::QueuedCommand => "attachment/queued_command",
            AttachmentKind::SessionContext => "attachment/session_context",
            AttachmentKind::RemoteSessionChange => "attachment/remote_session_change",
            AttachmentKind::AutoMode => "attachment/auto_mode",
            AttachmentKind::PromptSnapshot => "attachment/prompt_snapshot",
            AttachmentKind::GoalStatus => "attachment/goal_status",
            AttachmentKind::Hook => "attachment/hook_*",
            AttachmentKind::Context(name, _) => name,
            AttachmentKind::Omitted(outcome) => outcome.record(),
        }
    }
}

/// The record types `in line`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    User, Assistant, Summary, Mode, PermissionMode, AiTitle, CustomTitle, AgentName, AgentSetting, Tag, ContinuedIn,
    ContentReplacement, Relocated, WorktreeState, PrLink, CostState, ApiRequestShape, ApiRequestBlob, LastPrompt,
    /// A type whose records give no event, and what becomes of them.
    Omitted(Outcome),
}

impl LineKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<LineKind> {
        Some(match name {
            "user" => LineKind::User,
            "assistant" => LineKind::Assistant,
            "summary" => LineKind::Summary,
            "mode" => LineKind::Mode,
            "permission-mode" => LineKind::PermissionMode,
            "ai-title" => LineKind::AiTitle,
            "custom-title" => LineKind::CustomTitle,
            "agent-name" => LineKind::AgentName,
            "agent-setting" => LineKind::AgentSetting,
            "tag" => LineKind::Tag,
            "continued-in" => LineKind::ContinuedIn,
            "content-replacement" => LineKind::ContentReplacement,
            "agent-color" => LineKind::Omitted(Outcome::Bookkeeping { record: "agent-color", rule: "ui.color" }),
            "frame-link" => LineKind::Omitted(Outcome::Bookkeeping { record: "frame-link", rule: "ui.frame" }),
            "artifact-comment-monitor" => LineKind::Omitted(Outcome::Bookkeeping { record: "artifact-comment-monitor", rule: "ui.artifacts" }),
            "artifact-autoreact-ledger" => LineKind::Omitted(Outcome::Bookkeeping { record: "artifact-autoreact-ledger", rule: "ui.artifacts" }),
            "fork-context-ref" => LineKind::Omitted(Outcome::Bookkeeping { record: "fork-context-ref", rule: "state.fork_context" }),
            "relocated" => LineKind::Relocated,
            "worktree-state" => LineKind::WorktreeState,
            "pr-link" => LineKind::PrLink,
            "cost-state" => LineKind::CostState,
            "api-request-shape" => LineKind::ApiRequestShape,
            "api-request-blob" => LineKind::ApiRequestBlob,
            "api-request" => LineKind::Omitted(Outcome::Bookkeeping { record: "api-request", rule: "request.delta" }),
            "last-prompt" => LineKind::LastPrompt,
            "atis-latch" => LineKind::Omitted(Outcome::Bookkeeping { record: "atis-latch", rule: "state.latch" }),
            "tools-used" => LineKind::Omitted(Outcome::Bookkeeping { record: "tools-used", rule: "state.tools_used" }),
            "bridge-session" => LineKind::Omitted(Outcome::Bookkeeping { record: "bridge-session", rule: "state.bridge" }),
            "file-history-snapshot" => LineKind::Omitted(Outcome::Bookkeeping { record: "file-history-snapshot", rule: "backup.snapshot" }),
            "file-history-delta" => LineKind::Omitted(Outcome::Bookkeeping { record: "file-history-delta", rule: "backup.delta" }),
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            LineKind::User => "user",
            LineKind::Assistant => "assistant",
            LineKind::Summary => "summary",
            LineKind::Mode => "mode",
            LineKind::PermissionMode => "permission-mode",
            LineKind::AiTitle => "ai-title",
            LineKind::CustomTitle => "custom-title",
            LineKind::AgentName => "agent-name",
            LineKind::AgentSetting => "agent-setting",
            LineKind::Tag => "tag",
            LineKind::ContinuedIn => "continued-in",
            LineKind::ContentReplacement => "content-replacement",
            LineKind::Relocated => "relocated",
            LineKind::WorktreeState => "worktree-state",
            LineKind::PrLink => "pr-link",
            LineKind::CostState => "cost-state",
            LineKind::ApiRequestShape => "api-request-shape",
            LineKind::ApiRequestBlob => "api-request-blob",
            LineKind::LastPrompt => "last-prompt",
            LineKind::Omitted(outcome) => outcome.record(),
        }
    }
}

/// The record types `in printed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PrintedKind {
    User, Assistant, SystemInit, SystemNotification, SystemTaskNotification, SystemHookResponse, SystemPermissionDenied,
    SystemApiRetry, ToolProgress, ConversationReset, ControlRequest, SystemTaskStarted, SystemCompactBoundary, SystemInformational,
    SystemModelFallback, Result,
    /// A type whose records give no event, and what becomes of them.
    Omitted(Outcome),
}

impl PrintedKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<PrintedKind> {
        Some(match name {
            "user" => PrintedKind::User,
            "assistant" => PrintedKind::Assistant,
            "system/init" => PrintedKind::SystemInit,
            "system/notification" => PrintedKind::SystemNotification,
            "system/task_notification" => PrintedKind::SystemTaskNotification,
            "system/hook_response" => PrintedKind::SystemHookResponse,
            "system/permission_denied" => PrintedKind::SystemPermissionDenied,
            "system/api_retry" => PrintedKind::SystemApiRetry,
            "tool_progress" => PrintedKind::ToolProgress,
            "conversation_reset" => PrintedKind::ConversationReset,
            "control_request" => PrintedKind::ControlRequest,
            "control_response" => PrintedKind::Omitted(Outcome::Bookkeeping { record: "control_response", rule: "stream.control" }),
            "control_cancel_request" => PrintedKind::Omitted(Outcome::Bookkeeping { record: "control_cancel_request", rule: "stream.control" }),
            "command_lifecycle" => PrintedKind::Omitted(Outcome::Bookkeeping { record: "command_lifecycle", rule: "stream.state" }),
            "system/status" => PrintedKind::Omitted(Outcome::Bookkeeping { record: "system/status", rule: "stream.state" }),
            "system/task_started" => PrintedKind::SystemTaskStarted,
            "system/task_progress" => PrintedKind::Omitted(Outcome::Bookkeeping { record: "system/task_progress", rule: "stream.state" }),
            "system/task_updated" => PrintedKind::Omitted(Outcome::Bookkeeping { record: "system/task_updated", rule: "stream.state" }),
            "system/background_tasks_changed" => PrintedKind::Omitted(Outcome::Bookkeeping { record: "system/background_tasks_changed", rule: "stream.state" }),
            "system/thinking_tokens" => PrintedKind::Omitted(Outcome::Bookkeeping { record: "system/thinking_tokens", rule: "stream.state" }),
            "system/hook_started" => PrintedKind::Omitted(Outcome::Bookkeeping { record: "system/hook_started", rule: "stream.state" }),
            "stream_event" => PrintedKind::Omitted(Outcome::Duplicate { record: "stream_event", rule: "stream.partial" }),
            "system/compact_boundary" => PrintedKind::SystemCompactBoundary,
            "system/informational" => PrintedKind::SystemInformational,
            "system/model_fallback" => PrintedKind::SystemModelFallback,
            name if name.starts_with("result/") => PrintedKind::Result,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            PrintedKind::User => "user",
            PrintedKind::Assistant => "assistant",
            PrintedKind::SystemInit => "system/init",
            PrintedKind::SystemNotification => "system/notification",
            PrintedKind::SystemTaskNotification => "system/task_notification",
            PrintedKind::SystemHookResponse => "system/hook_response",
            PrintedKind::SystemPermissionDenied => "system/permission_denied",
            PrintedKind::SystemApiRetry => "system/api_retry",
            PrintedKind::ToolProgress => "tool_progress",
            PrintedKind::ConversationReset => "conversation_reset",
            PrintedKind::ControlRequest => "control_request",
            PrintedKind::SystemTaskStarted => "system/task_started",
            PrintedKind::SystemCompactBoundary => "system/compact_boundary",
            PrintedKind::SystemInformational => "system/informational",
            PrintedKind::SystemModelFallback => "system/model_fallback",
            PrintedKind::Result => "result/*",
            PrintedKind::Omitted(outcome) => outcome.record(),
        }
    }
}

/// The record types `in progress`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgressKind {
    HookProgress, BashProgress, AgentProgress,
    /// A type whose records give no event, and what becomes of them.
    Omitted(Outcome),
}

impl ProgressKind {
    /// The type `progress/` and this name.
    pub(super) fn named(name: &str) -> Option<ProgressKind> {
        Some(match name {
            "hook_progress" => ProgressKind::HookProgress,
            "bash_progress" => ProgressKind::BashProgress,
            "mcp_progress" => ProgressKind::Omitted(Outcome::Bookkeeping { record: "progress/mcp_progress", rule: "progress.state" }),
            "query_update" => ProgressKind::Omitted(Outcome::Bookkeeping { record: "progress/query_update", rule: "progress.state" }),
            "search_results_received" => ProgressKind::Omitted(Outcome::Bookkeeping { record: "progress/search_results_received", rule: "progress.state" }),
            "waiting_for_task" => ProgressKind::Omitted(Outcome::Bookkeeping { record: "progress/waiting_for_task", rule: "progress.state" }),
            "agent_progress" => ProgressKind::AgentProgress,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            ProgressKind::HookProgress => "progress/hook_progress",
            ProgressKind::BashProgress => "progress/bash_progress",
            ProgressKind::AgentProgress => "progress/agent_progress",
            ProgressKind::Omitted(outcome) => outcome.record(),
        }
    }
}

/// The record types `in queue`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueueKind {
    Enqueue,
    /// A type whose records give no event, and what becomes of them.
    Omitted(Outcome),
}

impl QueueKind {
    /// The type `queue-operation/` and this name.
    pub(super) fn named(name: &str) -> Option<QueueKind> {
        Some(match name {
            "enqueue" => QueueKind::Enqueue,
            "dequeue" => QueueKind::Omitted(Outcome::Bookkeeping { record: "queue-operation/dequeue", rule: "queue.state" }),
            "remove" => QueueKind::Omitted(Outcome::Duplicate { record: "queue-operation/remove", rule: "queue.said_in_conversation" }),
            "popAll" => QueueKind::Omitted(Outcome::Duplicate { record: "queue-operation/popAll", rule: "queue.taken_back" }),
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            QueueKind::Enqueue => "queue-operation/enqueue",
            QueueKind::Omitted(outcome) => outcome.record(),
        }
    }
}

/// The record types `in system`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SystemKind {
    CompactBoundary, MicrocompactBoundary, LocalCommand, Informational, AwaySummary, ScheduledTaskFire, BridgeStatus, StopHookSummary,
    ApiError, Error, ApiRefusal, ModelRefusalFallback, ModelRefusalNoFallback, ModelFallback,
    /// A type whose records give no event, and what becomes of them.
    Omitted(Outcome),
}

impl SystemKind {
    /// The type `system/` and this name.
    pub(super) fn named(name: &str) -> Option<SystemKind> {
        Some(match name {
            "compact_boundary" => SystemKind::CompactBoundary,
            "microcompact_boundary" => SystemKind::MicrocompactBoundary,
            "local_command" => SystemKind::LocalCommand,
            "turn_duration" => SystemKind::Omitted(Outcome::Bookkeeping { record: "system/turn_duration", rule: "ui.turn_duration" }),
            "informational" => SystemKind::Informational,
            "away_summary" => SystemKind::AwaySummary,
            "scheduled_task_fire" => SystemKind::ScheduledTaskFire,
            "bridge_status" => SystemKind::BridgeStatus,
            "stop_hook_summary" => SystemKind::StopHookSummary,
            "api_error" => SystemKind::ApiError,
            "error" => SystemKind::Error,
            "api_refusal" => SystemKind::ApiRefusal,
            "model_refusal_fallback" => SystemKind::ModelRefusalFallback,
            "model_refusal_no_fallback" => SystemKind::ModelRefusalNoFallback,
            "model_fallback" => SystemKind::ModelFallback,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            SystemKind::CompactBoundary => "system/compact_boundary",
            SystemKind::MicrocompactBoundary => "system/microcompact_boundary",
            SystemKind::LocalCommand => "system/local_command",
            SystemKind::Informational => "system/informational",
            SystemKind::AwaySummary => "system/away_summary",
            SystemKind::ScheduledTaskFire => "system/scheduled_task_fire",
            SystemKind::BridgeStatus => "system/bridge_status",
            SystemKind::StopHookSummary => "system/stop_hook_summary",
            SystemKind::ApiError => "system/api_error",
            SystemKind::Error => "system/error",
            SystemKind::ApiRefusal => "system/api_refusal",
            SystemKind::ModelRefusalFallback => "system/model_refusal_fallback",
            SystemKind::ModelRefusalNoFallback => "system/model_refusal_no_fallback",
            SystemKind::ModelFallback => "system/model_fallback",
            SystemKind::Omitted(outcome) => outcome.record(),
        }
    }
}

/// The marks by which a log is recognised.
pub(super) mod mark {
    /// Every line of a conversation, in every version.
    pub(in super::super) const CONVERSATION: &str = "line.sessionId+uuid+isSidechain+version";
    /// The title at the beginning of files that were resumed up to 2.0.10. Some files have nothing else.
    pub(in super::super) const TITLE: &str = "summary.leafUuid";
    /// A queued prompt (2.0.45 and later).
    pub(in super::super) const QUEUED: &str = "queue-operation.operation+sessionId";
    /// Session state (2.1.80 and later).
    pub(in super::super) const STATE: &str = "state.sessionId";
    /// Backups of edited files, the first line of the terminal interface (2.0.60 and later).
    pub(in super::super) const BACKUP: &str = "file-history-snapshot.messageId";
    /// A capture: its turns begin with a line that no other harness prints in this form.
    pub(in super::super) const STREAM_INIT: &str = "stream.init.tools+session_id";

    /// Every mark.
    pub(in super::super) const ALL: &[&str] = &[CONVERSATION, TITLE, QUEUED, STATE, BACKUP, STREAM_INIT];
}

/// The rules that leave out whole records.
pub(super) mod rule {
    pub(in super::super) const HISTORY_APPENDED_AGAIN: &str = "history.appended_again";
    pub(in super::super) const QUEUE_SAID_IN_CONVERSATION: &str = "queue.said_in_conversation";
    pub(in super::super) const QUEUE_TAKEN_BACK: &str = "queue.taken_back";
    pub(in super::super) const QUEUE_STATE: &str = "queue.state";
    pub(in super::super) const AGENT_OWN_FILE: &str = "agent.own_file";
    pub(in super::super) const PROGRESS_SO_FAR: &str = "progress.so_far";
    pub(in super::super) const PROGRESS_STATE: &str = "progress.state";
    pub(in super::super) const PROMPT_LAST: &str = "prompt.last";
    pub(in super::super) const TITLE_REPEATED: &str = "title.repeated";
    pub(in super::super) const REQUEST_BLOB: &str = "request.blob";
    pub(in super::super) const REQUEST_DELTA: &str = "request.delta";
    pub(in super::super) const STATE_LATCH: &str = "state.latch";
    pub(in super::super) const UI_COLOR: &str = "ui.color";
    pub(in super::super) const UI_FRAME: &str = "ui.frame";
    pub(in super::super) const UI_ARTIFACTS: &str = "ui.artifacts";
    pub(in super::super) const STATE_FORK_CONTEXT: &str = "state.fork_context";
    pub(in super::super) const STATE_TOOLS_USED: &str = "state.tools_used";
    pub(in super::super) const BACKUP_SNAPSHOT: &str = "backup.snapshot";
    pub(in super::super) const BACKUP_DELTA: &str = "backup.delta";
    pub(in super::super) const UI_TURN_DURATION: &str = "ui.turn_duration";
    pub(in super::super) const STATE_UNCHANGED: &str = "state.unchanged";
    pub(in super::super) const STATE_SAME_NAME: &str = "state.same_name";
    pub(in super::super) const STATE_BRIDGE: &str = "state.bridge";
    pub(in super::super) const RESULT_STRUCTURED: &str = "result.structured";
    pub(in super::super) const HISTORY_REPEATED: &str = "history.repeated";
    pub(in super::super) const HISTORY_COPIED: &str = "history.copied";
    pub(in super::super) const STREAM_CONTROL: &str = "stream.control";
    pub(in super::super) const STREAM_STATE: &str = "stream.state";
    pub(in super::super) const STREAM_PARTIAL: &str = "stream.partial";
}

/// Every rule, with its reason.
pub(super) const RULES: &[OmissionRule] = &[
    OmissionRule::duplicate("history.appended_again", "assistant", "a message that was appended again, after a failed stream or when the session was resumed (1.0.128 to 2.1.12); its blocks are in the tape where they came first"),
    OmissionRule::duplicate("history.appended_again", "user", "a prompt or a tool result that was appended again with the messages after it; it is in the tape where it came first"),
    OmissionRule::duplicate("queue.said_in_conversation", "queue-operation/enqueue", "the prompt follows as a `user` or `queued_command` record; if it does not, it is emitted where it was delivered, else where it entered the queue; `/clear` is a record of the session that it begins"),
    OmissionRule::duplicate("queue.said_in_conversation", "queue-operation/remove", "repeats the prompt that was queued"),
    OmissionRule::duplicate("queue.taken_back", "queue-operation/popAll", "repeats a queued prompt that the user took back to edit it; if it is never sent, it is emitted where it entered the queue"),
    OmissionRule::bookkeeping("queue.state", "queue-operation/enqueue", "a queue entry without a prompt"),
    OmissionRule::bookkeeping("queue.state", "queue-operation/dequeue", "a prompt leaves the queue; the prompt itself is another record"),
    OmissionRule::duplicate("agent.own_file", "progress/agent_progress", "copies a line of the sub-agent's own file, or a line that an earlier `progress` record copied"),
    OmissionRule::duplicate("progress.so_far", "progress/bash_progress", "the partial output of a command; its result has all of it, and if there is no result, the last partial output is emitted"),
    OmissionRule::bookkeeping("progress.state", "progress/mcp_progress", "a call to an MCP server starts or ends"),
    OmissionRule::bookkeeping("progress.state", "progress/query_update", "the query that a web search sends"),
    OmissionRule::bookkeeping("progress.state", "progress/search_results_received", "the number of results of a web search; the result of the call has the results"),
    OmissionRule::bookkeeping("progress.state", "progress/waiting_for_task", "a call waits for a background command"),
    OmissionRule::duplicate("prompt.last", "last-prompt", "the last prompt with its white space shortened, for a list of sessions"),
    OmissionRule::duplicate("title.repeated", "summary", "the same title of the same session again"),
    OmissionRule::duplicate("request.blob", "api-request-blob", "a message of the conversation as it was sent, stored by hash"),
    OmissionRule::bookkeeping("request.delta", "api-request", "the hashes of the messages in a request, and its parameters"),
    OmissionRule::bookkeeping("state.latch", "atis-latch", "an opaque flag"),
    OmissionRule::bookkeeping("ui.color", "agent-color", "the color in which the session is displayed"),
    OmissionRule::bookkeeping("ui.frame", "frame-link", "a page that another program shows beside the session"),
    OmissionRule::bookkeeping("ui.artifacts", "artifact-comment-monitor", "which pages of the session are watched for comments"),
    OmissionRule::bookkeeping("ui.artifacts", "artifact-autoreact-ledger", "which comments were answered"),
    OmissionRule::bookkeeping("state.fork_context", "fork-context-ref", "how much of its parent's history a fork begins with; the session and the call that started it are on the tape"),
    OmissionRule::bookkeeping("state.tools_used", "tools-used", "names of tools; their calls are records"),
    OmissionRule::bookkeeping("backup.snapshot", "file-history-snapshot", "names of backup files for undo; the files are outside the log"),
    OmissionRule::bookkeeping("backup.delta", "file-history-delta", "the name of one more backup file"),
    OmissionRule::bookkeeping("ui.turn_duration", "system/turn_duration", "the duration of a turn, for display"),
    OmissionRule::duplicate("state.unchanged", "ai-title", "the same title again"),
    OmissionRule::duplicate("state.same_name", "custom-title", "the same title again"),
    OmissionRule::duplicate("state.same_name", "agent-name", "the same name again"),
    OmissionRule::duplicate("state.same_name", "agent-setting", "the same name again"),
    OmissionRule::bookkeeping("state.bridge", "bridge-session", "ids of the session that displays this one in another program"),
    OmissionRule::duplicate("result.structured", "attachment/structured_output", "the structured answer, which is the input of the StructuredOutput call"),
    OmissionRule::duplicate("history.repeated", "*", "a line that was read before: it has the same id, or has no id and the same bytes with a time among them"),
    OmissionRule::duplicate("history.copied", "*", "a line of the history so far that the same file repeats with new ids before the next turn (up to 2.0.10)"),
    OmissionRule::bookkeeping("state.unchanged", "permission-mode", "the same mode again"),
    OmissionRule::bookkeeping("state.unchanged", "mode", "the same mode again"),
    OmissionRule::bookkeeping("state.unchanged", "cost-state", "the same cost again"),
    OmissionRule::field("read.file", "user", "/toolUseResult/file/content", "the lines that were read: the result has them as the model saw them, and `code.read` has their hash"),
    OmissionRule::field("edit.file_before", "user", "/toolUseResult/originalFile", "the whole file before the edit, kept as `file_before_hash`"),
    OmissionRule::field("edit.file_before", "user", "/toolUseResult/originalFileContents", "the same, under MultiEdit's name"),
    OmissionRule::field("edit.file_before", "user", "/toolUseResult/original_file", "the same, under NotebookEdit's name"),
    OmissionRule::field("edit.file_after", "user", "/toolUseResult/updated_file", "the whole notebook after the edit, kept as `file_after_hash`"),
    OmissionRule::field("edit.patch", "user", "/toolUseResult/structuredPatch/*/lines/*", "a diff for display, with its tabs replaced; `code.edit` has the spans"),
    OmissionRule::field("edit.shell_diff", "user", "/toolUseResult/bashEditDiff/files/*/hunks/*/lines/*", "the diff of what a command changed; `code.edit` has the spans"),
    OmissionRule::field("result.error", "user", "/toolUseResult", "the text of the result again; a different text is an event"),
    OmissionRule::field("result.links", "user", "/toolUseResult/results/*/content/*/title", "titles of the pages found, which the text of the result has"),
    OmissionRule::field("result.state", "user", "/toolUseResult/prompt", "the prompt again, which the call has"),
    OmissionRule::field("result.state", "user", "/toolUseResult/allowedTools/*", "tools that a skill may use without permission from the user"),
    OmissionRule::field("result.state", "user", "/toolUseResult/task/output", "the output of a background task, which the result has without white space at its ends; a different text is an event"),
    OmissionRule::field("result.state", "user", "/toolUseResult/oldTodos/**", "the tasks before the call, as the previous call set them"),
    OmissionRule::field("result.state", "user", "/toolUseResult/questions/**", "the questions again, which the call has"),
    OmissionRule::field("result.state", "user", "/todos/**", "the current tasks, as the last call set them"),
    OmissionRule::field("result.repeated", "progress/agent_progress", "/data/normalizedMessages/*/toolUseResult/content", "the output of a line that an earlier `progress` record wrapped; its result has it"),
    OmissionRule::field("attachment.rendered", "attachment/*", "/rendered/*/content", "the attachment's fields as text for the model"),
    OmissionRule::field("attachment.rendered", "attachment/*", "/renderedInHumanTurn/*/content", "the same, for a turn with a person's prompt"),
    OmissionRule::field("attachment.listing", "attachment/skill_listing", "/attachment/content", "the harness's list of skills, kept as hash and size"),
    OmissionRule::field("attachment.listing", "attachment/agent_listing_delta", "/attachment/addedLines/*", "the harness's list of agents, kept as hash and size"),
    OmissionRule::field("attachment.listing", "attachment/deferred_tools_delta", "/attachment/*/*", "names of tools, kept as hash and size"),
    OmissionRule::field("attachment.listing", "attachment/deferred_tools_record", "/attachment/entries/**", "tool descriptions, kept as hash and size"),
    OmissionRule::field("attachment.instructions", "attachment/mcp_instructions_delta", "/attachment/addedBlocks/*", "instructions of MCP servers, kept as hash and size"),
    OmissionRule::field("attachment.instructions", "attachment/mcp_instructions_delta", "/attachment/addedNames/*", "names of these servers"),
    OmissionRule::field("attachment.instructions", "attachment/mcp_instructions_delta", "/attachment/removedNames/*", "names of servers that were removed"),
    OmissionRule::field("attachment.skills", "attachment/invoked_skills", "/attachment/skills/**", "skills that were used, kept as hash and size"),
    OmissionRule::field("attachment.on_disk", "attachment/nested_memory", "/attachment/content/rawContent", "an instruction file as it is on disk, if the model is given less of it"),
    OmissionRule::field("attachment.path", "attachment/*", "/attachment/displayPath", "the file's path, shortened for display"),
    OmissionRule::field("attachment.path", "attachment/selected_lines_in_ide", "/attachment/ideName", "the name of the editor in which the file is open"),
    OmissionRule::field("attachment.file", "attachment/file", "/attachment/content/file/content", "a file that the user attached, kept as hash and size"),
    OmissionRule::field("attachment.file", "attachment/already_read_file", "/attachment/content/file/content", "the same, of a file that was read"),
    OmissionRule::field("request.prompt", "attachment/prompt_snapshot", "/attachment/systemPrompt/*", "the system prompt, kept as hash and size"),
    OmissionRule::field("request.prompt", "attachment/prompt_snapshot", "/attachment/cliPrefix", "the first line of the system prompt"),
    OmissionRule::field("request.prompt", "api-request-shape", "/shape/system/*/text", "the system prompt, kept as hash and size"),
    OmissionRule::field("request.tools", "attachment/prompt_snapshot", "/attachment/tools/**", "tool descriptions, kept as hash and size"),
    OmissionRule::field("request.tools", "api-request-shape", "/shape/tools/**", "tool descriptions, kept as hash and size"),
    OmissionRule::field("state.repository", "user", "/classifierMetaLines", "the state of the repository, for the harness's own classification of calls"),
    OmissionRule::field("state.worktree", "worktree-state", "/worktreeSession/**", "the directory before the session moved, and the name of the work tree"),
    OmissionRule::field("ui.nudge", "system/bridge_status", "/upgradeNudge", "a request to upgrade another program"),
    OmissionRule::field("error.formatted", "system/*error", "/error/formatted", "the error's message, shortened for display"),
    OmissionRule::opaque("thinking.signature", "assistant", "/message/content/*/signature", "a signature"),
    OmissionRule::opaque("thinking.redacted", "assistant", "/message/content/*/data", "reasoning that only the model's provider can read"),
    OmissionRule::opaque("attachment.base64", "attachment/file", "/attachment/content/file/base64", "a document or image that the user attached, kept as a hash"),
    OmissionRule::opaque("image.base64", "user", "/message/content/*/source/data", "an image, kept as an attachment's hash"),
    OmissionRule::opaque("image.base64", "user", "/message/content/*/content/*/source/data", "an image that a tool returned, kept as an attachment's hash"),
    OmissionRule::opaque("image.base64", "attachment/queued_command", "/attachment/prompt/*/source/data", "an image, kept as an attachment's hash"),
    OmissionRule::opaque("image.base64", "user", "/toolUseResult/file/base64", "the same image again"),
    OmissionRule::opaque("image.base64", "user", "/toolUseResult/*/source/data", "the same image again"),
    OmissionRule::field("progress.so_far", "progress/agent_progress", "/data/message/data/**", "the partial output of a command of the sub-agent"),
    OmissionRule::field("progress.so_far", "progress/agent_progress", "/data/normalizedMessages/*/data/**", "the partial output of a command of the sub-agent"),
    OmissionRule::field("read.file", "progress/agent_progress", "/data/message/toolUseResult/file/content", "as in a line that is not wrapped"),
    OmissionRule::field("read.file", "progress/agent_progress", "/data/normalizedMessages/*/toolUseResult/file/content", "as in a line that is not wrapped"),
    OmissionRule::field("edit.file_before", "progress/agent_progress", "/data/message/toolUseResult/originalFile", "as in a line that is not wrapped"),
    OmissionRule::field("edit.file_before", "progress/agent_progress", "/data/normalizedMessages/*/toolUseResult/originalFile", "as in a line that is not wrapped"),
    OmissionRule::field("edit.patch", "progress/agent_progress", "/data/message/toolUseResult/structuredPatch/*/lines/*", "as in a line that is not wrapped"),
    OmissionRule::field("edit.patch", "progress/agent_progress", "/data/normalizedMessages/*/toolUseResult/structuredPatch/*/lines/*", "as in a line that is not wrapped"),
    OmissionRule::field("result.error", "progress/agent_progress", "/data/message/toolUseResult", "as in a line that is not wrapped"),
    OmissionRule::field("result.error", "progress/agent_progress", "/data/normalizedMessages/*/toolUseResult", "as in a line that is not wrapped"),
    OmissionRule::field("result.links", "progress/agent_progress", "/data/message/toolUseResult/results/*/content/*/title", "as in a line that is not wrapped"),
    OmissionRule::field("result.links", "progress/agent_progress", "/data/normalizedMessages/*/toolUseResult/results/*/content/*/title", "as in a line that is not wrapped"),
    OmissionRule::field("result.links", "progress/agent_progress", "/data/message/toolUseResult/filenames/*", "names of the files found, which the text of the result has"),
    OmissionRule::field("result.links", "progress/agent_progress", "/data/normalizedMessages/*/toolUseResult/filenames/*", "names of the files found, which the text of the result has"),
    OmissionRule::field("result.state", "progress/agent_progress", "/data/message/toolUseResult/prompt", "as in a line that is not wrapped"),
    OmissionRule::field("result.state", "progress/agent_progress", "/data/normalizedMessages/*/toolUseResult/prompt", "as in a line that is not wrapped"),
    OmissionRule::opaque("thinking.signature", "progress/agent_progress", "/data/message/message/content/*/signature", "as in a line that is not wrapped"),
    OmissionRule::opaque("thinking.signature", "progress/agent_progress", "/data/normalizedMessages/*/message/content/*/signature", "as in a line that is not wrapped"),
    OmissionRule::opaque("image.base64", "progress/agent_progress", "/data/message/message/content/*/source/data", "as in a line that is not wrapped"),
    OmissionRule::opaque("image.base64", "progress/agent_progress", "/data/normalizedMessages/*/message/content/*/source/data", "as in a line that is not wrapped"),
    OmissionRule::opaque("image.base64", "progress/agent_progress", "/data/message/message/content/*/content/*/source/data", "as in a line that is not wrapped"),
    OmissionRule::opaque("image.base64", "progress/agent_progress", "/data/normalizedMessages/*/message/content/*/content/*/source/data", "as in a line that is not wrapped"),
    OmissionRule::opaque("image.base64", "progress/agent_progress", "/data/message/toolUseResult/file/base64", "as in a line that is not wrapped"),
    OmissionRule::opaque("image.base64", "progress/agent_progress", "/data/normalizedMessages/*/toolUseResult/file/base64", "as in a line that is not wrapped"),
    OmissionRule::bookkeeping("stream.control", "control_request", "a question to the program that runs the harness: a hook, a message of a server"),
    OmissionRule::bookkeeping("stream.control", "control_response", "an answer to the program that runs the harness: commands, models, account"),
    OmissionRule::bookkeeping("stream.control", "control_cancel_request", "a question to the program that runs the harness is withdrawn"),
    OmissionRule::bookkeeping("stream.state", "command_lifecycle", "a command of the queue begins or ends; its text is a record"),
    OmissionRule::bookkeeping("stream.state", "tool_progress", "a call runs, or its sub-agent goes on after a failed request"),
    OmissionRule::bookkeeping("stream.state", "system/status", "the harness is busy: it compacts, or requests an answer"),
    OmissionRule::duplicate("stream.state", "system/task_started", "a background task begins; its call has the command or prompt"),
    OmissionRule::bookkeeping("stream.state", "system/task_progress", "what a background task does, for display; its lines are records"),
    OmissionRule::bookkeeping("stream.state", "system/task_updated", "the state of a background task; a notification follows"),
    OmissionRule::bookkeeping("stream.state", "system/background_tasks_changed", "the tasks in the background; their calls are records"),
    OmissionRule::bookkeeping("stream.state", "system/thinking_tokens", "an estimate of reasoning tokens while the model thinks"),
    OmissionRule::bookkeeping("stream.state", "system/hook_started", "a hook begins; its response follows"),
    OmissionRule::duplicate("stream.partial", "stream_event", "a part of an answer as it arrives; the whole block follows as a record"),
    OmissionRule::field("read.file", "user", "/tool_use_result/file/content", "as in a transcript"),
    OmissionRule::field("edit.file_before", "user", "/tool_use_result/originalFile", "as in a transcript"),
    OmissionRule::field("edit.file_before", "user", "/tool_use_result/original_file", "as in a transcript"),
    OmissionRule::field("edit.file_after", "user", "/tool_use_result/updated_file", "as in a transcript"),
    OmissionRule::field("edit.patch", "user", "/tool_use_result/structuredPatch/*/lines/*", "as in a transcript"),
    OmissionRule::field("edit.shell_diff", "user", "/tool_use_result/bashEditDiff/files/*/hunks/*/lines/*", "as in a transcript"),
    OmissionRule::field("result.error", "user", "/tool_use_result", "as in a transcript"),
    OmissionRule::field("result.state", "user", "/tool_use_result/prompt", "as in a transcript"),
    OmissionRule::field("result.state", "user", "/tool_use_result/task/output", "as in a transcript"),
    OmissionRule::field("result.state", "user", "/tool_use_result/oldTodos/**", "as in a transcript"),
    OmissionRule::opaque("image.base64", "user", "/tool_use_result/file/base64", "the same image again"),
    OmissionRule::opaque("image.base64", "user", "/tool_use_result/*/source/data", "the same image again"),
];
