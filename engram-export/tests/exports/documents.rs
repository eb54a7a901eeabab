//! ATIF documents, OTLP lines and Hugging Face traces of all golden tapes.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use boon::{Compiler, SchemaIndex, Schemas};
use engram_core::tape::replay;
use engram_export::Wrote;
use engram_export::atif::{Atif, Child, ChildDocument, Document, Version};
use engram_export::hf::{MESSAGES_FILE, TRACES_DIRECTORY, Traces, card};
use engram_export::links::{Links, Parent, parents};
use engram_export::otlp::{Content, Options, Otlp, Part, Semconv};
use engram_export::session::Session;
use opentelemetry_proto::tonic::trace::v1::TracesData;
use serde_json::Value;

use crate::golden::{GOLDEN, Golden};
use crate::programs::python;

/// The golden tapes of one recording that belong together.
pub struct Family {
    pub tapes: Vec<&'static Golden>,
    pub parents: Vec<Option<Parent>>,
}

impl Family {
    fn children(&self, tape: usize) -> impl Iterator<Item = usize> {
        (0..self.tapes.len()).filter(move |child| {
            self.parents[*child]
                .as_ref()
                .is_some_and(|parent| parent.tape == tape)
        })
    }
}

/// True for the longest of several tapes of one session: forms of it, and captures of its runs.
fn is_longest(links: &[Links], at: usize) -> bool {
    let id = |links: &Links| (links.session_id.clone(), links.agent_id.clone());
    let own = &links[at];
    let same = links.iter().enumerate().filter(|(_, other)| {
        own.session_id.is_some() && other.harness == own.harness && id(other) == id(own)
    });
    let longest = same.max_by_key(|(at, other)| (other.events, std::cmp::Reverse(*at)));
    longest.is_none_or(|(longest, _)| longest == at)
}

fn families() -> Vec<Family> {
    let mut recordings: BTreeMap<&str, Vec<&'static Golden>> = BTreeMap::new();
    GOLDEN
        .iter()
        .for_each(|tape| recordings.entry(&tape.recording).or_default().push(tape));
    let family = |tapes: Vec<&'static Golden>| {
        let links = |tape: &&Golden| {
            let mut links = Links::default();
            replay(tape.text.as_bytes(), &mut links).unwrap();
            links
        };
        let links: Vec<Links> = tapes.iter().map(links).collect();
        let keep: Vec<usize> = (0..links.len())
            .filter(|at| is_longest(&links, *at))
            .collect();
        let tapes: Vec<_> = keep.iter().map(|at| tapes[*at]).collect();
        let links: Vec<Links> = keep.iter().map(|at| links[*at].clone()).collect();
        Family {
            parents: parents(&links),
            tapes,
        }
    };
    recordings.into_values().map(family).collect()
}

pub fn session(tape: &Golden) -> Session<'_> {
    Session::read(Cursor::new(&tape.text)).unwrap()
}

fn document(family: &Family, tape: usize, atif: &mut Atif) -> Option<Document> {
    let child = |child: usize, atif: &mut Atif| {
        let call_id = family.parents[child]
            .as_ref()
            .and_then(|parent| parent.call_id.clone());
        Some(Child {
            call_id,
            document: ChildDocument::Embedded(document(family, child, atif)?),
        })
    };
    let children: Vec<Child> = family
        .children(tape)
        .filter_map(|tape| child(tape, atif))
        .collect();
    let of = family.tapes[tape];
    atif.document(&of.name, &session(of), children).unwrap()
}

/// The document of a tape, as text.
pub fn json(family: &Family, tape: usize, atif: &mut Atif) -> Option<String> {
    let document = document(family, tape, atif)?;
    let mut json = Vec::new();
    atif.write(&document, &mut json).unwrap();
    Some(String::from_utf8(json).unwrap())
}

/// What Harbor demands and a JSON Schema cannot say.
fn broken_rules(document: &Value, found: &mut Vec<String>) {
    let id = document["trajectory_id"].as_str().unwrap_or_default();
    let children: Vec<&str> = document["subagent_trajectories"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|child| child["trajectory_id"].as_str())
        .collect();
    if children.iter().collect::<BTreeSet<_>>().len() != children.len() {
        found.push(format!("{id}: sub-agents with one id"));
    }
    for (index, step) in document["steps"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        if step["step_id"] != index + 1 {
            found.push(format!("{id}: step {index} has the id {}", step["step_id"]));
        }
        let calls: Vec<&str> = step["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|call| call["tool_call_id"].as_str())
            .collect();
        if calls.iter().collect::<BTreeSet<_>>().len() != calls.len() {
            found.push(format!("{id}: step {index} has a call id twice"));
        }
        for result in step["observation"]["results"]
            .as_array()
            .into_iter()
            .flatten()
        {
            if result["source_call_id"]
                .as_str()
                .is_some_and(|call| !calls.contains(&call))
            {
                found.push(format!("{id}: a result of a call of another step"));
            }
            for reference in result["subagent_trajectory_ref"]
                .as_array()
                .into_iter()
                .flatten()
            {
                if reference["trajectory_id"]
                    .as_str()
                    .is_none_or(|child| !children.contains(&child))
                {
                    found.push(format!("{id}: a reference to no sub-agent"));
                }
            }
        }
        if step["source"] != "agent" {
            for key in ["model_name", "reasoning_content", "tool_calls", "metrics"] {
                if !step[key].is_null() {
                    found.push(format!("{id}: a step of {} has `{key}`", step["source"]));
                }
            }
        }
    }
    document["subagent_trajectories"]
        .as_array()
        .into_iter()
        .flatten()
        .for_each(|child| broken_rules(child, found));
}

fn schema() -> (Schemas, SchemaIndex) {
    let text = include_str!("../atif.schema.json");
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler
        .add_resource("atif.json", serde_json::from_str(text).unwrap())
        .unwrap();
    let index = compiler.compile("atif.json", &mut schemas).unwrap();
    (schemas, index)
}

#[test]
fn every_atif_document_is_valid() {
    let directory = tempfile::tempdir().unwrap();
    let (schemas, index) = schema();
    let mut atif = Atif::new(Version::V1_7);
    let (mut found, mut documents, mut embedded, mut references, mut calls) =
        (Vec::new(), 0, 0, 0, 0);
    for (number, family) in families().iter().enumerate() {
        for root in (0..family.tapes.len()).filter(|tape| family.parents[*tape].is_none()) {
            let Some(json) = json(family, root, &mut atif) else {
                continue;
            };
            let value: Value = serde_json::from_str(&json).unwrap();
            if let Err(error) = schemas.validate(&value, index) {
                found.push(format!("{}: {error}", family.tapes[root].name));
            }
            broken_rules(&value, &mut found);
            documents += 1;
            embedded += value["subagent_trajectories"]
                .as_array()
                .map_or(0, Vec::len);
            references += json.matches("subagent_trajectory_ref").count();
            calls += json.matches("\"tool_call_id\":").count();
            fs::write(directory.path().join(format!("{number}-{root}.json")), json).unwrap();
        }
    }
    assert!(
        found.is_empty(),
        "{} faults\n{}",
        found.len(),
        found[..found.len().min(5)].join("\n")
    );
    assert!(
        documents > 300 && embedded > 20 && references > 10 && calls > 3000,
        "{documents} {embedded} {references} {calls}"
    );
    eprintln!(
        "atif: {documents} documents, {embedded} sub-agents embedded, {references} referred to by results\n{}",
        atif.losses().to_json()
    );
    python(
        "atif.py",
        &["harbor.utils.trajectory_validator"],
        &[directory.path()],
    );
}

#[test]
fn a_document_with_a_fault_is_not_valid() {
    let (schemas, index) = schema();
    let family = &families()[0];
    let document: Value =
        serde_json::from_str(&json(family, 0, &mut Atif::new(Version::V1_8)).unwrap()).unwrap();
    assert!(schemas.validate(&document, index).is_ok());
    assert_eq!(document["schema_version"], "ATIF-v1.8");
    for break_it in [
        |document: &mut Value| document["steps"][0]["unknown"] = 1.into(),
        |document: &mut Value| document["agent"]["version"] = Value::Null,
        |document: &mut Value| document["steps"] = Value::Array(Vec::new()),
    ] {
        let mut broken = document.clone();
        break_it(&mut broken);
        assert!(schemas.validate(&broken, index).is_err());
    }
    let mut broken = document.clone();
    broken["steps"][0]["step_id"] = 9.into();
    broken["steps"][1]["observation"] =
        serde_json::json!({ "results": [{ "source_call_id": "none" }] });
    let mut found = Vec::new();
    broken_rules(&broken, &mut found);
    assert_eq!(found.len(), 2);
}

/// Writes the traces of all golden tapes.
fn traces(options: Options) -> (Vec<String>, Otlp) {
    let mut otlp = Otlp::new(options);
    let mut lines = Vec::new();
    for family in families() {
        for root in (0..family.tapes.len()).filter(|tape| family.parents[*tape].is_none()) {
            let mut members = vec![root];
            let mut at = 0;
            while at < members.len() {
                members.extend(family.children(members[at]));
                at += 1;
            }
            let part = |member: &usize| {
                let parent = family.parents[*member].as_ref().filter(|_| *member != root);
                let place = |tape: usize| members.iter().position(|other| *other == tape).unwrap();
                Ok(Part {
                    name: &family.tapes[*member].name,
                    session: session(family.tapes[*member]),
                    parent: parent.map(|parent| (place(parent.tape), parent.call_id.as_deref())),
                })
            };
            let mut line = Vec::new();
            if otlp.line(members.iter().map(part), &mut line).unwrap() == Wrote::Session {
                lines.push(String::from_utf8(line).unwrap());
            }
        }
    }
    (lines, otlp)
}

#[test]
fn opentelemetry_reads_every_trace() {
    let (lines, otlp) = traces(Options {
        content: Content::All,
        ..Options::default()
    });
    let (mut spans, mut negative, mut orphans, mut linked) = (0, 0, 0, 0);
    for line in &lines {
        let data: TracesData = serde_json::from_str(line).unwrap();
        assert_eq!(line.matches('\n').count(), 1);
        let all: Vec<_> = data
            .resource_spans
            .iter()
            .flat_map(|resource| &resource.scope_spans)
            .flat_map(|scope| &scope.spans)
            .collect();
        let ids: HashSet<&[u8]> = all.iter().map(|span| &*span.span_id).collect();
        assert_eq!(
            ids.len(),
            all.len(),
            "two spans with one id in {}",
            &line[..200.min(line.len())]
        );
        for span in &all {
            assert_eq!(
                (span.trace_id.len(), span.span_id.len(), &span.trace_id),
                (16, 8, &all[0].trace_id)
            );
            negative += usize::from(
                span.end_time_unix_nano < span.start_time_unix_nano
                    || span.start_time_unix_nano == 0,
            );
            orphans += usize::from(
                !span.parent_span_id.is_empty() && !ids.contains(&*span.parent_span_id),
            );
            linked += span
                .links
                .iter()
                .filter(|link| ids.contains(&*link.span_id))
                .count();
            check_messages(
                span.attributes
                    .iter()
                    .map(|attribute| serde_json::to_value(attribute).unwrap()),
            );
        }
        spans += all.len();
        let roots = all
            .iter()
            .filter(|span| span.parent_span_id.is_empty())
            .count();
        assert_eq!(roots, 1);
    }
    assert_eq!((negative, orphans), (0, 0));
    assert!(
        lines.len() > 250 && spans > 5000 && linked > 2000,
        "{} {spans} {linked}",
        lines.len()
    );
    eprintln!(
        "otlp: {} traces, {spans} spans, 0 duplicates, 0 negative times\n{}",
        lines.len(),
        otlp.losses().to_json()
    );
}

/// The parts of messages have the types that the conventions name.
fn check_messages(attributes: impl Iterator<Item = Value>) {
    for attribute in attributes {
        if !["gen_ai.input.messages", "gen_ai.output.messages"]
            .contains(&attribute["key"].as_str().unwrap())
        {
            continue;
        }
        let messages: Value =
            serde_json::from_str(attribute["value"]["stringValue"].as_str().unwrap()).unwrap();
        for message in messages.as_array().unwrap() {
            assert!(
                ["user", "system", "assistant", "tool"]
                    .contains(&message["role"].as_str().unwrap())
            );
            for part in message["parts"].as_array().unwrap() {
                let key = match part["type"].as_str().unwrap() {
                    "text" | "reasoning" => "content",
                    "tool_call" => "name",
                    "tool_call_response" => "response",
                    other => panic!("a part of type {other}"),
                };
                assert!(!part[key].is_null(), "{part}");
            }
        }
    }
}

#[test]
fn without_content_traces_have_no_texts_and_older_names_are_written_if_asked_for() {
    let (lines, _) = traces(Options {
        semconv: Semconv::V1_41,
        ..Options::default()
    });
    let all = lines.concat();
    for text in [
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "cache_write.input",
    ] {
        assert!(!all.contains(text), "{text}");
    }
    for name in [
        "gen_ai.system",
        "gen_ai.provider.name",
        "cache_creation.input_tokens",
        "schemas/1.41.0",
    ] {
        assert!(all.contains(name), "{name}");
    }
    assert_eq!(
        all,
        traces(Options {
            semconv: Semconv::V1_41,
            ..Options::default()
        })
        .0
        .concat(),
        "the same tapes give the same traces"
    );
}

#[test]
fn datasets_load_traces_and_conversations() {
    let directory = tempfile::tempdir().unwrap();
    let (sessions, conversations) = (
        directory.path().join("traces"),
        directory.path().join("messages"),
    );
    fs::create_dir_all(&conversations).unwrap();
    let mut traces = Traces::default();
    let (mut rows, mut written, mut counts) = (String::new(), 0, (0, 0));
    for tape in GOLDEN.iter() {
        let session = session(tape);
        let (mut trace, mut row) = (Vec::new(), Vec::new());
        if traces.trace(&tape.name, &session, &mut trace).unwrap() == Wrote::Nothing {
            assert!(trace.is_empty());
            continue;
        }
        traces.messages(&tape.name, &session, &mut row).unwrap();
        let [trace, row] = [trace, row].map(|text| String::from_utf8(text).unwrap());
        counts.0 += trace.lines().count();
        let value: Value = serde_json::from_str(&row).unwrap();
        assert_eq!(
            value["messages"].as_array().unwrap().len() + 1,
            trace.lines().count()
        );
        counts.1 += value["messages"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|message| message["tool_calls"].as_array())
            .map(Vec::len)
            .sum::<usize>();
        rows += &row;
        let path = sessions
            .join(TRACES_DIRECTORY)
            .join(format!("{}.jsonl", tape.name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, trace).unwrap();
        written += 1;
    }
    fs::write(conversations.join(MESSAGES_FILE), &rows).unwrap();
    fs::write(sessions.join("README.md"), card(false, written, true)).unwrap();
    fs::write(conversations.join("README.md"), card(true, written, true)).unwrap();
    assert!(
        written > 400 && counts.0 > 5000 && counts.1 > 3000,
        "{written} {counts:?}"
    );
    eprintln!(
        "hf: {written} sessions, {} lines, {} calls\n{}",
        counts.0,
        counts.1,
        traces.losses().to_json()
    );
    let expected = format!("{} {} {written}", counts.0, counts.1);
    python(
        "hf.py",
        &["datasets"],
        &[&sessions, &conversations, Path::new(&expected)],
    );
}

/// A tape that counts what is read of it.
struct Counted<'t> {
    text: Cursor<&'t str>,
    bytes: &'t Cell<u64>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(buffer)?;
        self.bytes.set(self.bytes.get() + read as u64);
        Ok(read)
    }
}

impl Seek for Counted<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.text.seek(to)
    }
}

/// Synthetic: so many calls, each open until all are made, then their results, and errors after them.
fn open_calls(calls: usize) -> String {
    let line = |seq: usize, rest: String| {
        format!("{{\"seq\":{seq},\"t\":\"2026-01-02T03:04:05Z\",{rest}}}\n")
    };
    let source = "\"source\":{\"harness\":\"toy\",\"session_id\":\"s\"}";
    let call = |at: usize| {
        line(
            at,
            format!(
                "\"k\":\"tool.call\",{source},\"tool\":\"t\",\"kind\":\"other\",\"call_id\":\"c{at}\""
            ),
        )
    };
    let result = |at: usize| {
        let rest = format!(
            "\"k\":\"tool.result\",{source},\"call_id\":\"c{at}\",\"stdout\":\"x\",\"parent\":{at}"
        );
        line(calls + at, rest)
    };
    let error = |at: usize| {
        line(
            2 * calls + at,
            format!("\"k\":\"meta\",{source},\"label\":\"error\",\"text\":\"e\""),
        )
    };
    let all = (0..calls).map(call).chain((0..calls).map(result));
    all.chain((0..calls).map(error)).collect()
}

#[test]
fn what_is_read_of_a_tape_grows_with_its_lines_alone() {
    let mut read = Vec::new();
    for calls in [1000, 4000] {
        let tape = open_calls(calls);
        let exports: [&dyn Fn(Session<'_>); 3] = [
            &|session| {
                let mut atif = Atif::new(Version::V1_7);
                atif.document("toy/s", &session, Vec::new()).unwrap();
            },
            &|session| {
                let part = Part {
                    name: "toy/s",
                    session,
                    parent: None,
                };
                let line = Otlp::new(Options::default()).line([Ok(part)], &mut io::sink());
                assert_eq!(line.unwrap(), Wrote::Session);
            },
            &|session| {
                let mut out = io::sink();
                Traces::default()
                    .trace("toy/s", &session, &mut out)
                    .unwrap();
            },
        ];
        read.push(exports.map(|export| {
            let bytes = Cell::new(0);
            let text = Cursor::new(tape.as_str());
            export(
                Session::read(Counted {
                    text,
                    bytes: &bytes,
                })
                .unwrap(),
            );
            bytes.get()
        }));
    }
    for (few, many) in read[0].into_iter().zip(read[1]) {
        assert!(many < 5 * few, "{read:?}");
    }
}
