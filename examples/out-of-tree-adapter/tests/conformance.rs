//! The adapter is certified by the kit, and the library ingests with it.

use std::path::Path;

use engram_adapters::ingest_with;
use engram_conformance::{Capabilities, Options, Recordings, Verdict, run};
use engram_core::pipeline::{Input, Options as Conversion};
use goose_adapter::{Goose, kind};

fn fixtures() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// The header with a field that no known version writes.
fn with_unknown_version(text: &str) -> Option<String> {
    Some(text.replacen("\"schedule_id\"", "\"schedule_key\"", 1))
}

#[test]
fn the_kit_certifies_the_adapter() {
    let recordings = Recordings::load(&fixtures()).expect("the fixtures are whole");
    let capabilities = Capabilities {
        stream: Some(&Goose),
        tools: Some(&kind),
        with_unknown_version: Some(with_unknown_version),
        ..Capabilities::default()
    };
    let report = run(&Goose, &recordings, &Options { capabilities, ..Options::default() });
    println!("{report}");
    assert!(report.passes() && !report.is_empty(), "{report}");
}

#[test]
fn the_three_methods_alone_are_enough() {
    let recordings = Recordings::load(&fixtures()).expect("the fixtures are whole");
    let report = run(&Goose, &recordings, &Options::default());
    assert!(report.passes(), "{report}");
    let streaming = report.adapters[0].outcome("form.same").expect("it is asked for");
    assert_eq!(streaming.verdict, Verdict::Skip, "a missing capability skips the check");
}

#[test]
fn the_library_ingests_with_it() {
    let log = std::fs::read(fixtures().join("goose/synthetic/tools/session/20250425_173014.jsonl")).expect("it is there");
    let (options, mut tape) = (Conversion::default(), Vec::new());
    let summary = ingest_with(&[&Goose], Input::new(log.as_slice(), options.limits), &options, &mut tape).expect("it converts");
    assert_eq!((summary.adapter_id, summary.schema), ("goose", Some("session-lines")));
    assert!(String::from_utf8(tape).expect("a tape is UTF-8").contains("\"tool\":\"developer__shell\",\"kind\":\"execute\""));
}
