//! Sessions that no fixture shows: damage, values that decide something, limits.

use engram_core::error::AdapterError;
use engram_core::pipeline::{Input, Options};
use engram_core::policy::Policy;
use serde_json::Value;

fn convert(lines: &[&str], policy: Policy) -> Result<Vec<Value>, AdapterError> {
    let options = Options {
        policy,
        ..Options::default()
    };
    let (text, mut tape) = (lines.join("\n"), Vec::new());
    crate::ingest(
        Input::new(text.as_bytes(), options.limits),
        &options,
        &mut engram_core::tape::JsonLines::new(&mut tape),
    )?;
    let tape = String::from_utf8(tape).unwrap();
    Ok(tape
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect())
}

/// A line of a log. Each has another id and time.
fn line(number: usize, kind: &str, data: &str) -> String {
    format!(
        r#"{{"type":"{kind}","data":{data},"id":"e{number}","timestamp":"2026-11-28T10:00:{number:02}.000Z","parentId":null}}"#
    )
}

fn start() -> String {
    line(
        0,
        "session.start",
        r#"{"sessionId":"s","version":1,"producer":"copilot-agent","copilotVersion":"1.0.102","startTime":"2026-11-28T10:00:00.000Z","context":{"cwd":"/p"}}"#,
    )
}

/// The events between start and stop of a session with these records.
fn events(records: &[(&str, &str)]) -> Vec<Value> {
    let lines = records.iter().enumerate();
    let lines = lines.map(|(number, (kind, data))| line(number + 1, kind, data));
    let lines: Vec<String> = std::iter::once(start()).chain(lines).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let tape = convert(&lines, Policy::Strict).unwrap();
    tape[2..tape.len() - 1].to_vec()
}

/// The labels of `meta` events, and the kinds of the others.
fn names(events: &[Value]) -> String {
    let name = |event: &Value| {
        event["label"]
            .as_str()
            .or(event["k"].as_str())
            .map(str::to_owned)
    };
    events.iter().filter_map(name).collect::<Vec<_>>().join(" ")
}

fn sums(input: u64, output: u64) -> String {
    format!(
        r#"{{"shutdownType":"routine","totalApiDurationMs":1,"sessionStartTime":1,"codeChanges":{{}},"modelMetrics":{{"m":{{"requests":{{"count":1,"cost":0}},"usage":{{"inputTokens":{input},"outputTokens":{output},"cacheReadTokens":0,"cacheWriteTokens":0}}}}}}}}"#
    )
}

const RESUME: &str = r#"{"resumeTime":"2026-11-28T10:00:00.000Z","eventCount":1"#;

#[test]
fn a_line_that_is_there_twice_is_one() {
    let prompt = line(1, "user.message", r#"{"content":"hello"}"#);
    let tape = convert(&[&start(), &prompt, &prompt], Policy::Strict).unwrap();
    assert_eq!(names(&tape), "tape.start session msg.in tape.stop");
    assert_eq!(tape[3]["ledger"]["duplicate"], 1);
}

#[test]
fn sums_of_all_runs_count_once() {
    let inputs = |resume: &str| -> Vec<Value> {
        let (first, second) = (sums(700, 350), sums(1000, 500));
        let events = events(&[
            ("session.shutdown", &first),
            ("session.resume", resume),
            ("session.shutdown", &second),
        ]);
        let usages = events.iter().filter(|event| event["label"] == "usage");
        usages
            .map(|usage| usage["tokens"]["input"].clone())
            .collect()
    };
    assert_eq!(inputs(&format!("{RESUME}}}")), [700, 1000]);
    assert_eq!(
        inputs(&format!("{RESUME},\"sessionLimits\":null}}")),
        [700, 300]
    );
}

#[test]
fn a_call_that_no_response_has_is_the_persons() {
    let args = r#""arguments":{"command":"ls"}"#;
    let call = format!(r#"{{"toolCallId":"c","toolName":"bash",{args}}}"#);
    let result =
        r#"{"toolCallId":"c","success":true,"result":{"content":"a\n<exited with exit code 2>"}}"#;
    let own = events(&[
        ("tool.execution_start", &call),
        ("tool.execution_complete", result),
    ]);
    assert_eq!(names(&own), "tool.call tool.result context");
    assert_eq!(
        (&own[1]["exit"], &own[1]["tool"]),
        (&2.into(), &"bash".into())
    );
    let asked = format!(
        r#"{{"messageId":"m","content":"","toolRequests":[{{"toolCallId":"c","name":"bash",{args}}}]}}"#
    );
    let both = events(&[
        ("assistant.message", &asked),
        ("tool.execution_start", &call),
    ]);
    assert_eq!(names(&both), "tool.call");
    let other = call.replace("ls", "ls -l");
    let rewritten = events(&[
        ("assistant.message", &asked),
        ("tool.execution_start", &other),
    ]);
    assert_eq!(names(&rewritten), "tool.call system");
}

#[test]
fn a_message_with_a_source_is_no_persons() {
    let by = |more: &str| {
        let data = format!(r#"{{"content":"do it"{more}}}"#);
        events(&[("user.message", &data)])[0]["by"].clone()
    };
    assert_eq!(by(""), "person");
    assert_eq!(by(r#","source":"user""#), "person");
    assert_eq!(by(r#","source":"skill-pdf""#), "harness");
    assert_eq!(by(r#","source":"agent-a1""#), "agent");
    assert_eq!(by(r#","isAutopilotContinuation":true"#), "harness");
}

#[test]
fn a_compaction_gives_its_summary_and_its_tokens() {
    let done = r#"{"success":true,"summaryContent":"so far","compactionTokensUsed":{"inputTokens":100,"outputTokens":5,"cacheReadTokens":90,"cacheWriteTokens":0,"model":"m"}}"#;
    let events = events(&[
        ("session.compaction_start", "{}"),
        ("session.compaction_complete", done),
    ]);
    assert_eq!(names(&events), "compaction usage");
    assert_eq!(
        (&events[0]["text"], &events[1]["tokens"]["input"]),
        (&"so far".into(), &10.into())
    );
}

#[test]
fn words_with_which_a_person_refuses_are_a_message() {
    let asked = r#"{"requestId":"r","permissionRequest":{"kind":"shell","toolCallId":"c"}}"#;
    let refused = r#"{"requestId":"r","toolCallId":"c","result":{"kind":"denied-interactively-by-user","feedback":"not so"}}"#;
    let events = events(&[
        ("permission.requested", asked),
        ("permission.completed", refused),
    ]);
    assert_eq!(names(&events), "permission permission msg.in");
    assert_eq!(
        (&events[1]["decision"], &events[2]["by"]),
        (&"deny".into(), &"person".into())
    );
}

#[test]
fn a_turn_that_was_stopped_says_so() {
    let events = events(&[("abort", r#"{"reason":"user_initiated"}"#)]);
    assert_eq!(
        (names(&events), &events[0]["text"]),
        ("interrupt".into(), &"user_initiated".into())
    );
}

#[test]
fn an_output_that_was_too_large_names_its_file() {
    let call = r#"{"toolCallId":"c","toolName":"bash","arguments":{"command":"seq 9"}}"#;
    let result = r#"{"toolCallId":"c","success":true,"result":{"content":"Output too large to read at once (1 KB). Saved to: /tmp/o.txt\n1"},"toolTelemetry":{"properties":{"largeOutputHandled":"true"}}}"#;
    let events = events(&[
        ("tool.execution_start", call),
        ("tool.execution_complete", result),
    ]);
    assert_eq!(
        (&events[1]["truncated"], &events[1]["artifact"]["path"]),
        (&true.into(), &"/tmp/o.txt".into())
    );
}

#[test]
fn what_the_terminal_shows_of_an_empty_file_is_no_output() {
    let call = r#"{"toolCallId":"c","toolName":"view","arguments":{"path":"/p/a"}}"#;
    let result = r#"{"toolCallId":"c","success":true,"result":{"content":"a diff","detailedContent":"a diff"},"toolTelemetry":{"metrics":{"resultLength":0}}}"#;
    let events = events(&[
        ("tool.execution_start", call),
        ("tool.execution_complete", result),
    ]);
    assert!(events[1].get("stdout").is_none());
    let shown = (&events[2]["name"], &events[2]["text"]);
    assert_eq!(shown, (&"shown".into(), &"a diff".into()));
}

#[test]
fn a_file_that_was_too_large_was_not_read() {
    let call = r#"{"toolCallId":"c","toolName":"view","arguments":{"path":"/p/long.txt"}}"#;
    let result = r#"{"toolCallId":"c","success":true,"result":{"content":"File too large to read at once (196.3 KB)."}}"#;
    let events = events(&[
        ("tool.execution_start", call),
        ("tool.execution_complete", result),
    ]);
    assert_eq!(names(&events), "tool.call tool.result");
}

#[test]
fn a_signature_is_not_on_the_tape() {
    let data = r#"{"messageId":"m","content":"","reasoningOpaque":"c2lnbmF0dXJl","encryptedContent":"c2lnbmF0dXJl"}"#;
    let events = events(&[("assistant.message", data)]);
    assert_eq!(
        (names(&events), &events[0]["redacted"]),
        ("msg.out".into(), &true.into())
    );
    assert!(!events[0].to_string().contains("c2lnbmF0dXJl"));
}

#[test]
fn a_run_without_a_counted_request_repeats_the_sums_of_the_runs_before() {
    let usage = r#"{"usage":{"model":"m","inputTokens":700,"outputTokens":350,"cacheReadTokens":0,"cacheWriteTokens":0}}"#;
    let resume = format!("{RESUME},\"sessionLimits\":null}}");
    let (first, more) = (sums(700, 350), sums(800, 400));
    let tokens = |last: &str| -> Vec<Value> {
        let events = events(&[
            ("session.usage_record", usage),
            ("session.shutdown", &first),
            ("session.resume", &resume),
            ("session.shutdown", last),
        ]);
        let usages = events.iter().filter(|event| event["label"] == "usage");
        usages
            .map(|usage| usage["tokens"]["input"].clone())
            .collect()
    };
    assert_eq!(tokens(&first), [700]);
    assert_eq!(tokens(&more), [700, 100]);
}

#[test]
fn what_a_fork_begins_with_is_a_copy() {
    let other = "d178c422-303c-40ab-8538-e7f4e2315280";
    let notice = |of: &str| {
        format!(
            r#"{{"infoType":"fork","message":"Forked from \"a \\\"b\\\" (c)\" ({of}) as \"d\" (s)."}}"#
        )
    };
    let (first, last) = (notice(&other.replace('d', "e")), notice(other));
    let prompt = r#"{"content":"hello"}"#;
    let events = events(&[
        ("user.message", prompt),
        ("session.info", &first),
        ("session.info", &last),
        ("user.message", prompt),
    ]);
    let copies: Vec<bool> = events.iter().map(|event| event["replay"] == true).collect();
    assert_eq!(names(&events), "msg.in system session system msg.in");
    assert_eq!(copies, [true, true, false, false, false]);
    assert_eq!(events[2]["fork_of"], other);
}

#[test]
fn the_line_behind_an_output_is_the_harnesss() {
    let call = r#"{"toolCallId":"c","toolName":"bash","arguments":{"command":"ls"}}"#;
    let result = r#"{"toolCallId":"c","success":true,"result":{"content":"a\nb\n<shellId: 0 completed with exit code 4>"}}"#;
    let events = events(&[
        ("tool.execution_start", call),
        ("tool.execution_complete", result),
    ]);
    assert_eq!(names(&events), "tool.call tool.result context");
    assert_eq!(
        (&events[1]["stdout"], &events[1]["exit"]),
        (&"a\nb".into(), &4.into())
    );
    assert_eq!(events[2]["text"], "<shellId: 0 completed with exit code 4>");
}

#[test]
fn a_fact_is_stated_again_when_it_changes() {
    let model = |model: &str| format!(r#"{{"newModel":"{model}"}}"#);
    let (one, two) = (model("m"), model("n"));
    let configured = r#"{"model":"n","multiTurn":false}"#;
    let mut changes = [&one, &one, &two]
        .map(|data| ("session.model_change", data.as_str()))
        .to_vec();
    changes.push(("subagent.configured", configured));
    let models: Vec<Value> = events(&changes)
        .iter()
        .map(|event| event["model"].clone())
        .collect();
    assert_eq!(models, ["m", "n"]);
}

#[test]
fn a_call_in_a_message_of_no_interaction_belongs_to_no_response() {
    let message = |more: &str| {
        let data = format!(
            r#"{{"messageId":"m","content":"","toolRequests":[{{"toolCallId":"c","name":"read_agent","arguments":{{}}}}]{more}}}"#
        );
        events(&[("assistant.message", &data)])[0]["message_id"].clone()
    };
    assert_eq!(message(""), Value::Null);
    assert_eq!(message(r#","interactionId":"i""#), "m");
}

#[test]
fn a_skill_is_context_with_its_file() {
    let skill = r#"{"name":"demo","path":"/p/.github/skills/demo/SKILL.md","content":"Do it with care.\n","allowedTools":[],"source":"project","pluginName":null,"pluginVersion":null,"description":"demo skill","trigger":"agent-invoked","model":"m","invokedAtTurn":18}"#;
    let events = events(&[("skill.invoked", skill)]);
    assert_eq!(names(&events), "context");
    assert_eq!(
        (&events[0]["name"], &events[0]["text"]),
        (&"skill".into(), &"Do it with care.\n".into())
    );
    assert_eq!(events[0]["file"], "/p/.github/skills/demo/SKILL.md");
}

#[test]
fn a_rewind_says_whether_files_were_restored() {
    let rewind = |message: &str| {
        let notice = format!(r#"{{"infoType":"rewind","message":"{message}"}}"#);
        let events = events(&[
            ("user.message", r#"{"content":"hello"}"#),
            ("session.info", &notice),
        ]);
        assert_eq!(names(&events), "msg.in rewind system");
        assert_eq!(events[1]["to"], events[0]["seq"]);
        events[1]["files"].clone()
    };
    assert_eq!(rewind("Rewound conversation and restored 2 file(s)."), true);
    let other = rewind("Rewound the conversation. Your files were left unchanged.");
    assert_ne!(other, true);
}

#[test]
fn a_command_of_the_person_is_no_call_of_the_model() {
    let command = r#"{"toolCallId":"u","toolName":"local_shell","arguments":{"command":"echo hi; exit 4","description":"Execute shell command: echo hi; exit 4"}}"#;
    let end = r#"{"toolCallId":"u","isUserRequested":true,"success":false,"shellExecution":{"exitCode":4},"error":{"message":"hi"}}"#;
    let events = events(&[
        ("tool.user_requested", command),
        ("tool.execution_complete", end),
    ]);
    let said: Vec<_> = events
        .iter()
        .map(|event| (event["name"].as_str(), event["text"].as_str()))
        .collect();
    assert_eq!(
        said,
        [
            (Some("user_shell"), Some("echo hi; exit 4")),
            (Some("user_shell_output"), Some("hi")),
            (Some("user_shell_exit"), Some("4")),
        ]
    );
}

#[test]
fn a_result_behind_an_interruption_is_of_the_same_call() {
    let call = r#"{"toolCallId":"c","toolName":"bash","arguments":{"command":"sleep 20"}}"#;
    let cut = r#"{"toolCallId":"c","success":false,"error":{"message":"Tool execution was interrupted.","code":"interrupted"}}"#;
    let result = r#"{"toolCallId":"c","success":true,"shellExecution":{"exitCode":0},"result":{"content":"x\n<shellId: 0 completed with exit code 0>"}}"#;
    let events = events(&[
        ("tool.execution_start", call),
        ("tool.execution_complete", cut),
        ("tool.execution_complete", result),
    ]);
    assert_eq!(names(&events), "tool.call tool.result tool.result context");
    assert_eq!(
        (&events[1]["status"], &events[2]["tool"]),
        (&"cancelled".into(), &"bash".into())
    );
    assert_eq!(events[2]["stdout"], "x");
}

#[test]
fn the_request_for_a_summary_is_no_turn() {
    let events = events(&[
        ("session.compaction_start", "{}"),
        (
            "model.turn_started",
            r#"{"kind":"turn_started","model":"m"}"#,
        ),
        (
            "model.message",
            r#"{"kind":"message","message":{"content":"all of it","role":"assistant"}}"#,
        ),
        (
            "model.messages_snapshot",
            r#"{"kind":"messages_snapshot","messages":[{"role":"user","content":"x"}]}"#,
        ),
        (
            "session.compaction_complete",
            r#"{"success":true,"summaryContent":"all of it","customInstructions":"keep names"}"#,
        ),
    ]);
    assert_eq!(names(&events), "msg.in compaction");
    let words = (&events[0]["text"], &events[1]["text"]);
    assert_eq!(words, (&"keep names".into(), &"all of it".into()));
}
