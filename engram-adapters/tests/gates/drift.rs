//! Drift in real logs: nothing in fixtures as they are, and each kind of change in one that is changed by hand.

use std::io::BufReader;
use std::path::Path;
use std::sync::{Arc, Mutex};

use engram_adapters::sessions::{SessionFinder, SessionLocation, SessionOptions, SessionSource};
use engram_core::drift::{Change, DriftReport, SessionDrift};
use engram_core::error::ErrorCode;
use rayon::prelude::*;

use crate::report;
use crate::tree::{files, registered, root};

const FIXTURE: &str = "claude-code/1.0.0/b_edit";

fn fixture() -> String {
    let files = files(&root().join("fixtures").join(FIXTURE).join("session"));
    std::fs::read_to_string(files.iter().find(|path| is_log(path)).expect("a log")).expect("a text")
}

fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "jsonl")
}

/// What the session is copied to.
#[derive(Clone, Default)]
struct Copy(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Copy {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The drift of a session that is opened with this copy.
fn drift_of(source: SessionSource, copy: &Copy) -> DriftReport {
    let (framing, mut drift) = (
        source.framing(),
        SessionDrift::new(
            source.path().to_string_lossy(),
            source.registration().descriptor(),
        ),
    );
    source.convert(&mut drift).expect("a conversion");
    let copied = copy.0.lock().expect("no panic").clone();
    drift
        .read(BufReader::new(&copied[..]), framing)
        .expect("a text in memory")
}

fn drift(log: &[u8]) -> DriftReport {
    let directory = tempfile::tempdir().expect("temporary directories can be made");
    let path = directory.path().join("log.jsonl");
    std::fs::write(&path, log).expect("files can be written");
    let copy = Copy::default();
    let source = SessionLocation::of_file(&path)
        .open_with_copy(copy.clone(), &SessionOptions::default())
        .expect("a session");
    drift_of(source, &copy)
}

/// What is found: the change, the type, the pointer and the number.
fn changes(log: &str) -> Vec<(Change, String, String, u64)> {
    let groups = drift(log.as_bytes()).groups();
    assert!(
        groups
            .iter()
            .all(|group| group.members_checked && group.version.as_deref() == Some("1.0.0")),
        "{groups:?}"
    );
    groups
        .into_iter()
        .flat_map(|group| group.rows)
        .map(|row| (row.change, row.record, row.pointer, row.count))
        .collect()
}

fn change(
    change: Change,
    record: &str,
    pointer: &str,
    count: u64,
) -> (Change, String, String, u64) {
    (change, record.to_owned(), pointer.to_owned(), count)
}

/// The drift of all sessions of one harness, and how many there are.
fn drift_of_fixtures(harness: &str) -> DriftReport {
    let options = SessionOptions::default();
    let mut finder = SessionFinder::new(&options);
    finder.add(&root().join("fixtures").join(harness));
    let one = |location: &SessionLocation| {
        let copy = Copy::default();
        match location.open_with_copy(copy.clone(), &options) {
            Err(error) if error.code == ErrorCode::UnknownHarness => None,
            source => Some(drift_of(source.expect("a session"), &copy)),
        }
    };
    let locations: Vec<SessionLocation> = finder
        .finish()
        .locations
        .into_iter()
        .map(|location| location.expect("a session"))
        .collect();
    let reports: Vec<DriftReport> = locations.par_iter().filter_map(one).collect();
    reports
        .into_iter()
        .fold(DriftReport::default(), |mut sum, report| {
            sum.merge(report);
            sum
        })
}

#[test]
fn fixtures_have_not_changed() {
    let tabled = registered()
        .adapters()
        .map(engram_adapters::Registration::descriptor)
        .filter(|adapter| adapter.members.is_some());
    let harnesses: Vec<&str> = tabled.map(|adapter| adapter.harness_family).collect();
    assert!(!harnesses.is_empty());
    for harness in harnesses {
        let groups = drift_of_fixtures(harness).groups();
        let rows = groups
            .iter()
            .flat_map(|group| &group.rows)
            .map(|row| format!("{row:?}"));
        let unchecked = groups
            .iter()
            .filter(|group| !group.members_checked)
            .map(|group| format!("{:?} is not checked", group.version));
        report::assert_none("drift", &rows.chain(unchecked).collect::<Vec<_>>());
        assert!(!groups.is_empty(), "{harness} has sessions");
    }
}

#[test]
fn a_compressed_log_is_compared() {
    let log = fixture();
    let compressed = zstd::encode_all(log.as_bytes(), 0).expect("text can be compressed");
    let report = drift(&compressed);
    assert_eq!(
        (report.sessions(), report.records()),
        (1, log.lines().count() as u64)
    );
    assert!(
        report
            .groups()
            .iter()
            .all(|group| group.is_empty() && group.members_checked)
    );
}

#[test]
fn a_renamed_member_is_unknown_and_its_old_name_is_gone() {
    let found = changes(&fixture().replace("\"tool_use_id\":", "\"toolUseId\":"));
    let expected = [
        change(
            Change::UnknownMember,
            "user",
            "/message/content/*/toolUseId",
            45,
        ),
        change(
            Change::MissingMember,
            "user",
            "/message/content/*/tool_use_id",
            45,
        ),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_member_that_is_renamed_once_is_not_gone() {
    let found = changes(&fixture().replacen("\"costUSD\":", "\"cost_usd\":", 1));
    assert_eq!(
        found,
        [change(Change::UnknownMember, "assistant", "/cost_usd", 1)]
    );
}

#[test]
fn a_type_change_is_found() {
    let found = changes(
        &fixture()
            .replace("\"is_error\":false", "\"is_error\":\"no\"")
            .replace("\"is_error\":true", "\"is_error\":\"yes\""),
    );
    let types = Change::TypeChange {
        expected: Some("bool".to_owned()),
        found: "string".to_owned(),
    };
    assert_eq!(
        found,
        [change(types, "user", "/message/content/*/is_error", 12)]
    );
}

#[test]
fn unknown_types_of_records_and_blocks_are_found() {
    let first = fixture().lines().next().expect("a line").replacen(
        "\"type\":\"user\"",
        "\"type\":\"brand-new\"",
        1,
    );
    let log = fixture().replace(
        "{\"type\":\"redacted_thinking\"",
        "{\"type\":\"brand-new-block\"",
    ) + &first
        + "\n";
    let expected = [
        change(Change::UnknownType, "brand-new", "", 1),
        change(
            Change::UnknownType,
            "brand-new-block",
            "/message/content/*",
            1,
        ),
        // The value that chooses the members of the block.
        change(
            Change::UnknownMember,
            "assistant",
            "/message/content/*/type",
            1,
        ),
    ];
    assert_eq!(changes(&log), expected);
}
