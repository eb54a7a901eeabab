//! Every rule by which a record or a field is left out of a tape, and the record types that are known.

use engram_core::descriptor::{Omission, OmissionRule};
use engram_core::ledger::Outcome;

/// A record without content.
pub(super) fn bookkeeping(record: &'static str, rule: &'static str) -> Outcome {
    Outcome::Bookkeeping { record, rule }
}

/// A record that says again what another says.
pub(super) fn duplicate(record: &'static str, rule: &'static str) -> Outcome {
    Outcome::Duplicate { record, rule }
}

macro_rules! rules {
    ($($($name:ident =)? $rule:literal, $omission:ident, $record:literal, $pointer:expr, $reason:literal;)*) => {
        $($(pub(super) const $name: &str = $rule;)?)*
        /// Every rule.
        pub(super) static RULES: &[OmissionRule] = &[$(OmissionRule {
            rule: $rule,
            omission: Omission::$omission,
            record: $record,
            pointer: $pointer,
            reason: $reason,
        }),*];
    };
}

rules! {
    STATE = "state", Bookkeeping, "state", None,
        "an empty mark between requests (0.8: with the id of the last response)";
    TURN_START = "turn.start", Bookkeeping, "event_msg/task_started", None,
        "a turn begins: its id, the size of the context window, times of the clock";
    TURN_END = "turn.end", Bookkeeping, "event_msg/task_complete", None,
        "a turn ends without an answer or error of its own: its id and times of the clock";
    NO_COUNTS = "tokens.none", Bookkeeping, "event_msg/token_count", None,
        "rate limits without counts";
    DELIVERY = "agents.delivery", Bookkeeping, "inter_agent_communication_metadata", None,
        "says whether the message between agents that follows begins a turn";
    ASSESSMENT_BEGUN = "assessment.begun", Bookkeeping, "event_msg/guardian_assessment", None,
        "a call is being judged: the verdict has a record of its own";
    HEADER = "settings.header", Duplicate, "session_meta", None,
        "the thread's own header again, with a flag that a client has set since (0.140 to 0.146)";
    SETTINGS = "settings.same", Duplicate, "turn_context", None,
        "model, directory and instructions are those of the last turn";
    SETTINGS_EVENT = "settings.applied", Duplicate, "event_msg/thread_settings_applied", None,
        "model, provider and directory are those that session_meta or turn_context state";
    MESSAGE_TWIN = "message.twin", Duplicate, "*essage", None,
        "the same message as response_item and as event_msg/user_message, event_msg/agent_message or an item: the first to come is mapped; the end of a response item that cites memories is a list in the event";
    REASONING_TWIN = "reasoning.twin", Duplicate, "*easoning*", None,
        "the same reasoning as response_item/reasoning and as an event or item: the first to come is mapped; an item without text adds nothing to it";
    LAST_MESSAGE = "turn.last_message", Duplicate, "event_msg/task_complete", None,
        "last_agent_message is the last answer of the turn, which has its own record";
    SAME_COUNTS = "tokens.same", Duplicate, "*token_*", None,
        "the counts of the record of counts before it: 0.44 to 0.125 write each token_count twice, 0.160 and later each beside a token_usage_record";
    COMPACTED = "compaction.mark", Duplicate, "event_msg/context_compacted", None,
        "marks the compaction whose record is `compacted`";
    ITEM_COMPACTED = "compaction.item", Duplicate, "event_msg/item_completed/ContextCompaction", None,
        "marks the compaction whose record is `compacted`";
    OUTPUT_CUT = "output.cut", Duplicate, "response_item/*_output", None,
        "the output for the model is a cut rendering of the text of the item or event that ended the call";
    ITEM_OUTPUT_TWIN = "output.item", Duplicate, "event_msg/item_completed/*", None,
        "the call's output says what the item says; exit code, status and duration stand in its result";
    EVENT_OUTPUT_TWIN = "output.event", Duplicate, "event_msg/*_end", None,
        "the call's output says what the event says; exit code, status and duration stand in its result";
    IMAGE_VIEW = "image.view", Duplicate, "event_msg/item_completed/ImageView", None,
        "the path is an argument of the view_image call that it belongs to";
    SEARCH_TWIN = "search.twin", Duplicate, "response_item/web_search_call", None,
        "the web search of the event directly before it";
    SEARCH_RESULT = "search.result", Duplicate, "event_msg/web_search_end", None,
        "the call and its output say what was searched for and found";
    IMAGE_MADE = "image.made", Duplicate, "*/image_generation_*", None,
        "the same image as event and as response item: the first to come is mapped";
    IMAGE_VIEW_EVENT = "image.view_event", Duplicate, "event_msg/view_image_tool_call", None,
        "the path is an argument of the view_image call that it belongs to";
    CLIENT_CALL = "client.call", Duplicate, "event_msg/dynamic_tool_call_request", None,
        "the call as the client gets it";
    CLIENT_OUTPUT_TWIN = "client.output", Duplicate, "event_msg/dynamic_tool_call_response", None,
        "the call's output says what the event says; status and duration stand in its result";
    PLAN = "plan.answer", Duplicate, "event_msg/item_completed/Plan", None,
        "the plan stands in the answer that proposes it";

    "search.screen", Field, "event_msg/web_search_end", Some("/payload/query"),
        "the action, spelled for the screen";
    "search.screen", Field, "event_msg/web_search_end", Some("/payload/results/**"),
        "title, address and excerpt of each page stand in the result; the rest is the screen's";
    "image.data", Opaque, "*/image_generation_*", Some("/payload/result"),
        "an image, kept as its hash";
    "assessment.action", Field, "event_msg/guardian_assessment", Some("/payload/action/**"),
        "what is judged: the call says it, or a notice where there is none";
    "review.words", Field, "event_msg/entered_review_mode", Some("/payload/target/**"),
        "what is reviewed: the notice says it in words";
    "review.words", Field, "event_msg/exited_review_mode", Some("/payload/review_output/**"),
        "the review, which the answer that follows says in words";
    "agents.prompt", Field, "event_msg/collab_*_end", Some("/payload/prompt"),
        "the prompt for the agent, which the call's arguments say";
    "agents.states", Field, "event_msg/collab_*_end", Some("/payload/status/**"),
        "the state of the agent, which the call's output says";
    "agents.states", Field, "event_msg/collab_*_end", Some("/payload/statuses/**"),
        "the state of the agents, which the call's output says";
    "agents.states", Field, "event_msg/collab_*_end", Some("/payload/agent_statuses/**"),
        "the state of the agents, which the call's output says";
    "snapshot.files", Field, "response_item/ghost_snapshot", Some("/payload/ghost_commit/**"),
        "files that were there before the snapshot and are not in it";
    "client.name", Field, "session_meta", Some("/payload/originator"),
        "the name of the program that runs the harness";
    "tools.dynamic", Field, "session_meta", Some("/payload/dynamic_tools/**"),
        "descriptions of tools that the client offers are kept as their hash";
    "settings.sandbox", Field, "turn_context", Some("/payload/workspace_roots/**"),
        "directories that may be worked in, beside the current one";
    "settings.sandbox", Field, "turn_context", Some("/payload/permission_profile/**"),
        "what may be read and written: rules of the sandbox";
    "settings.sandbox", Field, "turn_context", Some("/payload/file_system_sandbox_policy/**"),
        "what may be read and written: rules of the sandbox";
    "settings.sandbox", Field, "event_msg/thread_settings_applied", Some("/payload/thread_settings/permission_profile/**"),
        "what may be read and written: rules of the sandbox";
    "prompt.system", Field, "session_meta", Some("/payload/base_instructions/**"),
        "the harness's own system prompt is kept as its hash";
    "tools.offered", Field, "response_item/additional_tools", Some("/payload/tools/**"),
        "the harness's own tool descriptions are kept as their hash";
    "tools.found", Field, "response_item/tool_search_output", Some("/payload/tools/**"),
        "tool descriptions that were found are kept as their hash";
    "world.state", Field, "world_state", Some("/payload/state/**"),
        "the harness's own state behind its messages is kept as its hash; instruction files keep their text";
    "compaction.history", Field, "compacted", Some("/payload/replacement_history/**"),
        "the history that the model sees from here on: the summary and earlier messages, which have their own records";
    "edit.changes", Field, "event_msg/item_completed/FileChange", Some("/payload/item/changes/**"),
        "applied changes are code.edit events with hashes; the text stands in the call's patch";
    "edit.patch_end", Field, "event_msg/patch_apply_end", Some("/payload/changes/**"),
        "applied changes are code.edit events with hashes; the text stands in the call's patch";
    "edit.item_stdout", Field, "event_msg/item_completed/FileChange", Some("/payload/item/stdout"),
        "what `apply_patch` said, which the call's output says";
    "edit.event_stdout", Field, "event_msg/patch_apply_end", Some("/payload/stdout"),
        "what `apply_patch` said, which the call's output says";
    "command.item", Field, "event_msg/item_completed/CommandExecution", Some("/payload/item/command/**"),
        "the command of the call, as it was handed to the shell";
    "command.parsed", Field, "event_msg/item_completed/CommandExecution", Some("/payload/item/parsed_cmd/**"),
        "the harness's guess at what the command does, for the screen";
    "command.formatted", Field, "event_msg/item_completed/CommandExecution", Some("/payload/item/formatted_output"),
        "aggregated_output as it is cut for the model";
    "command.event", Field, "event_msg/exec_command_end", Some("/payload/command/**"),
        "the command of the call, as it was handed to the shell";
    "command.event_parsed", Field, "event_msg/exec_command_end", Some("/payload/parsed_cmd/**"),
        "the harness's guess at what the command does, for the screen";
    "mcp.structured", Field, "event_msg/mcp_tool_call_end", Some("/payload/result/Ok/structuredContent/**"),
        "a server's structured answer: it stands in the result as the JSON that the model gets";
    "mcp.structured", Field, "event_msg/item_completed/McpToolCall", Some("/payload/item/result/structuredContent/**"),
        "a server's structured answer: it stands in the result as the JSON that the model gets";
    "agents.states", Field, "event_msg/item_completed/CollabAgentToolCall", Some("/payload/item/agents_states/**"),
        "the state of the agents, which the call's output says";
    "attachment.image", Opaque, "*", Some("/payload/content/*/image_url"),
        "an image, kept as its hash";
    "attachment.bare_image", Opaque, "*", Some("/content/*/image_url"),
        "an image, kept as its hash";
    "attachment.output", Opaque, "response_item/*_output", Some("/payload/output/*/image_url"),
        "an image, kept as its hash";
    "agents.encrypted", Opaque, "response_item/agent_message", Some("/payload/content/*/encrypted_content"),
        "only the provider can read it";
    "reasoning.encrypted", Opaque, "*reasoning", Some("/payload/encrypted_content"),
        "only the provider can read it";
    "reasoning.bare_encrypted", Opaque, "reasoning", Some("/encrypted_content"),
        "only the provider can read it";
}

/// The types of envelope lines, each of them Codex's own word.
const ENVELOPE_TYPES: [&str; 8] = [
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
    "world_state",
    "token_usage_record",
    "inter_agent_communication_metadata",
];

/// True for the type of an envelope line.
pub(super) fn is_line_type(kind: &str) -> bool {
    ENVELOPE_TYPES.contains(&kind)
}
