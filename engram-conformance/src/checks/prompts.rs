//! Compares messages to the agent with the prompts that were given.

use std::collections::BTreeMap;

use engram_core::error::excerpt;
use engram_core::event::Kind;
use memchr::memmem;
use serde_json::Value;

use crate::case::Case;
use crate::converted_session::{ConvertedSession, escaped};
use crate::outcome::Findings;
use crate::subject::Subject;
use crate::tape::Event;

/// Every logged prompt is a `msg.in`, no more often than the user sent it.
pub fn all(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    let mut sent: BTreeMap<&str, usize> = BTreeMap::new();
    for prompt in case
        .truth
        .prompts
        .iter()
        .filter(|prompt| !prompt.trim().is_empty())
    {
        *sent.entry(prompt).or_default() += 1;
    }
    for (prompt, times) in sent {
        if !case.is_logged(prompt.trim()) {
            findings.note("prompts that are not logged");
            continue;
        }
        findings.count_many("prompts", times as u64);
        let mut actual: BTreeMap<&str, usize> = BTreeMap::new();
        for (session, event) in case
            .own_events(Kind::MsgIn)
            .filter(|(_, event)| !is_sub_agents(event))
        {
            if event
                .text("text")
                .is_some_and(|text| has_prompt(text, prompt, &case.truth.prompts))
            {
                *actual.entry(session.name()).or_default() += 1;
            }
        }
        let is_copied = |event: &Event| {
            event.is_replay()
                && event
                    .text("text")
                    .is_some_and(|text| is_prompt(text, prompt))
        };
        if actual.is_empty() && case.events(Kind::MsgIn).any(|(_, event)| is_copied(event)) {
            // A copy of a session may have what the session's own file does not.
            findings.note("prompts that only copies have");
        } else if let (true, Some(code)) = (actual.is_empty(), missing_prompt_gap(subject, case)) {
            findings.gap(code);
        } else if let (true, Some(code)) =
            (actual.is_empty(), joined_prompt_gap(subject, case, prompt))
        {
            findings.gap(code);
        } else if actual.is_empty() {
            findings.fail(
                case.recording.name(),
                format!("no msg.in of the prompt `{}`", excerpt(prompt)),
            );
        }
        for (name, count) in actual.into_iter().filter(|(_, count)| *count > times) {
            let place = format!("{}/{name}", case.recording.name());
            findings.fail(
                place,
                format!(
                    "{count} msg.in of the prompt `{}`, which the user sent {times} times",
                    excerpt(prompt)
                ),
            );
        }
    }
}

/// The declared gap that explains why no session has a prompt: all sessions of the recording have the gap.
fn missing_prompt_gap(subject: &Subject<'_>, case: &Case<'_>) -> Option<&'static str> {
    let mut gaps = case
        .sessions
        .iter()
        .map(|session| subject.prompt_gap(session));
    let first = gaps.next().flatten()?;
    gaps.all(|gap| gap.is_some()).then_some(first)
}

/// The declared gap that explains why a prompt is a part of a longer message.
fn joined_prompt_gap(subject: &Subject<'_>, case: &Case<'_>, prompt: &str) -> Option<&'static str> {
    let is_part = |event: &Event| {
        event
            .text("text")
            .is_some_and(|text| text.contains(prompt.trim()))
    };
    case.own_events(Kind::MsgIn)
        .filter(|(_, event)| is_part(event))
        .find_map(|(session, event)| subject.author_gap(case, session, event))
}

fn is_sub_agents(event: &Event) -> bool {
    event.0.pointer("/source/agent_id").is_some()
}

/// True if a `msg.in` is this prompt. Harnesses log slash commands as XML, append the content of files that a prompt names, and put
/// the words of a command line in quotes, some with a backslash before quotes in them.
fn is_prompt(text: &str, prompt: &str) -> bool {
    let prompt = prompt.trim();
    let (name, args) = prompt.split_once(' ').unwrap_or((prompt, ""));
    let is_command = name
        .strip_prefix('/')
        .is_some_and(|name| logged_command(text) == Some(name));
    let is_expanded = text.trim_start().strip_prefix(prompt).is_some_and(|rest| {
        rest.trim_start()
            .starts_with("--- Content from referenced files")
    });
    // The ground truth may have the person's words in a section, with sections of the harness around it.
    let section = prompt
        .strip_suffix("</user_query>")
        .and_then(|rest| rest.split_once("<user_query>"));
    let is_section = section.is_some_and(|(_, words)| words.trim() == text.trim());
    // Behind the words of a command line stands what a pipe gave.
    let behind_quotes = |words: &str| {
        let rest = text.trim().strip_prefix('"')?.strip_prefix(words)?;
        rest.strip_prefix('"')
    };
    let is_quoted = [prompt, &prompt.replace('"', "\\\"")]
        .into_iter()
        .filter_map(behind_quotes)
        .any(|rest| rest.is_empty() || rest.starts_with('\n') && !rest.starts_with("\n\n"));
    // `/background` and `/fork` send what follows.
    let is_sent_on = name.starts_with('/') && !args.is_empty() && text.trim() == args.trim();
    text.trim() == prompt
        || is_sent_on
        || is_quoted
        || is_section
        || is_expanded
        || (is_command && text.contains(args))
}

/// True if a message is a prompt, or joins several with it.
fn has_prompt(text: &str, prompt: &str, prompts: &[String]) -> bool {
    is_prompt(text, prompt) || is_in_queue(text, prompt, prompts)
}

/// True if a message joins several prompts, and this is one of them. A harness that is busy may send all that was typed meanwhile as one message.
fn is_in_queue(text: &str, prompt: &str, prompts: &[String]) -> bool {
    let parts: Vec<&str> = text.split("\n\n").map(str::trim).collect();
    let is_said = |part: &&str| prompts.iter().any(|prompt| prompt.trim() == *part);
    parts.contains(&prompt.trim()) && parts.iter().all(is_said)
}

/// Scenarios with this in their names were typed in a terminal: their ground truth may lack what was typed.
const TYPED: &str = "tui";

/// The name of the command that a message is, without the slash: as it was typed, or as a harness logs it.
fn command(text: &str) -> Option<&str> {
    logged_command(text).or_else(|| text.trim().strip_prefix('/')?.split_whitespace().next())
}

/// The name of the command in a message that a harness logs as XML, without the slash.
fn logged_command(text: &str) -> Option<&str> {
    let (name, _) = text
        .split_once("<command-name>")?
        .1
        .split_once("</command-name>")?;
    Some(name.trim_start_matches('/'))
}

/// True if the message is a command of which the ground truth has none.
fn is_unlisted_command(case: &Case<'_>, text: &str) -> bool {
    let is_listed = |name: &str| {
        case.truth
            .prompts
            .iter()
            .any(|prompt| command(prompt) == Some(name))
    };
    command(text).is_some_and(|name| !is_listed(name))
}

/// True if the tape says that a person sent it.
fn is_by_person(event: &Event) -> bool {
    event.text("role") == Some("user") && event.text("by") == Some("person")
}

/// True for the command of a prompt alone, if its record does not have the arguments.
fn is_bare_command(case: &Case<'_>, session: &ConvertedSession, event: &Event) -> bool {
    let text = event.text("text").unwrap_or_default();
    let has = |args: &str| {
        session
            .record_of(event)
            .is_none_or(|record| memmem::find(record, escaped(args).as_bytes()).is_some())
    };
    let prompts = case
        .truth
        .prompts
        .iter()
        .filter_map(|prompt| prompt.trim().split_once(' '));
    text.starts_with('/')
        && prompts
            .into_iter()
            .any(|(name, args)| name == text && !has(args))
}

/// True for the instructions of a review that a person asked for. They are no turn, and the ground truth has the prompts of turns.
fn is_of_review(event: &Event) -> bool {
    event
        .0
        .pointer("/origin/pointer")
        .and_then(Value::as_str)
        .is_some_and(|pointer| pointer.ends_with("/target/instructions"))
}

/// True for a message directly behind the result of a call, with no interrupt between them: the turn goes on, so no prompt begins one.
fn is_after_result(session: &ConvertedSession, event: &Event) -> bool {
    let before = session
        .events
        .iter()
        .take_while(|other| other.number("seq") < event.number("seq"));
    let is_turn =
        |event: &&Event| !event.is(Kind::Meta) || event.text("label") == Some("interrupt");
    before
        .filter(is_turn)
        .last()
        .is_some_and(|last| last.is(Kind::ToolResult))
}

/// True for words that a person typed when refusing a call: the harness returned them as the result of that call. The model may never have
/// seen that result, if the refusal ended the turn: then the ground truth has none, and the result on the tape must hold the words.
fn is_words_of_denial(case: &Case<'_>, session: &ConvertedSession, event: &Event) -> bool {
    let text = event.text("text").unwrap_or_default().trim();
    let is_of_record = |other: &&Event| {
        other.is(Kind::ToolResult)
            && other.text("status") == Some("denied")
            && match event.line() {
                Some(line) => other.line() == Some(line),
                None => other.0.get("origin") == event.0.get("origin"),
            }
    };
    let refused = |result: &Event| {
        let call = result.text("call_id").unwrap_or_default();
        let seen = || case.truth.results.iter().filter(|seen| seen.id == call);
        if seen().next().is_some() {
            return seen().any(|seen| seen.is_error == Some(true) && seen.text.contains(text));
        }
        ["stdout", "stderr"]
            .into_iter()
            .filter_map(|stream| result.text(stream))
            .any(|output| output.contains(text))
    };
    !text.is_empty() && session.events.iter().filter(is_of_record).any(refused)
}

/// Every `msg.in` by a person is a prompt that was given, where the prompts are known, and every logged prompt is one.
pub fn by_person(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    let is_known = !case.truth.prompts.is_empty() && !case.recording.scenario.contains(TYPED);
    for (session, event) in case
        .own_events(Kind::MsgIn)
        .filter(|(_, event)| is_by_person(event))
    {
        let text = event.text("text").unwrap_or_default();
        if case
            .truth
            .prompts
            .iter()
            .any(|prompt| has_prompt(text, prompt, &case.truth.prompts))
        {
            findings.count("messages by a person");
        } else if !is_known {
            findings.note("messages in recordings without a list of prompts");
        } else if text.is_empty() && event.has("attachments") && is_after_result(session, event) {
            findings.fail(
                case.place_of(session, event),
                "attachments behind the result of a call are by a person, but nobody sent them",
            );
        } else if text.is_empty() && event.has("attachments") {
            findings.note("messages without a text");
        } else if is_unlisted_command(case, text) {
            findings.note("commands that the ground truth does not list");
        } else if is_bare_command(case, session, event) {
            findings.note("commands that are logged without their arguments");
        } else if is_of_review(event) {
            findings.note("instructions of reviews");
        } else if is_words_of_denial(case, session, event) {
            findings.count("words of persons who refused a call");
        } else if let Some(code) = subject.author_gap(case, session, event) {
            findings.gap(code);
        } else {
            findings.fail(
                case.place_of(session, event),
                format!("`{}` is by a person, but nobody sent it", excerpt(text)),
            );
        }
    }
    for prompt in &case.truth.prompts {
        let mut sent = case
            .own_events(Kind::MsgIn)
            .filter(|(_, event)| {
                event
                    .text("text")
                    .is_some_and(|text| is_prompt(text, prompt))
            })
            .peekable();
        // `prompt.all` reports prompts that are on no tape.
        let Some((session, event)) = sent.peek().copied() else {
            continue;
        };
        if sent.any(|(_, event)| is_by_person(event)) {
            findings.count("prompts");
        } else if let Some(code) = subject.unproven_prompt_gap(session, event) {
            findings.gap(code);
        } else {
            let by = event.text("by").unwrap_or("nobody");
            findings.fail(
                case.place_of(session, event),
                format!("a person sent `{}`, but it is by {by}", excerpt(prompt)),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_of_a_command_line_may_be_logged_in_quotes() {
        for (logged, prompt) in [
            ("\"is it?\"", "is it?"),
            (r#""a \"b\" \n""#, r#"a "b" \n"#),
            ("is it?\n", "is it?"),
            ("\"is it?\"\npiped\n", "is it?"),
        ] {
            assert!(is_prompt(logged, prompt), "{logged}");
        }
        for (logged, prompt) in [
            ("\"is it?", "is it?"),
            (r#""a \"b""#, "a b"),
            ("\"is it? No.\"", "is it?"),
        ] {
            assert!(!is_prompt(logged, prompt), "{logged}");
        }
    }

    #[test]
    fn a_command_may_send_its_words_on() {
        assert!(is_prompt("go on", "/background go on"));
        assert!(!is_prompt("", "/clear"));
        assert!(!is_prompt("go on", "background go on"));
    }

    #[test]
    fn what_waits_may_be_sent_as_one() {
        let prompts = ["one", "two", "three"].map(str::to_owned);
        assert!(is_in_queue("two\n\nthree", "two", &prompts));
        assert!(!is_in_queue("two\n\nthree", "one", &prompts));
        assert!(!is_in_queue("two\n\nadded", "two", &prompts));
    }
}
