//! The tools of `engram mcp`: each is a command of `engram` that only reads, with the arguments that an agent may give.

use std::ffi::OsString;

use serde_json::{Map, Value, json};

use crate::list::OF_A_LOG;

/// A tool.
#[derive(Debug)]
pub struct Tool {
    /// Its name, which is that of the command.
    pub name: &'static str,
    /// What it answers, for the agent that chooses.
    pub about: &'static str,
    /// Its arguments.
    pub arguments: &'static [Argument],
    /// Members of its results that an agent has no use for.
    pub leaves_out: &'static [&'static str],
}

/// Which results of a command are wanted: the server counts the lines, since the command has no such options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// So many are left out before the first.
    pub skip: u64,
    /// At most so many.
    pub limit: u64,
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
    /// A number of results that the server counts.
    Lines,
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

const LINES: Argument = argument("limit", Form::Lines, LIMIT.about);
const SKIPPED_LINES: Argument = argument("skip", Form::Lines, SKIP.about);

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
        leaves_out: &[],
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
        leaves_out: &[],
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
        leaves_out: &[],
    },
    Tool {
        name: "show",
        about: "One event of a session and those around it. Other answers name events as `ID#SEQ`.",
        arguments: &[
            argument("event", Form::Needed, "`ID#SEQ`, or `TAPE#SEQ`"),
            argument("before", Form::Count, "So many events before it"),
            argument("after", Form::Count, "So many events after it"),
        ],
        leaves_out: &[],
    },
    Tool {
        name: "query",
        about: "One SQL statement over the views `sessions`, `sub_agents`, `prompts`, `calls`, `edits`, `reads`, `tombstones`, `usage` and `session_costs`; without one, their columns.",
        arguments: &[
            argument("sql", Form::Value, "A SELECT statement"),
            argument("limit", Form::Count, "At most so many rows"),
        ],
        leaves_out: &[],
    },
    Tool {
        name: "list",
        about: "The recorded sessions, the latest first: id, harness, project, prompts, tokens.",
        arguments: &[SINCE, UNTIL, PROJECT, HARNESS, LINES, SKIPPED_LINES],
        leaves_out: &OF_A_LOG,
    },
    Tool {
        name: "files",
        about: "The files that agents changed, the last changed first.",
        arguments: &[SINCE, UNTIL, PROJECT, HARNESS, LINES, SKIPPED_LINES],
        leaves_out: &[],
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
                "One row for each `project`, `day`, `week`, `month`, `harness`, `model`, `session` or `tool`, or for several of them: `day,model`",
            ),
            LINES,
            SKIPPED_LINES,
        ],
        leaves_out: &[],
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
                    Form::Count | Form::Lines => "integer",
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
                (Form::Lines, Some(value)) => {
                    value.as_u64().ok_or_else(|| wrong("no number"))?;
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

impl Tool {
    /// Which lines of the answer are wanted; `None` if the command has options for it.
    pub fn page(&self, given: &Map<String, Value>) -> Option<Page> {
        let is_counted = self
            .arguments
            .iter()
            .any(|argument| argument.form == Form::Lines);
        let number = |name: &str| given.get(name).and_then(Value::as_u64);
        is_counted.then(|| Page {
            skip: number("skip").unwrap_or(0),
            limit: number("limit").unwrap_or(u64::MAX),
        })
    }

    /// What a command says of its failure, with the names of the arguments in place of options. A hint at an option that the tool does not have is
    /// left out.
    pub fn in_its_words(&self, message: &str) -> String {
        // Behind the first part clap says how the command line is used.
        let first = message.split("\n\n").next().unwrap_or_default();
        let first = first.split_whitespace().collect::<Vec<_>>().join(" ");
        let clauses: Vec<String> = first
            .split("; ")
            .filter_map(|clause| self.clause(clause))
            .collect();
        match clauses.is_empty() {
            true => format!(
                "`{}` has no answer for these arguments; it has {}",
                self.name,
                self.usage()
            ),
            false => clauses.join("; "),
        }
    }

    /// The arguments and what they mean.
    fn usage(&self) -> String {
        let arguments = self.arguments.iter();
        let arguments =
            arguments.map(|argument| format!("`{}` ({})", argument.name, argument.about));
        arguments.collect::<Vec<_>>().join(", ")
    }

    /// A part of a message in the words of the tool; `None` if it names another option.
    fn clause(&self, clause: &str) -> Option<String> {
        let mut words = String::new();
        let mut rest = clause;
        while let Some(at) = rest.find("--") {
            let (before, option) = rest.split_at(at);
            let option = &option[2..];
            let end = option.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            let (name, after) = option.split_at(end.unwrap_or(option.len()));
            self.arguments
                .iter()
                .find(|argument| argument.name == name)?;
            words.push_str(before);
            words.push_str(name);
            // The placeholder of its value.
            rest = match after
                .strip_prefix(" <")
                .and_then(|value| value.split_once('>'))
            {
                Some((_, after)) => after,
                None => after,
            };
        }
        words.push_str(rest);
        Some(self.with_names(&words))
    }

    /// A text with the name of the argument in place of `<FILE[:LINES]>`.
    fn with_names(&self, text: &str) -> String {
        let is_value = |argument: &&Argument| matches!(argument.form, Form::Needed | Form::Value);
        let Some(argument) = self.arguments.iter().find(is_value) else {
            return text.to_owned();
        };
        let words = text.split(' ').map(|word| {
            let bare = word.trim_matches(|c: char| matches!(c, '\'' | '`' | ',' | ':'));
            let inner = bare
                .strip_prefix(['<', '['])
                .filter(|_| bare.ends_with(['>', ']']));
            match inner.and_then(|inner| inner.chars().next()) {
                Some('A'..='Z') => word.replace(bare, argument.name),
                _ => word.to_owned(),
            }
        });
        words.collect::<Vec<_>>().join(" ")
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
                if argument.form == Form::Lines {
                    continue;
                }
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
    #[test]
    fn failures_name_arguments_and_no_options() {
        for (tool, message, words) in [
            (
                "stats",
                "invalid value 'foo' for '--by <WHAT>'\n  [possible values: project, day]\n\n  tip: a similar value exists\n\nFor more information, try '--help'.",
                "invalid value 'foo' for 'by' [possible values: project, day]",
            ),
            (
                "explain",
                "the argument '--text <TEXT>' cannot be used with '[FILE[:LINES]]'\n\nUsage: engram explain",
                "the argument 'text' cannot be used with 'file'",
            ),
            (
                "explain",
                "the following required arguments were not provided:\n  <FILE[:LINES]>\n\nUsage: x",
                "the following required arguments were not provided: file",
            ),
            (
                "query",
                "it took longer than 60 s; `--seconds` allows more",
                "it took longer than 60 s",
            ),
        ] {
            assert_eq!(Tool::named(tool).unwrap().in_its_words(message), words);
        }
        let all = Tool::named("show")
            .unwrap()
            .in_its_words("`--json` prints a window");
        assert!(all.contains("`before` (") && !all.contains("--"), "{all}");
    }
}
