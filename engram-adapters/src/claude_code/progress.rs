//! `progress` lines (2.1.12 to 2.1.80): commands tell what they have written so far, sub-agents what they do.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::Meta;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::converter::Converter;
use super::descriptor::{Omitted, rule};
use super::schema::{Line, Progress};
use crate::shared::value::{Value, non_empty_text, text};
use engram_core::keys::hash64;

impl Converter {
    /// Keeps what a command has written so far until its result comes.
    pub fn so_far(&mut self, line: &Line<'_>, data: &Progress<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let call = text(line.parent_call()).map(|id| hash64(id.raw())).filter(|call| !self.history.has_result(*call));
        let written = data.full_output().filter(|written| non_empty_text(Some(*written)).is_some());
        let waits = match (call, written) {
            (Some(call), Some(written)) => self.under_way.keep(call, written, line, out)?,
            _ => true,
        };
        let omitted = Omitted { record: "progress/bash_progress", rule: rule::SO_FAR };
        Ok(if waits { omitted.duplicate() } else { Outcome::Mapped })
    }
}

/// The lines of a sub-agent that a line wraps, and where they lie.
pub(super) fn wrapped<'a>(data: &Progress<'a>) -> impl Iterator<Item = (Pointer<'static>, Value<'a>)> {
    let normalized = data.normalized().into_iter().flat_map(Value::elements).enumerate();
    let before = normalized.map(|(index, line)| (Pointer::Item("/data/normalizedMessages", index), line));
    before.chain(data.message().map(|line| (Pointer::At("/data/message"), line)))
}

/// A sub-agent's line with what it leaves to the line of the session that wraps it.
pub(super) fn of_session<'a>(outer: &Line<'a>, inner: Line<'a>) -> Line<'a> {
    let mut line = Line::empty_of(outer.object());
    for (name, field) in [
        ("type", inner.kind()),
        ("uuid", inner.uuid().or(outer.uuid())),
        ("timestamp", inner.timestamp().or(outer.timestamp())),
        ("message", inner.message()),
        ("attachment", inner.attachment()),
        ("toolUseResult", inner.tool_use_result()),
        ("sessionId", outer.session_id()),
        ("version", outer.version()),
        ("parentToolUseID", outer.parent_call()),
    ] {
        line.set(name, field);
    }
    line
}

/// `progress/hook_progress`: a hook runs.
pub(super) fn hook(line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    let data = Progress::lenient_opt(line.data());
    let name = non_empty_text(data.hook_name()).unwrap_or(Text::Plain("hook_progress"));
    out.emit(Meta::System { name, text: text(data.command()) }, Pointer::At("/data"))?;
    Ok(Outcome::Mapped)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use engram_core::adapter::{SideFiles, SideInfo, convert_str};
    use engram_core::hash::Hash;
    use engram_core::pipeline::Options;
    use engram_core::policy::Policy;
    use serde_json::{Value, json};

    use super::super::ClaudeCode;
    use super::super::tests::{events, left_over, line, returned, said, tape};

    fn progress(number: u32, data: Value) -> Value {
        line("2.1.36", number, "progress", json!({"data": data, "toolUseID": "x", "parentToolUseID": "t1"}))
    }

    /// A sub-agent's line in one of its session, with all of its lines so far.
    fn wrapped(number: u32, kind: &str, content: Value, before: &[Value]) -> Value {
        let message = json!({"role": kind, "id": format!("a{number}"), "model": "m", "content": content});
        let message = json!({"type": kind, "message": message, "uuid": format!("w{number}"), "timestamp": "2026-01-01T00:00:30.000Z"});
        let mut all = before.to_vec();
        all.push(message.clone());
        progress(
            number,
            json!({"type": "agent_progress", "agentId": "a5", "prompt": "look around", "message": message, "normalizedMessages": all}),
        )
    }

    fn session() -> Vec<Value> {
        let call = json!([{"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "look around"}}]);
        let thought = json!({"type": "assistant", "uuid": "n1", "timestamp": "2026-01-01T00:00:20.000Z",
            "message": {"role": "assistant", "id": "a2", "model": "m", "content": [{"type": "text", "text": "I begin here."}]}});
        let found = json!({"type": "user", "uuid": "w4", "toolUseResult": {"mode": "content", "content": "a: b c"},
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "a: b c\n\n[more]"}]}});
        let under_way = json!({"type": "progress", "uuid": "n2", "data": {"type": "bash_progress", "fullOutput": "not all of it"}});
        vec![
            said("2.1.36", 1, "m1", call),
            wrapped(2, "user", json!([{"type": "text", "text": "look around"}]), &[]),
            wrapped(
                3,
                "assistant",
                json!([{"type": "tool_use", "id": "t2", "name": "Glob", "input": {"pattern": "*"}}]),
                std::slice::from_ref(&thought),
            ),
            wrapped(
                4,
                "user",
                json!([{"type": "tool_result", "tool_use_id": "t2", "content": "a: b c\n\n[more]"}]),
                &[thought, found.clone()],
            ),
            wrapped(5, "assistant", json!([{"type": "text", "text": "I have it."}]), &[found, under_way]),
            returned("2.1.36", 6, "t1", "seen all", None),
        ]
    }

    #[test]
    fn a_sub_agent_without_a_file_of_its_own_is_said_in_its_session() {
        let tape = tape(&session(), Policy::Strict).unwrap();
        let of_agent: Vec<&Value> = tape.iter().filter(|event| event["source"]["agent_id"] == "a5" && event["k"] != "meta").collect();
        let kinds: Vec<&str> = of_agent.iter().filter_map(|event| event["k"].as_str()).collect();
        assert_eq!(kinds, ["msg.in", "msg.out", "tool.call", "tool.result", "msg.out"]);
        let call = tape.iter().find(|event| event["call_id"] == "t1").unwrap();
        assert_eq!(of_agent[0]["parent"], call["seq"]);
        assert_eq!(of_agent[1]["origin"], json!({"line": 3, "pointer": "/data/normalizedMessages/0/message/content/0", "id": "n1"}));
        assert_eq!(of_agent[3]["origin"]["pointer"], "/data/normalizedMessages/1/message/content/0");
        assert_eq!(tape.iter().filter(|event| event["k"] == "tool.result" && event["source"].get("agent_id").is_none()).count(), 1);
        assert_eq!(left_over(&session()), 0);
    }

    #[test]
    fn a_sub_agent_with_a_file_of_its_own_is_not_said_twice() {
        struct Own;
        impl SideFiles for Own {
            fn hash(&self, _: &str) -> Option<(Hash, u64)> {
                None
            }
            fn has_agent(&self, agent_id: &str) -> bool {
                agent_id == "a5"
            }
        }
        let log: String = session().iter().map(|line| format!("{line}\n")).collect();
        let context = SideInfo { side_files: Some(Arc::new(Own)), ..SideInfo::default() };
        let tape = convert_str(&ClaudeCode, &log, &Options { context, ..Options::default() }).unwrap();
        assert!(!tape.contains("\"agent_id\""));
        let stop: Value = serde_json::from_str(tape.lines().last().unwrap()).unwrap();
        assert_eq!(stop["ledger"]["omitted"], json!([{"type": "progress/agent_progress", "rule": "agent.own_file", "count": 4}]));
    }

    #[test]
    fn what_a_command_wrote_is_said_where_no_result_says_it() {
        let call = said("2.1.36", 1, "m1", json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}]));
        let written = |number, output: &str| {
            progress(number, json!({"type": "bash_progress", "output": "", "fullOutput": output, "elapsedTimeSeconds": 2}))
        };
        let mut lines = vec![call, written(2, "one two"), written(3, "one two three"), written(4, "")];
        let outputs = |lines: &[Value]| -> Vec<Value> {
            events(lines, "meta")
                .into_iter()
                .filter(|event| event["name"] == "tool_output")
                .map(|event| json!([event["text"], event["origin"]["line"]]))
                .collect()
        };
        assert_eq!(outputs(&lines), [json!(["one two three", 3])]);
        assert_eq!(left_over(&lines), 0);
        lines.push(returned("2.1.36", 5, "t1", "one two three four", None));
        assert!(outputs(&lines).is_empty());
        assert_eq!(left_over(&lines), 0);
        lines.push(written(6, "one two"));
        assert!(outputs(&lines).is_empty());
    }

    #[test]
    fn what_is_said_late_is_said_of_its_own_agent() {
        let mut written = progress(2, json!({"type": "bash_progress", "fullOutput": "one two", "elapsedTimeSeconds": 2}));
        written["agentId"] = json!("a5");
        let after = said("2.1.36", 3, "m2", json!([{"type": "text", "text": "Done."}]));
        let said: Vec<Value> = events(&[written, after], "meta").into_iter().filter(|event| event["name"] == "tool_output").collect();
        assert_eq!((&said[0]["source"]["agent_id"], &said[0]["origin"]["line"]), (&json!("a5"), &json!(1)));
    }

    #[test]
    fn what_only_tells_that_a_call_goes_on_is_left_out() {
        let lines: Vec<Value> = ["mcp_progress", "query_update", "search_results_received", "waiting_for_task"]
            .iter()
            .zip(1..)
            .map(|(kind, number)| progress(number, json!({"type": kind, "query": "what is asked"})))
            .collect();
        let stop = tape(&lines, Policy::Strict).unwrap().pop().unwrap();
        assert_eq!(stop["ledger"]["bookkeeping"], 4);
        assert_eq!(left_over(&lines), 0);
    }
}
