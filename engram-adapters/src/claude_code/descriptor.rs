//! The adapter's self-description: what it supports, its gaps and its omission rules.

use engram_core::descriptor::{AdapterDescriptor, Gap, UnknownVersionPolicy};

use super::format::RULES;
use super::revisions::{MATRIX, WEAKEST};
use super::table::MEMBERS;

/// The adapter's self-description.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "claude-code",
    adapter_version: "0.9.7",
    harness_family: "claude-code",
    matrix: MATRIX,
    schema_detection_strategy: "a line with sessionId, uuid, parentUuid, isSidechain and version, or a line of session state or queued \
                                prompts; the first recorded version gives the revision. A stream has a system/init line with tools",
    coverage: WEAKEST,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &[
        "/type",
        "/subtype",
        "/operation",
        "/attachment/type",
        "/data/type",
    ],
    members: Some(&MEMBERS),
    gaps: GAPS,
    omission_rules: RULES,
};

const fn gap(code: &'static str, fixture: &'static str, reason: &'static str) -> Gap {
    Gap {
        code,
        reason,
        fixture,
    }
}

const GAPS: &[Gap] = &[
    gap(
        "read.no_total",
        "2.1.329/b_edit",
        "a read that stops before the end of the file has no line count: the harness counts one line too many in most files",
    ),
    gap(
        "read.no_lines",
        "2.1.329/g_rich",
        "reads of images, documents and notebooks have no lines",
    ),
    gap(
        "read.not_utf8",
        "2.1.329/b_edit",
        "the log has U+FFFD in place of the original bytes, so nothing is hashed",
    ),
    gap(
        "read.bom",
        "2.1.329/n_edits",
        "the log leaves out a byte order mark at the beginning of a file and a bare CR at its end, so the hash of a read of the first or last \
         line lacks it, and no field shows that: after an edit that shows the mark such reads have no hash",
    ),
    gap(
        "read.shell",
        "2.1.329/g_rich",
        "what a shell command reads is only in its output",
    ),
    gap(
        "edit.shell",
        "2.1.278/b_edit",
        "before 2.1.280 the log does not record which files a shell command changes; later it does in the permission modes `auto` and \
         `bypassPermissions`, in others only if a setting asks for it (`bashEditDiffEnabled`), and not if the command fails, runs in the \
         background or in a sub-agent, or changes a file that another call changes meanwhile, or if the harness says that it could not look",
    ),
    gap(
        "edit.shell_names_only",
        "2.1.329/n_bashedits",
        "of more than five files, and of big and binary ones, the log has only the names: `op` is `update` even if a file is new or deleted. \
         Where the log has no diff, the harness names at most five files that the model had read and that a command such as `sed -i` wrote, \
         perhaps with the same text",
    ),
    gap(
        "edit.bare_result",
        "1.0.100/n_stream",
        "a stream before 2.0.60, and its sub-agents in any version, have no structured results, so their edits are snippets; where the program \
         that runs the harness was asked for permission, it may have changed the text",
    ),
    gap(
        "prompt.not_printed",
        "2.1.90/n_stream",
        "a stream has what a person typed only if it was asked to repeat it; a text that is all `<local-command-stdout>` is what a command printed",
    ),
    gap(
        "edit.add_over_file",
        "2.1.329/n_edits",
        "a Write to an empty file, or an Edit of one with an empty old text, is logged like one that creates the file",
    ),
    gap(
        "edit.shell_no_text",
        "2.1.329/b_edit",
        "the diff of a shell command's changes gives lines, but its text is not proven to be exact",
    ),
    gap(
        "edit.not_utf8",
        "2.1.280/b_edit",
        "the log has U+FFFD in place of the original bytes, so nothing is hashed; from 2.1.296 on such edits fail",
    ),
    gap(
        "edit.write_no_before",
        "2.0.45/b_edit",
        "up to 2.0.45 a Write does not log the file that it replaces",
    ),
    gap(
        "edit.notebook_no_text",
        "2.0.69/b_edit",
        "up to 2.0.69 a NotebookEdit does not log the file before or after the edit",
    ),
    gap(
        "edit.copied_snippet",
        "2.0.29/d_resume",
        "copies of history up to 2.0.29 have no structured results, so their edits are snippets",
    ),
    gap(
        "usage.provisional",
        "2.1.20/b_edit",
        "a response without a stop reason has the count from when it began: 2.1.10 to 2.1.45 log no other, nor does any version for an \
         answer that was stopped, or whose stream broke",
    ),
    gap(
        "edit.agent_snippet",
        "2.1.329/c_subagent",
        "from 2.1.14 on lines of sub-agents have no structured results, so their edits are snippets",
    ),
    gap(
        "edit.hook",
        "2.1.332/m_plugin",
        "a hook may change the file after the call: the hash of the file is that of the text that the call wrote",
    ),
    gap(
        "edit.big_file",
        "2.1.329/g_rich",
        "from 2.1.101 on the log leaves out files of more than 10,000 characters: their edits have the hashes of the lines that the texts of \
         the call prove, else lines alone or snippets",
    ),
];
