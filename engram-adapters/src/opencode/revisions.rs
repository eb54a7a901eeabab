//! The version matrix of OpenCode's sessions. The only place where versions are compared.

use engram_core::coverage::{Coverage, Grade};
use engram_core::version::{Revision, VersionMatrix};

use super::swept::SWEPT;

/// Parts are inside messages.
const MESSAGE_PARTS: &str = "message-parts";
/// Parts are records of their own.
const PART_RECORDS: &str = "part-records";
/// `read` counts lines only.
pub(super) const COUNTED_LINES: &str = "counted-lines";
/// The schema of `run --format json`, which records no version.
pub(super) const STREAM: &str = "run-stream";
/// The schema of sessions of 2.x: one record per message, without parts. An export of 2.x has no version.
pub(super) const STEPS: &str = "step-messages";
/// The schema of `run --format json` of 2.x.
pub(super) const STEP_STREAM: &str = "step-stream";

const fn coverage(
    msg_in: Grade,
    msg_out: Grade,
    code_read: Grade,
    code_edit: Grade,
    span_link: Grade,
) -> Coverage {
    Coverage {
        meta: Grade::Full,
        msg_in,
        msg_out,
        tool_call: Grade::Full,
        tool_result: Grade::Full,
        code_read,
        code_edit,
        span_link,
    }
}

/// The claims with these for `meta`.
const fn with_meta(meta: Grade, coverage: Coverage) -> Coverage {
    Coverage { meta, ..coverage }
}

/// Tokens of versions that count what came from the cache as input, with some providers.
const CACHED_INPUT: Grade = Grade::Partial(&["usage.cached_input"]);

/// Sessions have one title, which is the last.
const LAST_TITLE: Grade = Grade::Partial(&["session.title"]);

/// Prompts of 2.x.
const STEP_PROMPTS: Grade = Grade::Partial(&["prompt.attached_text", "prompt.reverted"]);

/// Prompts of versions with reverts.
const REVERTED: Grade = Grade::Partial(&["prompt.reverted"]);

/// Prompts of versions with commands and reverts.
const PROMPTS: Grade = Grade::Partial(&["prompt.command", "prompt.reverted"]);

/// Calls of versions with plugins.
const CALLS: Grade = Grade::Partial(&["call.rewritten"]);

/// Reads of 0.1.174, which returns no images.
const FIRST_READS: Grade = Grade::Partial(&["read.not_utf8", "read.no_total", "read.shell"]);

/// Reads.
const READS: Grade = Grade::Partial(&[
    "read.not_utf8",
    "read.no_lines",
    "read.no_total",
    "read.shell",
]);

/// Reads of versions that leave out the byte order mark of a file, and take a CR for a line end.
const UNMARKED_READS: Grade = Grade::Partial(&[
    "read.not_utf8",
    "read.no_lines",
    "read.no_total",
    "read.shell",
    "read.bom",
    "read.bare_cr",
]);

/// Edits of these versions.
const UNMARKED_EDITS: Grade = Grade::Partial(&[
    "edit.shell",
    "edit.formatter",
    "edit.no_file_hash",
    "edit.altered_diff",
    "edit.bom",
]);

/// Edits of these versions in stores and exports.
const PATCHED_EDITS: Grade = Grade::Partial(&[
    "edit.shell",
    "edit.formatter",
    "edit.add_over_file",
    "edit.no_file_hash",
    "edit.altered_diff",
    "edit.bom",
]);

/// Moves by `apply_patch`.
pub(super) const MOVES: Grade = Grade::Partial(&["link.no_range"]);

/// Edits of 0.1.174: a diff alone, and none where the call failed after it wrote.
const FIRST_EDITS: Grade = Grade::Partial(&[
    "edit.shell",
    "edit.formatter",
    "edit.no_file_hash",
    "edit.altered_diff",
    "edit.after_error",
    "edit.patch_text",
]);

/// Edits with a diff alone, or (1.0.0 to 1.3.2) with the file before and after.
const EDITS: Grade = Grade::Partial(&[
    "edit.shell",
    "edit.formatter",
    "edit.no_file_hash",
    "edit.altered_diff",
]);

/// Reads of 2.x.
const STEP_READS: Grade = Grade::Partial(&["read.no_lines", "read.no_total", "read.shell"]);

/// Edits of 2.x: a diff, and of `write` the text alone.
const STEP_EDITS: Grade = EDITS;

/// The weakest claim for edits.
const WEAKEST_EDITS: Grade = Grade::Partial(&[
    "edit.shell",
    "edit.formatter",
    "edit.add_over_file",
    "edit.no_file_hash",
    "edit.altered_diff",
    "edit.bom",
    "edit.after_error",
    "edit.patch_text",
]);

/// The weakest claim of all revisions.
pub(super) const WEAKEST: Coverage = Coverage {
    meta: Grade::Partial(&["session.title", "usage.cached_input", "usage.last_request"]),
    tool_call: CALLS,
    ..coverage(
        Grade::None,
        Grade::Partial(&["stream.no_reasoning"]),
        UNMARKED_READS,
        WEAKEST_EDITS,
        Grade::None,
    )
};

/// The claims for sessions of the newest versions of 1.x.
pub(super) const OF_COUNTED_LINES: Coverage = Coverage {
    meta: LAST_TITLE,
    tool_call: CALLS,
    ..coverage(PROMPTS, Grade::Full, UNMARKED_READS, PATCHED_EDITS, MOVES)
};

/// The claims for streams of 1.x.
pub(super) const OF_STREAM: Coverage = Coverage {
    meta: CACHED_INPUT,
    tool_call: CALLS,
    ..coverage(
        Grade::None,
        Grade::Partial(&["stream.no_reasoning"]),
        UNMARKED_READS,
        UNMARKED_EDITS,
        MOVES,
    )
};

/// The matrix.
pub(super) const MATRIX: VersionMatrix = VersionMatrix {
    revisions: &[
        Revision {
            schema: MESSAGE_PARTS,
            versions: Some(">=0.1.174, <=0.1.174"),
            tested: &["0.1.174"],
            coverage: with_meta(
                Grade::Partial(&["session.title", "usage.last_request"]),
                coverage(
                    Grade::Full,
                    Grade::Full,
                    FIRST_READS,
                    FIRST_EDITS,
                    Grade::None,
                ),
            ),
        },
        Revision {
            schema: PART_RECORDS,
            versions: Some(">=0.5.29, <=1.2.27"),
            tested: &[
                "0.5.29", "1.0.0", "1.0.98", "1.1.53", "1.1.65", "1.2.1", "1.2.27",
            ],
            coverage: with_meta(
                Grade::Partial(&["session.title", "usage.cached_input"]),
                coverage(REVERTED, Grade::Full, READS, EDITS, Grade::None),
            ),
        },
        Revision {
            schema: COUNTED_LINES,
            versions: Some(">=1.3.0, <=1.18.34"),
            tested: &["1.3.0", "1.3.2", "1.14.34", "1.15.3", "1.18.33", "1.18.34"],
            coverage: OF_COUNTED_LINES,
        },
        Revision {
            schema: STEPS,
            versions: None,
            tested: &["2.0.0-pre.20260717", "2.0.14"],
            coverage: with_meta(
                LAST_TITLE,
                coverage(
                    STEP_PROMPTS,
                    Grade::Full,
                    STEP_READS,
                    STEP_EDITS,
                    Grade::None,
                ),
            ),
        },
        Revision {
            schema: STEP_STREAM,
            versions: None,
            tested: &["2.0.0-pre.20260717", "2.0.14"],
            coverage: coverage(
                Grade::None,
                Grade::Partial(&["stream.no_reasoning"]),
                STEP_READS,
                STEP_EDITS,
                Grade::None,
            ),
        },
        Revision {
            schema: STREAM,
            versions: None,
            tested: &["1.0.0", "1.0.98", "1.1.53", "1.14.34", "1.18.33", "1.18.34"],
            coverage: OF_STREAM,
        },
    ],
    swept: SWEPT,
    known_bad: &[],
};

/// When each known migration of the database was written, as its name begins (OpenCode 1.2.1 to 2.0.26, Kilo 7.0.33 to 7.7.9).
#[cfg(feature = "sqlite")]
const MIGRATIONS: &[&str] = &[
    "20260127222353",
    "20260211171708",
    "20260213144116",
    "20260225215848",
    "20260227213759",
    "20260228203230",
    "20260303231226",
    "20260309230000",
    "20260312043431",
    "20260323234822",
    "20260410174513",
    "20260413175956",
    "20260423070820",
    "20260427172553",
    "20260428004200",
    "20260501142318",
    "20260504145000",
    "20260507164347",
    "20260510033149",
    "20260511000411",
    "20260511173437",
    "20260601010001",
    "20260601202201",
    "20260602002951",
    "20260602182828",
    "20260603001617",
    "20260603040000",
    "20260603141458",
    "20260603160727",
    "20260604172448",
    "20260605003541",
    "20260605042240",
    "20260611035744",
    "20260611192811",
    "20260612174303",
    "20260622142730",
    "20260622170816",
    "20260622202450",
    // Betas of 2.x, and 2.0.26.
    "20260702134641",
    "20260703090000",
    "20260703181610",
    "20260703190000",
    "20260703200000",
    "20260705180000",
    "20260706223930",
    "20260707010146",
    "20260707120000",
    "20260709013000",
    "20260709025533",
    "20260709163752",
    "20260709190621",
    "20260710025429",
    "20260714141136", // Kilo.
    "20260716020354",
    "20260722170000",
    "20260730195856",
    "20260804233008",
    "20260805200742",
    "20260808023530",
    "20260811161259",
    "20260812181746",
    "20260812213948",
    "20260819222447",
    "20260823191254",
    "20260828074139", // Kilo.
    "20260903104806", // Kilo.
    "20260907102000", // Kilo.
    "20260910120000",
    "20260923013825",
    "20261007190000",
];

/// The newest migration of 1.x.
#[cfg(feature = "sqlite")]
const NEWEST_OF_1X: &str = "20260622202450";

/// True for a migration of a tested version, by its name or its time.
#[cfg(feature = "sqlite")]
pub(super) fn is_known_migration(name: &str) -> bool {
    name.get(..14)
        .is_some_and(|time| MIGRATIONS.binary_search(&time).is_ok())
}

/// True for a migration that is newer than those of 1.x.
#[cfg(feature = "sqlite")]
pub(super) fn is_newer_migration(name: &str) -> bool {
    name.get(..14)
        .is_some_and(|time| time.bytes().all(|byte| byte.is_ascii_digit()) && time > NEWEST_OF_1X)
}
