//! Rewinds: where a person went back to, and what shows that nobody did.

use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::prompts::prompt;
use super::{assistant_line, line, tape, unaccounted_bytes};

fn rewound(last: Value) -> Vec<Value> {
    let typed = json!({"promptSource": "typed", "origin": {"kind": "human"}});
    let chained = |mut line: Value, parent: Value| {
        line["parentUuid"] = parent;
        line
    };
    let answer =
        |number, id| assistant_line("2.1.329", number, id, json!([{"type": "text", "text": id}]));
    vec![
        prompt("2.1.329", 1, "first", typed.clone()),
        chained(answer(2, "m1"), json!("u1")),
        chained(prompt("2.1.329", 3, "second", typed.clone()), json!("u2")),
        chained(answer(4, "m2"), json!("u3")),
        chained(prompt("2.1.329", 5, "third", typed), json!("u2")),
        last,
        chained(answer(6, "m3"), json!("u5")),
    ]
}

#[test]
fn rewind_comes_before_the_prompt_that_follows_it() {
    let lines = rewound(explicit());
    let tape = tape(&lines, Policy::Strict).unwrap();
    let rewind = tape
        .iter()
        .position(|event| event["label"] == "rewind")
        .unwrap();
    assert_eq!(
        (
            &tape[rewind + 1]["text"],
            &tape[rewind + 1]["origin"]["line"]
        ),
        (&json!("third"), &json!(5))
    );
    let to = usize::try_from(tape[rewind]["to"].as_u64().unwrap()).unwrap();
    assert!(
        to < rewind
            && tape[..=to].iter().any(|event| event["text"] == "m1")
            && tape[..=to].iter().all(|event| event["text"] != "second")
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
}

/// The line that shows a rewind.
fn explicit() -> Value {
    json!({"type": "last-prompt", "sessionId": "s", "explicit": true, "leafUuid": "00000000-0000-0000-0000-000000000000"})
}

#[test]
fn rewind_comes_before_a_prompt_with_an_image() {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    let text = json!({"type": "text", "text": "third"});
    for (content, expected, pointer) in [
        (json!([text, image]), json!("third"), "/message/content/0"),
        (json!([image, text]), json!("third"), "/message/content/1"),
        (json!([image]), json!(null), "/message/content"),
    ] {
        let mut lines = rewound(explicit());
        lines[4]["message"]["content"] = content;
        let tape = tape(&lines, Policy::Strict).unwrap();
        let rewind = tape
            .iter()
            .position(|event| event["label"] == "rewind")
            .unwrap();
        let prompt = &tape[rewind + 1];
        assert_eq!(
            (
                &prompt["text"],
                &prompt["origin"]["line"],
                &prompt["origin"]["pointer"]
            ),
            (&expected, &json!(5), &json!(pointer))
        );
        assert_eq!(
            (
                &prompt["by"],
                prompt["attachments"].as_array().unwrap().len()
            ),
            (&json!("person"), 1)
        );
        assert_eq!(unaccounted_bytes(&lines), 0);
    }
}

#[test]
fn lines_of_the_harness_behind_a_prompt_follow_it() {
    let mut lines = rewound(explicit());
    let companion = prompt(
        "2.1.331",
        6,
        "[Image: source: /p/a.png]",
        json!({"isMeta": true, "turnCompanion": true, "parentUuid": "u5"}),
    );
    let attachment = line(
        "2.1.331",
        7,
        "attachment",
        json!({"attachment": {"type": "date_change", "newDate": "2026-01-02"}}),
    );
    lines.splice(5..5, [companion, attachment]);
    let tape = tape(&lines, Policy::Strict).unwrap();
    let at = |found: &dyn Fn(&Value) -> bool| tape.iter().position(found).unwrap();
    let rewind = at(&|event| event["label"] == "rewind");
    let third = at(&|event| event["text"] == "third");
    assert_eq!(third, rewind + 1);
    assert!(
        third < at(&|event| event["origin"]["line"] == 6)
            && at(&|event| event["origin"]["line"] == 6) < at(&|event| event["text"] == "m3")
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn lines_of_agents_show_nothing_about_a_rewind() {
    let mut lines = rewound(explicit());
    let mut agent = assistant_line(
        "2.1.329",
        7,
        "m7",
        json!([{"type": "text", "text": "agent"}]),
    );
    agent.as_object_mut().unwrap().extend([
        ("isSidechain".to_owned(), json!(true)),
        ("agentId".to_owned(), json!("a")),
    ]);
    agent["message"]["stop_reason"] = json!(null);
    for at in [4, 5] {
        let mut lines = lines.clone();
        lines.insert(at, agent.clone());
        let tape = tape(&lines, Policy::Strict).unwrap();
        let rewind = tape
            .iter()
            .position(|event| event["label"] == "rewind")
            .unwrap();
        assert_eq!(tape[rewind + 1]["text"], "third");
    }
    lines[5] = lines[4].clone();
    lines.insert(6, explicit());
    assert!(
        tape(&lines, Policy::Strict)
            .unwrap()
            .iter()
            .any(|event| event["label"] == "rewind")
    );
}

#[test]
fn two_processes_that_go_on_side_by_side_are_no_rewind() {
    let last =
        json!({"type": "last-prompt", "sessionId": "s", "lastPrompt": "third", "leafUuid": "u5"});
    let is_rewound = |lines: &[Value]| {
        let tape = tape(lines, Policy::Strict).unwrap();
        tape.iter().any(|event| event["label"] == "rewind")
    };
    let mut lines = rewound(last);
    assert!(is_rewound(&lines));
    // The other process goes on from its own last line.
    let mut other = assistant_line("2.1.329", 7, "m4", json!([{"type": "text", "text": "m4"}]));
    other["parentUuid"] = json!("u4");
    lines.push(other);
    assert!(!is_rewound(&lines));
}

#[test]
fn a_prompt_at_a_terminal_of_an_older_version_may_go_back() {
    let settings = json!({"thinkingMetadata": {"level": "high", "disabled": false, "triggers": []}, "todos": []});
    let chained = |mut line: Value, parent: u32| {
        line["parentUuid"] = json!(format!("u{parent}"));
        line
    };
    let answer =
        |number, id| assistant_line("2.0.60", number, id, json!([{"type": "text", "text": id}]));
    let typed = |number, text| prompt("2.0.60", number, text, settings.clone());
    let lines = [
        typed(1, "first"),
        chained(answer(2, "m1"), 1),
        chained(typed(3, "second"), 2),
        chained(answer(4, "m2"), 3),
        chained(typed(5, "third"), 2),
        chained(answer(6, "m3"), 5),
    ];
    let tape = tape(&lines, Policy::Strict).unwrap();
    let rewind = tape
        .iter()
        .position(|event| event["label"] == "rewind")
        .unwrap();
    assert_eq!(tape[rewind + 1]["text"], "third");
}
