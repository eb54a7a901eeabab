//! What the log says again: prompts, turns, thoughts, messages of one id, and whole histories.

use engram_core::adapter::{StreamAdapter, convert_str};
use engram_core::audit::audit;
use engram_core::pipeline::Options;
use serde_json::Value;

use super::Gemini;
use super::tests::{HEADER, TIME, events, texts, user};

#[test]
fn a_prompt_given_twice_is_two_prompts_in_repeated_histories_too() {
    let (first, second) = (user("a", "go on"), user("b", "go on"));
    let history = format!(r#"{{"$set":{{"messages":[{first},{second}]}}}}"#);
    let events = events(&[&first, &second, &history, &history]);
    assert_eq!(texts(&events), ["go on", "go on"]);
}

#[test]
fn a_history_that_is_written_again_changes_no_model() {
    let turn = |id: &str, model: &str| {
        format!(
            r#"{{"id":"{id}",{TIME},"type":"gemini","content":"{id}","thoughts":[],"tokens":null,"model":"{model}"}}"#
        )
    };
    let [first, second, third] = [turn("a", "pro"), turn("b", "flash"), turn("c", "pro")];
    let history = format!(r#"{{"$set":{{"messages":[{first},{second}]}}}}"#);
    let events = events(&[&first, &second, &history, &third, &history]);
    let models: Vec<&str> = events
        .iter()
        .filter(|event| event["label"] == "session")
        .filter_map(|event| event["model"].as_str())
        .collect();
    assert_eq!(
        (models, texts(&events)),
        (vec!["pro", "flash", "pro"], vec!["a", "b", "c"])
    );
}

#[test]
fn a_line_that_repeats_another_changes_nothing() {
    let prompt = user("a", "go on");
    let turn = |time: &str| {
        format!(
            r#"{{"id":"m","timestamp":"{time}","type":"gemini","content":"done","thoughts":[],"tokens":null}}"#
        )
    };
    // The harness writes a turn again under its id, with a new time.
    let (first, rewritten) = (
        turn("2026-11-21T09:58:17.010Z"),
        turn("2026-11-21T09:58:18.010Z"),
    );
    let once = events(&[&prompt, &first]);
    assert_eq!(texts(&once), ["go on", "done"]);
    let repeated = events(&[
        &prompt, &prompt, &first, &rewritten, &first, HEADER, &prompt,
    ]);
    assert_eq!(texts(&repeated), ["go on", "done"]);
    assert_eq!(repeated.len(), once.len());
}

#[test]
fn counts_that_the_next_record_of_their_turn_replaces_give_no_usage() {
    let turn = |output: u8| {
        format!(
            r#"{{"id":"m",{TIME},"type":"gemini","content":"","thoughts":[],"tokens":{{"input":1,"output":{output}}}}}"#
        )
    };
    let outputs: Vec<Value> = events(&[&user("a", "go on"), &turn(2), &turn(3)])
        .into_iter()
        .filter(|event| event["label"] == "usage")
        .map(|mut usage| usage["tokens"]["output"].take())
        .collect();
    assert_eq!(outputs, [3]);
}

#[test]
fn a_turn_that_is_written_again_adds_only_what_is_new_in_it() {
    let thought = |text: &str, second: u8| {
        format!(
            r#"{{"subject":"","description":"{text}","timestamp":"2026-11-21T09:58:{second}.010Z"}}"#
        )
    };
    let turn = |thoughts: &[String]| {
        format!(
            r#"{{"id":"m",{TIME},"type":"gemini","content":"x","thoughts":[{}],"tokens":null}}"#,
            thoughts.join(",")
        )
    };
    let first = turn(&[thought("a", 16), thought("a", 17)]);
    let again = turn(&[thought("a", 26), thought("a", 27), thought("b", 28)]);
    assert_eq!(texts(&events(&[&first])), ["a", "a", "x"]);
    assert_eq!(texts(&events(&[&first, &again])), ["a", "a", "x", "b"]);
    let of_other_turn = again.replace(r#""id":"m""#, r#""id":"n""#);
    assert_eq!(
        texts(&events(&[&first, &of_other_turn])),
        ["a", "a", "x", "a", "a", "b", "x"]
    );
}

#[test]
fn a_thought_that_moves_in_its_turn_stands_once() {
    let thought = |text: &str, second: u8| {
        format!(
            r#"{{"subject":"","description":"{text}","timestamp":"2026-11-21T09:58:{second}.010Z"}}"#
        )
    };
    let turn = |thoughts: &str| {
        format!(
            r#"{{"id":"m",{TIME},"type":"gemini","content":"x","thoughts":[{thoughts}],"tokens":null}}"#
        )
    };
    let (first, again) = (
        turn(&thought("a", 16)),
        turn(&format!("{},{}", thought("b", 17), thought("a", 18))),
    );
    assert_eq!(texts(&events(&[&first, &again])), ["a", "x", "b"]);
}

/// The texts, calls and results of a log.
fn facts(tape: &[Value]) -> Vec<String> {
    let events = tape.iter().filter(|event| event["k"] != "meta");
    events
        .map(|event| {
            format!("{}{}{}", event["text"], event["args"], event["stdout"]).replace("null", "")
        })
        .collect()
}

#[test]
fn messages_with_one_id_and_other_content_are_all_converted() {
    let tokens = |input: u8| {
        format!(r#"{{"input":{input},"output":3,"cached":2,"thoughts":1,"tool":0,"total":14}}"#)
    };
    let turn = |second: u8, text: &str, rest: &str| {
        format!(
            r#"{{"id":"m","timestamp":"2026-11-21T09:58:{second}.010Z","type":"gemini","content":"{text}","thoughts":[],"tokens":{},"model":"m1"{rest}}}"#,
            tokens(second)
        )
    };
    let call = |id: &str, path: &str| {
        let result = format!(
            r#"[{{"functionResponse":{{"id":"{id}","name":"glob","response":{{"output":"{path}"}}}}}}]"#
        );
        format!(
            r#","toolCalls":[{{"id":"{id}","name":"glob","args":{{"p":"{path}"}},"result":{result},"status":"success",{TIME}}}]"#
        )
    };
    let messages = [
        user("m", "go"),
        turn(17, "one", &call("c", "a")),
        turn(18, "two", &call("c", "b")),
        user("m", "on"),
        turn(19, "three", ""),
        turn(20, "four", ""),
    ];
    let expected = [
        r#""go""#,
        r#""one""#,
        r#"{"p":"a"}"#,
        r#""a""#,
        r#""two""#,
        r#"{"p":"b"}"#,
        r#""b""#,
        r#""on""#,
        r#""three""#,
        r#""four""#,
    ];
    let header = HEADER.strip_suffix('}').unwrap();
    let document = format!(r#"{header},"messages":[{}]}}"#, messages.join(","));
    for source in [document, format!("{HEADER}\n{}\n", messages.join("\n"))] {
        let tape = convert_str(&Gemini, &source, &Options::default()).unwrap();
        assert!(
            audit(source.as_bytes(), &tape, Gemini.describe())
                .unwrap()
                .holds(),
            "{tape}"
        );
        let tape: Vec<Value> = tape
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(facts(&tape), expected);
        assert_eq!(
            tape.iter()
                .filter(|event| event["label"] == "usage")
                .count(),
            4,
            "{source}"
        );
    }
}

#[test]
fn a_message_of_a_document_that_is_written_again_adds_only_what_is_new() {
    let call = |id: &str| {
        format!(
            r#"{{"id":"{id}","name":"glob","args":{{}},"result":[],"status":"success",{TIME}}}"#
        )
    };
    let turn = |calls: &str| {
        let tokens = r#"{"input":10,"output":3,"cached":2,"thoughts":1,"tool":0,"total":14}"#;
        let thought = r#"{"subject":"","description":"a","timestamp":"2026-11-21T09:58:17.010Z"}"#;
        format!(
            r#"{{"id":"m",{TIME},"type":"gemini","content":"x","thoughts":[{thought}],"tokens":{tokens},"model":"m1","toolCalls":[{calls}]}}"#
        )
    };
    let (first, again) = (
        turn(&call("c1")),
        turn(&format!("{},{}", call("c1"), call("c2"))),
    );
    let source = format!(
        r#"{},"messages":[{first},{again},{again}]}}"#,
        HEADER.strip_suffix('}').unwrap()
    );
    let tape = convert_str(&Gemini, &source, &Options::default()).unwrap();
    let tape: Vec<Value> = tape
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let count = |name: &str| {
        tape.iter()
            .filter(|event| event["k"] == name || event["label"] == name)
            .count()
    };
    assert_eq!(
        ["msg.out", "tool.call", "tool.result", "usage"].map(count),
        [2, 2, 2, 1]
    );
}

#[test]
fn a_turn_that_is_written_again_with_other_white_space_counts_once() {
    let tokens = r#"{"input":10,"output":3,"cached":2,"thoughts":1,"tool":0,"total":14}"#;
    let turn = format!(
        r#"{{"id":"m",{TIME},"type":"gemini","content":"x","thoughts":[],"tokens":{tokens},"model":"m1"}}"#
    );
    let spaced = turn.replace("\":", "\": ").replace(",\"", ", \"");
    let history = format!(r#"{{"$set":{{"messages":[{turn}]}}}}"#);
    let usages = events(&[&spaced, &history, &turn])
        .iter()
        .filter(|event| event["label"] == "usage")
        .count();
    assert_eq!(usages, 1);
}

#[test]
fn new_messages_in_a_history_are_converted() {
    let history = format!(
        r#"{{"$set":{{"messages":[{},{}]}}}}"#,
        user("a", "one"),
        user("b", "two")
    );
    let events = events(&[&user("a", "one"), &history]);
    assert_eq!(texts(&events), ["one", "two"]);
    assert_eq!(
        events[1]["origin"]["pointer"],
        "/$set/messages/1/content/0/text"
    );
}

#[test]
fn a_history_without_results_removes_no_result() {
    let call = r#"{"id":"c","name":"read_file","args":{"file_path":"a"},"result":[{"functionResponse":{"id":"c","name":"read_file","response":{"output":"x\n"}}}],"status":"success","resultDisplay":""}"#;
    let turn = format!(
        r#"{{"id":"m",{TIME},"type":"gemini","content":"","thoughts":[],"tokens":null,"toolCalls":[{call}]}}"#
    );
    let history = format!(
        r#"{{"$set":{{"messages":[{{"id":"m",{TIME},"type":"gemini","content":[{{"functionCall":{{"id":"c","name":"read_file","args":{{"file_path":"a"}}}}}}]}}]}}}}"#
    );
    let kinds: Vec<Value> = events(&[&turn, &history])
        .iter()
        .map(|event| event["k"].clone())
        .collect();
    assert_eq!(kinds, ["tool.call", "tool.result", "code.read"]);
}

/// Shortened from a recording with 0.61.0: a turn is stopped before the log has its call, and the history has it first.
#[test]
fn a_call_that_a_history_has_first_is_one_call_of_its_response() {
    let turn = format!(
        r#"{{"id":"m",{TIME},"type":"gemini","content":"","thoughts":[],"tokens":{{"input":2,"output":1,"cached":0,"thoughts":0,"tool":0,"total":3}},"model":"pro"}}"#
    );
    let restated = format!(
        r#"{{"$set":{{"messages":[{},{{"id":"m",{TIME},"type":"gemini","content":[{{"functionCall":{{"id":"c","name":"t","args":{{}}}}}}],"thoughts":[]}}]}}}}"#,
        user("a", "go")
    );
    let ended = format!(
        r#"{{"id":"n",{TIME},"type":"gemini","content":"","thoughts":[],"toolCalls":[{{"id":"c","name":"t","args":{{}},"result":[{{"functionResponse":{{"id":"c","name":"t","response":{{"output":"x"}}}}}}],"status":"success",{TIME}}}]}}"#
    );
    let events = events(&[
        &user("a", "go"),
        &turn,
        &user("b", "stop"),
        &restated,
        &ended,
        &ended.replace("16.010Z", "17.010Z"),
    ]);
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| {
            event["label"]
                .as_str()
                .or(event["k"].as_str())
                .unwrap_or_default()
        })
        .collect();
    let expected = [
        "msg.in",
        "session",
        "msg.in",
        "tool.call",
        "usage",
        "tool.result",
    ];
    assert_eq!(kinds, expected);
}

/// As 0.61.0 writes them where a hook has changed the arguments, and the history is compressed later.
#[test]
fn arguments_of_the_model_stand_where_a_hook_has_changed_them() {
    let turn = format!(
        r#"{{"id":"m",{TIME},"type":"gemini","content":"","thoughts":[],"tokens":null,"toolCalls":[{{"id":"c","name":"run_shell_command","args":{{"command":"echo b"}},"status":"success","timestamp":"2026-11-21T09:58:17.010Z","result":[]}}]}}"#
    );
    let again = |command: &str| {
        format!(
            r#"{{"$set":{{"messages":[{{"id":"n",{TIME},"type":"gemini","content":[{{"functionCall":{{"id":"c","name":"run_shell_command","args":{{"command":"{command}"}}}}}}]}}]}}}}"#
        )
    };
    let contexts = |command: &str| {
        let history = again(command);
        let events = events(&[&user("a", "go on"), &turn, &history, &history]);
        let calls = events.iter().filter(|event| event["k"] == "tool.call");
        assert_eq!(calls.count(), 1);
        let contexts = events.iter().filter(|event| event["label"] == "context");
        let texts = contexts.map(|event| event["text"].as_str().unwrap_or_default().to_owned());
        texts.collect::<Vec<_>>()
    };
    assert_eq!(contexts("npm test"), [r#"{"command":"npm test"}"#]);
    assert!(contexts("echo b").is_empty());
}
