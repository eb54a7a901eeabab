//! Stores that are damaged, cyclic, or not stores at all: each test makes its own database.

use std::fs;
use std::path::{Path, PathBuf};

use engram_core::adapter::convert_str;
use engram_core::check::check;
use engram_core::error::ErrorCode;
use engram_core::limits::Limits;
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::cursor::REGISTRATION;
use crate::open::store::Store;
use crate::registry::Registry;
use crate::sessions::open_store;

/// A database in a directory of its own.
struct TestStore {
    _directory: TempDir,
    path: PathBuf,
    database: Connection,
}

impl TestStore {
    fn with(sql: &str) -> TestStore {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let database = Connection::open(&path).unwrap();
        database.execute_batch(sql).unwrap();
        TestStore {
            _directory: directory,
            path,
            database,
        }
    }

    /// A chat whose latest root is the blob `aa`.
    fn chat(blobs: &[(&str, Option<&[u8]>)]) -> TestStore {
        let made = TestStore::with(
            "CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB); CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)",
        );
        let meta = r#"{"agentId":"../../x","latestRootBlobId":"aa","createdAt":1780000000000,"blobEncryptionKey":"c2VjcmV0"}"#;
        let hex: String = meta.bytes().map(|byte| format!("{byte:02x}")).collect();
        made.database
            .execute("INSERT INTO meta VALUES ('0', ?1)", [hex])
            .unwrap();
        for (id, data) in blobs {
            made.database
                .execute("INSERT INTO blobs VALUES (?1, ?2)", (id, data))
                .unwrap();
        }
        made
    }

    /// An editor's store with these rows.
    fn editor(rows: &[(&str, Option<&str>)]) -> TestStore {
        let made = TestStore::with(
            "CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value BLOB); CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB)",
        );
        for (key, value) in rows {
            let table = if key.contains(':') {
                "cursorDiskKV"
            } else {
                "ItemTable"
            };
            made.database
                .execute(
                    &format!("INSERT INTO {table} VALUES (?1, ?2)"),
                    (key, value),
                )
                .unwrap();
        }
        made
    }

    fn open(&self) -> Box<dyn Store> {
        open_store(&Registry::builtin(), &self.path, Limits::default())
            .unwrap()
            .unwrap()
            .1
    }

    /// The error code of the one session under strict policy, and its tape under permissive policy.
    fn outcome(&self) -> (Option<ErrorCode>, String) {
        let opened = self.open();
        assert_eq!(opened.sessions().len(), 1);
        let export = match opened.export(&opened.sessions()[0]) {
            Ok(export) => export,
            Err(error) => return (Some(error.code), String::new()),
        };
        let convert = |policy| {
            convert_str(
                REGISTRATION.stream().unwrap(),
                &export.text,
                &Options {
                    policy,
                    ..Options::default()
                },
            )
        };
        let tape = convert(Policy::Permissive).unwrap();
        assert_eq!(check(&tape), []);
        (convert(Policy::Strict).err().map(|error| error.code), tape)
    }
}

/// A protobuf field of bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
    out.extend(bytes);
    out
}

/// A prompt as the model received it.
const PROMPT: &[u8] = br#"{"role":"user","content":"hello"}"#;

fn malformed(tape: &str) -> usize {
    tape.matches(r#""name":"malformed""#).count()
}

#[test]
fn other_files_and_databases_are_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let open = |path: &Path| {
        open_store(&Registry::builtin(), path, Limits::default())
            .map(|opened| opened.is_some())
            .map_err(|error| error.code)
    };
    for text in ["", "user:\nhello\n", "no database"] {
        fs::write(&path, text).unwrap();
        assert_eq!(open(&path), Ok(false), "{text}");
    }
    fs::write(&path, b"SQLite format 3\0 and then nothing that fits").unwrap();
    assert!(open(&path).is_err());
    fs::remove_file(&path).unwrap();
    let database = rusqlite::Connection::open(&path).unwrap();
    database
        .execute_batch("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB); CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
        .unwrap();
    assert_eq!(open(&path), Ok(false), "an empty store");
    for value in ["zz", "7b7d", "7b"] {
        database
            .execute("INSERT OR REPLACE INTO meta VALUES ('0', ?1)", [value])
            .unwrap();
        assert_eq!(open(&path), Err(ErrorCode::IncompleteStore), "{value}");
    }
    let copy = directory.path().join("other.db");
    fs::copy(&path, &copy).unwrap();
    assert_eq!(open(&copy), Ok(false), "tables of another product");
}

#[test]
fn the_summary_of_each_compaction_stands_once() {
    // The first summary is among the messages that the second compaction replaced, the second one among those of the root.
    let summary = |text: &str| {
        format!(
            r#"{{"role":"user","content":"{text}","providerOptions":{{"cursor":{{"isSummary":true}}}}}}"#
        )
    };
    let archive = |messages: &[&[u8]], text: &str, message: &[u8]| {
        let messages = messages.iter().flat_map(|id| field(1, id));
        [
            messages.collect(),
            field(2, text.as_bytes()),
            field(4, message),
        ]
        .concat()
    };
    let root = [field(1, b"\xb2"), field(13, b"\xa1"), field(13, b"\xa2")].concat();
    let (code, tape) = TestStore::chat(&[
        ("aa", Some(&root)),
        ("a1", Some(&archive(&[b"\xbb"], "so far", b"\xb1"))),
        ("a2", Some(&archive(&[b"\xb1"], "and further", b"\xb2"))),
        ("bb", Some(PROMPT)),
        ("b1", Some(summary("so far").as_bytes())),
        ("b2", Some(summary("and further").as_bytes())),
    ])
    .outcome();
    assert_eq!(code, None);
    let label = r#""label":"compaction""#;
    let compactions: Vec<_> = tape.lines().filter(|line| line.contains(label)).collect();
    assert_eq!(compactions.len(), 2, "{tape}");
    assert!(compactions[0].contains(r#""text":"so far""#));
    assert!(compactions[1].contains(r#""text":"and further""#));
}

#[test]
fn a_refused_call_and_a_command_without_output_end_as_the_turn_graph_says() {
    let id = |id: &str| [&[0xca, 0x03, 1][..], id.as_bytes()].concat();
    // `mcpToolCall` (15) with `permissionDenied` (4), `shellToolCall` (1) with `failure` (2).
    let mcp = field(15, &field(2, &field(4, b"")));
    let failure = field(2, &field(2, &field(1, b"false")));
    let shell = field(1, &[field(1, &field(1, b"false")), failure].concat());
    let step = |call: &[u8], of: &str| field(2, &[call, &id(of)].concat());
    let turn = field(1, &[field(2, b"\xe1"), field(2, b"\xe2")].concat());
    let root = [field(1, b"\xb1"), field(1, b"\xb2"), field(8, b"\xcc")].concat();
    let calls = br#"{"role":"assistant","content":[{"type":"tool-call","toolCallId":"m","toolName":"CallMcpTool","args":{}},{"type":"tool-call","toolCallId":"s","toolName":"Shell","args":{"command":"false"}}]}"#;
    let results = br#"{"role":"tool","content":[{"type":"tool-result","toolCallId":"m","toolName":"CallMcpTool","result":"Error: blocked"},{"type":"tool-result","toolCallId":"s","toolName":"Shell","result":"Exit code: 1"}]}"#;
    let (code, tape) = TestStore::chat(&[
        ("aa", Some(&root)),
        ("b1", Some(calls)),
        ("b2", Some(results)),
        ("cc", Some(&turn)),
        ("e1", Some(&step(&mcp, "m"))),
        ("e2", Some(&step(&shell, "s"))),
    ])
    .outcome();
    assert_eq!(code, None, "{tape}");
    let is_result = |line: &&str| line.contains(r#""k":"tool.result""#);
    let ends: Vec<_> = tape.lines().filter(is_result).collect();
    assert!(
        ends[0].contains(r#""status":"denied","stderr":"Error: blocked""#),
        "{tape}"
    );
    assert!(
        ends[1].contains(r#""status":"error""#) && !ends[1].contains("Exit code"),
        "{tape}"
    );
}

#[test]
fn missing_and_malformed_blobs_are_reported_and_the_rest_is_kept() {
    let (message, turn) = (field(1, b"\xbb"), field(8, b"\xcc"));
    let root = [message, turn].concat();
    // An endless varint; a field longer than the message; an unknown wire type; a group without an end.
    for broken in [
        &b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"[..],
        b"\x42\x7f\xcc",
        b"\x0f",
        b"\x0b",
    ] {
        // A store that is not empty and gives nothing is an error under any policy.
        let (code, tape) = TestStore::chat(&[("aa", Some(broken))]).outcome();
        assert_eq!(
            (code, tape.as_str()),
            (Some(ErrorCode::MalformedRecord), ""),
            "{broken:?}"
        );
        let (code, tape) = TestStore::chat(&[
            ("aa", Some(&root)),
            ("bb", Some(PROMPT)),
            ("cc", Some(broken)),
        ])
        .outcome();
        assert_eq!(
            (code, malformed(&tape)),
            (Some(ErrorCode::MalformedRecord), 1),
            "{broken:?}"
        );
        assert!(tape.contains(r#""text":"hello""#), "{tape}");
    }
    for missing in [
        &[][..],
        &[("aa", Some(&root[..])), ("bb", None), ("cc", None)],
        &[("aa", Some(&root[..]))],
    ] {
        let (code, tape) = TestStore::chat(missing).outcome();
        assert_eq!(
            (code, malformed(&tape) > 0),
            (Some(ErrorCode::MalformedRecord), true),
            "{missing:?}"
        );
    }
    for message in [
        &b"{\"role\":\"user\""[..],
        b"[]",
        b"7",
        b"\xff\xfe",
        br#"{"role":"user"}"#,
    ] {
        let (code, tape) =
            TestStore::chat(&[("aa", Some(&field(1, b"\xbb"))), ("bb", Some(message))]).outcome();
        assert_eq!(
            (code, malformed(&tape)),
            (Some(ErrorCode::MalformedRecord), 1),
            "{message:?}"
        );
    }
}

#[test]
fn a_cyclic_graph_terminates() {
    // A root that is its own message, its own turn and its own archive; a turn that is its own prompt and its own step.
    let itself = [
        field(1, b"\xaa"),
        field(8, b"\xaa"),
        field(13, b"\xaa"),
        field(8, b"\xcc"),
    ]
    .concat();
    let turn = field(
        1,
        &[field(1, b"\xcc"), field(2, b"\xcc"), field(2, b"\xaa")].concat(),
    );
    let (code, tape) = TestStore::chat(&[("aa", Some(&itself)), ("cc", Some(&turn))]).outcome();
    assert_eq!(code, Some(ErrorCode::MalformedRecord));
    assert!(tape.len() < 20_000, "{} bytes", tape.len());
}

#[test]
fn repeated_references_to_a_large_blob_exceed_the_limit() {
    let message = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(10_000));
    let root = field(1, b"\xbb").repeat(1000);
    let made = TestStore::chat(&[("aa", Some(&root)), ("bb", Some(message.as_bytes()))]);
    let limits = Limits {
        record_bytes: 1 << 20,
        ..Limits::default()
    };
    let (_, opened) = open_store(&Registry::builtin(), &made.path, limits)
        .unwrap()
        .unwrap();
    assert_eq!(
        opened.export(&opened.sessions()[0]).unwrap_err().code,
        ErrorCode::LimitExceeded
    );
}

#[test]
fn null_and_malformed_rows_are_reported_and_the_rest_is_kept() {
    const RECORD: &str = r#"{"_v":16,"composerId":"c","name":"a name","createdAt":1780000000000}"#;
    const BUBBLE: &str = r#"{"_v":3,"type":1,"bubbleId":"1","text":"hello"}"#;
    for broken in ["{\"_v\":3,", "[]", "", "\u{0}"] {
        let made = TestStore::editor(&[
            ("composerData:c", Some(RECORD)),
            ("bubbleId:c:1", Some(BUBBLE)),
            ("bubbleId:c:2", Some(broken)),
        ]);
        let (code, tape) = made.outcome();
        assert_eq!(
            (code, malformed(&tape)),
            (Some(ErrorCode::MalformedRecord), 1),
            "{broken}"
        );
        assert!(tape.contains(r#""text":"hello""#), "{tape}");
        // Without its record nothing proves the schema.
        let (code, tape) = TestStore::editor(&[
            ("composerData:c", Some(broken)),
            ("bubbleId:c:1", Some(BUBBLE)),
        ])
        .outcome();
        assert_eq!(
            (code, malformed(&tape)),
            (Some(ErrorCode::MalformedRecord), 1),
            "{broken}"
        );
        assert!(tape.contains(r#""text":"hello""#), "{tape}");
    }
    let (code, tape) = TestStore::editor(&[
        ("composerData:c", Some(RECORD)),
        ("bubbleId:c:1", Some(BUBBLE)),
        ("bubbleId:c:2", None),
    ])
    .outcome();
    assert_eq!((code, malformed(&tape)), (None, 0));
    let (code, tape) =
        TestStore::editor(&[("composerData:c", None), ("bubbleId:c:1", Some(BUBBLE))]).outcome();
    assert_eq!((code, malformed(&tape)), (None, 0));
    assert!(tape.contains(r#""text":"hello""#), "{tape}");
}

#[test]
fn an_unknown_schema_is_refused_or_degrades_the_tape() {
    let record = r#"{"_v":99,"composerId":"c"}"#;
    let made = TestStore::editor(&[
        ("composerData:c", Some(record)),
        ("bubbleId:c:1", Some(r#"{"_v":4,"type":1,"text":"hello"}"#)),
    ]);
    let (code, tape) = made.outcome();
    assert_eq!(code, Some(ErrorCode::UnknownHarnessVersion));
    assert!(
        tape.contains(r#""degraded":["unknown_harness_version"]"#),
        "{tape}"
    );
}

#[test]
fn of_two_conversations_with_one_id_one_is_skipped() {
    let record = r#"{"_v":16,"composerId":"c"}"#;
    let inline = r#"{"allComposers":[{"composerId":"c","conversation":[{"type":1,"text":"older"}]},
        {"composerId":"d","conversation":[{"type":1,"text":"one"}]},{"composerId":"d","conversation":[{"type":1,"text":"two"}]}]}"#;
    let rows = [
        ("composerData:c", Some(record)),
        ("bubbleId:c:1", Some(r#"{"_v":3,"type":1,"text":"newer"}"#)),
    ];
    let made = TestStore::editor(&[&rows[..], &[("composer.composerData", Some(inline))]].concat());
    let opened = made.open();
    let ids: Vec<&str> = opened
        .sessions()
        .iter()
        .map(|session| session.id.as_str())
        .collect();
    assert_eq!(ids, ["c", "d"]);
    let aside: Vec<(&str, &str)> = opened
        .skipped()
        .iter()
        .map(|left| (left.session.id.as_str(), left.reason))
        .collect();
    assert_eq!(
        aside,
        [
            ("c", "an older copy of a conversation that has rows"),
            ("d", "another conversation of the same id")
        ]
    );
    assert!(
        opened
            .export(&opened.sessions()[0])
            .unwrap()
            .text
            .contains("newer")
    );
}

#[test]
fn the_secret_of_a_chat_is_removed_even_with_an_escaped_name() {
    for name in ["blobEncryptionKey", "blob\\u0045ncryptionKey"] {
        let made = TestStore::chat(&[]);
        let meta = format!(r#"{{"agentId":"x","{name}":"c2VjcmV0"}}"#);
        let hex: String = meta.bytes().map(|byte| format!("{byte:02x}")).collect();
        made.database
            .execute("UPDATE meta SET value = ?1", [hex])
            .unwrap();
        let opened = made.open();
        let text = opened.export(&opened.sessions()[0]).unwrap().text;
        assert!(
            text.contains("agentId") && !text.contains("c2VjcmV0"),
            "{text}"
        );
    }
}

/// A prompt of 2024 with lines, a file and an image that the user added to it.
#[test]
fn selections_files_and_images_of_a_prompt_are_converted() {
    let uri = r#"{"fsPath":"/p/of mine/a.ts","external":"file:///p/of%20mine/a.ts","path":"/p/of mine/a.ts","scheme":"file"}"#;
    let bubble = format!(
        r#"{{"type":"user","id":"b1","text":"what is this?","selections":[{{"text":"```ts\nlet a = 1;\n```","rawText":"let a = 1;","uri":{uri}}}],
        "fileSelections":[{{"uri":{uri}}}],"selectedImages":[{{"path":"/p/of mine/shot.png"}}]}}"#
    );
    let tabs = format!(
        r#"{{"tabs":[{{"tabId":"t","chatTitle":"a question","lastSendTime":1731784617890,"bubbles":[{bubble}]}}]}}"#
    );
    let made = TestStore::editor(&[("workbench.panel.aichat.view.aichat.chatdata", Some(&tabs))]);
    let (code, tape) = made.outcome();
    assert_eq!(code, None, "{tape}");
    for part in [
        r#""attachments":[{"name":"/p/of mine/shot.png"}]"#,
        r#""name":"selection","file":"/p/of mine/a.ts","text":"let a = 1;""#,
        r#""name":"file","file":"/p/of mine/a.ts""#,
    ] {
        assert!(tape.contains(part), "{part} in {tape}");
    }
    let store = made.open();
    let opened = store.export(&store.sessions()[0]).unwrap();
    let report =
        engram_core::audit::audit(opened.text.as_bytes(), &tape, &REGISTRATION.descriptor())
            .unwrap();
    assert_eq!(report.left_over.bytes, 0, "{report:?}");
}

#[test]
fn ids_that_name_one_turn_and_one_step_many_times_are_bounded() {
    let step = field(1, &field(1, &[b'x'; 100]));
    let turn = field(1, &field(2, b"\xdd").repeat(40));
    let blobs = |turns: usize| {
        let root = [field(1, b"\xbb"), field(8, b"\xcc").repeat(turns)].concat();
        TestStore::chat(&[
            ("aa", Some(&root)),
            ("bb", Some(PROMPT)),
            ("cc", Some(&turn)),
            ("dd", Some(&step)),
        ])
    };
    let export = |made: &TestStore, record_bytes: u64| {
        let opened = open_store(
            &Registry::builtin(),
            &made.path,
            Limits {
                record_bytes,
                ..Limits::default()
            },
        )
        .unwrap()
        .unwrap()
        .1;
        opened
            .export(&opened.sessions()[0])
            .map(|export| export.text.len())
            .map_err(|error| error.code)
    };
    let made = blobs(100);
    assert!(export(&made, 64 << 20).is_ok_and(|bytes| bytes > 400_000));
    assert_eq!(export(&made, 400_000), Err(ErrorCode::LimitExceeded));
    // One message that the root names many times.
    let root = field(1, b"\xbb").repeat(5_000);
    let made = TestStore::chat(&[("aa", Some(&root)), ("bb", Some(PROMPT))]);
    assert_eq!(export(&made, 100_000), Err(ErrorCode::LimitExceeded));
}

#[cfg(unix)]
#[test]
fn files_of_a_text_store_and_transcripts_are_read_below_their_directory_only() {
    use std::os::unix::fs::symlink;
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store");
    fs::create_dir(&store).unwrap();
    fs::write(store.join("agents.ndjson"), "{\"agentId\":\"a\"}\n").unwrap();
    fs::write(
        store.join("runs.ndjson"),
        "{\"runId\":\"r\",\"agentId\":\"a\",\"status\":\"FINISHED\"}\n",
    )
    .unwrap();
    fs::write(
        directory.path().join("secret"),
        "{\"runId\":\"r\",\"seq\":1,\"payload\":{\"secret\":1}}\n",
    )
    .unwrap();
    symlink("../secret", store.join("run_events.ndjson")).unwrap();
    let opened = open_store(&Registry::builtin(), &store, Limits::default())
        .unwrap()
        .unwrap()
        .1;
    assert!(
        !opened
            .export(&opened.sessions()[0])
            .unwrap()
            .text
            .contains("secret")
    );
    // A transcript that becomes a pipe between opening and reading.
    let path = directory.path().join("chat.txt");
    fs::write(&path, "user:\n<user_query>\nhi\n</user_query>\n").unwrap();
    let opened = open_store(&Registry::builtin(), &path, Limits::default())
        .unwrap()
        .unwrap()
        .1;
    assert!(opened.export(&opened.sessions()[0]).is_ok());
    fs::remove_file(&path).unwrap();
    if std::process::Command::new("mkfifo")
        .arg(&path)
        .status()
        .is_ok_and(|status| status.success())
    {
        assert_eq!(
            opened.export(&opened.sessions()[0]).unwrap_err().code,
            ErrorCode::Io
        );
    }
}
