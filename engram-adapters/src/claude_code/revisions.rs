//! The version matrix of Claude Code's transcripts. The only place where versions are compared.

use engram_core::coverage::{Coverage, Grade};
use engram_core::version::{Revision, VersionMatrix};

use super::swept::SWEPT;

/// The behaviour that differs between revisions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Rows of a database. They are never copied, and their times are whole seconds.
    MessageRows,
    /// Lines with messages or blocks.
    BlockLines,
    /// As above. Sub-agents have files of their own.
    AgentFiles,
    /// 2.1.14 and later.
    #[default]
    Newest,
    /// What the harness prints.
    Stream,
}

impl Dialect {
    /// A resumed or forked session begins with copies of its history, and the copies have the time of copying.
    pub fn copies_are_restamped(self) -> bool {
        self == Dialect::BlockLines
    }

    /// A resumed session may have lines of its history again, in lines with new ids and their old times.
    pub fn copies_keep_their_times(self) -> bool {
        self == Dialect::AgentFiles
    }

    /// Sub-agents write into the file of their session.
    pub fn agents_share_the_file(self) -> bool {
        matches!(self, Dialect::MessageRows | Dialect::BlockLines)
    }

    /// A message may be appended again after a failed stream, in lines with new ids.
    pub fn messages_are_repeated(self) -> bool {
        matches!(
            self,
            Dialect::MessageRows | Dialect::BlockLines | Dialect::AgentFiles
        )
    }

    /// A line without a `stop_reason` has a count from before the end of its message.
    pub fn counts_may_be_late(self) -> bool {
        matches!(self, Dialect::Newest | Dialect::Stream)
    }

    /// What the harness adds to a result is a message of its own, which has no author.
    pub fn notes_are_messages(self) -> bool {
        self == Dialect::MessageRows
    }

    /// Results may lack their structured form, so that the arguments of their calls are needed.
    pub fn results_may_be_bare(self) -> bool {
        self == Dialect::Stream
    }
}

/// Schema names, oldest first.
const MESSAGE_ROWS: &str = "message-rows";
const MESSAGE_LINES: &str = "message-lines";
const BLOCK_LINES: &str = "block-lines";
const AGENT_FILES: &str = "agent-files";
const BARE_AGENT_RESULTS: &str = "bare-agent-results";
const SHELL_DIFFS: &str = "shell-diffs";
/// What `--output-format stream-json` prints. Every version writes it beside its transcripts.
pub(super) const STREAM: &str = "stream-json/1";

/// The schema of files that have nothing but titles (1.0.100 to 2.0.10).
pub(super) const TITLES_SCHEMA: &str = BLOCK_LINES;

/// The dialect of a revision. An unknown revision has the dialect of the newest one.
pub(super) fn dialect(revision: Option<&Revision>) -> Dialect {
    match revision.map(|revision| revision.schema) {
        Some(STREAM) => Dialect::Stream,
        Some(MESSAGE_ROWS) => Dialect::MessageRows,
        Some(MESSAGE_LINES | BLOCK_LINES) => Dialect::BlockLines,
        Some(AGENT_FILES) => Dialect::AgentFiles,
        _ => Dialect::Newest,
    }
}

/// True if a line of this version may be a summary without the field that marks one (up to 1.0.60). Captures have no version and no field.
pub(super) fn summaries_may_be_unmarked(version: &str) -> bool {
    version.is_empty() || version.starts_with("0.") || version.starts_with("1.")
}

/// True if a line of this version may have the words of a hook without a list and without a field that marks them: recorded with 2.0.22,
/// 2.0.32 and 2.0.36, while 2.0.20 writes a list and 2.0.42 a field. Captures have no version.
pub(super) fn feedback_may_be_plain(version: &str) -> bool {
    let patch = version.strip_prefix("2.0.").map(str::parse);
    version.is_empty() || matches!(patch, Some(Ok(21..42_u32)))
}

/// The claim of every revision; only reads and edits differ.
const fn coverage(code_read: Grade, code_edit: Grade) -> Coverage {
    Coverage {
        meta: Grade::Full,
        msg_in: Grade::Full,
        msg_out: Grade::Full,
        tool_call: Grade::Full,
        tool_result: Grade::Full,
        code_read,
        code_edit,
        span_link: Grade::None,
    }
}

/// The same claim for a schema that may have only a count from the beginning of a response.
const fn with_early_counts(coverage: Coverage) -> Coverage {
    Coverage {
        meta: Grade::Partial(&["usage.provisional"]),
        ..coverage
    }
}

const READS: Grade = Grade::Partial(&[
    "read.no_total",
    "read.no_lines",
    "read.not_utf8",
    "read.shell",
]);

/// The claim of a revision whose recordings have reads of files with a byte order mark.
const READS_WITH_MARKS: Grade = Grade::Partial(&[
    "read.no_total",
    "read.no_lines",
    "read.not_utf8",
    "read.shell",
    "read.bom",
]);

/// The claim of a stream that is weaker than that of a transcript.
const STREAM_PROMPTS: Grade = Grade::Partial(&["prompt.not_printed"]);

/// The claim that is true for all revisions together: the gaps of all of them.
pub(super) const WEAKEST: Coverage = Coverage {
    msg_in: STREAM_PROMPTS,
    ..with_early_counts(coverage(
        READS_WITH_MARKS,
        Grade::Partial(&[
            "edit.shell",
            "edit.shell_no_text",
            "edit.not_utf8",
            "edit.write_no_before",
            "edit.notebook_no_text",
            "edit.copied_snippet",
            "edit.agent_snippet",
            "edit.big_file",
            "edit.shell_names_only",
            "edit.add_over_file",
            "edit.bare_result",
            "edit.hook",
        ]),
    ))
};

/// The matrix. There are fixtures of every tested version. There is no recording of a version between two ranges.
pub(super) const MATRIX: VersionMatrix = VersionMatrix {
    revisions: &[
        Revision {
            schema: MESSAGE_ROWS,
            versions: Some(">=0.2.96, <=0.2.100"),
            tested: &["0.2.96", "0.2.100"],
            coverage: coverage(
                Grade::Partial(&["read.no_total", "read.not_utf8"]),
                Grade::Partial(&[
                    "edit.shell",
                    "edit.not_utf8",
                    "edit.write_no_before",
                    "edit.notebook_no_text",
                ]),
            ),
        },
        Revision {
            schema: MESSAGE_LINES,
            versions: Some(">=0.2.109, <=1.0.9"),
            tested: &["0.2.109", "0.2.118", "1.0.0", "1.0.9"],
            coverage: coverage(
                Grade::Partial(&["read.no_total", "read.not_utf8"]),
                Grade::Partial(&[
                    "edit.shell",
                    "edit.not_utf8",
                    "edit.write_no_before",
                    "edit.notebook_no_text",
                    "edit.copied_snippet",
                ]),
            ),
        },
        Revision {
            schema: BLOCK_LINES,
            versions: Some(">=1.0.10, <=2.0.29"),
            tested: &[
                "1.0.10", "1.0.45", "1.0.60", "1.0.80", "1.0.100", "2.0.0", "2.0.10", "2.0.27",
                "2.0.29",
            ],
            coverage: with_early_counts(coverage(
                READS_WITH_MARKS,
                Grade::Partial(&[
                    "edit.shell",
                    "edit.not_utf8",
                    "edit.write_no_before",
                    "edit.notebook_no_text",
                    "edit.copied_snippet",
                    "edit.add_over_file",
                    "edit.hook",
                ]),
            )),
        },
        Revision {
            schema: AGENT_FILES,
            versions: Some(">=2.0.30, <=2.1.12"),
            tested: &[
                "2.0.30", "2.0.32", "2.0.45", "2.0.60", "2.0.69", "2.1.0", "2.1.10", "2.1.12",
            ],
            coverage: with_early_counts(coverage(
                READS,
                Grade::Partial(&[
                    "edit.shell",
                    "edit.not_utf8",
                    "edit.write_no_before",
                    "edit.notebook_no_text",
                    "edit.hook",
                ]),
            )),
        },
        Revision {
            schema: BARE_AGENT_RESULTS,
            versions: Some(">=2.1.14, <=2.1.278"),
            tested: &[
                "2.1.14", "2.1.20", "2.1.61", "2.1.80", "2.1.90", "2.1.150", "2.1.170", "2.1.220",
                "2.1.235", "2.1.250", "2.1.275", "2.1.278",
            ],
            coverage: with_early_counts(coverage(
                READS,
                Grade::Partial(&[
                    "edit.shell",
                    "edit.not_utf8",
                    "edit.agent_snippet",
                    "edit.big_file",
                    "edit.hook",
                ]),
            )),
        },
        Revision {
            schema: SHELL_DIFFS,
            versions: Some(">=2.1.280, <=2.1.332"),
            tested: &[
                "2.1.280", "2.1.300", "2.1.326", "2.1.329", "2.1.330", "2.1.331", "2.1.332",
            ],
            coverage: with_early_counts(coverage(
                READS_WITH_MARKS,
                Grade::Partial(&[
                    "edit.shell",
                    "edit.shell_no_text",
                    "edit.shell_names_only",
                    "edit.not_utf8",
                    "edit.agent_snippet",
                    "edit.big_file",
                    "edit.add_over_file",
                    "edit.hook",
                ]),
            )),
        },
        Revision {
            schema: STREAM,
            versions: None,
            tested: &[
                "1.0.80", "1.0.100", "2.0.32", "2.1.90", "2.1.326", "2.1.329", "2.1.330",
                "2.1.331", "2.1.332",
            ],
            coverage: Coverage {
                msg_in: STREAM_PROMPTS,
                ..with_early_counts(coverage(
                    READS_WITH_MARKS,
                    Grade::Partial(&[
                        "edit.shell",
                        "edit.shell_no_text",
                        "edit.shell_names_only",
                        "edit.not_utf8",
                        "edit.write_no_before",
                        "edit.notebook_no_text",
                        "edit.agent_snippet",
                        "edit.add_over_file",
                        "edit.bare_result",
                        "edit.hook",
                    ]),
                ))
            },
        },
    ],
    swept: SWEPT,
    known_bad: &[],
};
