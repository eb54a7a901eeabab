//! What the steps do with each type of record: its check, and the handler that emits its events.

use engram_core::emit::Fault;
use engram_core::ledger::Outcome;
use engram_core::steps::{Check, Emitter};

use super::check::{Checker, Facts, calls, messages, session, shapes};
use super::emit::{
    State, agents, ends, exec_stream, message_events, nested_calls, outputs, printed_events,
    provider_calls,
};
use super::emit::{messages as items, settings, tool_calls, turns, usage};
use super::format::{
    CompletedKind, EventKind, ExecKind, ItemKind, LineKind, PrintedKind, RetainedKind, rule,
};
use super::record::Record;

/// Step 1: the shape of a record and what is noted of it. It fails for a record that cannot be read.
type CheckOf = fn(&mut Checker, &Record<'_>, &mut Check<'_>) -> Result<Facts, Fault>;
/// Step 3: its events.
type EmitOf = fn(&mut State, &Record<'_>, &mut Emitter<'_>) -> Outcome;

/// What the steps do with the records of one type.
#[derive(Debug, Clone, Copy)]
pub struct Steps {
    pub check: CheckOf,
    pub emit: EmitOf,
}

const fn of(check: CheckOf, emit: EmitOf) -> Steps {
    Steps { check, emit }
}

/// What a record is. The type of a bare item is that of the item in an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    Line(LineKind),
    Retained(RetainedKind),
    Item(ItemKind),
    Event(EventKind),
    Completed(CompletedKind),
    Exec(ExecKind),
    Printed(PrintedKind),
    /// The marker between requests of the bare form.
    State,
    /// The first line of the bare form.
    BareHeader,
    /// The outer part of the TypeScript document.
    Document,
    /// The settings that `exec --json` prints up to 0.42.
    PrintedSettings,
    /// The prompt that it prints.
    PrintedPrompt,
}

/// What becomes of a marker between requests.
pub(super) const STATE: Outcome = Outcome::bookkeeping("state", rule::STATE);

impl Row {
    /// The type of the record; empty for one that has none.
    pub fn name(self) -> &'static str {
        match self {
            Row::Line(kind) => kind.name(),
            Row::Retained(kind) => kind.name(),
            Row::Item(kind) => kind.name(),
            Row::Event(kind) => kind.name(),
            Row::Completed(kind) => kind.name(),
            Row::Exec(kind) => kind.name(),
            Row::Printed(kind) => kind.name(),
            Row::State => STATE.record(),
            Row::BareHeader | Row::Document | Row::PrintedSettings | Row::PrintedPrompt => "",
        }
    }
}

/// What the steps do with a record, or what becomes of one that gives no event.
pub(super) fn steps(row: Row) -> Result<Steps, Outcome> {
    Ok(match row {
        Row::Line(kind) => line(kind)?,
        Row::Retained(RetainedKind::VerifiedAnswer) => of(shapes::any, items::verified_answer),
        Row::Retained(RetainedKind::DeliveredAssistantMessage) => {
            of(messages::delivered, items::delivered)
        }
        Row::Item(kind) => item(kind),
        Row::Event(kind) => event(kind)?,
        Row::Completed(kind) => completed(kind),
        Row::Exec(kind) => exec(kind)?,
        Row::Printed(kind) => printed_event(kind)?,
        Row::State => return Err(STATE),
        Row::BareHeader => of(shapes::any, settings::bare_header),
        Row::Document => of(shapes::any, settings::document_header),
        Row::PrintedSettings => of(session::printed_settings, printed_events::settings),
        Row::PrintedPrompt => of(session::printed_prompt, printed_events::prompt),
    })
}

/// Lines about the session.
fn line(kind: LineKind) -> Result<Steps, Outcome> {
    use LineKind as Kind;
    Ok(match kind {
        Kind::TokenUsageRecord => of(session::token_usage_record, usage::token_usage_record),
        Kind::TurnContext => of(session::turn_context, settings::turn_context),
        Kind::SessionMeta => of(session::session_meta, settings::session_meta),
        Kind::WorldState => of(session::world_state, settings::world_state),
        Kind::Compacted => of(shapes::compaction, turns::compacted),
        Kind::InterAgentCommunication => of(messages::words_of_agents, agents::words_of_agents),
        Kind::Omitted(outcome) => return Err(outcome),
    })
}

/// Items for the model.
fn item(kind: ItemKind) -> Steps {
    use ItemKind as Kind;
    match kind {
        Kind::FunctionCall => of(calls::function_call, tool_calls::function_call),
        Kind::FunctionCallOutput | Kind::CustomToolCallOutput => {
            of(calls::call_output, outputs::call_output)
        }
        Kind::Message => of(messages::message, items::message_item),
        Kind::Reasoning => of(messages::reasoning, items::reasoning),
        Kind::CustomToolCall => of(calls::custom_tool_call, tool_calls::custom_tool_call),
        Kind::LocalShellCall => of(calls::local_shell_call, tool_calls::local_shell_call),
        Kind::ToolSearchCall => of(calls::tool_search_call, tool_calls::tool_search_call),
        Kind::ToolSearchOutput => of(calls::tools, tool_calls::tool_search_output),
        Kind::AdditionalTools => of(calls::tools, tool_calls::additional_tools),
        Kind::WebSearchCall => of(calls::search_item, provider_calls::web_search_item),
        Kind::ImageGenerationCall => of(calls::generated_image, provider_calls::generated_image),
        Kind::AgentMessage => of(messages::of_agents, agents::agent_message),
        Kind::GhostSnapshot => of(shapes::any, turns::ghost_snapshot),
    }
}

/// Events for the screen.
fn event(kind: EventKind) -> Result<Steps, Outcome> {
    use EventKind as Kind;
    Ok(match kind {
        Kind::TokenCount => of(session::token_count, usage::token_count),
        Kind::AgentMessage => of(messages::agent_message, message_events::agent_message),
        Kind::AgentReasoning | Kind::AgentReasoningRawContent => {
            of(messages::agent_reasoning, message_events::agent_reasoning)
        }
        Kind::UserMessage => of(messages::user_message, message_events::user_message),
        Kind::ExecCommandEnd
        | Kind::PatchApplyEnd
        | Kind::McpToolCallEnd
        | Kind::DynamicToolCallResponse => of(calls::end, ends::end),
        Kind::WebSearchEnd => of(calls::search_event, provider_calls::web_search_event),
        Kind::ImageGenerationEnd => of(calls::generated_image, provider_calls::generated_image),
        Kind::DynamicToolCallRequest => of(calls::client_call, nested_calls::client_call),
        Kind::ViewImageToolCall => of(calls::image_view, nested_calls::image_view),
        Kind::TaskComplete => of(messages::task_complete, turns::task_complete),
        Kind::TurnAborted => of(shapes::turn_aborted, turns::turn_aborted),
        Kind::Error => of(shapes::notice, turns::error),
        Kind::ContextCompacted => of(shapes::compaction_mark, turns::context_compacted),
        Kind::ThreadRolledBack => of(shapes::notice, turns::thread_rolled_back),
        Kind::UndoCompleted => of(shapes::notice, turns::undo_completed),
        Kind::ThreadGoalUpdated => of(shapes::any, turns::thread_goal_updated),
        Kind::ThreadNameUpdated => of(shapes::notice, settings::thread_name_updated),
        Kind::ThreadSettingsApplied => {
            of(session::thread_settings, settings::thread_settings_applied)
        }
        Kind::GuardianAssessment => of(calls::approval, agents::approval_review),
        Kind::EnteredReviewMode => of(shapes::review_begins, agents::entered_review_mode),
        Kind::ExitedReviewMode => of(shapes::review_ends, agents::exited_review_mode),
        Kind::SubAgentActivity => of(shapes::agent, agents::sub_agent_activity),
        Kind::CollabAgentSpawnEnd
        | Kind::CollabAgentInteractionEnd
        | Kind::CollabWaitingEnd
        | Kind::CollabCloseEnd
        | Kind::CollabResumeEnd => of(shapes::agent, agents::collab_event),
        Kind::Omitted(outcome) => return Err(outcome),
    })
}

/// Completed items for the screen.
fn completed(kind: CompletedKind) -> Steps {
    use CompletedKind as Kind;
    match kind {
        Kind::CommandExecution | Kind::FileChange | Kind::McpToolCall | Kind::DynamicToolCall => {
            of(calls::end, ends::end)
        }
        Kind::AgentMessage => of(
            messages::agent_message_item,
            message_events::agent_message_item,
        ),
        Kind::UserMessage => of(
            messages::user_message_item,
            message_events::user_message_item,
        ),
        Kind::Reasoning => of(messages::reasoning_item, message_events::reasoning_item),
        Kind::ImageView => of(calls::image_view, nested_calls::image_view),
        Kind::ContextCompaction => of(shapes::compaction_mark, turns::compaction_item),
        Kind::SubAgentActivity => of(shapes::agent, agents::sub_agent_item),
        Kind::CollabAgentToolCall => of(shapes::agent, agents::collab_item),
        Kind::WebSearch => of(calls::search_event, provider_calls::web_search_event),
        Kind::ImageGeneration => of(calls::generated_image, provider_calls::generated_image),
        Kind::Sleep => of(calls::sleep, nested_calls::sleep),
        Kind::Extension => of(calls::extension, provider_calls::extension),
        Kind::FunctionCallOutput => of(messages::told_output, message_events::told_output),
        Kind::EnteredReviewMode => of(shapes::review_begins, agents::entered_review_mode),
        Kind::ExitedReviewMode => of(shapes::review_ends, agents::exited_review_mode),
        Kind::Plan => of(messages::plan_item, message_events::plan_item),
        Kind::HookPrompt => of(messages::hook_prompt_item, message_events::hook_prompt_item),
    }
}

/// What `exec --json` prints.
fn exec(kind: ExecKind) -> Result<Steps, Outcome> {
    use ExecKind as Kind;
    Ok(match kind {
        Kind::TurnFailed | Kind::Error => of(shapes::any, exec_stream::error),
        Kind::ItemCompletedError => of(shapes::item, exec_stream::error_item),
        Kind::ItemCompletedAgentMessage => of(shapes::item_text, exec_stream::agent_message),
        Kind::ItemCompletedReasoning => of(shapes::item_text, exec_stream::reasoning),
        Kind::ItemStartedTodoList | Kind::ItemUpdatedTodoList | Kind::ItemCompletedTodoList => {
            of(shapes::item, exec_stream::todo_list)
        }
        Kind::ItemStartedCommandExecution
        | Kind::ItemStartedFileChange
        | Kind::ItemStartedMcpToolCall
        | Kind::ItemStartedCollabToolCall
        | Kind::ItemStartedWebSearch => of(shapes::item, exec_stream::call_started),
        Kind::ItemCompletedCommandExecution
        | Kind::ItemCompletedFileChange
        | Kind::ItemCompletedMcpToolCall
        | Kind::ItemCompletedCollabToolCall
        | Kind::ItemCompletedWebSearch => of(shapes::item_completed, exec_stream::call_completed),
        Kind::Omitted(outcome) => return Err(outcome),
    })
}

/// What it prints up to 0.42.
fn printed_event(kind: PrintedKind) -> Result<Steps, Outcome> {
    use PrintedKind as Kind;
    Ok(match kind {
        Kind::AgentMessage => of(shapes::event_message, printed_events::answer),
        Kind::AgentReasoning | Kind::AgentReasoningRawContent => {
            of(shapes::event_text, printed_events::reasoning)
        }
        Kind::TokenCount => of(session::token_count, usage::token_count),
        Kind::Error => of(shapes::event, printed_events::error),
        Kind::BackgroundEvent => of(shapes::event, printed_events::notice),
        Kind::ExecCommandBegin => of(shapes::event, printed_events::command_begun),
        Kind::ExecCommandEnd => of(shapes::command_ended, printed_events::command_ended),
        Kind::PatchApplyBegin => of(shapes::event_of_call, printed_events::patch_begun),
        Kind::PatchApplyEnd => of(shapes::patch_ended, printed_events::patch_ended),
        Kind::McpToolCallBegin => of(shapes::mcp_begun, printed_events::mcp_begun),
        Kind::McpToolCallEnd => of(shapes::mcp_ended, printed_events::mcp_ended),
        Kind::WebSearchBegin => of(shapes::event, printed_events::search_begun),
        Kind::WebSearchEnd => of(shapes::event_of_call, printed_events::search_ended),
        Kind::Omitted(outcome) => return Err(outcome),
    })
}
