//! Unit tests: whose words a text in the user's place is.

use engram_core::adapter::convert_str;
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::Gemini;
use super::tests::{HEADER, TIME, events, user};

#[test]
fn words_of_hooks_are_apart_from_those_of_a_person() {
    let words = r#"<hook_context>starts</hook_context>\n\nfix it"#;
    let before_agent = r#"{"text":"<hook_context>before</hook_context>"}"#;
    let typed = format!(
        r#"{{"id":"a",{TIME},"type":"user","content":[{{"text":"{words}"}},{before_agent}],"displayContent":[{{"text":"{words}"}}]}}"#
    );
    // The reason of an `AfterAgent` hook: nothing was typed.
    let goes_on = format!(
        r#"{{"id":"b",{TIME},"type":"user","content":[{{"text":"go on"}},{before_agent}]}}"#
    );
    let events = events(&[&typed, &goes_on, &user("c", "and now")]);
    let by: Vec<(&str, &str)> = events
        .iter()
        .map(|event| {
            (
                event["by"].as_str().unwrap_or_default(),
                event["text"].as_str().unwrap_or_default(),
            )
        })
        .collect();
    let before = ("", "<hook_context>before</hook_context>");
    let expected = [
        ("", "<hook_context>starts</hook_context>"),
        ("person", "fix it"),
        before,
        ("harness", "go on"),
        before,
        ("person", "and now"),
    ];
    assert_eq!(by, expected);
    assert_eq!(events[0]["name"], "hook");
}

#[test]
fn a_prompt_that_a_call_asks_for_is_the_models() {
    let template =
        |task: &str| format!(r"Your task is to look.\n<objective>\n{task}\n</objective>");
    let turn = |tool: &str, argument: &str| {
        let call = format!(
            r#"{{"id":"{tool}","name":"{tool}","args":{{"{argument}":"find it"}},"result":[{{"functionResponse":{{"id":"{tool}","name":"{tool}","response":{{"output":"found"}}}}}}],"status":"success","timestamp":"2026-11-21T09:58:16.010Z"}}"#
        );
        format!(
            r#"{{"id":"m{tool}",{TIME},"type":"gemini","content":"","thoughts":[],"tokens":null,"toolCalls":[{call}]}}"#
        )
    };
    let authors = |lines: &[&str]| -> Vec<Value> {
        let prompts = events(lines).into_iter();
        let prompts = prompts.filter(|event| event["k"] == "msg.in");
        prompts.map(|event| event["by"].clone()).collect()
    };

    let call = turn("codebase_investigator", "objective");
    let (first, task) = (user("a", "find it"), user("b", &template("find it")));
    let other = user("c", &template("something else"));
    let by = authors(&[&first, &task, &call, &other]);
    assert_eq!(by, ["person", "agent", "person"]);

    // The prompt is the argument itself (0.33.2, recorded).
    let call = turn("generalist", "request");
    let (again, other) = (user("b", "find it"), user("c", "something else"));
    let by = authors(&[&first, &again, &call, &other]);
    assert_eq!(by, ["person", "agent", "person"]);
}

#[test]
fn a_document_says_behind_its_messages_that_it_is_a_sub_agents() {
    let header = HEADER
        .strip_suffix(r#","kind":"main"}"#)
        .expect("the kind is last");
    let agent = |kind: &str| {
        let source = format!(r#"{header},"messages":[{}]{kind}}}"#, user("a", "find it"));
        let tape = convert_str(
            &Gemini,
            &source,
            &Options {
                policy: Policy::Strict,
                ..Options::default()
            },
        )
        .expect("it converts");
        let mut events = tape
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("a tape is JSON"));
        let prompt = events
            .find(|event| event["k"] == "msg.in")
            .expect("a prompt");
        (prompt["source"]["agent_id"].clone(), prompt["by"].clone())
    };
    assert_eq!(agent(""), (Value::Null, json!("person")));
    assert_eq!(agent(r#","kind":"subagent""#), (json!("s"), json!("agent")));
}

#[test]
fn the_task_of_a_sub_agent_is_apart_from_instructions_and_template() {
    let instructions =
        r"\n<loaded_context>\n--- Context from: /p/GEMINI.md ---\nuse tabs\n</loaded_context>";
    let parts = format!(
        r#"{{"id":"a",{TIME},"type":"user","content":[{{"text":"{instructions}"}},{{"text":"edit a"}}]}}"#
    );
    let template = user(
        "a",
        r#"Your task is to look.\n<objective>\nfind \"it\"\n</objective>"#,
    );
    let tape = |line: &str, kind: &str| -> Vec<(Value, Value, Value)> {
        let source = format!("{}\n{line}\n", HEADER.replace(r#""kind":"main""#, kind));
        let tape = convert_str(
            &Gemini,
            &source,
            &Options {
                policy: Policy::Strict,
                ..Options::default()
            },
        )
        .unwrap();
        let events = tape
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let texts = events.filter(|event| event["k"] == "msg.in" || event["label"] == "context");
        texts
            .map(|event| {
                (
                    event["by"].clone(),
                    event["name"].clone(),
                    event["text"].clone(),
                )
            })
            .collect()
    };
    let (of_agent, of_main) = (r#""kind":"subagent""#, r#""kind":"main""#);
    let found = tape(&parts, of_agent);
    assert_eq!(
        (&found[0].1, &found[1].0, &found[1].2),
        (&"instructions".into(), &"agent".into(), &"edit a".into())
    );
    let found = tape(&template, of_agent);
    assert_eq!(
        (&found[0].0, &found[0].2, &found[1].1),
        (
            &"agent".into(),
            &"find \"it\"".into(),
            &"agent_template".into()
        )
    );
    for line in [&parts, &template] {
        assert!(tape(line, of_main).iter().all(|(by, ..)| by == "person"));
    }
}

/// Author and text of each message, and name and text of each context.
fn said(lines: &[&str]) -> Vec<(String, String)> {
    let events = events(lines);
    let of = |event: &Value, name: &str| event[name].as_str().unwrap_or_default().to_owned();
    let told = events
        .iter()
        .filter(|event| event["k"] == "msg.in" || event["label"] == "context");
    told.map(|event| (of(event, "by") + &of(event, "name"), of(event, "text")))
        .collect()
}

fn owned(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(by, text): &(&str, &str)| ((*by).to_owned(), (*text).to_owned());
    expected.iter().map(owned).collect()
}

#[test]
fn contents_of_files_are_apart_from_the_prompt_that_names_them() {
    let part = |text: &str| format!(r#"{{"text":"{text}"}}"#);
    let message = |parts: &[String]| {
        format!(
            r#"{{"id":"a",{TIME},"type":"user","content":[{}]}}"#,
            parts.join(",")
        )
    };
    // Over ACP no line ends the contents.
    let parts = [
        part("see @b.py @a.py"),
        part(r"\n--- Content from referenced files ---"),
        part(r"\nContent from @a.py:\n"),
        part("def one(): ..."),
    ];
    let expected = [
        ("person", "see @b.py"),
        ("referenced_files", "@a.py"),
        (
            "referenced_files",
            "\n--- Content from referenced files ---",
        ),
        ("referenced_files", "\nContent from @a.py:\n"),
        ("referenced_files", "def one(): ..."),
    ];
    assert_eq!(said(&[&message(&parts)]), owned(&expected));
    // At a terminal one does, and words may follow.
    let ended = [
        parts.as_slice(),
        &[part(r"\n--- End of content ---"), part("and this")],
    ];
    let last = said(&[&message(&ended.concat())]).pop();
    assert_eq!(last, owned(&[("person", "and this")]).pop());
    // Up to 0.27.4 a prompt is one text.
    let one = r"see @a.py\n--- Content from referenced files ---\nContent from @a.py:\nx = 1\n--- End of content ---";
    let files =
        "--- Content from referenced files ---\nContent from @a.py:\nx = 1\n--- End of content ---";
    let line = format!(r#"{{"id":"a",{TIME},"type":"user","content":"{one}"}}"#);
    let expected = [("person", "see @a.py"), ("referenced_files", files)];
    assert_eq!(said(&[&line]), owned(&expected));
}

#[test]
fn a_hint_is_apart_from_the_frame_that_the_harness_puts_around_it() {
    let hint = user(
        "a",
        r"User steering update:\n<user_input>\nonly b.py\n</user_input>\nInternal instruction: Re-evaluate the plan.",
    );
    let expected = [
        ("steering", "User steering update:\n<user_input>\n"),
        ("person", "only b.py"),
        (
            "steering",
            "\n</user_input>\nInternal instruction: Re-evaluate the plan.",
        ),
    ];
    assert_eq!(said(&[&hint]), owned(&expected));
    let ended = user(
        "b",
        r"Background execution update:\n<background_output>\ndone\n</background_output>\n\nA previously backgrounded execution has completed.",
    );
    assert_eq!(said(&[&ended])[0].0, "harness");
}

#[test]
fn the_files_of_a_prompt_are_its_attachments() {
    let file = r#"{"inlineData":{"data":"aGk=","mimeType":"image/png"}}"#;
    let prompt = |parts: &str| format!(r#"{{"id":"a",{TIME},"type":"user","content":[{parts}]}}"#);
    for (parts, texts) in [
        (
            format!(r#"{file},{{"text":"look"}},{file}"#),
            vec![json!("look")],
        ),
        (format!("{file},{file}"), vec![Value::Null]),
    ] {
        let events = events(&[&prompt(&parts)]);
        let prompts: Vec<_> = events
            .iter()
            .filter(|event| event["k"] == "msg.in")
            .collect();
        let found: Vec<Value> = prompts.iter().map(|event| event["text"].clone()).collect();
        assert_eq!(found, texts);
        assert_eq!(prompts[0]["attachments"].as_array().map(Vec::len), Some(2));
    }
}

/// Shortened from recordings with 0.61.0: at a terminal `displayContent` is what was sent before.
#[test]
fn the_harness_goes_on_with_words_of_its_own() {
    let shown = |id: &str, text: &str, shown: &str| {
        format!(
            r#"{{"id":"{id}",{TIME},"type":"user","content":[{{"text":"{text}"}}],"displayContent":[{shown}]}}"#
        )
    };
    let response = r#"{"functionResponse":{"id":"c","name":"t","response":{"output":"x"}}}"#;
    let prompt = user("a", "fix it");
    let of_hook = shown("b", "not yet", r#"{"text":"fix it"}"#);
    let behind_call = shown("c", "nor now", response);
    let found = user(
        "d",
        "System: Potential loop detected. Details: Repeated tool call: t",
    );
    // A command is expanded, and may be typed twice.
    let commands = ["e", "f"].map(|id| shown(id, "expanded", r#"{"text":"/do"}"#));
    let history = format!(r#"{{"$set":{{"messages":[{prompt},{of_hook},{behind_call}]}}}}"#);
    let events = events(&[
        &prompt,
        &of_hook,
        &behind_call,
        &found,
        &commands[0],
        &commands[1],
        &history,
    ]);
    let by: Vec<(&str, &str)> = events
        .iter()
        .filter(|event| event["k"] == "msg.in")
        .map(|event| {
            let text = event["text"].as_str().unwrap_or_default();
            (
                event["by"].as_str().unwrap_or_default(),
                &text[..text.len().min(8)],
            )
        })
        .collect();
    let expected = [
        ("person", "fix it"),
        ("harness", "not yet"),
        ("harness", "nor now"),
        ("harness", "System: "),
        ("person", "/do"),
        ("harness", "expanded"),
        ("person", "/do"),
        ("harness", "expanded"),
    ];
    assert_eq!(by, expected);
}
