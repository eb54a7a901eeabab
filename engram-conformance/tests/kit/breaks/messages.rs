//! Broken adapters that are wrong about messages: who wrote them, what a response cost, and what the model saw.

use super::{Break, change, events, of_codex, over, without_record};

const CONTEXT: &[&str] = &["claude-code/2.1.329/a_qa"];
const AGENTS: &[&str] = &["claude-code/2.0.60/c_subagent"];
/// A recording with the tasks of sub-agents.
const TASKS: &[&str] = &["claude-code/2.1.14/c_subagent"];
const AGENTS_IN_ONE_FILE: &[&str] = &["claude-code/1.0.0/c_subagent"];

/// Prompts, answers, responses, sub-agents and context.
pub(super) const MESSAGES: &[Break] = &[
    events("emits a prompt twice", "prompt.all", |tape| {
        if let Some(at) = tape.find(&["\"k\":\"msg.in\"", "LAB please do many edits"]) {
            tape.insert(at + 1, tape.line(at).to_owned());
        }
    }),
    over(
        &["claude-code/2.1.329/a_qa"],
        events(
            "emits answers as system notices",
            "answer.present",
            |tape| {
                for at in tape.all(&["\"k\":\"msg.out\"", "\"text\":"]) {
                    let text = tape.field(at, "text").unwrap_or_default().to_owned();
                    let line = tape.line(at);
                    let (head, tail) = (
                        line.split_once("\"k\":").unwrap_or_default().0.to_owned(),
                        line.rsplit_once(",\"origin\"")
                            .unwrap_or_default()
                            .1
                            .to_owned(),
                    );
                    let source = line
                        .split_once("\"source\":")
                        .and_then(|(_, rest)| rest.split_once("},"))
                        .unwrap_or_default()
                        .0
                        .to_owned();
                    tape.remove(at);
                    tape.insert(at, format!("{head}\"k\":\"meta\",\"source\":{source}}},\"label\":\"system\",\"name\":\"answer\",\"text\":{text},\"origin\"{tail}"));
                }
            },
        ),
    ),
    events(
        "emits the picture of a prompt as a message",
        "prompt.once",
        |tape| {
            if let Some(at) = tape.find(&["\"k\":\"msg.in\"", "LAB please do many edits"]) {
                let picture = without_record(
                    tape,
                    at,
                    "msg.in",
                    "\"role\":\"user\",\"by\":\"person\",\"attachments\":[{\"media_type\":\"image/png\"}]",
                );
                tape.insert(at + 1, picture);
            }
        },
    ),
    events(
        "takes a prompt for text of the harness",
        "prompt.person",
        |tape| {
            change(
                tape,
                &["\"k\":\"msg.in\"", "LAB please do many edits"],
                "\"by\":\"person\"",
                "\"by\":\"harness\"",
            );
        },
    ),
    over(
        &["claude-code/2.1.332/n_perms"],
        events(
            "takes the reason of a refusal for words of a person",
            "prompt.person",
            |tape| {
                change(
                    tape,
                    &["\"k\":\"msg.in\"", "LABUSER not this"],
                    "LABUSER not this",
                    "permission-rule",
                );
            },
        ),
    ),
    over(
        &["codex/0.98.0/main"],
        of_codex(events(
            "takes the image of a tool for a prompt",
            "prompt.person",
            |tape| {
                change(
                    tape,
                    &["\"k\":\"msg.in\"", "\"by\":\"harness\",\"attachments\""],
                    "\"by\":\"harness\"",
                    "\"by\":\"person\"",
                );
            },
        )),
    ),
    over(
        TASKS,
        events(
            "takes the task of a sub-agent for text of the harness",
            "message.author",
            |tape| {
                change(
                    tape,
                    &["\"k\":\"msg.in\"", "\"by\":\"agent\""],
                    "\"by\":\"agent\"",
                    "\"by\":\"harness\"",
                );
            },
        ),
    ),
    over(
        TASKS,
        events(
            "leaves the words of an agent in what the harness writes around them",
            "message.author",
            |tape| {
                change(
                    tape,
                    &["\"k\":\"msg.in\"", "\"by\":\"agent\""],
                    "\"text\":\"",
                    "\"text\":\"<teammate-message>\\n",
                );
            },
        ),
    ),
    events(
        "emits the answer of another response between two blocks",
        "response.together",
        |tape| {
            let blocks = tape.all(&["\"k\":\"msg.out\"", "\"message_id\":"]);
            let is_same = |pair: &&[usize]| {
                tape.field(pair[0], "message_id") == tape.field(pair[1], "message_id")
            };
            if let Some(second) = blocks.windows(2).find(is_same).map(|pair| pair[1]) {
                let other = without_record(
                    tape,
                    second,
                    "msg.out",
                    "\"text\":\"elsewhere\",\"message_id\":\"msg_other\"",
                );
                tape.insert(second, other);
            }
        },
    ),
    events(
        "emits the usage of a response behind the result of its call",
        "response.together",
        |tape| {
            if let Some(at) = tape.find(&["\"label\":\"usage\"", "\"stop_reason\":\"tool_use\""]) {
                let usage = tape.remove(at);
                tape.insert(at + 1, usage);
            }
        },
    ),
    over(
        AGENTS_IN_ONE_FILE,
        events(
            "emits the usage of a response behind what another agent does",
            "response.together",
            |tape| {
                let is_others =
                    |at: &usize| tape.field(*at, "agent_id") != tape.field(*at + 1, "agent_id");
                if let Some(at) = tape
                    .all(&["\"label\":\"usage\""])
                    .into_iter()
                    .find(is_others)
                {
                    let usage = tape.remove(at);
                    tape.insert(at + 1, usage);
                }
            },
        ),
    ),
    over(
        &["claude-code/2.1.329/b_edit"],
        events(
            "emits the usage of a response before its last call",
            "response.together",
            |tape| {
                let message = "\"message_id\":\"msg_lab4f43d1355d7643d391\"";
                let call = tape.find(&["\"k\":\"tool.call\"", message]);
                if let (Some(call), Some(at)) = (call, tape.find(&["\"label\":\"usage\"", message]))
                {
                    let usage = tape.remove(at);
                    tape.insert(call + 1, usage);
                }
            },
        ),
    ),
    events("counts a response twice", "usage.sum", |tape| {
        if let Some(at) = tape.find(&["\"label\":\"usage\""]) {
            tape.insert(at + 1, tape.line(at).to_owned());
        }
    }),
    events("counts the cache as input", "usage.sum", |tape| {
        change(
            tape,
            &["\"label\":\"usage\"", "\"input\":1001"],
            "\"input\":1001",
            "\"input\":1023",
        )
    }),
    events("loses the usage of a response", "usage.sum", |tape| {
        if let Some(at) = tape.find(&["\"label\":\"usage\"", "\"input\":1001"]) {
            tape.remove(at);
        }
    }),
    events("loses a count of a response", "usage.sum", |tape| {
        change(
            tape,
            &["\"label\":\"usage\"", "\"output\":33"],
            ",\"output\":33",
            "",
        )
    }),
    events(
        "leaves out the model of a response",
        "usage.model",
        |tape| {
            if let Some(at) = tape.find(&["\"label\":\"usage\"", "\"model\""]) {
                let model = tape.field(at, "model").unwrap_or_default().to_owned();
                tape.replace(at, &format!(",\"model\":{model}"), "");
            }
        },
    ),
    over(
        AGENTS,
        events(
            "attributes a sub-agent's work to the main session",
            "agent.attributed",
            |tape| {
                for key in ["agent_id", "parent_session_id"] {
                    for at in tape.all(&[&format!("\"{key}\":")]) {
                        let value = tape.field(at, key).unwrap_or_default().to_owned();
                        tape.replace(at, &format!(",\"{key}\":{value}"), "");
                    }
                }
            },
        ),
    ),
    events("runs tools after an interrupt", "interrupt.final", |tape| {
        if let Some(at) = tape.find(&["\"k\":\"tool.call\"", "\"tool\":\"Grep\""]) {
            let interrupt = without_record(tape, at, "meta", "\"label\":\"interrupt\"");
            tape.insert(at, interrupt);
        }
    }),
    over(
        CONTEXT,
        events("does not hash implicit context", "context.hashed", |tape| {
            if let Some(at) = tape.find(&["\"label\":\"context\"", "\"hash\":"]) {
                let hash = tape.field(at, "hash").unwrap_or_default().to_owned();
                tape.replace(at, &format!(",\"hash\":{hash}"), "");
            }
        }),
    ),
    over(
        CONTEXT,
        events("leaks a key", "context.secrets", |tape| {
            let secret = format!(
                "\"text\":\"ANTHROPIC_API_KEY=sk-ant-{}\",\"origin\"",
                "0".repeat(24)
            );
            change(
                tape,
                &["\"label\":\"context\"", "\"hash\":"],
                "\"origin\"",
                &secret,
            );
        }),
    ),
];
