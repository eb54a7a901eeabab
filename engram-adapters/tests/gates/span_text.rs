//! Tapes with the texts of spans: each text is what its hash covers, and nothing else is different.

use std::io;

use engram_core::event::{Event, EventRef, Meta};
use engram_core::pipeline::{Input, Options, convert};
use engram_core::sink::EventSink;
use engram_core::tape::{JsonLines, replay};
use rayon::prelude::*;

use crate::report::{self, Tally};
use crate::tape::{policy_for, tape_of, violations};
use crate::tree::{Artifact, Corpus};

/// Passes events on without the texts of spans, and counts these.
struct WithoutTexts<S> {
    sink: S,
    texts: u64,
}

impl<S: EventSink> EventSink for WithoutTexts<S> {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        let mut event = record.event.clone();
        match &mut event {
            Event::CodeRead(read) => self.texts += u64::from(read.text.take().is_some()),
            Event::CodeEdit(edit) => {
                self.texts += [edit.before_text.take(), edit.after_text.take()]
                    .iter()
                    .flatten()
                    .count() as u64;
            }
            Event::Meta(Meta::TapeStart(start)) => start.spans = None,
            _ => {}
        }
        let mut record = record.clone();
        record.event = &event;
        self.sink.event(&record)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.sink.finish()
    }
}

fn with_texts(artifact: &Artifact) -> String {
    let options = Options {
        policy: policy_for(artifact),
        span_text: true,
        context: artifact.context.clone(),
        ..Options::default()
    };
    let (input, mut tape) = (
        Input::new(artifact.bytes.as_slice(), options.limits),
        Vec::new(),
    );
    convert(
        artifact.adapter(),
        input,
        &options,
        &mut JsonLines::new(&mut tape),
    )
    .unwrap_or_else(|error| panic!("{error}"));
    String::from_utf8(tape).expect("a tape is UTF-8")
}

/// The number of texts, and what is wrong. The checker compares each text with its hash, and misses none.
fn examine(artifact: &'static Artifact) -> (u64, Vec<String>) {
    let (name, tape) = (artifact.full_name(), with_texts(artifact));
    let mut found = violations(&name, &tape);
    let mut without = Vec::new();
    let mut sink = WithoutTexts {
        sink: JsonLines::new(&mut without),
        texts: 0,
    };
    if let Err(error) = replay(tape.as_bytes(), &mut sink) {
        found.push(format!("{name}: {error}"));
    }
    let texts = sink.texts;
    match tape_of(artifact) {
        Ok(plain) if plain.text.as_bytes() == without => {}
        Ok(_) => found.push(format!("{name}: without its texts it is another tape")),
        Err(error) => found.push(error),
    }
    (texts, found)
}

fn findings(corpus: &'static Corpus) -> (Tally, Vec<String>) {
    let artifacts: Vec<&'static Artifact> = corpus.artifacts().collect();
    let examined: Vec<(u64, Vec<String>)> = artifacts
        .par_iter()
        .map(|artifact| examine(artifact))
        .collect();
    let mut tally = Tally::default();
    tally.count_many("texts", examined.iter().map(|(texts, _)| texts).sum());
    (
        tally,
        examined.into_iter().flat_map(|(_, found)| found).collect(),
    )
}

#[test]
fn texts_of_spans_are_what_their_hashes_cover() {
    let tally = report::run("span_text", findings);
    assert!(
        tally.of("texts") > 1000,
        "the fixtures have more reads and edits with hashes"
    );
}
