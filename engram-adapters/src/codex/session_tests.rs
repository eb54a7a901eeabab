//! Sessions and what they have of others: replays, forks, imports, rewinds, sub-agents, and two sessions in one file.

use serde_json::{Value, json};

use super::tests::{
    VERSION, event, events, events_of, line, message, of_kind, sent, session_with, system_events,
};

#[test]
fn an_item_of_another_thread_is_marked() {
    let command = json!({"type": "CommandExecution", "id": "call_1", "command": ["ls"], "cwd": "/p", "parsed_cmd": [], "source": "agent",
        "status": "completed", "aggregated_output": "a", "exit_code": 0});
    let mirrored = |thread: &str| {
        event(
            json!({"type": "item_completed", "thread_id": thread, "turn_id": "t", "item": command}),
        )
    };
    for (thread, is_foreign) in [("s", false), ("reviewer", true)] {
        let events = events(&[mirrored(thread), message("assistant", "Done.")]);
        let call = of_kind(&events, "tool.call")[0];
        assert_eq!(
            (
                call["replay"] == true,
                call["source"]["agent_id"] == "reviewer"
            ),
            (is_foreign, is_foreign)
        );
        let answer = of_kind(&events, "msg.out")[0];
        assert!(answer["source"]["agent_id"].is_null() && answer["replay"].is_null());
    }
}

#[test]
fn a_second_session_in_a_file_has_its_own_id_and_a_notice() {
    let session = |id: &str, text: &str| {
        let (kind, said) = message("user", text);
        session_with(json!({"id": id}), &[(kind, said)])
    };
    let (first, second) = (
        "01a1fda2-91ca-71a0-a417-d9f717746c13",
        "01a1fda2-a14b-7e01-b89f-6f9f4c327587",
    );
    let events = events_of(&format!(
        "{}{}",
        session(first, "one"),
        session(second, "two")
    ));
    let sessions: Vec<&Value> = of_kind(&events, "msg.in")
        .iter()
        .map(|event| &event["source"]["session_id"])
        .collect();
    assert_eq!(sessions, [first, second]);
    assert_eq!(system_events(&events), [("other_session", second)]);
    assert!(events.iter().all(|event| event["replay"].is_null()));
}

#[test]
fn the_session_of_a_sub_agent_has_an_agent_id() {
    let source = json!({"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}});
    let events = events_of(&session_with(
        json!({"id": "s", "source": source}),
        &[sent("go")],
    ));
    assert!(
        events
            .iter()
            .all(|event| event["source"]["agent_id"] == "s"),
        "{events:?}"
    );
}

#[test]
fn going_back_names_the_last_event_that_holds() {
    let mut lines = Vec::new();
    for text in ["one", "two", "three"] {
        lines.extend([
            message("user", text),
            sent(text),
            message("assistant", &format!("{text} is done")),
        ]);
    }
    lines.push(event(json!({"type": "thread_rolled_back", "num_turns": 2})));
    lines.push(event(json!({"type": "thread_rolled_back", "num_turns": 5})));
    let events = events(&lines);
    let first_answer = of_kind(&events, "msg.out")[0];
    let rewind = events
        .iter()
        .find(|event| event["label"] == "rewind")
        .expect("a rewind");
    assert_eq!(rewind["to"], first_answer["seq"]);
    assert_eq!(system_events(&events), [("thread_rolled_back", "5")]);
}

#[test]
fn a_repeated_record_of_a_copy_is_a_duplicate() {
    let record = |kind: &str, payload: Value| {
        format!(
            "{{\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n"
        )
    };
    let header = |id: &str, fork_of: Option<&str>| {
        record(
            "session_meta",
            json!({"id": id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p",
        "originator": "o", "cli_version": "0.125.0", "source": "cli", "forked_from_id": fork_of}),
        )
    };
    let (_, said) = message("user", "hello");
    let said = record("response_item", said);
    let own = "01a1fda2-a14b-7e01-b89f-6f9f4c327587";
    let copied = "01a1fda2-91ca-71a0-a417-d9f717746c13";
    let once = format!(
        "{}{}{said}",
        header(own, Some(copied)),
        header(copied, None)
    );
    let twice = format!("{once}{said}{said}");
    let count = |log: &str| events_of(log).len();
    assert_eq!(count(&twice), count(&once));
    assert_eq!(
        events_of(&twice)
            .iter()
            .filter(|event| event["k"] == "msg.in")
            .count(),
        1
    );
}

/// A turn of a thread: its id, a prompt, an answer, and what it cost.
pub(super) fn turn(id: &str, text: &str, input: u64, total: u64) -> Vec<(&'static str, Value)> {
    let counts = |input: u64| json!({"input_tokens": input, "cached_input_tokens": 0, "output_tokens": 1, "reasoning_output_tokens": 0, "total_tokens": input + 1});
    vec![
        event(json!({"type": "task_started", "turn_id": id, "collaboration_mode_kind": "default"})),
        message("user", text),
        sent(text),
        message("assistant", &format!("{text} is done")),
        event(
            json!({"type": "token_count", "info": {"last_token_usage": counts(input), "total_token_usage": counts(total)}}),
        ),
        event(json!({"type": "task_complete", "turn_id": id, "last_agent_message": null})),
    ]
}

/// The replay marks of prompts and usages.
fn replays(events: &[Value]) -> Vec<bool> {
    let facts = events
        .iter()
        .filter(|event| event["k"] == "msg.in" || event["label"] == "usage");
    facts.map(|event| event["replay"] == true).collect()
}

#[test]
fn a_fork_that_copies_no_header_begins_with_turns_that_are_older_than_it() {
    // From findings/cases/codex-fork-noembed: the thread began between the second and the third turn.
    let own = "01a1fda5-274f-75a1-901c-86e305a064c3";
    let turns = [
        turn(
            "01a1fda1-0000-7f32-8610-8497a7a0196a",
            "one",
            20_000,
            20_000,
        ),
        turn(
            "01a1fda2-0000-7f32-8610-8497a7a0196a",
            "two",
            20_001,
            40_001,
        ),
        turn("01a1fda6-0000-7f32-8610-8497a7a0196a", "own", 5_000, 45_001),
    ];
    let fork = json!({"id": own, "forked_from_id": "01a1fda0-0000-7130-904a-9e7c17f8fecb"});
    let spawned = json!({"id": own, "source": {"subagent": {"thread_spawn": {"parent_thread_id": "01a1fda0-0000-7130-904a-9e7c17f8fecb", "depth": 1}}}});
    for facts in [fork, spawned] {
        assert_eq!(
            replays(&events_of(&session_with(facts, &turns.concat()))),
            [true, true, true, true, false, false]
        );
    }
    assert_eq!(
        replays(&events_of(&session_with(
            json!({"id": own}),
            &turns.concat()
        ))),
        [false; 6]
    );
}

#[test]
fn an_imported_session_is_a_replay_up_to_its_first_own_turn() {
    // From findings/cases/codex-import.
    let own = "01a1fda5-274f-75a1-901c-86e305a064c0";
    let turns = [
        turn("external-import-turn-1", "one", 10, 10),
        turn("01a1fda5-2792-7f32-8610-8497a7a0196a", "own", 20, 30),
    ];
    assert_eq!(
        replays(&events_of(&session_with(
            json!({"id": own}),
            &turns.concat()
        ))),
        [true, true, false, false]
    );
}

#[test]
fn repeated_own_header_does_not_start_a_replay() {
    let mine = "01a1fda5-4307-7000-bbe5-da9ea7a40358";
    let again = |id: &str, branch: &str| {
        let git = json!({"branch": branch});
        json!({"id": id, "cwd": "/p", "cli_version": VERSION, "source": "cli", "originator": "codex_cli_rs", "git": git, "memory_mode": "enabled"})
    };
    let log = session_with(
        json!({"id": mine, "git": {"branch": "main"}}),
        &[
            ("session_meta", again(mine, "main")),
            message("assistant", "It is mine."),
            ("session_meta", again(mine, "other")),
            message("assistant", "It is mine too."),
            (
                "session_meta",
                again("01a1fda5-0000-7000-bbe5-da9ea7a40358", "main"),
            ),
            message("assistant", "It is the parent's."),
            ("session_meta", again(mine, "other")),
            message("assistant", "It is mine again."),
        ],
    );
    let events = events_of(&log);
    let answers: Vec<bool> = of_kind(&events, "msg.out")
        .iter()
        .map(|answer| answer["replay"] == true)
        .collect();
    assert_eq!(answers, [false, false, true, false]);
    let branches: Vec<&Value> = events
        .iter()
        .filter(|event| event["label"] == "session")
        .map(|event| &event["repo_branch"])
        .collect();
    assert_eq!(branches, ["main", "other", "main"]);
}

#[test]
fn replay_without_thread_time_ends_at_a_pause() {
    let id = |last: &str| format!("7803e6bd-9e47-4d44-bca1-44735c92b{last}");
    let parent = json!({"id": id("705"), "cwd": "/p", "cli_version": VERSION, "source": "cli"});
    let (kind, answer) = message("assistant", "It is the parent's.");
    let at = |number: usize, millis: usize, kind: &str, payload: &Value| {
        let mut line = line(number, kind, payload.clone());
        line["timestamp"] = json!(format!("2026-01-01T00:00:{number:02}.{millis:03}Z"));
        format!("{line}\n")
    };
    let header = session_with(json!({"id": id("701")}), &[]);
    let copy =
        at(5, 990, "session_meta", &parent) + &at(5, 999, kind, &answer) + &at(6, 2, kind, &answer);
    let events = events_of(&(header + &copy + &at(9, 0, kind, &answer) + &at(9, 1, kind, &answer)));
    let replayed: Vec<bool> = of_kind(&events, "msg.out")
        .iter()
        .map(|answer| answer["replay"] == true)
        .collect();
    assert_eq!(replayed, [true, true, false, false]);
}

#[test]
fn the_end_of_a_turn_that_was_copied_is_no_interrupt() {
    let aborted = |times: Value| {
        let mut abort = json!({"type": "turn_aborted", "turn_id": "t", "reason": "interrupted"});
        for (name, time) in times.as_object().into_iter().flatten() {
            abort[name] = time.clone();
        }
        event(abort)
    };
    let lines = [
        aborted(json!({"started_at": 5})),
        aborted(json!({"started_at": 5, "completed_at": 6, "duration_ms": 1})),
        aborted(json!({})),
    ];
    let events = events(&lines);
    assert_eq!(system_events(&events), [("turn_aborted", "interrupted")]);
    let interrupts = events.iter().filter(|event| event["label"] == "interrupt");
    assert_eq!(interrupts.count(), 2);
}
