//! Every rule by which a record or a field is omitted from a tape, and why that loses nothing.

use engram_core::descriptor::OmissionRule;

/// An empty marker line of the bare form.
pub(super) const STATE: OmissionRule =
    OmissionRule::bookkeeping("state", "state", "an empty marker between requests (0.8: with the id of the last response)");
/// The end of a turn without content.
pub(super) const TURN_END: OmissionRule = OmissionRule::bookkeeping(
    "turn.end",
    "event_msg/task_complete",
    "a turn ends without an answer or error of its own: its id and clock times",
);
/// Rate limits alone.
pub(super) const NO_COUNTS: OmissionRule = OmissionRule::bookkeeping("tokens.none", "*/token_count", "rate limits without token counts");
/// An approval review that has begun.
pub(super) const REVIEW_BEGUN: OmissionRule = OmissionRule::bookkeeping(
    "assessment.begun",
    "event_msg/guardian_assessment",
    "a call is under review: the verdict has its own record",
);
/// A record that was read before.
pub(super) const REPEATED: OmissionRule =
    OmissionRule::duplicate("record.repeated", "*", "all bytes of the record, its id or its time among them, were read before");
/// The own header again, unchanged.
pub(super) const HEADER: OmissionRule = OmissionRule::duplicate(
    "settings.header",
    "session_meta",
    "the thread's own header repeated, with a flag that a client has set since (0.140 to 0.146)",
);
/// Settings of a turn, unchanged.
pub(super) const SETTINGS: OmissionRule =
    OmissionRule::duplicate("settings.same", "turn_context", "model, directory and instructions are those of the last turn");
/// Settings of the thread, unchanged.
pub(super) const SETTINGS_EVENT: OmissionRule = OmissionRule::duplicate(
    "settings.applied",
    "event_msg/thread_settings_applied",
    "model, provider and directory are those in session_meta or turn_context",
);
/// The second record of a message.
pub(super) const MESSAGE_MIRROR: OmissionRule = OmissionRule::duplicate(
    "message.twin",
    "*essage",
    "the same message is recorded as response_item and as event_msg/user_message, event_msg/agent_message or an item: the first one is mapped; the citation list at the end of a response item is a field of the event",
);
/// The second record of a reasoning.
pub(super) const REASONING_MIRROR: OmissionRule = OmissionRule::duplicate(
    "reasoning.twin",
    "*easoning*",
    "the same reasoning is recorded as response_item/reasoning and as an event or item: the first one is mapped; an item without text adds nothing to it",
);
/// The last answer of a turn, repeated at its end.
pub(super) const LAST_MESSAGE: OmissionRule = OmissionRule::duplicate(
    "turn.last_message",
    "event_msg/task_complete",
    "last_agent_message is the last answer of the turn, which has its own record",
);
/// Token counts, unchanged.
pub(super) const SAME_COUNTS: OmissionRule = OmissionRule::duplicate(
    "tokens.same",
    "*token_*",
    "the same counts as in the previous record of counts: 0.44 to 0.130 write each token_count twice, 0.160 and later write each next to a token_usage_record",
);
/// The mark of a compaction, as an event.
pub(super) const COMPACTED: OmissionRule =
    OmissionRule::duplicate("compaction.mark", "event_msg/context_compacted", "marks the compaction whose record is `compacted`");
/// The mark of a compaction, as an item.
pub(super) const ITEM_COMPACTED: OmissionRule = OmissionRule::duplicate(
    "compaction.item",
    "event_msg/item_completed/ContextCompaction",
    "marks the compaction whose record is `compacted`",
);
/// A cut output of which the end has the full text.
pub(super) const OUTPUT_CUT: OmissionRule = OmissionRule::duplicate(
    "output.cut",
    "response_item/*_output",
    "the output for the model is a truncated copy of the text of the item or event that ended the call",
);
/// The end of a call as an item.
pub(super) const ITEM_OUTPUT_MIRROR: OmissionRule = OmissionRule::duplicate(
    "output.item",
    "event_msg/item_completed/*",
    "the call's output has the text of the item; exit code, status and duration are in its result",
);
/// The end of a call as an event.
pub(super) const EVENT_OUTPUT_MIRROR: OmissionRule = OmissionRule::duplicate(
    "output.event",
    "event_msg/*_end",
    "the call's output has the text of the event; exit code, status and duration are in its result",
);
/// A viewed image as an item.
pub(super) const IMAGE_VIEW: OmissionRule = OmissionRule::duplicate(
    "image.view",
    "event_msg/item_completed/ImageView",
    "the path is an argument of the view_image call that it belongs to",
);
/// A sleep that has a call.
pub(super) const SLEEP: OmissionRule =
    OmissionRule::duplicate("sleep.item", "event_msg/item_completed/Sleep", "how long the call sleeps is in its arguments");
/// The plan in an answer.
pub(super) const PLAN: OmissionRule =
    OmissionRule::duplicate("plan.answer", "event_msg/item_completed/Plan", "the plan is in the answer that proposes it");
/// The text of a hook.
pub(super) const HOOK_PROMPT: OmissionRule = OmissionRule::duplicate(
    "hook.prompt",
    "event_msg/item_completed/HookPrompt",
    "the text of the hook is in the message directly before it",
);
/// The response item of a web search.
pub(super) const SEARCH_MIRROR: OmissionRule =
    OmissionRule::duplicate("search.twin", "response_item/web_search_call", "the web search is in the event directly before it");
/// A web search that has a call.
pub(super) const SEARCH_RESULT: OmissionRule =
    OmissionRule::duplicate("search.result", "event_msg/web_search_end", "the query and the results are in the call and its output");
/// A web search that has a call, as an item.
pub(super) const ITEM_SEARCH: OmissionRule = OmissionRule::duplicate(
    "search.item",
    "event_msg/item_completed/WebSearch",
    "the query and the results are in the call and its output",
);
/// The second record of a generated image.
pub(super) const IMAGE_GENERATED: OmissionRule = OmissionRule::duplicate(
    "image.made",
    "*/image_generation_*",
    "the same image is recorded as event and as response item: the first one is mapped",
);
/// A viewed image as an event.
pub(super) const IMAGE_VIEW_EVENT: OmissionRule = OmissionRule::duplicate(
    "image.view_event",
    "event_msg/view_image_tool_call",
    "the path is an argument of the view_image call that it belongs to",
);
/// The request for a call of a client's tool.
pub(super) const CLIENT_CALL: OmissionRule =
    OmissionRule::duplicate("client.call", "event_msg/dynamic_tool_call_request", "the same call as the client receives it");
/// The response to a call of a client's tool.
pub(super) const CLIENT_OUTPUT_MIRROR: OmissionRule = OmissionRule::duplicate(
    "client.output",
    "event_msg/dynamic_tool_call_response",
    "the call's output has the text of the event; status and duration are in its result",
);
/// A list of what is to be done, unchanged.
pub(super) const EXEC_SAME_LIST: OmissionRule =
    OmissionRule::duplicate("exec.same_list", "item.*/todo_list", "the same list as it was printed before");

/// Every rule: first those for whole records, then those for fields.
pub(super) static RULES: &[OmissionRule] = &[
    STATE,
    OmissionRule::bookkeeping("turn.start", "event_msg/task_started", "a turn begins: its id, the size of the context window, clock times"),
    TURN_END,
    NO_COUNTS,
    OmissionRule::bookkeeping(
        "agents.delivery",
        "inter_agent_communication_metadata",
        "whether the next message between agents begins a turn",
    ),
    REVIEW_BEGUN,
    REPEATED,
    HEADER,
    SETTINGS,
    SETTINGS_EVENT,
    MESSAGE_MIRROR,
    REASONING_MIRROR,
    LAST_MESSAGE,
    SAME_COUNTS,
    COMPACTED,
    ITEM_COMPACTED,
    OUTPUT_CUT,
    ITEM_OUTPUT_MIRROR,
    EVENT_OUTPUT_MIRROR,
    IMAGE_VIEW,
    SLEEP,
    HOOK_PROMPT,
    SEARCH_MIRROR,
    ITEM_SEARCH,
    SEARCH_RESULT,
    IMAGE_GENERATED,
    IMAGE_VIEW_EVENT,
    CLIENT_CALL,
    CLIENT_OUTPUT_MIRROR,
    PLAN,
    EXEC_SAME_LIST,
    OmissionRule::bookkeeping("events.turn", "msg/task_started", "a turn begins, and the size of the context window"),
    OmissionRule::bookkeeping("events.section", "msg/agent_reasoning_section_break", "a section of the reasoning ends"),
    OmissionRule::piece("events.output", "msg/exec_command_output_delta", "a piece of the output, which the end of the command has whole"),
    OmissionRule::duplicate("events.diff", "msg/turn_diff", "all changes of the turn so far, which the edits state"),
    OmissionRule::bookkeeping("exec.thread", "thread.started", "the thread's id, which is the session of the tape"),
    OmissionRule::bookkeeping("exec.turn", "turn.started", "a turn begins"),
    OmissionRule::bookkeeping("exec.total", "turn.completed", "the running totals of the thread, which are no counts of this turn"),
    OmissionRule::field("search.screen", "event_msg/web_search_end", "/payload/query", "the action as it is displayed"),
    OmissionRule::field(
        "search.screen",
        "event_msg/web_search_end",
        "/payload/results/**",
        "title, address and excerpt of each page are in the result; the rest is for display",
    ),
    OmissionRule::opaque("image.data", "*/image_generation_*", "/payload/result", "an image, represented by its hash"),
    OmissionRule::field(
        "assessment.action",
        "event_msg/guardian_assessment",
        "/payload/action/**",
        "the action under review: it is in the call, or in a system event if there is no call",
    ),
    OmissionRule::field(
        "review.words",
        "event_msg/entered_review_mode",
        "/payload/target/**",
        "the target of the review: the system event has its text",
    ),
    OmissionRule::field(
        "review.words",
        "event_msg/exited_review_mode",
        "/payload/review_output/**",
        "the review, which the next answer contains as text",
    ),
    OmissionRule::field(
        "agents.prompt",
        "event_msg/collab_*_end",
        "/payload/prompt",
        "the prompt for the agent, which is in the call's arguments",
    ),
    OmissionRule::field(
        "agents.states",
        "event_msg/collab_*_end",
        "/payload/status/**",
        "the state of the agent, which is in the call's output",
    ),
    OmissionRule::field(
        "agents.states",
        "event_msg/collab_*_end",
        "/payload/statuses/**",
        "the state of the agents, which is in the call's output",
    ),
    OmissionRule::field(
        "agents.states",
        "event_msg/collab_*_end",
        "/payload/agent_statuses/**",
        "the state of the agents, which is in the call's output",
    ),
    OmissionRule::field(
        "snapshot.files",
        "response_item/ghost_snapshot",
        "/payload/ghost_commit/**",
        "files that existed before the snapshot and are not in it",
    ),
    OmissionRule::field("client.name", "session_meta", "/payload/originator", "the name of the program that runs the harness"),
    OmissionRule::field(
        "tools.dynamic",
        "session_meta",
        "/payload/dynamic_tools/**",
        "descriptions of the client's tools are represented by their hash",
    ),
    OmissionRule::field(
        "settings.sandbox",
        "turn_context",
        "/payload/workspace_roots/**",
        "directories that the session may use besides the current one",
    ),
    OmissionRule::field(
        "settings.sandbox",
        "turn_context",
        "/payload/permission_profile/**",
        "rules of the sandbox: the paths that may be read and written",
    ),
    OmissionRule::field(
        "settings.sandbox",
        "turn_context",
        "/payload/file_system_sandbox_policy/**",
        "rules of the sandbox: the paths that may be read and written",
    ),
    OmissionRule::field(
        "settings.sandbox",
        "event_msg/thread_settings_applied",
        "/payload/thread_settings/permission_profile/**",
        "rules of the sandbox: the paths that may be read and written",
    ),
    OmissionRule::field(
        "prompt.system",
        "session_meta",
        "/payload/base_instructions/**",
        "the harness's own system prompt is represented by its hash",
    ),
    OmissionRule::field(
        "tools.offered",
        "response_item/additional_tools",
        "/payload/tools/**",
        "the harness's own tool descriptions are represented by their hash",
    ),
    OmissionRule::field(
        "tools.found",
        "response_item/tool_search_output",
        "/payload/tools/**",
        "descriptions of the tools that were found are represented by their hash",
    ),
    OmissionRule::field(
        "world.state",
        "world_state",
        "/payload/state/**",
        "the harness's own state behind its messages is represented by its hash; instruction files keep their text",
    ),
    OmissionRule::field(
        "compaction.history",
        "compacted",
        "/payload/replacement_history/**",
        "the history that the model gets from now on: the summary and earlier messages, which have their own records",
    ),
    OmissionRule::field(
        "edit.changes",
        "event_msg/item_completed/FileChange",
        "/payload/item/changes/**",
        "applied changes are code.edit events with hashes; the text is in the call's patch",
    ),
    OmissionRule::field(
        "edit.patch_end",
        "event_msg/patch_apply_end",
        "/payload/changes/**",
        "applied changes are code.edit events with hashes; the text is in the call's patch",
    ),
    OmissionRule::field(
        "edit.item_stdout",
        "event_msg/item_completed/FileChange",
        "/payload/item/stdout",
        "the output of `apply_patch`, which is in the call's output",
    ),
    OmissionRule::field(
        "edit.event_stdout",
        "event_msg/patch_apply_end",
        "/payload/stdout",
        "the output of `apply_patch`, which is in the call's output",
    ),
    OmissionRule::field(
        "command.item",
        "event_msg/item_completed/CommandExecution",
        "/payload/item/command/**",
        "the command of the call as the shell receives it",
    ),
    OmissionRule::field(
        "command.parsed",
        "event_msg/item_completed/CommandExecution",
        "/payload/item/parsed_cmd/**",
        "the harness's guess at what the command does, for display",
    ),
    OmissionRule::field(
        "command.formatted",
        "event_msg/item_completed/CommandExecution",
        "/payload/item/formatted_output",
        "aggregated_output as it is truncated for the model",
    ),
    OmissionRule::field(
        "command.event",
        "event_msg/exec_command_end",
        "/payload/command/**",
        "the command of the call as the shell receives it",
    ),
    OmissionRule::field(
        "command.event_parsed",
        "event_msg/exec_command_end",
        "/payload/parsed_cmd/**",
        "the harness's guess at what the command does, for display",
    ),
    OmissionRule::field(
        "command.for_model",
        "msg/exec_command_end",
        "/msg/formatted_output",
        "aggregated_output as it is truncated for the model",
    ),
    OmissionRule::field(
        "command.guess",
        "msg/exec_command_begin",
        "/msg/parsed_cmd/**",
        "the harness's guess at what the command does, for display",
    ),
    OmissionRule::field(
        "mcp.structured",
        "msg/mcp_tool_call_end",
        "/msg/result/Ok/structuredContent/**",
        "a server's structured answer beside the texts",
    ),
    OmissionRule::field(
        "mcp.structured",
        "event_msg/mcp_tool_call_end",
        "/payload/result/Ok/structuredContent/**",
        "a server's structured answer: the result has it as the JSON that the model gets",
    ),
    OmissionRule::field(
        "mcp.structured",
        "event_msg/item_completed/McpToolCall",
        "/payload/item/result/structuredContent/**",
        "a server's structured answer: the result has it as the JSON that the model gets",
    ),
    OmissionRule::field(
        "agents.states",
        "event_msg/item_completed/CollabAgentToolCall",
        "/payload/item/agents_states/**",
        "the state of the agents, which is in the call's output",
    ),
    OmissionRule::opaque("attachment.image", "*", "/payload/content/*/image_url", "an image, represented by its hash"),
    OmissionRule::opaque("attachment.bare_image", "*", "/content/*/image_url", "an image, represented by its hash"),
    OmissionRule::opaque("attachment.output", "response_item/*_output", "/payload/output/*/image_url", "an image, represented by its hash"),
    OmissionRule::opaque(
        "agents.encrypted",
        "response_item/agent_message",
        "/payload/content/*/encrypted_content",
        "only the provider can read it",
    ),
    OmissionRule::opaque("reasoning.encrypted", "*reasoning", "/payload/encrypted_content", "only the provider can read it"),
    OmissionRule::opaque("reasoning.bare_encrypted", "reasoning", "/encrypted_content", "only the provider can read it"),
];
