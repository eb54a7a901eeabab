//! The record table: for each type, its check and the handler that emits its events.

use engram_core::emit::Fault;
use engram_core::ledger::Outcome;
use engram_core::steps::{Check, Emitter};

use crate::shared::route::{Action, Route, RouteIndex};

use super::check::{self, Checker, Facts};
use super::emit::{self, State};
use super::record::Record;

/// What the steps do with the records of one type.
#[derive(Debug, Clone, Copy)]
pub struct Steps {
    /// Step 1: the shape of a record and what is noted of it. It fails for a record that cannot be read.
    pub check: fn(&mut Checker, &Record<'_>, &mut Check<'_>) -> Result<Facts, Fault>,
    /// Step 3: its events.
    pub emit: fn(&mut State, &Record<'_>, &mut Emitter<'_>) -> Outcome,
}

const fn of(
    record: &'static str,
    check: fn(&mut Checker, &Record<'_>, &mut Check<'_>) -> Result<Facts, Fault>,
    emit: fn(&mut State, &Record<'_>, &mut Emitter<'_>) -> Outcome,
) -> Route<Steps> {
    Route::convert(record, Steps { check, emit })
}

/// The row of a type is the same in every container form: a bare `message` is a `response_item/message`.
pub static RECORDS: &[Route<Steps>] = &[
    // The most frequent types.
    of("response_item/function_call", check::calls::function_call, emit::tool_calls::function_call),
    of("response_item/function_call_output", check::calls::call_output, emit::outputs::call_output),
    of("event_msg/token_count", check::session::token_count, emit::usage::token_count),
    of("response_item/message", check::messages::message, emit::messages::message_item),
    of("response_item/reasoning", check::messages::reasoning, emit::messages::reasoning),
    of("response_item/custom_tool_call", check::calls::custom_tool_call, emit::tool_calls::custom_tool_call),
    of("response_item/custom_tool_call_output", check::calls::call_output, emit::outputs::call_output),
    of("event_msg/item_completed/CommandExecution", check::calls::end, emit::ends::end),
    of("event_msg/agent_message", check::messages::agent_message, emit::message_events::agent_message),
    of("event_msg/agent_reasoning", check::messages::agent_reasoning, emit::message_events::agent_reasoning),
    of("token_usage_record", check::session::token_usage_record, emit::usage::token_usage_record),
    of("turn_context", check::session::turn_context, emit::settings::turn_context),
    Route::omit("state"),
    // The session.
    of("session_meta", check::session::session_meta, emit::settings::session_meta),
    of("world_state", check::session::world_state, emit::settings::world_state),
    of("compacted", check::shapes::compaction, emit::turns::compacted),
    of("retained_context/verified_answer", check::shapes::any, emit::messages::verified_answer),
    Route::omit("inter_agent_communication_metadata"),
    // Items for the model.
    of("response_item/local_shell_call", check::calls::local_shell_call, emit::tool_calls::local_shell_call),
    of("response_item/tool_search_call", check::calls::tool_search_call, emit::tool_calls::tool_search_call),
    of("response_item/tool_search_output", check::calls::tools, emit::tool_calls::tool_search_output),
    of("response_item/additional_tools", check::calls::tools, emit::tool_calls::additional_tools),
    of("response_item/web_search_call", check::calls::search_item, emit::provider_calls::web_search_item),
    of("response_item/image_generation_call", check::calls::generated_image, emit::provider_calls::generated_image),
    of("response_item/agent_message", check::messages::of_agents, emit::agents::agent_message),
    of("response_item/ghost_snapshot", check::shapes::any, emit::turns::ghost_snapshot),
    // Events for the screen.
    of("event_msg/user_message", check::messages::user_message, emit::message_events::user_message),
    of("event_msg/agent_reasoning_raw_content", check::messages::agent_reasoning, emit::message_events::agent_reasoning),
    of("event_msg/exec_command_end", check::calls::end, emit::ends::end),
    of("event_msg/patch_apply_end", check::calls::end, emit::ends::end),
    of("event_msg/mcp_tool_call_end", check::calls::end, emit::ends::end),
    of("event_msg/web_search_end", check::calls::search_event, emit::provider_calls::web_search_event),
    of("event_msg/image_generation_end", check::calls::generated_image, emit::provider_calls::generated_image),
    of("event_msg/dynamic_tool_call_request", check::calls::client_call, emit::nested_calls::client_call),
    of("event_msg/dynamic_tool_call_response", check::calls::end, emit::ends::end),
    of("event_msg/view_image_tool_call", check::calls::image_view, emit::nested_calls::image_view),
    Route::omit("event_msg/task_started"),
    of("event_msg/task_complete", check::messages::task_complete, emit::turns::task_complete),
    of("event_msg/turn_aborted", check::shapes::turn_aborted, emit::turns::turn_aborted),
    of("event_msg/error", check::shapes::notice, emit::turns::error),
    of("event_msg/context_compacted", check::shapes::compaction_mark, emit::turns::context_compacted),
    of("event_msg/thread_rolled_back", check::shapes::notice, emit::turns::thread_rolled_back),
    of("event_msg/undo_completed", check::shapes::notice, emit::turns::undo_completed),
    of("event_msg/thread_goal_updated", check::shapes::any, emit::turns::thread_goal_updated),
    of("event_msg/thread_name_updated", check::shapes::notice, emit::settings::thread_name_updated),
    of("event_msg/thread_settings_applied", check::session::thread_settings, emit::settings::thread_settings_applied),
    of("event_msg/guardian_assessment", check::calls::approval, emit::agents::approval_review),
    of("event_msg/entered_review_mode", check::shapes::review_begins, emit::agents::entered_review_mode),
    of("event_msg/exited_review_mode", check::shapes::review_ends, emit::agents::exited_review_mode),
    of("event_msg/sub_agent_activity", check::shapes::agent, emit::agents::sub_agent_activity),
    of("event_msg/collab_agent_spawn_end", check::shapes::agent, emit::agents::collab_event),
    of("event_msg/collab_agent_interaction_end", check::shapes::agent, emit::agents::collab_event),
    of("event_msg/collab_waiting_end", check::shapes::agent, emit::agents::collab_event),
    of("event_msg/collab_close_end", check::shapes::agent, emit::agents::collab_event),
    of("event_msg/collab_resume_end", check::shapes::agent, emit::agents::collab_event),
    // Completed items for the screen.
    of("event_msg/item_completed/AgentMessage", check::messages::agent_message_item, emit::message_events::agent_message_item),
    of("event_msg/item_completed/UserMessage", check::messages::user_message_item, emit::message_events::user_message_item),
    of("event_msg/item_completed/Reasoning", check::messages::reasoning_item, emit::message_events::reasoning_item),
    of("event_msg/item_completed/FileChange", check::calls::end, emit::ends::end),
    of("event_msg/item_completed/McpToolCall", check::calls::end, emit::ends::end),
    of("event_msg/item_completed/ImageView", check::calls::image_view, emit::nested_calls::image_view),
    of("event_msg/item_completed/ContextCompaction", check::shapes::compaction_mark, emit::turns::compaction_item),
    of("event_msg/item_completed/SubAgentActivity", check::shapes::agent, emit::agents::sub_agent_item),
    of("event_msg/item_completed/CollabAgentToolCall", check::shapes::agent, emit::agents::collab_item),
    of("event_msg/item_completed/WebSearch", check::calls::search_event, emit::provider_calls::web_search_event),
    of("event_msg/item_completed/ImageGeneration", check::calls::generated_image, emit::provider_calls::generated_image),
    of("event_msg/item_completed/DynamicToolCall", check::calls::end, emit::ends::end),
    of("event_msg/item_completed/Sleep", check::calls::sleep, emit::nested_calls::sleep),
    of("event_msg/item_completed/EnteredReviewMode", check::shapes::review_begins, emit::agents::entered_review_mode),
    of("event_msg/item_completed/ExitedReviewMode", check::shapes::review_ends, emit::agents::exited_review_mode),
    of("event_msg/item_completed/Plan", check::messages::plan_item, emit::message_events::plan_item),
    of("event_msg/item_completed/HookPrompt", check::messages::hook_prompt_item, emit::message_events::hook_prompt_item),
    // What `exec --json` prints.
    Route::omit("thread.started"),
    Route::omit("turn.started"),
    Route::omit("turn.completed"),
    of("turn.failed", check::shapes::any, emit::exec_stream::error),
    of("error", check::shapes::any, emit::exec_stream::error),
    of("item.completed/error", check::shapes::item, emit::exec_stream::error_item),
    of("item.completed/agent_message", check::shapes::item_text, emit::exec_stream::agent_message),
    of("item.completed/reasoning", check::shapes::item_text, emit::exec_stream::reasoning),
    of("item.started/todo_list", check::shapes::item, emit::exec_stream::todo_list),
    of("item.updated/todo_list", check::shapes::item, emit::exec_stream::todo_list),
    of("item.completed/todo_list", check::shapes::item, emit::exec_stream::todo_list),
    of("item.started/command_execution", check::shapes::item, emit::exec_stream::call_started),
    of("item.started/file_change", check::shapes::item, emit::exec_stream::call_started),
    of("item.started/mcp_tool_call", check::shapes::item, emit::exec_stream::call_started),
    of("item.started/collab_tool_call", check::shapes::item, emit::exec_stream::call_started),
    of("item.started/web_search", check::shapes::item, emit::exec_stream::call_started),
    of("item.completed/command_execution", check::shapes::item_completed, emit::exec_stream::call_completed),
    of("item.completed/file_change", check::shapes::item_completed, emit::exec_stream::call_completed),
    of("item.completed/mcp_tool_call", check::shapes::item_completed, emit::exec_stream::call_completed),
    of("item.completed/collab_tool_call", check::shapes::item_completed, emit::exec_stream::call_completed),
    of("item.completed/web_search", check::shapes::item_completed, emit::exec_stream::call_completed),
    // What it prints up to 0.42.
    Route::omit("msg/task_started"),
    Route::omit("msg/agent_reasoning_section_break"),
    Route::omit("msg/exec_command_output_delta"),
    Route::omit("msg/turn_diff"),
    of("msg/agent_message", check::shapes::event_message, emit::printed_events::answer),
    of("msg/agent_reasoning", check::shapes::event_text, emit::printed_events::reasoning),
    of("msg/agent_reasoning_raw_content", check::shapes::event_text, emit::printed_events::reasoning),
    of("msg/token_count", check::session::token_count, emit::usage::token_count),
    of("msg/error", check::shapes::event, emit::printed_events::error),
    of("msg/background_event", check::shapes::event, emit::printed_events::notice),
    of("msg/exec_command_begin", check::shapes::event, emit::printed_events::command_begun),
    of("msg/exec_command_end", check::shapes::command_ended, emit::printed_events::command_ended),
    of("msg/patch_apply_begin", check::shapes::event_of_call, emit::printed_events::patch_begun),
    of("msg/patch_apply_end", check::shapes::patch_ended, emit::printed_events::patch_ended),
    of("msg/mcp_tool_call_begin", check::shapes::mcp_begun, emit::printed_events::mcp_begun),
    of("msg/mcp_tool_call_end", check::shapes::mcp_ended, emit::printed_events::mcp_ended),
    of("msg/web_search_begin", check::shapes::event, emit::printed_events::search_begun),
    of("msg/web_search_end", check::shapes::event_of_call, emit::printed_events::search_ended),
];

/// What the steps do with the records of a row. `None` if they are omitted.
pub fn steps_of(row: u8) -> Option<Steps> {
    match RECORDS.get(usize::from(row))?.action {
        Action::Convert(steps) => Some(steps),
        Action::Omit => None,
    }
}

/// The row of a type, and the type: a prefix that ends with `/`, or nothing, and a name.
pub fn find(prefix: &str, name: &str) -> Option<(u8, &'static str)> {
    static INDEX: RouteIndex<{ RECORDS.len() }> = RouteIndex::of(RECORDS);
    let place = INDEX.place(RECORDS, prefix, name)?;
    Some((u8::try_from(place).ok()?, RECORDS.get(place)?.record))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codex::descriptor::DESCRIPTOR;
    use crate::codex::{members, omissions};

    fn action(record: &str) -> Option<Action<Steps>> {
        Route::find(RECORDS, record)
    }

    #[test]
    fn every_omitted_type_has_a_rule() {
        for row in RECORDS.iter().filter(|row| matches!(row.action, Action::Omit)) {
            assert!(DESCRIPTOR.ignored_record(row.record).is_some(), "{}", row.record);
        }
    }

    #[test]
    fn every_rule_that_no_handler_applies_has_a_row() {
        let applied = [
            omissions::TURN_END,
            omissions::NO_COUNTS,
            omissions::REVIEW_BEGUN,
            omissions::HEADER,
            omissions::SETTINGS,
            omissions::SETTINGS_EVENT,
            omissions::MESSAGE_MIRROR,
            omissions::REASONING_MIRROR,
            omissions::LAST_MESSAGE,
            omissions::SAME_COUNTS,
            omissions::COMPACTED,
            omissions::ITEM_COMPACTED,
            omissions::OUTPUT_CUT,
            omissions::ITEM_OUTPUT_MIRROR,
            omissions::EVENT_OUTPUT_MIRROR,
            omissions::IMAGE_VIEW,
            omissions::IMAGE_VIEW_EVENT,
            omissions::SEARCH_MIRROR,
            omissions::SEARCH_RESULT,
            omissions::IMAGE_GENERATED,
            omissions::CLIENT_CALL,
            omissions::CLIENT_OUTPUT_MIRROR,
            omissions::REPEATED,
            omissions::EXEC_SAME_LIST,
            omissions::SLEEP,
            omissions::PLAN,
            omissions::HOOK_PROMPT,
            omissions::ITEM_SEARCH,
        ]
        .map(|rule| rule.rule);
        for rule in omissions::RULES.iter().filter(|rule| rule.outcome().is_some() && !applied.contains(&rule.rule)) {
            assert!(matches!(action(rule.record), Some(Action::Omit)), "{}", rule.rule);
        }
    }

    #[test]
    fn every_type_has_its_members_in_each_form() {
        let table = members::MEMBERS.table().expect("the table compiles");
        let bare = RECORDS.iter().filter_map(|row| row.record.strip_prefix("response_item/"));
        for record in RECORDS.iter().map(|row| row.record).chain(bare).chain([""]) {
            assert!(table.record(record).is_some(), "{record}");
        }
    }

    #[test]
    fn a_type_is_found_by_its_prefix_and_name() {
        assert_eq!(find("event_msg/item_completed/", "Plan").map(|row| row.1), Some("event_msg/item_completed/Plan"));
        assert_eq!(find("", "turn_context").map(|row| row.1), Some("turn_context"));
        for (prefix, name) in [("event_msg/", "item_completed/Plan"), ("event_msg/", "message"), ("", "event_msg"), ("event_msg/", "")] {
            assert!(find(prefix, name).is_none(), "{prefix}{name}");
        }
    }

    #[test]
    fn each_type_has_one_row() {
        for (index, row) in RECORDS.iter().enumerate() {
            assert!(RECORDS[..index].iter().all(|earlier| earlier.record != row.record), "{}", row.record);
        }
    }
}
