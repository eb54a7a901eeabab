//! The kit certifies the adapter, and the library converts with it what the command would convert.

use std::path::{Path, PathBuf};

use engram_adapters::sessions::{SessionOptions, sessions};
use engram_adapters::{Registry, conformance, ingest_with};
use engram_conformance::{Capabilities, Options, Recordings, Verdict, run};
use engram_core::pipeline::{Input, Options as Conversion};
use engram_core::tape::JsonLines;
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
