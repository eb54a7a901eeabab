//! Broken adapters that refuse or accept the wrong input, or claim what is not so.

use std::hash::{BuildHasher, RandomState};

use engram_core::coverage::Grade;
use engram_core::descriptor::Gap;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::policy::Policy;
use engram_core::version::Revision;

use super::{Break, bytes, change, converts, describes, events, on_all, set, strict};
use crate::adapter::Real;
use crate::claims;
use crate::tape::Tape;

/// Conversions, versions, errors and claims.
pub(super) const SUPPORT: &[Break] = &[
    converts("refuses every session", "session.converts", |_, _| {
        Err(AdapterError::new(ErrorCode::MalformedRecord))
    }),
    converts(
        "names the branch by a random hash",
        "bytes.twice",
        with_random_branch,
    ),
    bytes(
        "names neither version nor schema",
        "version.identified",
        |tape| {
            let harness = tape
                .line(0)
                .split_once("\"family\":\"claude-code\"")
                .and_then(|(_, rest)| rest.split_once('}'))
                .map(|(named, _)| named.to_owned());
            tape.replace(0, &harness.unwrap_or_default(), "");
        },
    ),
    strict(converts(
        "ignores an unknown version",
        "version.strict",
        |real, input| match real.convert(input) {
            Err(error) if error.code == ErrorCode::UnknownHarnessVersion => {
                real.under(Policy::Permissive, input)
            }
            made => made,
        },
    )),
    converts(
        "does not mark a degraded tape",
        "version.permissive",
        |real, input| {
            Ok(real.convert(input)?.replacen(
                "\"degraded\":[\"unknown_harness_version\"]",
                "\"degraded\":[]",
                1,
            ))
        },
    ),
    strict(converts(
        "accepts a newer version",
        "version.strict",
        |real, input| match real.convert(input) {
            Err(error) if error.older_recorded.is_some() => real.under(Policy::Permissive, input),
            made => made,
        },
    )),
    converts(
        "takes a newer version for an unknown one",
        "version.permissive",
        |real, input| {
            Ok(real
                .convert(input)?
                .replacen("\"support\":\"ahead\"", "\"support\":\"unknown\"", 1))
        },
    ),
    strict(converts(
        "reports errors without a line",
        "error.located",
        |real, input| {
            real.convert(input).map_err(|mut error| {
                error.line = None;
                error
            })
        },
    )),
    converts("panics on a truncated line", "error.cut", |real, input| {
        assert!(
            input.ends_with('\n') || input.is_empty(),
            "a truncated line"
        );
        real.convert(input)
    }),
    Break {
        with_stream: true,
        ..events("has another tape in its string form", "form.same", |tape| {
            change(tape, &["LAB single edit now."], "single", "double")
        })
    },
    describes("claims too little", "claim.none", |descriptor| {
        claims::with_reads(descriptor, Grade::None)
    }),
    describes("claims too much", "claim.open", |descriptor| {
        claims::with_reads(descriptor, Grade::Full)
    }),
    describes(
        "describes a gap that no claim names",
        "claim.whole",
        |descriptor| {
            claims::with_gap(
                descriptor,
                Gap {
                    code: "edit.magic",
                    reason: "for the test",
                    fixture: "2.0.10/b_edit",
                },
            )
        },
    ),
    describes(
        "supports versions that no recording proves",
        "claim.whole",
        |descriptor| {
            claims::with_revision(descriptor, |revision| Revision {
                versions: revision.versions.map(|_| ">=0.0.1"),
                ..revision
            })
        },
    ),
    on_all(describes(
        "names a version as tested that has no recording",
        "claim.shown",
        |descriptor| {
            claims::with_revision(descriptor, |revision| Revision {
                tested: &["9.9.9"],
                ..revision
            })
        },
    )),
    on_all(describes(
        "names a fixture that does not exhibit the gap",
        "claim.gaps",
        claims::with_wrong_fixtures,
    )),
    on_all(describes(
        "has an unused rule",
        "rule.needed",
        claims::with_unused_rule,
    )),
];

/// The tape with a hash whose seed is another one in each run.
fn with_random_branch(real: &Real, input: &str) -> Result<String, AdapterError> {
    let mut tape = Tape::of(&real.convert(input)?);
    let hash = RandomState::new().hash_one(input);
    set(
        &mut tape,
        &["\"label\":\"session\"", "\"repo_branch\""],
        "repo_branch",
        &format!("\"{hash}\""),
    );
    Ok(tape.text())
}
