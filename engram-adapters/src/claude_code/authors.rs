//! Who wrote a text in the user's place. What the line says comes first; how the text begins counts only where the line says nothing.

use engram_core::event::Author;
use engram_core::text::Text;

use crate::claude_code::readers::Line;
use crate::claude_code::revisions::{feedback_may_be_plain, summaries_may_be_unmarked};
use crate::claude_code::wrappers::{self, States};
use crate::shared::value::{Field, Value, is_true, raw_str};

/// Beginnings of a command's output, which follows the command.
const COMMAND_OUTPUT: &[&str] = &[
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<bash-stdout>",
    "<bash-stderr>",
    "(no content)",
];

/// Beginnings of the templates that the harness gives a sub-agent.
const AGENT_TEMPLATES: &[&str] = &[
    "Base directory for this skill: ",
    "CRITICAL: Respond with TEXT ONLY",
    "Warmup",
];

/// Texts of which an interrupt consists.
const INTERRUPTS: &[&str] = &[
    "[Request interrupted by user]",
    "[Request interrupted by user for tool use]",
];

/// The unmarked summary of a compaction begins so.
const COMPACTED: &str = "This session is being continued from a previous conversation that ran out of context. The conversation is summarized below";

/// How the result of a call begins if a person denied the call. The second text is the one in logs of sub-agents.
pub(super) const DENIED_BY_PERSON: [&str; 2] = [
    "The user doesn't want to proceed with this tool use.",
    "Permission for this tool use was denied.",
];

/// Where a text is.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// A sub-agent has it.
    pub is_agents: bool,
    /// It is a block of a list.
    pub is_block: bool,
    /// The text before it was a command.
    pub follows_command: bool,
}

/// What the fields of the line state about the author.
pub(super) fn stated(line: &Line<'_>) -> Option<Author> {
    if is_agents(line.origin()) {
        return Some(Author::Agent);
    }
    if is_true(line.is_meta()) || line.plan().is_some() {
        return Some(Author::Harness);
    }
    if line.source_call().is_some() {
        return Some(Author::Agent);
    }
    match line.origin().map(|origin| raw_str(origin.member("kind"))) {
        Some("human") => return Some(Author::Person),
        Some(_) => return Some(Author::Harness),
        None => {}
    }
    match raw_str(line.prompt_source()) {
        "" => None,
        "system" => Some(Author::Harness),
        _ => Some(Author::Person),
    }
}

/// True for the origin of a message of another session or of another agent.
pub(super) fn is_agents(origin: Field<'_>) -> bool {
    origin.is_some_and(|origin| matches!(raw_str(origin.member("kind")), "peer" | "coordinator"))
}

/// The words of another agent inside what the harness writes around them, and the name of that frame. None for a text without one.
pub(super) fn words_of_agent(line: &Line<'_>, whole: Text<'_>) -> Option<(&'static str, String)> {
    const DIRECTIVE: &str = "</fork-boilerplate>\n\nYour directive: ";
    const BEFORE: &str = "The coordinator sent a message while you were working:\n";
    const AFTER: &str = "\n\nAddress this before completing your current task.";
    const COMPUTED: &str = "The computed task text follows:\n";
    if whole.starts_with("<fork-boilerplate>") {
        let (_, directive) = whole
            .decode()
            .ok()?
            .split_once(DIRECTIVE)
            .map(|(head, rest)| (head.len(), rest.to_owned()))?;
        Some(("fork_boilerplate", directive))
    } else if is_agents(line.origin()) {
        let words = whole
            .decode()
            .ok()?
            .strip_prefix(BEFORE)?
            .strip_suffix(AFTER)?
            .to_owned();
        Some(("agent_message", words))
    } else if whole.starts_with("[Workflow harness") {
        // The harness indents each line of the task.
        let text = whole.decode().ok()?;
        let lines: Option<Vec<&str>> = text
            .split_once(COMPUTED)?
            .1
            .split('\n')
            .map(|line| line.strip_prefix("  "))
            .collect();
        Some(("workflow_task", lines?.join("\n")))
    } else {
        None
    }
}

/// The author of a text. What an editor puts beside a prompt is in its line, which states the author of the prompt.
pub(super) fn of_text(line: &Line<'_>, text: Text<'_>, place: Place) -> Author {
    match stated(line) {
        Some(Author::Person) | None if wrappers::is_without_words(text, States::Author) => {
            return Author::Harness;
        }
        Some(author) => return author,
        None => {}
    }
    if is_notification(text) {
        return Author::Harness;
    }
    // Up to 2.1.150 the mode marks what was entered as a prompt.
    if line.permission_mode().is_some() {
        return Author::Person;
    }
    if place.is_agents {
        return if begins(text, AGENT_TEMPLATES) {
            Author::Harness
        } else {
            Author::Agent
        };
    }
    if is_harness_text(line, text, place) {
        Author::Harness
    } else {
        Author::Person
    }
}

/// The author of a queued text.
pub(super) fn of_queued(text: Text<'_>) -> Author {
    if is_notification(text) || wrappers::is_without_words(text, States::Nothing) {
        Author::Harness
    } else {
        Author::Person
    }
}

/// The rows of [`wrappers`] that count in the texts of a line.
pub(super) fn states(line: &Line<'_>) -> States {
    if stated(line).is_some() {
        States::Author
    } else {
        States::Nothing
    }
}

/// True if the text is the notice that a person has stopped the turn. The notice is a block, and what a person types is mostly none.
pub(super) fn is_interrupt(line: &Line<'_>, (text, is_block): (Text<'_>, bool)) -> bool {
    is_block
        && text.starts_with("[Request interrupted")
        && is_unstated(line)
        && INTERRUPTS.iter().any(|interrupt| text.eq_str(interrupt))
}

/// True if the text is the summary of a compaction. A summary that no field marks is the first line of its conversation.
pub(super) fn is_summary(line: &Line<'_>, text: Text<'_>) -> bool {
    let may_be_unmarked = || {
        line.parent_uuid().and_then(Value::text).is_none()
            && summaries_may_be_unmarked(raw_str(line.version()))
    };
    is_true(line.is_compact_summary())
        || (text.starts_with(COMPACTED) && is_unstated(line) && may_be_unmarked())
}

/// True if the line was entered as a prompt: it says so, or has the mode that marks a prompt up to 2.1.150.
pub(super) fn is_entered(line: &Line<'_>) -> bool {
    match stated(line) {
        Some(author) => author == Author::Person,
        None => line.permission_mode().is_some(),
    }
}

/// True if no field says who wrote the line. The mode marks what was entered as a prompt.
fn is_unstated(line: &Line<'_>) -> bool {
    stated(line).is_none() && line.permission_mode().is_none()
}

/// True if the text is what a command printed.
pub(super) fn is_command_output(text: Text<'_>) -> bool {
    begins(text, COMMAND_OUTPUT)
}

/// True if the text is what a command printed, and nothing else.
pub(super) fn is_whole_command_output(text: Text<'_>) -> bool {
    const ENDS: [&str; 2] = ["</local-command-stdout>", "</local-command-stderr>"];
    let is_end = |text: &str| ENDS.iter().any(|end| text.ends_with(end));
    text.starts_with("<local-command-std") && is_end(text.decode_lossy().trim_end())
}

fn is_harness_text(line: &Line<'_>, text: Text<'_>, place: Place) -> bool {
    wrappers::is_without_words(text, States::Nothing)
        || (place.follows_command && begins(text, COMMAND_OUTPUT))
        || (place.is_block && is_reminder(text))
        || is_hook_feedback(text, raw_str(line.version()))
}

/// True if the text is a reminder from its beginning to its end. A person may type one too, but not as a block.
fn is_reminder(text: Text<'_>) -> bool {
    text.starts_with("<system-reminder>")
        && text
            .decode_lossy()
            .trim_end()
            .ends_with("</system-reminder>")
}

fn begins(text: Text<'_>, beginnings: &[&str]) -> bool {
    beginnings
        .iter()
        .any(|beginning| text.starts_with(beginning))
}

/// `Stop hook feedback:`, `Bash operation feedback:` and others, followed by a list (1.0.80 to 2.0.20), or by the words alone.
fn is_hook_feedback(text: Text<'_>, version: &str) -> bool {
    const LONGEST: usize = 80;
    let raw = text.raw().as_bytes();
    let Some(at) = memchr::memmem::find(&raw[..raw.len().min(LONGEST)], b" feedback:") else {
        return false;
    };
    let head = &raw[usize::from(text.token().is_some())..at];
    let names_hook = head.ends_with(b" hook") || head.ends_with(b" operation");
    names_hook
        && head.first().is_some_and(u8::is_ascii_uppercase)
        && text
            .decode_lossy()
            .contains(if feedback_may_be_plain(version) {
                " feedback:\n"
            } else {
                " feedback:\n- "
            })
}

/// True if the text is the notice that a background task has ended. A person may type the beginning of one.
fn is_notification(text: Text<'_>) -> bool {
    const END: &str = "</task-notification>";
    if text.starts_with("<task-notification>") {
        let text = text.decode_lossy();
        let rest = text.rsplit_once(END).map(|(_, rest)| rest.trim_start());
        return rest.is_some_and(|rest| {
            rest.is_empty()
                || ["Read the output file", "Full transcript available at", "["]
                    .iter()
                    .any(|tail| rest.starts_with(tail))
        });
    }
    text.starts_with("{") && {
        let text = text.decode_lossy();
        text.starts_with("{\"task_id\":")
            && text.contains("\"task_type\":")
            && text.trim_end().ends_with('}')
    }
}

/// The tags around what a person typed behind `!` and behind `#`.
const TYPED_MODES: [(&str, &str); 2] = [
    ("<bash-input>", "</bash-input>"),
    ("<user-memory-input>", "</user-memory-input>"),
];

/// True for a text in the tags of what was typed behind `!` or `#`.
pub(super) fn is_typed_mode(text: Text<'_>) -> bool {
    TYPED_MODES.iter().any(|(begin, _)| text.starts_with(begin))
}

/// What a person typed, without the harness's tags: `/name args` of a slash command, the words behind `!` or `#`. None for a text that is not
/// all tags.
pub(super) fn typed_command(text: Text<'_>) -> Option<String> {
    if is_typed_mode(text) {
        let text = text.decode().ok()?;
        let inside = |(begin, end): &(&str, &str)| text.strip_prefix(begin)?.strip_suffix(end);
        return TYPED_MODES.iter().find_map(inside).map(str::to_owned);
    }
    if !text.starts_with("<command-") {
        return None;
    }
    let text = text.decode_lossy();
    let inner = |open: &str, close: &str| {
        text.split_once(open)?
            .1
            .split_once(close)
            .map(|(inner, _)| inner)
    };
    let name =
        inner("<command-name>", "</command-name>").filter(|_| text.trim_end().ends_with('>'))?;
    let slash = if name.starts_with('/') { "" } else { "/" };
    let args = inner("<command-args>", "</command-args>").unwrap_or_default();
    let gap = if args.is_empty() { "" } else { " " };
    Some(format!("{slash}{name}{gap}{args}"))
}

/// True for a text that runs a command: what the command prints follows.
pub(super) fn is_command(text: Text<'_>) -> bool {
    text.starts_with("<command-") || is_typed_mode(text)
}

/// The words that a person typed when denying a call, inside the text that the model saw.
pub(super) fn words_of_denial(content: &str) -> Option<&str> {
    const BEFORE: [&str; 2] = ["the user said:\n", "The user said:\n"];
    const AFTER: &str = "\n\nNote: The user's next message may contain a correction or preference.";
    let rest = DENIED_BY_PERSON
        .iter()
        .find_map(|denied| content.strip_prefix(denied))?;
    let (_, words) = BEFORE
        .iter()
        .filter_map(|before| rest.split_once(before))
        .min_by_key(|(head, _)| head.len())?;
    let words = words.split_once(AFTER).map_or(words, |(words, _)| words);
    (!words.trim().is_empty()).then_some(words)
}

/// True if the text of a denial corrects itself: the call ran when a person interrupted (2.1.332).
pub(super) fn was_stopped(content: &str) -> bool {
    const STOPPED: &str = " Correction to the text above: this call was stopped while running, not refused before it ran.";
    words_of_denial(content).is_none() && content.contains(STOPPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_is_told_from_a_text_that_begins_like_one() {
        let notice = "<task-notification>\n<task-id>b1</task-id>\n</task-notification>";
        let cases = [
            (notice.to_owned(), true),
            (
                format!("{notice}\nRead the output file to retrieve the result: /t"),
                true,
            ),
            (format!("{notice} what is this?"), false),
            (
                r#"{"task_id":"b0","task_type":"local_bash"}"#.to_owned(),
                true,
            ),
            (r#"{"task_id": 7}"#.to_owned(), false),
        ];
        for (text, expected) in cases {
            assert_eq!(is_notification(Text::Plain(&text)), expected, "{text}");
        }
    }

    #[test]
    fn feedback_of_hooks_is_a_list_or_of_a_version_without_lists() {
        let cases = [
            ("Stop hook feedback:\n- no", "1.0.106", true),
            ("Bash operation feedback:\n- no", "1.0.106", true),
            ("Stop hook feedback:\nlook again", "1.0.106", false),
            ("Stop hook feedback:\nlook again", "2.0.20", false),
            ("Stop hook feedback:\nlook again", "2.0.22", true),
            ("Stop hook feedback:\nlook again", "2.0.36", true),
            ("Stop hook feedback:\nlook again", "2.0.42", false),
            ("Stop hook feedback:\nI wrote this", "2.1.331", false),
            ("my feedback:\n- no", "2.0.22", false),
        ];
        for (text, version, expected) in cases {
            assert_eq!(
                is_hook_feedback(Text::Plain(text), version),
                expected,
                "{text} {version}"
            );
        }
    }

    #[test]
    fn words_of_a_denial_are_what_follows_the_fixed_text() {
        let denied = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nuse b";
        assert_eq!(words_of_denial(denied), Some("use b"));
        let noted = format!(
            "{denied}\n\nNote: The user's next message may contain a correction or preference. Pay close attention."
        );
        assert_eq!(words_of_denial(&noted), Some("use b"));
        let of_agent = "Permission for this tool use was denied. The tool use was rejected. The user said:\nuse c\nthe user said:\nd";
        assert_eq!(words_of_denial(of_agent), Some("use c\nthe user said:\nd"));
        assert_eq!(words_of_denial("The user said:\nno"), None);
    }

    #[test]
    fn typed_command_is_taken_out_of_its_tags() {
        let text = "<command-message>fold</command-message>\n<command-name>/fold</command-name>\n<command-args>a b</command-args>";
        assert_eq!(
            typed_command(Text::Plain(text)).as_deref(),
            Some("/fold a b")
        );
        assert_eq!(
            typed_command(Text::Plain("<command-name>x</command-name> I typed this")),
            None
        );
        let shell = "<bash-input>echo a > b</bash-input>";
        assert_eq!(
            typed_command(Text::Plain(shell)).as_deref(),
            Some("echo a > b")
        );
        assert_eq!(
            typed_command(Text::Plain("<bash-input>a</bash-input> b")),
            None
        );
    }
}
