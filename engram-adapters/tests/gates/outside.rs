//! Adapters from outside of this crate: they join the registry, override a built-in adapter, and cannot write an invalid tape.

use std::fs;
use std::path::Path;

use engram_adapters::open::store::{
    Export, OpenedStore, Opener, SkippedSession, Store, StoredSession,
};
use engram_adapters::sessions::{SessionOptions, SessionSource, sessions};
use engram_adapters::{Registration, Registry, ingest_with};
use engram_core::adapter::{
    AdapterId, Evidence, HarnessAdapter, Identity, SessionInit, SideInfo, StreamAdapter,
};
use engram_core::coverage::{Coverage, Grade};
use engram_core::descriptor::{AdapterDescriptor, UnknownVersionPolicy};
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::head::Head;
use engram_core::pipeline::{Input, Options};
use engram_core::steps::Conversion;
use engram_core::tape::JsonLines;
use engram_core::version::{Revision, VersionMatrix};

use crate::tree::registered;

const NONE: Coverage = Coverage {
    meta: Grade::Full,
    msg_in: Grade::Full,
    msg_out: Grade::None,
    tool_call: Grade::None,
    tool_result: Grade::None,
    code_read: Grade::None,
    code_edit: Grade::None,
    span_link: Grade::None,
};

const TOY: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "toy",
    adapter_version: "0.1.0",
    harness_family: "toy",
    matrix: VersionMatrix {
        revisions: &[Revision {
            schema: "toy/1",
            versions: None,
            tested: &["synthetic"],
            coverage: NONE,
        }],
        swept: &[],
        known_bad: &[],
    },
    schema_detection_strategy: "a test",
    coverage: NONE,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &[],
    members: None,
    gaps: &[],
    omission_rules: &[],
};

const TAPE: &str = concat!(
    r#"{"seq":0,"t":"2026-01-02T03:04:05Z","k":"meta","source":{"harness":"toy"},"label":"tape.start","schema":"engram.tape/1","#,
    r#""adapter":{"id":"toy","version":"0.1.0"},"harness":{"family":"toy","schema":"toy/1"},"policy":"permissive","#,
    r#""anchors":"winnow/2:k=24,w=32,max=1024","support":"tested","coverage":{"meta":"full","msg.in":"full","msg.out":"none","#,
    r#""tool.call":"none","tool.result":"none","code.read":"none","code.edit":"none","span.link":"none"},"degraded":[],"#,
    r#""t_basis":"inherited"}"#,
    "\n",
    r#"{"seq":1,"t":"2026-01-02T03:04:05Z","k":"msg.in","source":{"harness":"toy"},"role":"user","by":"person","text":"hello","origin":{"line":1}}"#,
    "\n",
    r#"{"seq":2,"t":"2026-01-02T03:04:05Z","k":"meta","source":{"harness":"toy"},"label":"tape.stop","counts":{"meta":2,"msg.in":1,"#,
    r#""msg.out":0,"tool.call":0,"tool.result":0,"code.read":0,"code.edit":0,"span.link":0},"ledger":{"records":1,"mapped":1,"#,
    r#""duplicate":0,"bookkeeping":0,"unrecognized":0,"malformed":0,"omitted":[]},"input":{"hash":"blake3:"#,
    r#"af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262","bytes":10},"complete":true,"t_basis":"inherited"}"#,
    "\n",
);

/// What a log of the toy begins with.
const LOG: &str = "toy log 1\n";

/// An adapter with the three methods only. It replaces a part of a valid tape.
struct Toy {
    from: &'static str,
    to: &'static str,
}

impl HarnessAdapter for Toy {
    fn id(&self) -> AdapterId {
        AdapterId("toy")
    }

    fn convert_to_tape_jsonl(&self, input: &str) -> Result<String, AdapterError> {
        match input.starts_with("toy log") {
            true => Ok(TAPE.replacen(self.from, self.to, 1)),
            false => Err(AdapterError::new(ErrorCode::UnknownHarness)),
        }
    }

    fn descriptor(&self) -> AdapterDescriptor {
        TOY
    }
}

static VALID: Registration = Registration::text_only(&Toy { from: "", to: "" });

fn convert_by(registration: &'static Registration, log: &str) -> Result<String, AdapterError> {
    let (options, mut tape) = (Options::default(), Vec::new());
    let registry = Registry::builtin().with(registration);
    ingest_with(
        &registry,
        Input::in_memory(log, options.limits),
        &options,
        &mut JsonLines::new(&mut tape),
    )?;
    Ok(String::from_utf8(tape).expect("a tape is UTF-8"))
}

#[test]
fn the_three_methods_are_enough_to_ingest() {
    assert_eq!(convert_by(&VALID, LOG).expect("it converts"), TAPE);
    assert_eq!(
        convert_by(&VALID, "another log\n").unwrap_err().code,
        ErrorCode::UnknownHarness
    );
    let options = SessionOptions::default().with_registry(Registry::builtin().with(&VALID));
    let source =
        SessionSource::from_reader(LOG.as_bytes(), Path::new("-"), &options).expect("it opens");
    assert_eq!(
        (source.harness(), source.identity().schema),
        ("toy", Some("toy/1"))
    );
    let mut tape = Vec::new();
    let summary = source
        .convert(&mut JsonLines::new(&mut tape))
        .expect("it converts");
    assert_eq!(
        (
            summary.counts.total(),
            summary.ledger.mapped,
            tape == TAPE.as_bytes()
        ),
        (3, 1, true)
    );
}

#[test]
fn an_invalid_tape_of_a_text_adapter_is_an_adapter_defect() {
    static WRONG_TIME: Registration = Registration::text_only(&Toy {
        from: "\"2026-01-02T03:04:05Z\",\"k\":\"msg",
        to: "\"2026-13-02T03:04:05Z\",\"k\":\"msg",
    });
    static MISSING_FIELD: Registration = Registration::text_only(&Toy {
        from: "\"role\":\"user\",",
        to: "",
    });
    static UNKNOWN_WORD: Registration = Registration::text_only(&Toy {
        from: "\"role\":\"user\"",
        to: "\"role\":\"robot\"",
    });
    static OTHER_ADAPTER: Registration = Registration::text_only(&Toy {
        from: "{\"id\":\"toy\"",
        to: "{\"id\":\"yot\"",
    });
    let defects = [
        (&WRONG_TIME, "(time)"),
        (&MISSING_FIELD, "(missing_key)"),
        (&UNKNOWN_WORD, "(word)"),
        (&OTHER_ADAPTER, "adapter toy"),
    ];
    for (registration, expected) in defects {
        let error = convert_by(registration, LOG).unwrap_err();
        assert_eq!(
            (error.code, error.adapter),
            (ErrorCode::AdapterDefect, Some("toy")),
            "{error}"
        );
        assert!(
            error
                .expected
                .as_deref()
                .is_some_and(|text| text.contains(expected)),
            "{error}"
        );
    }
}

#[test]
fn two_text_adapters_that_accept_one_log_are_ambiguous() {
    struct Other;
    impl HarnessAdapter for Other {
        fn id(&self) -> AdapterId {
            AdapterId("other")
        }

        fn convert_to_tape_jsonl(&self, _: &str) -> Result<String, AdapterError> {
            Ok(TAPE.replace("\"id\":\"toy\"", "\"id\":\"other\""))
        }

        fn descriptor(&self) -> AdapterDescriptor {
            AdapterDescriptor {
                adapter_id: "other",
                ..TOY
            }
        }
    }
    static OTHER: Registration = Registration::text_only(&Other);
    let (options, registry) = (
        Options::default(),
        Registry::empty().with(&VALID).with(&OTHER),
    );
    let mut sink = JsonLines::new(std::io::sink());
    let error = ingest_with(
        &registry,
        Input::in_memory(LOG, options.limits),
        &options,
        &mut sink,
    )
    .unwrap_err();
    assert_eq!(
        (error.code, error.found.as_deref()),
        (ErrorCode::AmbiguousHarness, Some("toy; other"))
    );
}

/// The built-in adapter of this id under its own id, with another version.
struct Newer(&'static str);

impl Newer {
    fn real(&self) -> &'static dyn StreamAdapter {
        registered()
            .by_id(self.0)
            .ok()
            .and_then(Registration::stream)
            .expect("it is built in")
    }
}

impl StreamAdapter for Newer {
    fn describe(&self) -> &'static AdapterDescriptor {
        Box::leak(Box::new(AdapterDescriptor {
            adapter_version: "99.0.0",
            ..*self.real().describe()
        }))
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        self.real().probe(head)
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        self.real().identify(head)
    }

    fn conversion(&self, init: &SessionInit<'_>) -> Box<dyn Conversion> {
        self.real().conversion(init)
    }
}

static NEWER: Registration = Registration::new(&Newer("codex"))
    .with_side_info(note_beside)
    .with_store_opener(&OPENER);

fn note_beside(path: &Path, _: &Head<'_>, _: &Identity) -> SideInfo {
    let parent = fs::read_to_string(path.with_extension("parent")).ok();
    SideInfo {
        parent_session_id: parent,
        ..SideInfo::default()
    }
}

/// A store: a directory named `logs.store`, which is one session.
static OPENER: Opener = Opener {
    is_root: |directory| directory.ends_with("logs.store"),
    is_inside: |_| true,
    open_root: open_logs,
    ..Opener::NOTHING
};

struct Logs(Vec<StoredSession>);

fn open_logs(directory: &Path, _: engram_core::limits::Limits) -> OpenedStore {
    let session = StoredSession {
        id: "one".to_owned(),
        path: directory.join("log"),
    };
    Ok(Some(Box::new(Logs(vec![session]))))
}

impl Store for Logs {
    fn kind(&self) -> &'static str {
        "directory of logs"
    }

    fn sessions(&self) -> &[StoredSession] {
        &self.0
    }

    fn skipped(&self) -> &[SkippedSession] {
        &[]
    }

    fn export(&self, session: &StoredSession) -> Result<Export, AdapterError> {
        Ok(Export {
            text: fs::read_to_string(&session.path)?,
            context: SideInfo::default(),
        })
    }

    fn verify_unchanged(&self) -> Result<(), AdapterError> {
        Ok(())
    }
}

#[test]
fn an_outside_adapter_overrides_a_built_in_one_and_has_side_files_and_stores() {
    let registry = Registry::builtin().with(&NEWER);
    let ids = |registry: &Registry| {
        registry
            .adapters()
            .map(Registration::id)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        ids(&registry),
        ids(registered()),
        "it takes the place of the built-in one"
    );
    assert_eq!(
        registry
            .by_id("codex")
            .expect("it is registered")
            .descriptor()
            .adapter_version,
        "99.0.0"
    );

    let directory = tempfile::tempdir().expect("a temporary directory can be created");
    let log = crate::tree::fixtures()
        .artifacts()
        .find(|artifact| artifact.case.name().starts_with("codex/0.169.0/main"));
    let log = &log.expect("the fixture exists").bytes;
    fs::create_dir(directory.path().join("logs.store")).expect("the directory can be created");
    for name in ["a.jsonl", "logs.store/log"] {
        fs::write(directory.path().join(name), log).expect("the directory is writable");
    }
    fs::write(directory.path().join("a.parent"), "parent-1").expect("the directory is writable");
    let options = SessionOptions::default().with_registry(registry);
    let tapes = sessions(directory.path(), &options).map(|session| {
        let (mut tape, session) = (Vec::new(), session.expect("it opens"));
        let store = session.store();
        session
            .convert(&mut JsonLines::new(&mut tape))
            .expect("it converts");
        (store, String::from_utf8(tape).expect("a tape is UTF-8"))
    });
    let tapes: Vec<_> = tapes.collect();
    assert_eq!(
        tapes.iter().map(|(store, _)| *store).collect::<Vec<_>>(),
        [None, Some("directory of logs")]
    );
    assert!(tapes.iter().all(|(_, tape)| tape.contains("\"adapter\":{\"id\":\"codex\",\"version\":\"99.0.0\"}")));
    assert!(
        tapes[0].1.contains("\"parent_session_id\":\"parent-1\"")
            && !tapes[1].1.contains("parent-1")
    );
}
