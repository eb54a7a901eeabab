//! The record types, marks and rules of the format. Generated from `members/*.members` (`ENGRAM_BLESS=1` with the unit tests writes
//! it). Do not edit it.

#![allow(dead_code, reason = "an adapter need not use each name of its format")]

use engram_core::descriptor::OmissionRule;
use engram_core::ledger::Outcome;

/// The record types `in capture`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CaptureKind {
    SystemInit, SystemTaskNotification, SystemBackgroundShellTimeout, ThinkingDelta, ToolCallStarted, ToolCallCompleted, ResultSuccess,
    InteractionQueryRequest, InteractionQueryResponse, User, Assistant, Result, Connection, Retry,
    /// A type whose records give no event, and what becomes of them.
    Omitted(Outcome),
}

impl CaptureKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<CaptureKind> {
        Some(match name {
            "system/init" => CaptureKind::SystemInit,
            "system/task_notification" => CaptureKind::SystemTaskNotification,
            "system/background_shell_timeout" => CaptureKind::SystemBackgroundShellTimeout,
            "thinking/delta" => CaptureKind::ThinkingDelta,
            "thinking/completed" => CaptureKind::Omitted(Outcome::Bookkeeping { record: "thinking/completed", rule: "thinking_end" }),
            "tool_call/started" => CaptureKind::ToolCallStarted,
            "tool_call/completed" => CaptureKind::ToolCallCompleted,
            "result/success" => CaptureKind::ResultSuccess,
            "interaction_query/request" => CaptureKind::InteractionQueryRequest,
            "interaction_query/response" => CaptureKind::InteractionQueryResponse,
            "user" => CaptureKind::User,
            "assistant" => CaptureKind::Assistant,
            name if name.starts_with("result/") => CaptureKind::Result,
            name if name.starts_with("connection/") => CaptureKind::Connection,
            name if name.starts_with("retry/") => CaptureKind::Retry,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            CaptureKind::SystemInit => "system/init",
            CaptureKind::SystemTaskNotification => "system/task_notification",
            CaptureKind::SystemBackgroundShellTimeout => "system/background_shell_timeout",
            CaptureKind::ThinkingDelta => "thinking/delta",
            CaptureKind::ToolCallStarted => "tool_call/started",
            CaptureKind::ToolCallCompleted => "tool_call/completed",
            CaptureKind::ResultSuccess => "result/success",
            CaptureKind::InteractionQueryRequest => "interaction_query/request",
            CaptureKind::InteractionQueryResponse => "interaction_query/response",
            CaptureKind::User => "user",
            CaptureKind::Assistant => "assistant",
            CaptureKind::Result => "result/*",
            CaptureKind::Connection => "connection/*",
            CaptureKind::Retry => "retry/*",
            CaptureKind::Omitted(outcome) => outcome.record(),
        }
    }
}

/// The record types `in chat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChatKind {
    Chat, Root, Message, Step, UserMessage, ShellCommand, ShellOutput, Summary, Missing, ChatAgent, ChatRun,
}

impl ChatKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<ChatKind> {
        Some(match name {
            "chat" => ChatKind::Chat,
            "root" => ChatKind::Root,
            "message" => ChatKind::Message,
            "step" => ChatKind::Step,
            "user_message" => ChatKind::UserMessage,
            "shell_command" => ChatKind::ShellCommand,
            "shell_output" => ChatKind::ShellOutput,
            "summary" => ChatKind::Summary,
            "missing" => ChatKind::Missing,
            "chat_agent" => ChatKind::ChatAgent,
            "chat_run" => ChatKind::ChatRun,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            ChatKind::Chat => "chat",
            ChatKind::Root => "root",
            ChatKind::Message => "message",
            ChatKind::Step => "step",
            ChatKind::UserMessage => "user_message",
            ChatKind::ShellCommand => "shell_command",
            ChatKind::ShellOutput => "shell_output",
            ChatKind::Summary => "summary",
            ChatKind::Missing => "missing",
            ChatKind::ChatAgent => "chat_agent",
            ChatKind::ChatRun => "chat_run",
        }
    }
}

/// The record types `in document`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocumentKind {
    User, Assistant, Tool,
}

impl DocumentKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<DocumentKind> {
        Some(match name {
            "user" => DocumentKind::User,
            "assistant" => DocumentKind::Assistant,
            "tool" => DocumentKind::Tool,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            DocumentKind::User => "user",
            DocumentKind::Assistant => "assistant",
            DocumentKind::Tool => "tool",
        }
    }
}

/// The record types `in editor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EditorKind {
    Composer, InlineComposer, Tab, Bubble,
}

impl EditorKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<EditorKind> {
        Some(match name {
            "composer" => EditorKind::Composer,
            "inline_composer" => EditorKind::InlineComposer,
            "tab" => EditorKind::Tab,
            "bubble" => EditorKind::Bubble,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            EditorKind::Composer => "composer",
            EditorKind::InlineComposer => "inline_composer",
            EditorKind::Tab => "tab",
            EditorKind::Bubble => "bubble",
        }
    }
}

/// The record types `in hook`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HookKind {
    SessionStart, SessionEnd, BeforeSubmitPrompt, PreToolUse, PostToolUse, PostToolUseFailure, BeforeShellExecution,
    AfterShellExecution, BeforeMCPExecution, AfterMCPExecution, BeforeReadFile, BeforeTabFileRead, AfterFileEdit, AfterTabFileEdit,
    AfterAgentResponse, AfterAgentThought, Stop, PreCompact, SubagentStart, SubagentStop, WorkspaceOpen,
}

impl HookKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<HookKind> {
        Some(match name {
            "sessionStart" => HookKind::SessionStart,
            "sessionEnd" => HookKind::SessionEnd,
            "beforeSubmitPrompt" => HookKind::BeforeSubmitPrompt,
            "preToolUse" => HookKind::PreToolUse,
            "postToolUse" => HookKind::PostToolUse,
            "postToolUseFailure" => HookKind::PostToolUseFailure,
            "beforeShellExecution" => HookKind::BeforeShellExecution,
            "afterShellExecution" => HookKind::AfterShellExecution,
            "beforeMCPExecution" => HookKind::BeforeMCPExecution,
            "afterMCPExecution" => HookKind::AfterMCPExecution,
            "beforeReadFile" => HookKind::BeforeReadFile,
            "beforeTabFileRead" => HookKind::BeforeTabFileRead,
            "afterFileEdit" => HookKind::AfterFileEdit,
            "afterTabFileEdit" => HookKind::AfterTabFileEdit,
            "afterAgentResponse" => HookKind::AfterAgentResponse,
            "afterAgentThought" => HookKind::AfterAgentThought,
            "stop" => HookKind::Stop,
            "preCompact" => HookKind::PreCompact,
            "subagentStart" => HookKind::SubagentStart,
            "subagentStop" => HookKind::SubagentStop,
            "workspaceOpen" => HookKind::WorkspaceOpen,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            HookKind::SessionStart => "sessionStart",
            HookKind::SessionEnd => "sessionEnd",
            HookKind::BeforeSubmitPrompt => "beforeSubmitPrompt",
            HookKind::PreToolUse => "preToolUse",
            HookKind::PostToolUse => "postToolUse",
            HookKind::PostToolUseFailure => "postToolUseFailure",
            HookKind::BeforeShellExecution => "beforeShellExecution",
            HookKind::AfterShellExecution => "afterShellExecution",
            HookKind::BeforeMCPExecution => "beforeMCPExecution",
            HookKind::AfterMCPExecution => "afterMCPExecution",
            HookKind::BeforeReadFile => "beforeReadFile",
            HookKind::BeforeTabFileRead => "beforeTabFileRead",
            HookKind::AfterFileEdit => "afterFileEdit",
            HookKind::AfterTabFileEdit => "afterTabFileEdit",
            HookKind::AfterAgentResponse => "afterAgentResponse",
            HookKind::AfterAgentThought => "afterAgentThought",
            HookKind::Stop => "stop",
            HookKind::PreCompact => "preCompact",
            HookKind::SubagentStart => "subagentStart",
            HookKind::SubagentStop => "subagentStop",
            HookKind::WorkspaceOpen => "workspaceOpen",
        }
    }
}

/// The record types `in role`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoleKind {
    User, Assistant,
}

impl RoleKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<RoleKind> {
        Some(match name {
            "user" => RoleKind::User,
            "assistant" => RoleKind::Assistant,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            RoleKind::User => "user",
            RoleKind::Assistant => "assistant",
        }
    }
}

/// The record types `in run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunKind {
    Agent, Run, RunEnd, Broken, RunEvent,
}

impl RunKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<RunKind> {
        Some(match name {
            "agent" => RunKind::Agent,
            "run" => RunKind::Run,
            "run_end" => RunKind::RunEnd,
            "broken" => RunKind::Broken,
            "run_event" => RunKind::RunEvent,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            RunKind::Agent => "agent",
            RunKind::Run => "run",
            RunKind::RunEnd => "run_end",
            RunKind::Broken => "broken",
            RunKind::RunEvent => "run_event",
        }
    }
}

/// The record types `in sdk`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SdkKind {
    User, Assistant, Thinking, ToolCall, Status, Usage, Task, Request,
}

impl SdkKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<SdkKind> {
        Some(match name {
            "user" => SdkKind::User,
            "assistant" => SdkKind::Assistant,
            "thinking" => SdkKind::Thinking,
            "tool_call" => SdkKind::ToolCall,
            "status" => SdkKind::Status,
            "usage" => SdkKind::Usage,
            "task" => SdkKind::Task,
            "request" => SdkKind::Request,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            SdkKind::User => "user",
            SdkKind::Assistant => "assistant",
            SdkKind::Thinking => "thinking",
            SdkKind::ToolCall => "tool_call",
            SdkKind::Status => "status",
            SdkKind::Usage => "usage",
            SdkKind::Task => "task",
            SdkKind::Request => "request",
        }
    }
}

/// The record types `in transcript`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TranscriptKind {
    TurnEnded, Error, Metadata,
}

impl TranscriptKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<TranscriptKind> {
        Some(match name {
            "turn_ended" => TranscriptKind::TurnEnded,
            "error" => TranscriptKind::Error,
            "metadata" => TranscriptKind::Metadata,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            TranscriptKind::TurnEnded => "turn_ended",
            TranscriptKind::Error => "error",
            TranscriptKind::Metadata => "metadata",
        }
    }
}

/// The marks by which a log is recognised.
pub(super) mod mark {
    /// The older transcript, which is one document.
    pub(in super::super) const TRANSCRIPT_DOCUMENT: &str = "transcript.json";
    /// A message of a transcript.
    pub(in super::super) const TRANSCRIPT_MESSAGE: &str = "transcript.message";
    /// The end of a turn of a transcript.
    pub(in super::super) const TRANSCRIPT_TURN_ENDED: &str = "transcript.turn_ended";
    /// A call of a capture.
    pub(in super::super) const STREAM_TOOL_CALL: &str = "stream.tool_call";
    /// A line of a capture with a time.
    pub(in super::super) const STREAM_TIME: &str = "stream.timestamp_ms";
    /// The end of a capture.
    pub(in super::super) const STREAM_RESULT: &str = "stream.result";
    /// What a hook received.
    pub(in super::super) const HOOK_PAYLOAD: &str = "hook.payload";
    /// An opened chat store.
    pub(in super::super) const STORE_CHAT: &str = "store.chat";
    /// An agent of an opened run store.
    pub(in super::super) const STORE_RUN: &str = "store.run";
    /// A message of the SDK.
    pub(in super::super) const SDK_MESSAGE: &str = "sdk.message";
    /// An opened conversation of the editor whose messages are rows.
    pub(in super::super) const STORE_COMPOSER_ROW: &str = "store.composer_row";
    /// An opened conversation of the editor whose messages are inline.
    pub(in super::super) const STORE_COMPOSER_INLINE: &str = "store.composer_inline";

    /// Every mark.
    pub(in super::super) const ALL: &[&str] = &[TRANSCRIPT_DOCUMENT, TRANSCRIPT_MESSAGE, TRANSCRIPT_TURN_ENDED, STREAM_TOOL_CALL, STREAM_TIME, STREAM_RESULT, HOOK_PAYLOAD, STORE_CHAT, STORE_RUN, SDK_MESSAGE, STORE_COMPOSER_ROW, STORE_COMPOSER_INLINE];
}

/// The rules that leave out whole records.
pub(super) mod rule {
    pub(in super::super) const RECORD_REPEATED: &str = "record.repeated";
    pub(in super::super) const TURN_END: &str = "turn_end";
    pub(in super::super) const THINKING_END: &str = "thinking_end";
    pub(in super::super) const THINKING_PIECES: &str = "thinking_pieces";
    pub(in super::super) const MESSAGE_PIECES: &str = "message_pieces";
    pub(in super::super) const REASONING_PIECES: &str = "reasoning_pieces";
    pub(in super::super) const REPEATED_EVENT: &str = "repeated_event";
    pub(in super::super) const RUN_PROGRESS: &str = "run_progress";
    pub(in super::super) const RESULT_TEXT: &str = "result_text";
    pub(in super::super) const STORE_ROOT: &str = "store_root";
    pub(in super::super) const EMPTY_BUBBLE: &str = "empty_bubble";
    pub(in super::super) const INNER_READ: &str = "inner_read";
    pub(in super::super) const HOOK_WORKSPACE: &str = "hook_workspace";
    pub(in super::super) const HOOK_SESSION: &str = "hook_session";
    pub(in super::super) const HOOK_STOP: &str = "hook_stop";
}

/// Every rule, with its reason.
pub(super) const RULES: &[OmissionRule] = &[
    OmissionRule::duplicate("record.repeated", "*", "all bytes of the record, its id or its time among them, were read before"),
    OmissionRule::bookkeeping("turn_end", "turn_ended", "Records only that a turn ended successfully."),
    OmissionRule::bookkeeping("thinking_end", "thinking/completed", "The end of reasoning. Its text, if the capture has it, is at its first piece."),
    OmissionRule::piece("thinking_pieces", "thinking/delta", "A piece of reasoning. All pieces are joined at the first one."),
    OmissionRule::piece("message_pieces", "assistant", "A piece of a message. The capture repeats the message as a whole, or its pieces are joined at the first one."),
    OmissionRule::piece("reasoning_pieces", "thinking", "A piece of reasoning, or its end. All pieces are joined at the first one."),
    OmissionRule::piece("reasoning_pieces", "thinking/run_event", "A piece of reasoning, or its end. All pieces are joined at the first one."),
    OmissionRule::piece("message_pieces", "assistant/run_event", "A piece of a message. All pieces are joined at the first one."),
    OmissionRule::duplicate("repeated_event", "run_event", "An event of a run that the store has twice."),
    OmissionRule::bookkeeping("run_progress", "status", "Records only that a run is under way, or ended successfully."),
    OmissionRule::bookkeeping("run_progress", "status/run_event", "Records only that a run is under way, or ended successfully."),
    OmissionRule::bookkeeping("run_progress", "run_end", "The end of a run that its events state already."),
    OmissionRule::bookkeeping("run_progress", "request", "The id of the request of a run."),
    OmissionRule::bookkeeping("run_progress", "request/run_event", "The id of the request of a run."),
    OmissionRule::duplicate("result_text", "result/success", "All messages of the run again, joined without a separator."),
    OmissionRule::field("result_text_field", "result/success", "/result", "All messages of the run again, joined without a separator. Any other text becomes a message."),
    OmissionRule::field("interleaved_output", "tool_call/completed", "/tool_call/shellToolCall/result/*/interleavedOutput", "Standard output and standard error again, in the order of arrival."),
    OmissionRule::field("edited_file", "tool_call/completed", "/tool_call/editToolCall/result/success/beforeFullFileContent", "The whole file before the edit: its hash and its changed lines are in `code.edit`."),
    OmissionRule::field("edited_file_after", "tool_call/completed", "/tool_call/editToolCall/result/success/afterFullFileContent", "The whole file after the edit: its hash and its changed lines are in `code.edit`."),
    OmissionRule::field("edit_diff", "tool_call/completed", "/tool_call/editToolCall/result/success/diffString", "A rendered diff whose spans are `code.edit` events."),
    OmissionRule::field("deleted_file", "tool_call/completed", "/tool_call/deleteToolCall/result/success/prevContent", "The whole file that was deleted: its hash is in `code.edit`."),
    OmissionRule::bookkeeping("store_root", "root", "The ids of the messages and turns that follow."),
    OmissionRule::field("system_prompt", "system/message", "/message/content/**", "The boilerplate of the harness. Its hash is in `meta context`."),
    OmissionRule::field("rendered_result", "tool/message", "/message/content/*/result", "The result as the model received it. The turn graph has the outcome; without one, this text is the result."),
    OmissionRule::field("result_parts", "tool/message", "/message/content/*/experimental_content/**", "The result again, as parts."),
    OmissionRule::field("provider_options", "*/message", "/message/providerOptions/**", "The harness's own data about a message: request ids, and results in another form."),
    OmissionRule::field("prompt_tags", "user", "/text", "A prompt with the tags around a person's words. The words and the sections of the harness are on the tape."),
    OmissionRule::opaque("image_bytes", "*/message", "/message/content/*/image/**", "The bytes of an image. Their hash is in the tape."),
    OmissionRule::opaque("signature", "*/message", "/message/content/*/signature", "The provider's signature of reasoning."),
    OmissionRule::field("joined_steps", "*/message", "/steps/**", "The steps of the turn graph with the same content as the message. What they add is in the tape."),
    OmissionRule::bookkeeping("empty_bubble", "bubble", "A message without text or call."),
    OmissionRule::field("window_state", "bubble", "/bubble/richText", "The text again, as the rich text of the window."),
    OmissionRule::field("window_state", "bubble", "/bubble/context/**", "The files and selections that were open in the window during a prompt."),
    OmissionRule::field("selection_rendered", "bubble", "/bubble/selections/*/text", "The selected lines again, in a code fence."),
    OmissionRule::field("selection_address", "bubble", "/bubble/*/*/uri/**", "The address of a selected file. Its path is in the tape."),
    OmissionRule::opaque("signature", "bubble", "/bubble/thinking/signature", "The provider's signature of reasoning."),
    OmissionRule::field("rendered_diff", "bubble", "/bubble/toolFormerData/additionalData/precomputedDiff/lines/*/content", "A diff for display. Its spans are `code.edit` events."),
    OmissionRule::field("edited_contents", "bubble", "/before", "The whole file before an edit: its hash and its changed lines are in `code.edit`."),
    OmissionRule::field("edited_contents", "bubble", "/after", "The whole file after an edit: its hash and its changed lines are in `code.edit`."),
    OmissionRule::duplicate("inner_read", "preToolUse", "The read that is the first half of an edit."),
    OmissionRule::duplicate("inner_read", "postToolUse", "The read that is the first half of an edit."),
    OmissionRule::duplicate("inner_read", "postToolUseFailure", "The read that is the first half of an edit: there is no such file yet."),
    OmissionRule::duplicate("inner_read", "beforeReadFile", "The read that is the first half of an edit."),
    OmissionRule::bookkeeping("hook_workspace", "workspaceOpen", "Records only that a workspace was opened."),
    OmissionRule::bookkeeping("hook_session", "session*", "Records only that a session began or ended, and repeats known facts."),
    OmissionRule::bookkeeping("hook_stop", "stop", "Records only that a turn ended successfully."),
    OmissionRule::field("hook_file_content", "before*", "/content", "The whole file that is about to be read. Its hash is in `meta context`."),
];
