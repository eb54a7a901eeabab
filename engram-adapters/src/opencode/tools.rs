//! Tool names of OpenCode, and their kinds.

use engram_core::tool_kind::ToolKind;

use crate::shared::tool_table::ToolTable;

/// Every built-in tool. Tools of MCP servers are named `<server>_<tool>`, and so may be tools of plug-ins. The log does not
/// distinguish them, so they have no kind.
pub(super) static TOOLS: ToolTable = ToolTable {
    names: &[
        ("read", ToolKind::Read),
        ("edit", ToolKind::Edit),
        ("multiedit", ToolKind::Edit),
        ("patch", ToolKind::Edit),
        ("apply_patch", ToolKind::Edit),
        ("write", ToolKind::Write),
        ("bash", ToolKind::Execute),
        ("shell", ToolKind::Execute),
        ("execute", ToolKind::Execute),
        ("grep", ToolKind::Search),
        ("glob", ToolKind::Search),
        ("codesearch", ToolKind::Search),
        ("lsp", ToolKind::Search),
        ("list", ToolKind::List),
        ("task", ToolKind::Delegate),
        ("subagent", ToolKind::Delegate),
        ("todowrite", ToolKind::Plan),
        ("todoread", ToolKind::Plan),
        ("plan_enter", ToolKind::Plan),
        ("plan_exit", ToolKind::Plan),
        ("question", ToolKind::Ask),
        ("webfetch", ToolKind::Fetch),
        ("websearch", ToolKind::WebSearch),
        ("skill", ToolKind::Skill),
        ("batch", ToolKind::Other),
        ("StructuredOutput", ToolKind::Other),
        ("invalid", ToolKind::Other),
        // Kilo's own.
        ("background_process", ToolKind::Execute),
        ("kilo_local_recall", ToolKind::Search),
        ("goal", ToolKind::Plan),
        ("suggest", ToolKind::Ask),
        ("agent_manager", ToolKind::Delegate),
        ("agent_manager_models", ToolKind::Other),
        ("board_post", ToolKind::Other),
        ("board_read", ToolKind::Other),
        ("browser_open", ToolKind::Other),
        ("cron_create", ToolKind::Other),
        ("cron_delete", ToolKind::Other),
        ("cron_list", ToolKind::Other),
        ("schedule_wakeup", ToolKind::Other),
        ("cancel_wakeup", ToolKind::Other),
        ("link_pr", ToolKind::Other),
        ("notify_user", ToolKind::Other),
        ("send_file", ToolKind::Other),
    ],
    prefixes: &[],
    // Calls of a program of `execute`: the name of the MCP server, and of its tool. Between the same parts of other names is a `_`, as in those of
    // plug-ins.
    infixes: &[(".", ToolKind::Mcp), ("_", ToolKind::Other)],
};

#[test]
fn only_a_name_of_two_parts_may_be_of_a_server() {
    assert_eq!(TOOLS.kinds("team_query"), [ToolKind::Other]);
    assert_eq!(TOOLS.kinds("plan_exit"), [ToolKind::Plan]);
    assert!(TOOLS.kinds("newtool").is_empty());
}
