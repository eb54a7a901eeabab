//! Drift in real logs: each kind of change is found in a fixture that is changed by hand, and nothing in one that is not.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

use engram_adapters::sessions::{SessionLocation, SessionOptions};
use engram_adapters::{Registration, Registry};
use engram_core::adapter::{Evidence, Identity, Session, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::drift::{Change, DriftReport, SessionDrift};
use engram_core::head::Head;
use engram_core::members::MemberSource;

use crate::tree::{files, registered, root};

/// An adapter with the member table of this test.
struct Tabled {
    adapter: &'static dyn StreamAdapter,
    descriptor: AdapterDescriptor,
}

impl StreamAdapter for Tabled {
    fn describe(&self) -> &'static AdapterDescriptor {
        &TABLED.descriptor
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        self.adapter.probe(head)
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        self.adapter.identify(head)
    }

    fn session(&self, init: &SessionInit<'_>) -> Box<dyn Session> {
        self.adapter.session(init)
    }
}

static TABLED: LazyLock<Tabled> = LazyLock::new(|| {
    let adapter = registered().by_id("claude-code").ok().and_then(Registration::stream).expect("a streaming adapter");
    Tabled { adapter, descriptor: AdapterDescriptor { members: Some(&MEMBERS), ..*adapter.describe() } }
});

/// The members of [`FIXTURE`].
static MEMBERS: MemberSource = MemberSource::new(&["
rule kept  Kept for a test.

shape line
  parentUuid    string  omit kept
  isSidechain   bool    omit kept
  userType      string  omit kept
  cwd           string  omit kept
  sessionId     string  omit kept
  version       string  omit kept
  type          string  omit kept
  uuid          string  omit kept
  timestamp     string  omit kept

record user omit kept
  include line
  message       object
    role        string
    content     string|array
      []        object
        type    string
        by type
        case text
          text  string
        case tool_result
          tool_use_id string
          content?    any free omit kept
          is_error?   bool
        else unrecognized
  toolUseResult? any free omit kept
record assistant omit kept
  include line
  costUSD       number
  durationMs    number
  message       object
    id          string
    type        string
    role        string
    model       string
    stop_reason? string
    stop_sequence? string
    usage       object free omit kept
    content     array
      []        object
        type    string
        by type
        case text
          text  string
        case thinking
          thinking string
          signature string
        case redacted_thinking
          data  string
        case tool_use
          id    string
          name  string
          input object free omit kept
        else unrecognized
"]);

const FIXTURE: &str = "claude-code/1.0.0/b_edit";

fn fixture() -> String {
    let logs: Vec<PathBuf> =
        files(&root().join("fixtures").join(FIXTURE).join("session")).into_iter().filter(|path| is_log(path)).collect();
    assert_eq!(logs.len(), 1);
    std::fs::read_to_string(&logs[0]).expect("a log")
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

fn drift(log: &[u8]) -> DriftReport {
    let registration = Box::leak(Box::new(Registration::new(&*TABLED)));
    let options = SessionOptions::default().with_registry(Registry::builtin().with(registration));
    let folder = tempfile::tempdir().expect("temporary folders can be made");
    let path = folder.path().join("log.jsonl");
    std::fs::write(&path, log).expect("files can be written");
    let copy = Copy::default();
    let source = SessionLocation::of_file(&path).open_with_copy(copy.clone(), &options).expect("a session");
    let (framing, mut drift) = (source.framing(), SessionDrift::new("log", source.registration().descriptor()));
    source.convert(&mut drift).expect("a conversion");
    let copied = copy.0.lock().expect("no panic").clone();
    drift.read(BufReader::new(&copied[..]), framing).expect("a text in memory")
}

/// What is found: the change, the type, the pointer and the number.
fn changes(log: &str) -> Vec<(Change, String, String, u64)> {
    let groups = drift(log.as_bytes()).groups();
    assert!(groups.iter().all(|group| group.members_checked && group.version.as_deref() == Some("1.0.0")), "{groups:?}");
    groups.into_iter().flat_map(|group| group.rows).map(|row| (row.change, row.record, row.pointer, row.count)).collect()
}

fn change(change: Change, record: &str, pointer: &str, count: u64) -> (Change, String, String, u64) {
    (change, record.to_owned(), pointer.to_owned(), count)
}

#[test]
fn a_log_that_has_not_changed_gives_nothing() {
    let log = fixture();
    assert_eq!(changes(&log), []);
    let compressed = zstd::encode_all(log.as_bytes(), 0).expect("text can be compressed");
    let report = drift(&compressed);
    assert_eq!((report.sessions(), report.records()), (1, log.lines().count() as u64));
    assert!(report.groups().iter().all(|group| group.is_empty() && group.members_checked));
}

#[test]
fn a_renamed_member_is_unknown_and_its_old_name_is_gone() {
    let found = changes(&fixture().replace("\"tool_use_id\":", "\"toolUseId\":"));
    let expected = [
        change(Change::UnknownMember, "user", "/message/content/*/toolUseId", 45),
        change(Change::MissingMember, "user", "/message/content/*/tool_use_id", 45),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_member_that_is_renamed_once_is_not_gone() {
    let found = changes(&fixture().replacen("\"costUSD\":", "\"cost_usd\":", 1));
    assert_eq!(found, [change(Change::UnknownMember, "assistant", "/cost_usd", 1)]);
}

#[test]
fn a_type_change_is_found() {
    let found =
        changes(&fixture().replace("\"is_error\":false", "\"is_error\":\"no\"").replace("\"is_error\":true", "\"is_error\":\"yes\""));
    let types = Change::TypeChange { expected: Some("bool".to_owned()), found: "string".to_owned() };
    assert_eq!(found, [change(types, "user", "/message/content/*/is_error", 12)]);
}

#[test]
fn unknown_types_of_records_and_blocks_are_found() {
    let first = fixture().lines().next().expect("a line").replacen("\"type\":\"user\"", "\"type\":\"brand-new\"", 1);
    let log = fixture().replace("{\"type\":\"redacted_thinking\"", "{\"type\":\"brand-new-block\"") + &first + "\n";
    let expected =
        [change(Change::UnknownType, "brand-new", "", 1), change(Change::UnknownType, "brand-new-block", "/message/content/*", 1)];
    assert_eq!(changes(&log), expected);
}
