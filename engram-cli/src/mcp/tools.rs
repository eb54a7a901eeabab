//! The tools of `engram mcp`: each is a command of `engram` that only reads, with the arguments that an agent may give.

use std::ffi::OsString;

use serde_json::{Map, Value, json};

/// A tool.
#[derive(Debug)]
pub struct Tool {
    /// Its name, which is that of the command.
    pub name: &'static str,
    /// What it answers, for the agent that chooses.
    pub about: &'static str,
    /// Its arguments.
    pub arguments: &'static [Argument],
}

/// An argument of a tool.
#[derive(Debug)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
    /// How the command line has it.
    pub form: Form,
}

/// How the command line has an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A value that the command needs, without an option.
    Needed,
    /// A value that may be left out, without an option.
    Value,
    /// An option with a text.
    Text,
    /// An option with a number.
    Count,
    /// An option alone.
    Flag,
}

const fn argument(name: &'static str, form: Form, about: &'static str) -> Argument {
    Argument { name, about, form }
}

const LIMIT: Argument = argument("limit", Form::Count, "At most so many results");
const SKIP: Argument = argument(
    "skip",
    Form::Count,
    "Leave out so many results: the `next` of the answer before",
);
const SINCE: Argument = argument(
    "since",
    Form::Text,
    "Only later than this: a date, or a time back such as `7d`",
);
const UNTIL: Argument = argument("until", Form::Text, "Only earlier than this: a date");
const HARNESS: Argument = argument(
    "harness",
    Form::Text,
    "Only sessions of this harness, such as `claude-code`",
);
const PROJECT: Argument = argument("project", Form::Text, "Only sessions of this project");

/// All tools.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "explain",
        about: "Which session, prompt and call of a coding agent wrote these lines, and why; what happened to a file; which sessions went into a commit.",
        arguments: &[
            argument(
                "file",
                Form::Value,
                "The file, with lines: `src/a.rs:10-40`",
            ),
            argument(
                "text",
                Form::Text,
                "Instead of a file: this text, wherever it stands",
            ),
            argument("commit", Form::Text, "Instead of a file: a commit"),
            argument("rev", Form::Text, "The file as it was in this commit"),
            argument(
                "history",
                Form::Flag,
                "What happened to the file or the lines",
            ),
            argument("removed", Form::Flag, "What was removed, and by whom"),
            LIMIT,
            SKIP,
        ],
    },
    Tool {
        name: "blame",
        about: "Which session wrote each line of a file, as runs of lines.",
        arguments: &[
            argument(
                "file",
                Form::Needed,
                "The file, with lines if not all are asked for",
            ),
            argument("rev", Form::Text, "The file as it was in this commit"),
            LIMIT,
            SKIP,
        ],
    },
    Tool {
        name: "grep",
        about: "Where something was said or printed in recorded sessions.",
        arguments: &[
            argument("pattern", Form::Needed, "A regular expression"),
            argument(
                "kind",
                Form::Text,
                "Only events of this kind: `msg.in`, `msg.out`, `tool.call`, `tool.result`, `code.edit`",
            ),
            argument(
                "ignore-case",
                Form::Flag,
                "Capital and small letters are the same",
            ),
            LIMIT,
            SKIP,
        ],
    },
    Tool {
        name: "show",
        about: "One event of a session and those around it. Other answers name events as `ID#SEQ`.",
        arguments: &[
            argument("event", Form::Needed, "`ID#SEQ`, or `TAPE#SEQ`"),
            argument("before", Form::Count, "So many events before it"),
            argument("after", Form::Count, "So many events after it"),
        ],
    },
    Tool {
        name: "query",
        about: "One SQL statement over the views `sessions`, `prompts`, `calls`, `edits`, `reads`, `tombstones`, `usage` and `session_costs`; without one, their columns.",
        arguments: &[
            argument("sql", Form::Value, "A SELECT statement"),
            argument("limit", Form::Count, "At most so many rows"),
        ],
    },
    Tool {
        name: "list",
        about: "The recorded sessions, the latest first: id, harness, project, prompts, tokens.",
        arguments: &[SINCE, UNTIL, PROJECT, HARNESS, LIMIT],
    },
    Tool {
        name: "files",
        about: "The files that agents changed, the last changed first.",
        arguments: &[SINCE, UNTIL, PROJECT, HARNESS, LIMIT],
    },
    Tool {
        name: "stats",
        about: "How much: sessions, prompts, calls, edits, tokens.",
        arguments: &[
            SINCE,
            UNTIL,
            PROJECT,
            HARNESS,
            argument(
                "by",
                Form::Text,
                "One row for each `project`, `day`, `week`, `harness`, `model`, `session` or `tool`, or for several of them: `day,model`",
            ),
        ],
    },
];

impl Tool {
    /// The tool with this name.
    pub fn named(name: &str) -> Option<&'static Tool> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// The JSON Schema of its arguments.
    pub fn schema(&self) -> Map<String, Value> {
        let properties: Map<String, Value> = self
            .arguments
            .iter()
            .map(|argument| {
                let kind = match argument.form {
                    Form::Needed | Form::Value | Form::Text => "string",
                    Form::Count => "integer",
                    Form::Flag => "boolean",
                };
                (
                    argument.name.to_owned(),
                    json!({"type": kind, "description": argument.about}),
                )
            })
            .collect();
        let needed: Vec<&str> = self
            .arguments
            .iter()
            .filter(|argument| argument.form == Form::Needed)
            .map(|argument| argument.name)
            .collect();
        let schema = json!({"type": "object", "properties": properties, "required": needed, "additionalProperties": false});
        match schema {
            Value::Object(schema) => schema,
            _ => Map::new(),
        }
    }

    /// The command line for a call, without the program.
    ///
    /// # Errors
    /// What is wrong with the arguments.
    pub fn command_line(&self, given: &Map<String, Value>) -> Result<Vec<OsString>, String> {
        let known = |name: &str| self.arguments.iter().any(|argument| argument.name == name);
        if let Some(name) = given.keys().find(|name| !known(name)) {
            let names: Vec<&str> = self.arguments.iter().map(|known| known.name).collect();
            return Err(format!(
                "`{}` has no argument `{name}`; it has {}",
                self.name,
                names.join(", ")
            ));
        }
        let mut words = vec![self.name.to_owned(), "--json".to_owned()];
        let mut values = Vec::new();
        for argument in self.arguments {
            let wrong = |what: &str| format!("`{}` is {what}", argument.name);
            let option = format!("--{}", argument.name);
            match (argument.form, given.get(argument.name)) {
                (Form::Needed, None) => return Err(wrong("missing")),
                (_, None | Some(Value::Null)) => {}
                (Form::Needed | Form::Value, Some(Value::String(value))) => {
                    values.push(value.clone())
                }
                // In one word: a value may begin with `-`.
                (Form::Text, Some(Value::String(value))) => words.push(format!("{option}={value}")),
                (Form::Needed | Form::Value | Form::Text, Some(_)) => {
                    return Err(wrong(&format!("no string: {}", argument.about)));
                }
                (Form::Count, Some(value)) => {
                    let count = value.as_u64().ok_or_else(|| wrong("no number"))?;
                    words.push(format!("{option}={count}"));
                }
                (Form::Flag, Some(Value::Bool(true))) => words.push(option),
                (Form::Flag, Some(Value::Bool(false))) => {}
                (Form::Flag, Some(_)) => return Err(wrong("no boolean")),
            }
        }
        if !values.is_empty() {
            words.push("--".to_owned());
            words.extend(values);
        }
        Ok(words.into_iter().map(OsString::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::CommandLine;

    fn line(tool: &str, arguments: Value) -> Result<Vec<String>, String> {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object");
        };
        let words = Tool::named(tool).unwrap().command_line(&arguments)?;
        Ok(words
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect())
    }

    #[test]
    fn arguments_become_a_command_line() {
        assert_eq!(
            line(
                "explain",
                json!({"file": "-a.rs:1", "rev": "-HEAD", "limit": 3, "history": true})
            )
            .unwrap(),
            [
                "explain",
                "--json",
                "--rev=-HEAD",
                "--history",
                "--limit=3",
                "--",
                "-a.rs:1"
            ]
        );
        for wrong in [
            json!({}),
            json!({"pattern": 1}),
            json!({"pattern": "a", "limit": -1}),
            json!({"pattern": "a", "index": "/x"}),
        ] {
            assert!(line("grep", wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_tool_is_a_command_with_these_arguments() {
        let mut command = CommandLine::command();
        command.build();
        for tool in TOOLS {
            let own = command
                .find_subcommand(tool.name)
                .unwrap_or_else(|| panic!("{}", tool.name));
            let has = |name: &str| {
                own.get_arguments()
                    .any(|argument| argument.get_long() == Some(name))
            };
            assert!(has("json"), "{}", tool.name);
            for argument in tool.arguments {
                let is_option = !matches!(argument.form, Form::Needed | Form::Value);
                assert_eq!(
                    has(argument.name),
                    is_option,
                    "{} {}",
                    tool.name,
                    argument.name
                );
            }
        }
    }
}
