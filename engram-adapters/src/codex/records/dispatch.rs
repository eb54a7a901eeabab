//! The record table: what happens to a record of each type, and how a line is matched with its row.

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader};
use engram_core::ledger::Outcome;

use crate::shared::record_facts::{Repetition, fact_of_members};
use crate::shared::route::{Action, Route, RouteIndex};
use crate::shared::time::tape_time;
use crate::shared::value::{Field, Value, non_empty_text, raw_str, text};

use super::{agents, exec_stream, message_events, messages, printed_events, provider_calls, settings, tool_calls, turns, undecided, usage};
use crate::codex::descriptor::DESCRIPTOR;
use crate::codex::members;
use crate::codex::omissions;
use crate::codex::record::{Container, Record};
use crate::codex::results::{nested_calls, outputs, screen_end};
use crate::codex::schema::{Bare, Line, is_exec_type, is_line_type};
use crate::codex::state::session_state::SessionState;

/// Members of an event that change when it is written again.
const TIMES: &[&str] = &["started_at_ms", "completed_at_ms"];

/// Converts a record of one type.
pub type Handler = fn(&mut SessionState, &Record<'_>, &mut Emitter<'_>) -> Result<Outcome, Fault>;

/// The row of a type is the same in every container form: a bare `message` is a `response_item/message`.
pub static RECORDS: &[Route<Handler>] = &[
    // The most frequent types.
    Route::convert("response_item/function_call", tool_calls::function_call),
    Route::convert("response_item/function_call_output", outputs::call_output),
    Route::convert("event_msg/token_count", usage::token_count),
    Route::convert("response_item/message", messages::message),
    Route::convert("response_item/reasoning", messages::reasoning),
    Route::convert("response_item/custom_tool_call", tool_calls::custom_tool_call),
    Route::convert("response_item/custom_tool_call_output", outputs::call_output),
    Route::convert("event_msg/item_completed/CommandExecution", screen_end::command_item),
    Route::convert("event_msg/agent_message", message_events::agent_message),
    Route::convert("event_msg/agent_reasoning", message_events::agent_reasoning),
    Route::convert("token_usage_record", usage::token_usage_record),
    Route::convert("turn_context", settings::turn_context),
    Route::omit("state"),
    // The session.
    Route::convert("session_meta", settings::session_meta),
    Route::convert("world_state", settings::world_state),
    Route::convert("compacted", turns::compacted),
    Route::convert("retained_context/verified_answer", messages::verified_answer),
    Route::omit("inter_agent_communication_metadata"),
    // Items for the model.
    Route::convert("response_item/local_shell_call", tool_calls::local_shell_call),
    Route::convert("response_item/tool_search_call", tool_calls::tool_search_call),
    Route::convert("response_item/tool_search_output", tool_calls::tool_search_output),
    Route::convert("response_item/additional_tools", tool_calls::additional_tools),
    Route::convert("response_item/web_search_call", provider_calls::web_search_item),
    Route::convert("response_item/image_generation_call", provider_calls::generated_image),
    Route::convert("response_item/agent_message", agents::agent_message),
    Route::convert("response_item/ghost_snapshot", turns::ghost_snapshot),
    // Events for the screen.
    Route::convert("event_msg/user_message", message_events::user_message),
    Route::convert("event_msg/agent_reasoning_raw_content", message_events::agent_reasoning),
    Route::convert("event_msg/exec_command_end", screen_end::command_event),
    Route::convert("event_msg/patch_apply_end", screen_end::patch_event),
    Route::convert("event_msg/mcp_tool_call_end", screen_end::mcp_event),
    Route::convert("event_msg/web_search_end", provider_calls::web_search_event),
    Route::convert("event_msg/image_generation_end", provider_calls::generated_image),
    Route::convert("event_msg/dynamic_tool_call_request", nested_calls::client_call),
    Route::convert("event_msg/dynamic_tool_call_response", screen_end::client_event),
    Route::convert("event_msg/view_image_tool_call", nested_calls::image_view),
    Route::omit("event_msg/task_started"),
    Route::convert("event_msg/task_complete", turns::task_complete),
    Route::convert("event_msg/turn_aborted", turns::turn_aborted),
    Route::convert("event_msg/error", turns::error),
    Route::convert("event_msg/context_compacted", turns::context_compacted),
    Route::convert("event_msg/thread_rolled_back", turns::thread_rolled_back),
    Route::convert("event_msg/undo_completed", turns::undo_completed),
    Route::convert("event_msg/thread_goal_updated", turns::thread_goal_updated),
    Route::convert("event_msg/thread_name_updated", settings::thread_name_updated),
    Route::convert("event_msg/thread_settings_applied", settings::thread_settings_applied),
    Route::convert("event_msg/guardian_assessment", agents::approval_review),
    Route::convert("event_msg/entered_review_mode", agents::entered_review_mode),
    Route::convert("event_msg/exited_review_mode", agents::exited_review_mode),
    Route::convert("event_msg/sub_agent_activity", agents::sub_agent_activity),
    Route::convert("event_msg/collab_agent_spawn_end", agents::collab_event),
    Route::convert("event_msg/collab_agent_interaction_end", agents::collab_event),
    Route::convert("event_msg/collab_waiting_end", agents::collab_event),
    Route::convert("event_msg/collab_close_end", agents::collab_event),
    Route::convert("event_msg/collab_resume_end", agents::collab_event),
    // Completed items for the screen.
    Route::convert("event_msg/item_completed/AgentMessage", message_events::agent_message_item),
    Route::convert("event_msg/item_completed/UserMessage", message_events::user_message_item),
    Route::convert("event_msg/item_completed/Reasoning", message_events::reasoning_item),
    Route::convert("event_msg/item_completed/FileChange", screen_end::patch_item),
    Route::convert("event_msg/item_completed/McpToolCall", screen_end::mcp_item),
    Route::convert("event_msg/item_completed/ImageView", nested_calls::image_view),
    Route::convert("event_msg/item_completed/ContextCompaction", turns::compaction_item),
    Route::convert("event_msg/item_completed/SubAgentActivity", agents::sub_agent_item),
    Route::convert("event_msg/item_completed/CollabAgentToolCall", agents::collab_item),
    Route::convert("event_msg/item_completed/WebSearch", provider_calls::web_search_event),
    Route::convert("event_msg/item_completed/ImageGeneration", provider_calls::generated_image),
    Route::convert("event_msg/item_completed/DynamicToolCall", screen_end::client_item),
    Route::convert("event_msg/item_completed/Sleep", nested_calls::sleep),
    Route::convert("event_msg/item_completed/EnteredReviewMode", agents::entered_review_mode),
    Route::convert("event_msg/item_completed/ExitedReviewMode", agents::exited_review_mode),
    Route::convert("event_msg/item_completed/Plan", message_events::plan_item),
    Route::convert("event_msg/item_completed/HookPrompt", message_events::hook_prompt_item),
    // What `exec --json` prints.
    Route::omit("thread.started"),
    Route::omit("turn.started"),
    Route::omit("turn.completed"),
    Route::convert("turn.failed", exec_stream::error),
    Route::convert("error", exec_stream::error),
    Route::convert("item.completed/error", exec_stream::error_item),
    Route::convert("item.completed/agent_message", exec_stream::agent_message),
    Route::convert("item.completed/reasoning", exec_stream::reasoning),
    Route::convert("item.started/todo_list", exec_stream::todo_list),
    Route::convert("item.updated/todo_list", exec_stream::todo_list),
    Route::convert("item.completed/todo_list", exec_stream::todo_list),
    Route::convert("item.started/command_execution", exec_stream::call_started),
    Route::convert("item.started/file_change", exec_stream::call_started),
    Route::convert("item.started/mcp_tool_call", exec_stream::call_started),
    Route::convert("item.started/collab_tool_call", exec_stream::call_started),
    Route::convert("item.started/web_search", exec_stream::call_started),
    Route::convert("item.completed/command_execution", exec_stream::call_completed),
    Route::convert("item.completed/file_change", exec_stream::call_completed),
    Route::convert("item.completed/mcp_tool_call", exec_stream::call_completed),
    Route::convert("item.completed/collab_tool_call", exec_stream::call_completed),
    Route::convert("item.completed/web_search", exec_stream::call_completed),
    // What it prints up to 0.42.
    Route::omit("msg/task_started"),
    Route::omit("msg/agent_reasoning_section_break"),
    Route::omit("msg/exec_command_output_delta"),
    Route::omit("msg/turn_diff"),
    Route::convert("msg/agent_message", printed_events::answer),
    Route::convert("msg/agent_reasoning", printed_events::reasoning),
    Route::convert("msg/agent_reasoning_raw_content", printed_events::reasoning),
    Route::convert("msg/token_count", printed_events::token_count),
    Route::convert("msg/error", printed_events::error),
    Route::convert("msg/background_event", printed_events::notice),
    Route::convert("msg/exec_command_begin", printed_events::command_begun),
    Route::convert("msg/exec_command_end", printed_events::command_ended),
    Route::convert("msg/patch_apply_begin", printed_events::patch_begun),
    Route::convert("msg/patch_apply_end", printed_events::patch_ended),
    Route::convert("msg/mcp_tool_call_begin", printed_events::mcp_begun),
    Route::convert("msg/mcp_tool_call_end", printed_events::mcp_ended),
    Route::convert("msg/web_search_begin", printed_events::search_begun),
    Route::convert("msg/web_search_end", printed_events::search_ended),
];

/// The outcome of a record that gives no event.
pub fn omitted(record: &'static str) -> Result<Outcome, Fault> {
    DESCRIPTOR.ignored_record(record).ok_or_else(|| Fault::unrecognized(record))
}

/// Converts one line, in either form.
pub fn convert_line(state: &mut SessionState, line: Value<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let envelope = Line::strict(line, "")?;
    if let Some(payload) = envelope.payload() {
        return convert_envelope(state, &Enveloped::new(line, envelope, payload), out);
    }
    if is_line_type(raw_str(envelope.kind())) {
        return Err(Fault::malformed("/payload", "an object", "nothing"));
    }
    if is_exec_type(raw_str(envelope.kind())) {
        return convert_exec_line(state, line, out);
    }
    if let Some(msg) = line.first_member("msg").filter(|msg| envelope.kind().is_none() && msg.is_object()) {
        return convert_printed_event(state, line, msg, out);
    }
    if raw_str(line.first_member("record_type")) == "state" {
        members::check("state", line, Pointer::Root, out)?;
        return omitted("state");
    }
    convert_bare(state, line, &Bare::strict(line, "")?, out)
}

/// A line with an envelope, and its row in the table.
struct Enveloped<'a> {
    root: Value<'a>,
    line: Line<'a>,
    line_type: &'a str,
    payload: Value<'a>,
    /// The item of an event for the screen.
    item: Field<'a>,
    is_item_event: bool,
    prefix: &'static str,
    name: &'a str,
    row: Option<&'static Route<Handler>>,
}

impl<'a> Enveloped<'a> {
    fn new(root: Value<'a>, line: Line<'a>, payload: Value<'a>) -> Self {
        let line_type = raw_str(line.kind());
        let payload_type = raw_str(payload.first_member("type"));
        let is_item_event = line_type == "event_msg" && payload_type == "item_completed";
        let item = if is_item_event { payload.first_member("item") } else { None };
        let (prefix, name) = match line_type {
            "response_item" => ("response_item/", payload_type),
            "event_msg" if is_item_event => ("event_msg/item_completed/", raw_str(item.and_then(|item| item.first_member("type")))),
            "event_msg" => ("event_msg/", payload_type),
            "retained_context" => ("retained_context/", payload_type),
            other => ("", other),
        };
        let row = if prefix.is_empty() && !is_line_type(name) { None } else { find(prefix, name) };
        Enveloped { root, line, line_type, payload, item, is_item_event, prefix, name, row }
    }

    fn id(&self) -> Field<'a> {
        if self.line_type == "response_item" { self.payload.first_member("id") } else { self.item.and_then(|item| item.first_member("id")) }
    }
}

fn convert_envelope(state: &mut SessionState, line: &Enveloped<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    if let Some(row) = line.row
        && is_repeated(state, line.root)
    {
        return Ok(Outcome::Duplicate { record: row.record, rule: omissions::REPEATED.rule });
    }
    if let (Some(row), Some(id)) = (line.row, non_empty_text(line.id()))
        && is_repeated_item(state, (line.line_type, id.raw()), line.line.timestamp(), line.payload)
    {
        members::check(row.record, line.root, Pointer::Root, out)?;
        return Ok(Outcome::Duplicate { record: row.record, rule: omissions::REPEATED.rule });
    }
    convert_new(state, line, out)
}

/// Converts a line that waited until the message before it was decided.
pub fn convert_waiting(state: &mut SessionState, line: Value<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let envelope = Line::strict(line, "")?;
    match envelope.payload() {
        Some(payload) => convert_new(state, &Enveloped::new(line, envelope, payload), out),
        None => convert_line(state, line, out),
    }
}

/// Converts a line that repeats no other.
fn convert_new(state: &mut SessionState, line: &Enveloped<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    if undecided::waits(state, line.root, (line.line_type, line.payload), convert_waiting, out)? {
        return Ok(Outcome::Pending);
    }
    let (root, payload, is_item_event) = (line.root, line.payload, line.is_item_event);
    let t = tape_time(line.line.timestamp());
    state.searches.begin_record();
    if line.line_type == "session_meta" {
        state.replay.begin_thread(payload.first_member("id"), payload.first_member("subagent_history_start_ordinal"));
    }
    let foreign = payload.first_member("thread_id").filter(|_| is_item_event).and_then(Value::text);
    let foreign = foreign.map(|id| id.decode_lossy()).filter(|id| state.thread.is_foreign(id));
    let replay = state.replay.is_replay(line.line.ordinal(), payload, t.as_deref()) || foreign.is_some();
    state.thread.set_source(foreign.as_deref(), out);
    out.set_header(RecordHeader { t: t.as_deref(), id: text(line.id()), replay });
    let (value, at) = if is_item_event {
        let Some(item) = line.item.filter(|item| item.is_object()) else {
            return Err(Fault::malformed("/payload/item", "an item", "nothing"));
        };
        (item, "/payload/item")
    } else {
        (payload, "/payload")
    };
    let row = line.row.ok_or_else(|| Fault::unrecognized(&format!("{}{}", line.prefix, line.name)))?;
    members::check(row.record, root, Pointer::Root, out)?;
    let is_foreign = foreign.is_some();
    let record = Record { name: row.record, value, at, t: t.as_deref(), replay, is_foreign, container: Container::Envelope };
    convert_record(state, row, &record, out)
}

/// True if all bytes of the line, with its time, were read before.
fn is_repeated(state: &mut SessionState, root: Value<'_>) -> bool {
    root.first_member("timestamp").is_some() && !state.records.insert(root.raw())
}

/// True if an item with this id has stated the same before, perhaps at another time.
fn is_repeated_item(state: &mut SessionState, id: (&str, &str), time: Field<'_>, payload: Value<'_>) -> bool {
    let fact = fact_of_members(payload, TIMES);
    state.items.begin(id, raw_str(time), &[fact]) == Repetition::Whole
}

/// A line of `exec --json`: without a time, and without an id of its own.
fn convert_exec_line(state: &mut SessionState, line: Value<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let (kind, item) = (raw_str(line.first_member("type")), line.first_member("item").filter(|item| item.is_object()));
    let item_type = raw_str(item.and_then(|item| item.first_member("type")));
    let row = match kind {
        "item.started" => find("item.started/", item_type),
        "item.updated" => find("item.updated/", item_type),
        "item.completed" => find("item.completed/", item_type),
        kind => find("", kind),
    };
    let row = row.ok_or_else(|| Fault::unrecognized(&if item.is_some() { format!("{kind}/{item_type}") } else { kind.to_owned() }))?;
    if item.is_some() && !state.records.insert(line.raw()) {
        return Ok(Outcome::Duplicate { record: row.record, rule: omissions::REPEATED.rule });
    }
    out.set_header(RecordHeader::default());
    members::check(row.record, line, Pointer::Root, out)?;
    let record = Record { name: row.record, value: line, at: "", t: None, replay: false, is_foreign: false, container: Container::Stream };
    convert_record(state, row, &record, out)
}

/// A line `{"id":..,"msg":{..}}` of what `exec --json` prints. Calls have ids, and totals grow, so their lines can be
/// recognised when they are repeated.
fn convert_printed_event(state: &mut SessionState, line: Value<'_>, msg: Value<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let kind = raw_str(msg.first_member("type"));
    let row = find("msg/", kind).ok_or_else(|| Fault::unrecognized(&format!("msg/{kind}")))?;
    let totals = msg.first_member("info").filter(|info| info.is_object());
    if msg.first_member("call_id").or(totals).is_some() && row.action != Action::Omit && !state.records.insert(line.raw()) {
        return Ok(Outcome::Duplicate { record: row.record, rule: omissions::REPEATED.rule });
    }
    out.set_header(RecordHeader::default());
    members::check(row.record, line, Pointer::Root, out)?;
    let record =
        Record { name: row.record, value: msg, at: "/msg", t: None, replay: false, is_foreign: false, container: Container::Stream };
    convert_record(state, row, &record, out)
}

/// A line of what `exec --json` prints before its events, if it is one: the settings or the prompt.
fn convert_printed_header(state: &mut SessionState, line: Value<'_>, out: &mut Emitter<'_>) -> Option<Result<Outcome, Fault>> {
    let prompt = line.first_member("prompt");
    if prompt.is_none() && line.first_member("workdir").is_none() {
        return None;
    }
    out.set_header(RecordHeader::default());
    let checked = members::check("", line, Pointer::Root, out);
    Some(checked.and_then(|()| match prompt {
        Some(prompt) => printed_events::prompt(state, prompt, out),
        None => printed_events::settings(state, line, out),
    }))
}

fn convert_bare(state: &mut SessionState, line: Value<'_>, bare: &Bare<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    if bare.kind().is_none()
        && bare.id().is_none()
        && let Some(outcome) = convert_printed_header(state, line, out)
    {
        return outcome;
    }
    let t = tape_time(bare.timestamp());
    let row = find("response_item/", raw_str(bare.kind()));
    if non_empty_text(bare.id()).is_some() && !state.records.insert(line.raw()) {
        let record = row.map_or("", |row| row.record.strip_prefix("response_item/").unwrap_or(row.record));
        return Ok(Outcome::Duplicate { record, rule: omissions::REPEATED.rule });
    }
    state.searches.begin_record();
    out.set_header(RecordHeader { t: t.as_deref(), id: text(bare.id()), replay: false });
    if bare.kind().is_none() && bare.id().is_some() && t.is_some() {
        members::check("", line, Pointer::Root, out)?;
        return settings::bare_header(state, bare.instructions(), bare.git(), "/instructions", out);
    }
    convert_item(state, line, "", Container::Bare, out)
}

/// Converts a response item at `at` without an envelope.
pub fn convert_item(
    state: &mut SessionState,
    item: Value<'_>,
    at: &str,
    container: Container,
    out: &mut Emitter<'_>,
) -> Result<Outcome, Fault> {
    let name = raw_str(item.first_member("type"));
    let row = find("response_item/", name).ok_or_else(|| Fault::unrecognized(name))?;
    let record = Record { name: row.record, value: item, at, t: None, replay: false, is_foreign: false, container };
    members::check(record.type_name(), item, record.pointer(), out)?;
    convert_record(state, row, &record, out)
}

fn convert_record(state: &mut SessionState, row: &Route<Handler>, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    match row.action {
        Action::Convert(handler) => handler(state, record, out),
        Action::Omit => omitted(row.record),
    }
}

/// The row of a type: a prefix that ends with `/`, or nothing, and a name.
fn find(prefix: &str, name: &str) -> Option<&'static Route<Handler>> {
    static INDEX: RouteIndex<{ RECORDS.len() }> = RouteIndex::of(RECORDS);
    INDEX.find(RECORDS, prefix, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(record: &str) -> Option<Action<Handler>> {
        Route::find(RECORDS, record)
    }

    #[test]
    fn every_omitted_type_has_a_rule() {
        for row in RECORDS.iter().filter(|row| row.action == Action::Omit) {
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
            assert_eq!(action(rule.record), Some(Action::Omit), "{}", rule.rule);
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
        assert_eq!(find("event_msg/item_completed/", "Plan").map(|row| row.record), Some("event_msg/item_completed/Plan"));
        assert_eq!(find("", "turn_context").map(|row| row.record), Some("turn_context"));
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
