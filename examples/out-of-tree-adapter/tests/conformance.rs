//! The kit certifies the adapter, and the library converts with it what the command would convert.

use std::path::{Path, PathBuf};

use engram_adapters::sessions::{SessionOptions, sessions};
use engram_adapters::{Registry, conformance, ingest_with};
use engram_conformance::{Capabilities, Options, Recordings, Verdict, run};
use engram_core::adapter::HarnessAdapter;
use engram_core::pipeline::{Input, Options as Conversion};
use engram_core::tape::JsonLines;
use engram_index::Writer;
use goose_adapter::{Goose, REGISTRATION};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// The built-in adapters and this one.
fn all_adapters() -> Registry {
    Registry::builtin().with(&REGISTRATION)
}

/// A session as an unknown version would write it: its header has a field that no known version writes.
fn with_unknown_version(text: &str) -> Option<String> {
    Some(text.replacen("\"schedule_id\"", "\"schedule_key\"", 1))
}

#[test]
fn the_kit_certifies_the_adapter() {
    let recordings = Recordings::load(&fixtures()).expect("the fixtures are complete");
    let report = conformance::with_capabilities(&all_adapters(), &REGISTRATION, |capabilities| {
        let capabilities = Capabilities {
            with_unknown_version: Some(with_unknown_version),
            ..capabilities
        };
        run(
            &Goose,
            &recordings,
            &Options {
                capabilities,
                ..Options::default()
            },
        )
    });
    println!("{report}");
    assert!(report.passes() && !report.is_empty(), "{report}");
}

#[test]
fn the_three_methods_of_the_contract_are_enough() {
    let recordings = Recordings::load(&fixtures()).expect("the fixtures are complete");
    let report = run(&Goose, &recordings, &Options::default());
    assert!(report.passes(), "{report}");
    let streaming = report.adapters[0]
        .outcome("form.same")
        .expect("the check was requested");
    assert_eq!(
        streaming.verdict,
        Verdict::Skip,
        "a check that the adapter offers nothing for is skipped"
    );
}

#[test]
fn the_library_converts_a_log() {
    let log = std::fs::read(fixtures().join("goose/synthetic/tools/session/20250425_173014.jsonl"))
        .expect("the fixture exists");
    let (options, mut tape) = (Conversion::default(), Vec::new());
    let summary = ingest_with(
        &all_adapters(),
        Input::new(log.as_slice(), options.limits),
        &options,
        &mut JsonLines::new(&mut tape),
    )
    .expect("it converts");
    assert_eq!(
        (summary.adapter_id, summary.schema),
        ("goose", Some("session-lines"))
    );
    assert!(
        String::from_utf8(tape)
            .expect("a tape is UTF-8")
            .contains("\"tool\":\"developer__shell\",\"kind\":\"execute\"")
    );
}

#[test]
fn the_library_finds_sessions_in_a_directory() {
    let options = SessionOptions::default().with_registry(all_adapters());
    let found: Vec<_> = sessions(fixtures(), &options)
        .map(|session| session.expect("it opens"))
        .collect();
    assert_eq!(
        found
            .iter()
            .map(|session| session.harness())
            .collect::<Vec<_>>(),
        ["goose", "goose"]
    );
}

#[test]
fn a_built_in_adapter_and_this_one_are_the_same_to_their_user() {
    let all = all_adapters();
    let adapters = ["codex", "goose"].map(|id| all.by_id(id).expect("it is registered"));
    let described = adapters.map(|registration| {
        let adapter: &dyn HarnessAdapter = registration.harness();
        assert!(
            adapter.convert_to_tape_jsonl("").is_err(),
            "a text of no harness is no tape"
        );
        adapter.descriptor().harness_family
    });
    assert_eq!(described, ["codex", "goose"]);
}

#[test]
fn an_index_takes_the_events_of_this_adapter() {
    let mut index = Writer::in_memory().expect("an index");
    let options = SessionOptions::default().with_registry(all_adapters());
    for session in sessions(fixtures(), &options) {
        let session = session.expect("it opens");
        let place = session.path().to_owned();
        let mut sink = index.sink(&place);
        session.convert(&mut sink).expect("it converts");
        assert_eq!(sink.added().new, 1);
    }
    let status = index.into_index().and_then(|index| index.status());
    let status = status.expect("a status");
    assert_eq!(status.tapes, 2);
    assert!(status.calls > 0);
}
