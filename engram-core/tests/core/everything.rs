//! Round-trip tests with every event and every field. They also show that the event schema is complete.

use engram_core::adapter::convert_str;
use engram_core::check::{Rule, check};
use engram_core::event::*;
use engram_core::event_schema::{self, EVENTS, Field};
use engram_core::hash::Hash;
use engram_core::pipeline::Options;
use engram_core::redact::Redacting;
use engram_core::tape::{JsonLines, events as read, raw_events, replay};
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;
use serde_json::value::RawValue;

use crate::toy::{HEADER, Toy};

fn text(text: &'static str) -> Option<Text<'static>> {
    Some(Text::Plain(text))
}

fn number(token: &'static str) -> Option<Number<'static>> {
    let raw: &'static RawValue = serde_json::from_str(token).unwrap();
    Number::of(raw)
}

fn attachments() -> Vec<Attachment<'static>> {
    vec![Attachment {
        media_type: text("image/png"),
        hash: Some(Hash::of_bytes(b"x")),
        bytes: Some(1),
        name: text("x.png"),
    }]
}

fn meta() -> Vec<Meta<'static>> {
    let facts = SessionFacts {
        model: text("m"),
        provider: text("p"),
        repo_head: text("h"),
        repo_branch: text("b"),
        repo_url: text("u"),
        cwd: text("/w"),
        title: text("t"),
        parent_session_id: text("ps"),
        parent_call_id: text("pc"),
        fork_of: text("f"),
        agent: text("a"),
        permission_mode: text("plan"),
        effort: text("high"),
        cost_total_usd: number("-1e3"),
        context_tokens: Some(1),
    };
    let one = Some(1);
    let tokens = Tokens {
        input: one,
        cache_read: one,
        cache_write: one,
        cache_write_1h: one,
        output: one,
        reasoning: one,
    };
    vec![
        Meta::Session(facts),
        Meta::Episode(EpisodeFacts {
            work_id: text("w"),
            episode_id: text("e"),
            session_id: text("s"),
            adapter_profile_hash: text("blake3:0"),
            agent: text("a"),
            agent_version: text("1"),
        }),
        Meta::Usage(Usage {
            message_id: text("i"),
            request_id: text("r"),
            model: text("m"),
            tokens,
            cost_usd: number("1.0"),
            stop_reason: text("end"),
            service_tier: text("standard"),
            provisional: true,
            part: text("advisor"),
        }),
        Meta::Rewind {
            to: Seq::default(),
            files: true,
        },
        Meta::Compaction {
            text: text("summary"),
            trigger: text("auto"),
        },
        Meta::Error {
            code: text("529"),
            text: text("overloaded"),
        },
        Meta::Interrupt {
            text: text("stopped"),
        },
        Decision::Deny.of_call(text("run"), text("c"), text("no")),
        Meta::Context(ImplicitInput {
            name: Text::Plain("env"),
            file: text("f"),
            hash: Some(Hash::of_text("x")),
            bytes: Some(1),
            text: text("x"),
        }),
        Meta::System {
            name: Text::Plain("notice"),
            text: text("x"),
        },
    ]
}

/// Every event that an adapter can emit, with every field.
pub fn events() -> Vec<Event<'static>> {
    let (range, hash) = (Some(Range { first: 3, last: 2 }), Some(Hash::of_text("x")));
    let edit = CodeEdit {
        call_id: text("c"),
        before_range: range,
        after_range: range,
        before_hash: hash,
        after_hash: hash,
        file_before_hash: hash,
        file_after_hash: hash,
        before_anchor_hashes: vec![1, 2],
        after_anchor_hashes: vec![3],
        before_text: Some("x".into()),
        after_text: Some("x".into()),
        ..CodeEdit::new(EditOp::Update, Text::Plain("f"))
    };
    let snippet = CodeEdit {
        snippet: true,
        confirmed: false,
        before_range: None,
        after_range: None,
        before_lines: Some(1),
        after_lines: Some(2),
        ..edit.clone()
    };
    let out = MsgOut {
        text: text("x"),
        channel: Some(Channel::Final),
        model: text("m"),
        message_id: text("i"),
        redacted: false,
    };
    let result = ToolResult {
        tool: text("run"),
        call_id: text("c"),
        status: Some(Status::Cancelled),
        exit: Some(-1),
        stdout: text(""),
        stderr: text("x"),
        truncated: true,
        artifact: Some(SideFile {
            path: Text::Plain("a"),
            hash,
            bytes: Some(1),
        }),
        attachments: attachments(),
        duration_ms: Some(1),
    };
    let (from_file, to_file) = (Text::Plain("f"), Text::Plain("g"));
    let mut all: Vec<Event<'static>> = meta().into_iter().map(Event::from).collect();
    all.extend([
        Event::from(MsgIn {
            role: Role::Developer,
            by: Author::Agent,
            text: text("x"),
            attachments: attachments(),
        }),
        out.clone().into(),
        MsgOut {
            text: None,
            redacted: true,
            ..out
        }
        .into(),
        ToolCall {
            server: text("s"),
            call_id: text("c"),
            message_id: text("m"),
            args: Some("{\"a\": [1.0, null]}"),
            ..ToolCall::new(Text::Plain("run"), ToolKind::WebSearch)
        }
        .into(),
        result.into(),
        CodeRead {
            call_id: text("c"),
            file: from_file,
            range,
            total_lines: Some(9),
            hash,
            anchor_hashes: vec![1],
            text: Some("x".into()),
        }
        .into(),
        edit.into(),
        snippet.into(),
        SpanLink {
            call_id: text("c"),
            from_file,
            from_range: range,
            to_file,
            to_range: range,
            note: text("x"),
        }
        .into(),
    ]);
    all
}

fn tape() -> String {
    tape_with(&Options::default())
}

fn tape_with(options: &Options) -> String {
    let log = format!(
        "{HEADER}\n{}\n{}\n{}\n{}\n",
        r#"{"type":"everything","id":"e","t":"2026-01-02T03:04:06Z"}"#,
        r#"{"type":"toy","version":"1.9.0"}"#,
        r#"{"type":"mystery"}"#,
        "no json \u{0}"
    );
    convert_str(&Toy, &log, options).unwrap()
}

fn redacted(tape: &str) -> String {
    let mut redacted = Vec::new();
    replay(
        tape.as_bytes(),
        &mut Redacting::new(JsonLines::new(&mut redacted)).unwrap(),
    )
    .unwrap();
    String::from_utf8(redacted).unwrap()
}

#[test]
fn a_tape_with_every_event_is_valid() {
    assert_eq!(check(&tape()), []);
}

#[test]
fn a_tape_with_every_event_survives_reading_and_writing() {
    let (tape, mut written) = (tape(), Vec::new());
    replay(tape.as_bytes(), &mut JsonLines::new(&mut written)).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), tape);
    let lines: String = read(&tape).map(|event| event.unwrap().to_line()).collect();
    assert_eq!(lines, tape);
}

#[test]
fn spans_have_their_text_where_the_start_of_the_tape_says_so() {
    let tape = tape_with(&Options {
        span_text: true,
        ..Options::default()
    });
    assert_eq!(check(&tape), []);
    let texts = [
        r#","spans":"text""#,
        r#","before_text":"x","after_text":"x""#,
        r#"],"text":"x""#,
    ];
    let without = texts.into_iter().fold(tape.clone(), |tape, text| {
        tape.replace(text, if text.starts_with(']') { "]" } else { "" })
    });
    assert_eq!(without, self::tape());
    let mut written = Vec::new();
    replay(tape.as_bytes(), &mut JsonLines::new(&mut written)).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), tape);
    for (from, to) in [
        (r#""after_text":"x""#, r#""after_text":"y""#),
        (r#","after_text":"x""#, ""),
    ] {
        let rules: Vec<Rule> = check(&tape.replacen(from, to, 1))
            .iter()
            .map(|found| found.rule)
            .collect();
        assert_eq!(rules, [Rule::SpanText], "{to}");
    }
}

#[test]
fn every_event_and_field_of_the_schema_is_written() {
    let tape = tape_with(&Options {
        span_text: true,
        ..Options::default()
    }) + &redacted(&tape());
    let written: Vec<_> = raw_events(&tape).map(Result::unwrap).collect();
    // These three need damaged input. The policy tests cover them.
    let rare = ["bytes", "hash", "lossy"];
    for event in EVENTS {
        let matching = || {
            written.iter().filter(|written| {
                written.envelope.kind == event.kind && written.label() == event.label
            })
        };
        assert!(
            matching().next().is_some(),
            "{} {:?} is not written",
            event.kind.as_str(),
            event.label
        );
        let is_written =
            |field: &Field| matching().any(|written| written.fields.get(field.key).is_some());
        // The command replaces halves of surrogate pairs behind the sink.
        let is_rare = |field: &Field| match event.label {
            Some("unrecognized") => rare.contains(&field.key),
            Some("tape.start") => field.key == "unicode",
            _ => false,
        };
        let missing: Vec<&str> = event
            .fields
            .iter()
            .filter(|field| !is_written(field) && !is_rare(field))
            .map(|field| field.key)
            .collect();
        assert!(
            missing.is_empty(),
            "{} {:?}: {missing:?} not written",
            event.kind.as_str(),
            event.label
        );
    }
}

#[test]
fn every_closed_list_of_the_schema_is_complete() {
    let words = |label, key| {
        let event = event_schema::of(label, None).unwrap();
        match event
            .fields
            .iter()
            .find(|field| field.key == key)
            .map(|field| field.field_type)
        {
            Some(event_schema::FieldType::Word(words)) => words,
            other => panic!("{other:?}"),
        }
    };
    assert!(
        ToolKind::ALL
            .iter()
            .map(|kind| kind.as_str())
            .eq(words(Kind::ToolCall, "kind").iter().copied())
    );
    assert_eq!(
        words(Kind::ToolResult, "status"),
        ["ok", "error", "denied", "cancelled"]
    );
    assert_eq!(
        words(Kind::CodeEdit, "op"),
        ["create", "update", "overwrite", "delete", "move"]
    );
    assert_eq!(words(Kind::MsgIn, "role"), ["user", "system", "developer"]);
    assert_eq!(
        words(Kind::MsgOut, "channel"),
        ["final", "commentary", "reasoning"]
    );
}
