//! Tests of the version matrix: support levels, nearest recorded versions, and ranges that recordings do not prove.

use engram_core::adapter::Identity;
use engram_core::coverage::{Coverage, Grade};
use engram_core::version::{KnownBad, Nearest, Revision, Support, VersionMatrix};

const COVERAGE: Coverage = Coverage {
    meta: Grade::Full,
    msg_in: Grade::Full,
    msg_out: Grade::Full,
    tool_call: Grade::Full,
    tool_result: Grade::Full,
    code_read: Grade::Full,
    code_edit: Grade::Full,
    span_link: Grade::Full,
};

const fn revision(
    schema: &'static str,
    versions: Option<&'static str>,
    tested: &'static [&'static str],
) -> Revision {
    Revision {
        schema,
        versions,
        tested,
        coverage: COVERAGE,
    }
}

/// A schema without versions, and two with, between which there is a hole.
const MATRIX: VersionMatrix = VersionMatrix {
    revisions: &[
        revision("bare", None, &["0.1.0", "0.3.0"]),
        revision("old", Some(">=1.0.0, <=1.2.0"), &["1.0.0", "1.2.0"]),
        revision("new", Some(">=1.10.0, <=2.1.0"), &["1.10.0", "2.1.0"]),
    ],
    swept: &["0.5.0", "1.1.1", "1.1.5", "1.9.1", "2.1.2"],
    known_bad: &[KnownBad {
        versions: "=1.1.5",
        reason: "a test",
    }],
};

fn level(version: &str) -> (&'static str, Support) {
    let (revision, support) = MATRIX.resolve(Some(version));
    (revision.map_or("", |revision| revision.schema), support)
}

fn nearest(version: &str) -> (Option<&'static str>, Option<&'static str>) {
    let Nearest { older, newer } = MATRIX.nearest(Some(version));
    (older, newer)
}

#[test]
fn each_version_has_one_level() {
    for (version, schema, support) in [
        ("1.0.0", "old", Support::Tested),
        ("1.1.0", "old", Support::Between),
        ("1.1.1", "old", Support::Tested),
        ("1.2.0-beta.1", "old", Support::Between),
        ("1.1.5", "old", Support::KnownBad),
        ("1.2.1", "new", Support::Unknown),
        ("1.9.0", "new", Support::Unknown),
        ("1.9.1", "old", Support::Tested),
        ("2.0.0", "new", Support::Between),
        ("2.1.0-beta.1", "new", Support::Between),
        ("2.1.1", "new", Support::Ahead),
        ("2.1.2", "new", Support::Tested),
        ("2.1.1-beta.1", "new", Support::Ahead),
        ("0.2.0", "new", Support::Unknown),
        ("0.5.0", "old", Support::Tested),
        ("0.0.1", "new", Support::Unknown),
        ("next", "new", Support::Unknown),
    ] {
        assert_eq!(level(version), (schema, support), "{version}");
    }
    assert_eq!(MATRIX.resolve(None).1, Support::Unknown);
}

#[test]
fn no_version_is_ahead_of_schemas_that_record_none() {
    const BARE: &[Revision] = &[revision("bare", None, &["0.1.0"])];
    let bare = VersionMatrix {
        revisions: BARE,
        swept: &[],
        known_bad: &[],
    };
    assert_eq!(bare.resolve(Some("9.0.0")).1, Support::Unknown);
}

#[test]
fn a_version_outside_of_all_ranges_has_recorded_neighbours() {
    assert_eq!(nearest("9.0.0"), (Some("2.1.0"), None));
    assert_eq!(nearest("0.0.1"), (None, Some("0.1.0")));
    assert_eq!(nearest("1.5.0"), (Some("1.2.0"), Some("1.10.0")));
    assert_eq!(nearest("0.9.0"), (Some("0.3.0"), Some("1.0.0")));
    for covered_or_no_explanation in ["1.1.0", "0.2.0", "next"] {
        assert_eq!(
            nearest(covered_or_no_explanation),
            (None, None),
            "{covered_or_no_explanation}"
        );
    }
    assert_eq!(MATRIX.nearest(None), Nearest::default());
}

const GOOD: Revision = revision("good", Some("=1.0.0"), &["1.0.0"]);

/// Revisions whose ranges are proven.
const PROVEN: [&[Revision]; 3] = [
    &[
        GOOD,
        revision(
            "next",
            Some(">=1.0.1, <=1.10.0"),
            &["1.10.0", "1.0.1", "1.9.0"],
        ),
    ],
    &[revision(
        "dates",
        Some("=2026.10.01-e373342"),
        &["2026.10.01-e373342"],
    )],
    &[revision("no versions", None, &["synthetic"])],
];

/// Revisions with a range that is not proven, and what is wrong with it.
const NOT_PROVEN: [(&[Revision], &str); 6] = [
    (
        &[revision(
            "wide",
            Some(">=1.0.0, <=1.9.0"),
            &["1.0.0", "1.8.0"],
        )],
        "the range of wide is",
    ),
    (
        &[revision(
            "narrow",
            Some(">=1.2.0, <=1.9.0"),
            &["1.0.0", "1.2.0", "1.9.0"],
        )],
        "the range of narrow is",
    ),
    (
        &[revision("open", Some(">=1.0.0"), &["1.0.0"])],
        "the range of open is",
    ),
    (
        &[revision("unproven", Some("=1.0.0"), &[])],
        "no version of it is recorded",
    ),
    (
        &[
            GOOD,
            revision("overlap", Some(">=1.0.0, <=1.1.0"), &["1.0.0", "1.1.0"]),
        ],
        "overlap does not begin after that of good",
    ),
    (
        &[revision("later", Some("=2.0.0"), &["2.0.0"]), GOOD],
        "good does not begin after that of later",
    ),
];

#[test]
fn a_range_runs_from_the_oldest_to_the_newest_recorded_version() {
    let defects = |revisions| {
        VersionMatrix {
            revisions,
            swept: &[],
            known_bad: &[],
        }
        .defects()
    };
    for revisions in PROVEN {
        assert_eq!(defects(revisions), [""; 0]);
    }
    for (revisions, finding) in NOT_PROVEN {
        let found = defects(revisions);
        assert!(found.len() == 1 && found[0].contains(finding), "{found:?}");
    }
}

#[test]
fn version_beside_a_proven_schema_says_how_well_it_is_known() {
    for (version, support) in [
        (Some("0.3.0"), Support::Tested),
        (Some("0.2.0"), Support::Between),
        (Some("0.4.0"), Support::Ahead),
        (Some("0.0.9"), Support::Unknown),
        (Some("none"), Support::Unknown),
        (None, Support::Tested),
    ] {
        let identity = Identity {
            version: version.map(str::to_owned),
            schema: Some("bare"),
            ..Identity::default()
        };
        let (revision, found) = MATRIX.identify(&identity);
        assert_eq!(
            (revision.map(|revision| revision.schema), found),
            (Some("bare"), support),
            "{version:?}"
        );
    }
}
