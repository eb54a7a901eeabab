//! The forms of the logs, and what of their records the harness wrote itself: contexts, fillers, words of hooks.

use std::collections::HashSet;

use engram_core::text::{Text, push_text};

use super::format::StreamKind;
use super::readers::{
    AgentProgress, Call, FileChange, FunctionResponse, Line, Part, Response, SavedTurn, StreamLine,
    Thought,
};
use crate::shared::value::{Field, Value, one_or_many, raw_str, text};

/// The prefix of the context that the harness puts before the first prompt, as raw JSON. A person may write about the tag itself.
pub(super) const SESSION_CONTEXT: &str = "<session_context>\\nThis is the Gemini CLI.";

/// The same context in conversations that were saved before it had a tag.
pub(super) const UNTAGGED_CONTEXT: &str =
    "This is the Gemini CLI. We are setting up the context for our chat.";

/// The prefix of the instruction files that the harness puts before the task of a sub-agent, as raw JSON.
pub(super) const LOADED_CONTEXT: &str = "\\n<loaded_context>\\n";

/// True for a text that the harness puts before the first prompt.
pub(super) fn is_context(text: Text<'_>) -> bool {
    text.starts_with(SESSION_CONTEXT) || text.starts_with(UNTAGGED_CONTEXT)
}

/// The prefix of the summary that the harness puts in place of the history.
pub(super) const STATE_SNAPSHOT: &str = "<state_snapshot>";

/// The begin of the section with the words of a hook. The harness writes `<` and `>` in them as entities.
pub(super) const HOOK_BEGIN: &str = "<hook_context>";
/// The end of such a section.
const HOOK_END: &str = "</hook_context>";
/// What stands between such a section and the text that it was added to.
const BEHIND_HOOK: &str = "\n\n";

/// The section of a hook that a text begins with (`SessionStart`, `BeforeAgent`), and the words behind it. None if it has no such section.
pub(super) fn hook_before(text: &str) -> Option<(&str, &str)> {
    let end = text
        .strip_prefix(HOOK_BEGIN)
        .and_then(|inside| inside.find(['<', '>']))?
        + HOOK_BEGIN.len();
    let end = end
        + text[end..]
            .starts_with(HOOK_END)
            .then_some(HOOK_END.len())?;
    let (section, rest) = text.split_at(end);
    let words = if rest.is_empty() {
        rest
    } else {
        rest.strip_prefix(BEHIND_HOOK)?
    };
    Some((section, words))
}

/// What the harness puts around instruction files that it finds in the directory of a file or of a list, behind the output of the call
/// (0.61.0, `appendJitContext` in its package; recorded).
const FOUND_CONTEXT: [&str; 2] = [
    "\n\n--- Newly Discovered Project Context ---\n",
    "\n--- End Project Context ---",
];

/// An output without the instruction files behind it, and these. None if it has none, or if it is not sure where they begin: a file may have
/// the same lines.
pub(super) fn split_context(output: &str) -> Option<(&str, &str)> {
    let [begin, end] = FOUND_CONTEXT;
    let (before, context) = output.strip_suffix(end)?.split_once(begin)?;
    (!context.contains(begin)).then_some((before, context))
}

/// True if instruction files stand behind an output, or a text in it looks like it.
pub(super) fn may_have_context(output: &str) -> bool {
    output.contains(FOUND_CONTEXT[0].trim())
}

/// True if a text is the section of a hook, and nothing else.
fn is_hook_section(text: Text<'_>) -> bool {
    text.starts_with(HOOK_BEGIN)
        && text
            .decode()
            .is_ok_and(|text| hook_before(&text).is_some_and(|(_, words)| words.is_empty()))
}

/// A result without the note that a hook has changed the arguments (`BeforeTool`).
fn without_note(output: &str) -> &str {
    output
        .strip_suffix(
            "\n\n[System] Tool input parameters were modified by a hook before execution.",
        )
        .unwrap_or(output)
}

/// A result without the section of a hook behind it (`AfterTool`), and without the note that a hook has changed the arguments.
pub(super) fn without_hook(output: &str) -> &str {
    split_hook(output).map_or_else(|| without_note(output), |(before, _)| before)
}

/// A result and the words of a hook behind it, if there are such.
pub(super) fn split_hook(output: &str) -> Option<(&str, &str)> {
    let rest = without_note(output).strip_suffix(HOOK_END)?;
    let (before, words) = rest.rsplit_once(HOOK_BEGIN)?;
    let before = before.strip_suffix(BEHIND_HOOK)?;
    (!words.contains(['<', '>'])).then_some((before, words))
}

/// True if the words of a hook may stand behind an output, as raw JSON.
pub(super) fn ends_with_hook(output: &str) -> bool {
    let output = output.trim_end_matches('"');
    output.ends_with(HOOK_END) || output.ends_with("by a hook before execution.")
}

/// The arguments with the task of a sub-agent (0.12.0 to 0.38.2): the prompt has an `objective` in a template, and is a `request` itself.
pub(super) const TASKS: [&str; 2] = ["objective", "request"];

/// The task in the prompt that the harness makes for a sub-agent (0.12.0 to 0.38.2), as the argument of the call has it.
pub(super) fn objective(prompt: &str) -> Option<String> {
    let inside = prompt
        .strip_suffix("\n</objective>")?
        .split_once("\n<objective>\n")?
        .1;
    let mut token = String::new();
    push_text(&mut token, Text::Plain(inside));
    Some(token)
}

/// What the harness writes in the model's place after a context or a summary, so that the history alternates.
pub(super) const FILLERS: [&str; 2] = [
    "Got it. Thanks for the additional context!",
    "Got it. Thanks for the context!",
];

/// What an `info` says of a turn that a person stopped: when the key is pressed, and when the request ends (0.61.0, recorded).
pub(super) const CANCELLED: [&str; 2] = ["Request cancelled.", "User cancelled the request."];

/// The prefix of an output that the harness has replaced, long after the call, by its beginning and end (2026).
pub(super) const MASKED_OUTPUT: &str = "<tool_output_masked>";

/// The list of records in a whole-file log.
pub(super) const MESSAGES: &str = "messages";

/// The form of an artifact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// One record a line (0.39.0 and later).
    #[default]
    Lines,
    /// One object with all messages (0.4.1 to 0.38.2).
    Document,
    /// `logs.json`: what was typed at the terminal.
    TypedPrompts,
    /// `checkpoint-<tag>.json`: a saved conversation.
    Saved,
    /// What `--output-format stream-json` prints.
    Stream,
}

/// The type of a line that a run prints. That of a message names its role.
pub(super) fn stream_kind(line: &StreamLine<'_>) -> Option<StreamKind> {
    match (raw_str(line.kind()), raw_str(line.role())) {
        ("message", "user") => Some(StreamKind::MessageUser),
        ("message", "assistant") => Some(StreamKind::MessageAssistant),
        (kind, _) => StreamKind::named(kind).filter(|_| !kind.contains('/')),
    }
}

/// The raw JSON of a field.
pub(super) fn raw(field: Field<'_>) -> Option<&str> {
    field.map(Value::raw)
}

/// The parts of a list, or the one part in place of a list. A string is a text part.
pub(super) fn parts(list: Field<'_>) -> impl Iterator<Item = Part<'_>> {
    one_or_many(list).map(Part::lenient)
}

impl<'a> Line<'a> {
    /// What a `$set` line or a turn of a saved conversation has in place of the message's members: `parts` for `content`.
    pub fn of_turn(turn: &SavedTurn<'a>) -> Self {
        let mut line = Line::empty_of(turn.object());
        line.set(const { Line::number("content") }, turn.parts());
        line
    }

    /// True for the first message line of a history that is written again. It has the context that the harness puts before the first
    /// prompt, or the model's parts as they were sent.
    pub fn begins_history(&self) -> bool {
        let Some(content) = self.content().filter(|content| content.is_array()) else {
            return false;
        };
        match raw_str(self.kind()) {
            "gemini" => true,
            "user" => content.elements().next().is_some_and(|part| {
                raw_str(part.first_member("text")).starts_with(SESSION_CONTEXT)
            }),
            _ => false,
        }
    }
}

impl<'a> Part<'a> {
    /// The text of a text part.
    pub fn plain_text(&self) -> Field<'a> {
        if self.object().text().is_some() {
            Some(self.object())
        } else {
            self.text()
        }
    }

    /// The name of a part of an unknown type: that of its first member.
    pub fn unknown_name(&self) -> &'a str {
        self.object()
            .members()
            .next()
            .map_or("part", |(name, _)| name)
    }

    /// A file, as base64 or by URL.
    pub fn file(&self) -> Field<'a> {
        self.inline_data().or(self.file_data())
    }
}

impl<'a> Call<'a> {
    /// True if the call succeeded.
    pub fn succeeded(&self) -> bool {
        raw_str(self.status()) == "success"
    }

    /// True if the call has ended.
    pub fn has_ended(&self) -> bool {
        matches!(raw_str(self.status()), "success" | "error" | "cancelled")
    }

    /// True for the tools that edit files.
    pub fn is_edit(&self) -> bool {
        matches!(raw_str(self.name()), "replace" | "write_file")
    }

    /// The file before and after, as the call of an edit reports it. A tool that a hook ran behind another one (a tail call) may have edited a
    /// file: then the report is that of an edit, and name and arguments are those of the first one.
    pub fn change(&self) -> Option<FileChange<'a>> {
        let display = self.display().filter(|display| display.is_object())?;
        let change = FileChange::lenient(display);
        Some(change).filter(|change| self.is_edit() || change.file_path().is_some())
    }

    /// What a sub-agent that the call started does, as the terminal shows it.
    pub fn progress(&self) -> AgentProgress<'a> {
        AgentProgress::lenient_opt(self.display().filter(|display| display.is_object()))
    }

    /// The output of the first response.
    pub fn output(&self) -> Field<'a> {
        let response = parts(self.result()).find_map(|part| part.response())?;
        Response::lenient(FunctionResponse::lenient(response).response()?).output()
    }

    /// True if a hook ran behind the call, and told the model something.
    pub fn has_hook(&self) -> bool {
        let output = text(self.output()).and_then(|output| output.decode().ok());
        output.is_some_and(|output| without_hook(&output).len() < without_note(&output).len())
    }

    /// The index of the response among the parts of the result; 0 if there is none.
    pub fn response_at(&self) -> usize {
        let is_response = |part: Value<'_>| part.first_member("functionResponse").is_some();
        one_or_many(self.result())
            .position(is_response)
            .unwrap_or_default()
    }

    /// What a person wrote while the tool ran: the texts before the response. Each with its index among the parts of the result. Texts of the
    /// result itself follow the response.
    pub fn interjections(&self) -> impl Iterator<Item = (usize, Text<'a>)> {
        parts(self.result())
            .take(self.response_at())
            .enumerate()
            .filter_map(|(n, part)| Some((n, text(part.plain_text())?)))
    }
}

/// The number of results among these parts.
pub(super) fn count_responses(list: Field<'_>) -> usize {
    one_or_many(list)
        .filter(|part| part.first_member("functionResponse").is_some())
        .count()
}

/// What the user typed, if the message has it expanded (`displayContent`). Empty if not.
pub(super) struct TypedTexts<'a> {
    pub texts: Vec<Text<'a>>,
    /// True if no part of the message is one of them.
    pub are_missing: bool,
    /// Their tokens. Equal texts of a record have equal tokens.
    tokens: HashSet<&'a str>,
    /// What the message has was not typed: it shows something else (results, if the harness goes on by itself), or it is what an `AfterAgent` hook
    /// gave as the reason to go on, with the section of a `BeforeAgent` hook behind it.
    is_of_harness: bool,
}

impl<'a> TypedTexts<'a> {
    pub fn of(message: &Line<'a>) -> Self {
        let texts: Vec<Text<'a>> = parts(message.display_content())
            .filter_map(|part| text(part.plain_text()))
            .collect();
        let tokens: HashSet<&str> = texts.iter().map(Text::raw).collect();
        let is_typed = |part: Part<'_>| {
            text(part.plain_text()).is_some_and(|text| tokens.contains(text.raw()))
        };
        let are_missing = !texts.is_empty() && !parts(message.content()).any(is_typed);
        // Where a hook adds to what a person typed, the message has what was typed, too. One without it goes on because a hook said so.
        let is_section = |part: Value<'_>| {
            part.first_member("text")
                .and_then(Value::text)
                .is_some_and(is_hook_section)
        };
        let is_of_hook = message.content().is_some_and(|content| {
            content.is_array() && content.elements().skip(1).any(is_section)
        });
        let is_of_harness = texts.is_empty() && (is_of_hook || message.display_content().is_some());
        TypedTexts {
            texts,
            are_missing,
            tokens,
            is_of_harness,
        }
    }

    /// False for a text that the harness expanded or wrote.
    pub fn is_typed(&self, text: Text<'_>) -> bool {
        if self.texts.is_empty() {
            !self.is_of_harness
        } else {
            self.tokens.contains(text.raw())
        }
    }
}

/// The results in `displayContent`. The harness adds them when it tells the model to continue. They are complete, even if the calls' own
/// results are masked since. Each with its index.
pub(super) fn displayed_responses<'a>(
    message: &Line<'a>,
) -> impl Iterator<Item = (usize, FunctionResponse<'a>)> {
    let shown = message.display_content().filter(|shown| shown.is_array());
    let shown = shown
        .into_iter()
        .flat_map(|shown| parts(Some(shown)))
        .enumerate();
    shown.filter_map(|(n, part)| Some((n, FunctionResponse::lenient(part.response()?))))
}

/// A thought as the model wrote it, as a JSON string: the harness splits `**subject** description`.
pub(super) fn joined_thought(thought: &Thought<'_>) -> String {
    let (subject, description) = (raw_str(thought.subject()), raw_str(thought.description()));
    match (subject.is_empty(), description.is_empty()) {
        (true, _) => ["\"", description, "\""].concat(),
        (false, true) => ["\"**", subject, "**\""].concat(),
        (false, false) => ["\"**", subject, "** ", description, "\""].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_of_a_hook_is_apart_from_what_it_was_added_to() {
        assert_eq!(
            hook_before("<hook_context>a &lt;b</hook_context>\n\nfix it"),
            Some(("<hook_context>a &lt;b</hook_context>", "fix it"))
        );
        assert_eq!(
            hook_before("<hook_context>a</hook_context>"),
            Some(("<hook_context>a</hook_context>", ""))
        );
        for other in [
            "fix it",
            "<hook_context>a<b></hook_context>\n\nc",
            "<hook_context>a</hook_context> is a tag",
            "<hook_context>",
        ] {
            assert_eq!(hook_before(other), None, "{other}");
        }
        assert_eq!(
            without_hook("b = 1\n\n\n<hook_context>a</hook_context>"),
            "b = 1\n"
        );
        for other in [
            "b = 1\n",
            "<hook_context>a</hook_context>",
            "b\n\n<hook_context><a></hook_context>",
        ] {
            assert_eq!(without_hook(other), other);
        }
    }
}
