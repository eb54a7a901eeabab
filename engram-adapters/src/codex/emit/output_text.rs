//! Exit facts in the text of a tool's output, in every form since the first release.
//!
//! The framing (`Exit code: 3`, `Chunk ID: ...`) is read in the JSON token, so that long outputs are not decoded.

use std::borrow::Cow;
use std::sync::LazyLock;

use engram_core::event::{Status, ToolResult};
use engram_core::text::Text;
use memchr::memchr_iter;
use memchr::memmem::Finder;

use crate::shared::value::{StructuralIndex, Value, integer, parse, raw_str};

use super::printed_files::SUCCESS;
use crate::codex::blocks::{joined_lines, unquote};
use crate::codex::readers::{Command, Metadata, WrappedOutput};

/// What an output says about the end of its call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExitFacts {
    /// Exit code of the command.
    pub exit: Option<i64>,
    /// Wall time in milliseconds.
    pub duration_ms: Option<u64>,
    pub status: Option<Status>,
    /// The harness truncated the output.
    pub truncated: bool,
    /// The command is still running: another output will follow.
    pub running: bool,
    /// The session in which it runs.
    pub session: Option<u64>,
    /// `apply_patch` reports that it changed the files.
    pub patched: bool,
    /// It is the output of `view_image`, and a message with the image follows (up to 0.98).
    pub image_follows: bool,
}

/// What is known of a call that its output is read with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Framing {
    /// How often the command begins a new line. 0.115 to 0.117 repeat the command before everything else.
    pub line_breaks_of_command: usize,
    /// The harness may have applied a patch itself: what follows the framing may be its own text.
    pub may_nest: bool,
}

/// How often the command of a shell tool begins a new line.
pub fn line_breaks_of_command(arguments: Value<'_>) -> usize {
    let command = Command::lenient(arguments)
        .cmd()
        .and_then(Value::text)
        .filter(|command| command.raw().contains('\\'));
    command.map_or(0, |command| command.decode_lossy().matches('\n').count())
}

/// The `{"output": ..., "metadata": ...}` object in a decoded output text.
fn wrapped_output<'a>(text: &'a str, index: &'a mut StructuralIndex) -> Option<WrappedOutput<'a>> {
    if is_wrapped(text) {
        wrapped_of(text, parse(text, index).ok()?)
    } else {
        None
    }
}

/// The same object, given the text and its value.
pub fn wrapped_of<'a>(text: &str, value: Value<'a>) -> Option<WrappedOutput<'a>> {
    if is_wrapped(text) {
        WrappedOutput::strict(value, "").ok()
    } else {
        None
    }
}

fn is_wrapped(text: &str) -> bool {
    text.starts_with("{\"output\":\"")
}

/// True when the decoded token may be a [`WrappedOutput`].
pub fn may_be_wrapped(token: &str) -> bool {
    token.starts_with("\"{\\\"output\\\":")
}

impl ExitFacts {
    /// The facts in an output, given as its JSON token.
    pub fn of_token(token: &str, framing: Framing) -> ExitFacts {
        let mut facts = ExitFacts::default();
        let Body {
            text: body,
            is_printed,
        } = facts.read_framing(unquote(token), framing);
        let of_body = ExitFacts::of_body(body);
        facts.truncated = of_body.truncated;
        // What a command printed says nothing about it.
        if !is_printed || framing.may_nest {
            facts.status = of_body.status.or(facts.status);
            facts.patched = of_body.patched;
        }
        if framing.may_nest
            && body.starts_with("{\\\"output\\\":")
            && let Ok(decoded) = Text::Token(&format!("\"{body}\"")).decode()
            && let Some(wrapped) = wrapped_output(&decoded, &mut StructuralIndex::default())
        {
            let inner = ExitFacts::of_wrapped(&wrapped);
            facts.exit = inner.exit.or(facts.exit);
            facts.patched = inner.patched;
        }
        facts.with_status_of_exit()
    }

    /// The facts in a wrapped output.
    pub fn of_wrapped(wrapped: &WrappedOutput<'_>) -> ExitFacts {
        let mut facts = ExitFacts::of_body(raw_str(wrapped.output()));
        if let Some(metadata) = wrapped.metadata().map(Metadata::lenient) {
            facts.exit = integer(metadata.exit_code());
            facts.duration_ms = metadata
                .duration_seconds()
                .and_then(|seconds| millis(seconds.raw()));
        }
        facts.with_status_of_exit()
    }

    /// A result with these facts.
    pub fn to_result(self) -> ToolResult<'static> {
        ToolResult {
            status: self.status,
            exit: self.exit,
            duration_ms: self.duration_ms,
            truncated: self.truncated,
            ..ToolResult::default()
        }
    }

    /// Reads the lines of framing and returns the text after `Output:`, or all of the text if there is no framing.
    fn read_framing<'t>(&mut self, text: &'t str, framing: Framing) -> Body<'t> {
        let (mut rest, mut framed) = (text, false);
        if text.starts_with("Command: ") {
            let Some(after) = skip_lines(text, framing.line_breaks_of_command + 1)
                .filter(|after| after.starts_with("Chunk ID: "))
            else {
                return Body {
                    text,
                    is_printed: true,
                };
            };
            (rest, framed) = (after, true);
        }
        loop {
            let (line, after) = split_line(rest);
            if line == "Output:" {
                // The output of `apply_patch` through a shell tool has two framings.
                if !framing.may_nest || !after.starts_with("Exit code: ") {
                    return Body {
                        text: after,
                        is_printed: true,
                    };
                }
            } else if !self.read_framing_line(line) {
                return Body {
                    text: if framed { rest } else { text },
                    is_printed: false,
                };
            }
            framed = true;
            if after.is_empty() {
                return Body {
                    text: "",
                    is_printed: false,
                };
            }
            rest = after;
        }
    }

    /// Reads one line of framing. False for any other line.
    fn read_framing_line(&mut self, line: &str) -> bool {
        if let Some(code) = line
            .strip_prefix("Exit code: ")
            .or_else(|| line.strip_prefix("Process exited with code "))
        {
            self.exit = code.parse().ok();
            self.exit.is_some()
        } else if let Some(time) = line
            .strip_prefix("Wall time: ")
            .or_else(|| line.strip_prefix("Wall time "))
        {
            self.duration_ms = time.strip_suffix(" seconds").and_then(millis);
            self.duration_ms.is_some()
        } else if let Some(session) = line.strip_prefix("Process running with session ID ") {
            self.running = true;
            self.session = session.parse().ok();
            true
        } else if line.starts_with("Script running with cell ID ") {
            self.running = true;
            true
        } else if line == "Script completed" {
            self.status = Some(Status::Ok);
            true
        } else if line == "Script failed" {
            self.status = Some(Status::Error);
            true
        } else {
            OTHER_FRAMING.iter().any(|prefix| line.starts_with(prefix))
        }
    }

    /// The facts that the beginning of an unframed text says.
    fn of_body(body: &str) -> ExitFacts {
        let patched = body.starts_with(SUCCESS) || body == "Done!";
        let status = STATUS_PREFIXES
            .iter()
            .find(|(prefix, _)| body.starts_with(prefix))
            .map(|(_, status)| *status);
        let rejected = || body.starts_with("exec_command failed") && body.contains("Rejected(");
        ExitFacts {
            patched,
            status: if rejected() {
                Some(Status::Denied)
            } else if patched {
                Some(Status::Ok)
            } else {
                status
            },
            truncated: TRUNCATED_PREFIXES
                .iter()
                .any(|prefix| body.starts_with(prefix))
                || (body.len() > 1000 && has_truncation_mark(body)),
            ..ExitFacts::default()
        }
    }

    /// Adds the status from the harness's own words in a tool's output, unless the result has one already.
    pub fn with_status_of_tool(mut self, tool: Option<&str>, token: &str) -> ExitFacts {
        if self.status.is_none()
            && !self.running
            && let Some(tool) = tool
        {
            let text = unquote(token);
            let row = TOOL_OUTPUTS
                .iter()
                .find(|(name, beginning, _)| *name == tool && text.starts_with(beginning));
            self.status = row.map(|(_, _, status)| *status);
        }
        self
    }

    /// Adds the status that follows from the exit code.
    fn with_status_of_exit(mut self) -> ExitFacts {
        if let Some(exit) = self.exit
            && self.status.is_none_or(|status| status == Status::Ok)
        {
            self.status = Some(if exit == 0 { Status::Ok } else { Status::Error });
        }
        self.patched &= self.exit.is_none_or(|exit| exit == 0);
        self
    }
}

/// What follows the framing of an output.
struct Body<'t> {
    text: &'t str,
    /// It is what a command printed.
    is_printed: bool,
}

/// Beginnings of framing lines without facts for the tape.
const OTHER_FRAMING: [&str; 3] = [
    "Chunk ID: ",
    "Original token count: ",
    "Total output lines: ",
];

/// How the output of a call begins that a hook has blocked.
const BLOCKED: &str = "Command blocked by PreToolUse hook: ";

/// Beginnings of outputs that state the status of the call.
const STATUS_PREFIXES: &[(&str, Status)] = &[
    (BLOCKED, Status::Denied),
    ("aborted by user", Status::Cancelled),
    // A check of the patch, before anybody is asked. All other reasons are a denial (codex-rs/core/src/safety.rs).
    ("patch rejected: empty patch", Status::Error),
    ("patch rejected", Status::Denied),
    ("approval policy is ", Status::Denied),
    ("rejected by user", Status::Denied),
    ("exec command rejected by user", Status::Denied),
    ("unsupported call: ", Status::Error),
    ("failed to parse function arguments: ", Status::Error),
    ("apply_patch verification failed: ", Status::Error),
    ("error: ", Status::Error),
    ("failed in sandbox ", Status::Error),
    ("failed in sandbox: ", Status::Error),
    ("exec_command failed", Status::Error),
    ("write_stdin failed", Status::Error),
    ("execution error: ", Status::Error),
];

/// Beginnings of the errors of calls that the harness did not send to their MCP server, and what became of the call. What a server says is
/// behind other words (`tool call error: `).
const UNSENT: &[(&str, Status)] = &[
    ("user rejected MCP tool call", Status::Denied),
    ("MCP tool call requires approval, but ", Status::Denied),
    ("MCP tool call blocked by ", Status::Denied),
    ("user cancelled MCP tool call", Status::Cancelled),
    ("MCP tool call cancelled", Status::Cancelled),
];

/// The status of a call of an MCP server that has an error in the place of an answer.
pub fn status_of_mcp_error(error: &str) -> Status {
    let row = UNSENT.iter().find(|(words, _)| error.starts_with(words));
    row.map_or(Status::Error, |(_, status)| *status)
}

/// Beginnings of outputs (escaped) that tools of the harness write, and what they state.
const TOOL_OUTPUTS: &[(&str, &str, Status)] = &[
    ("update_plan", "Plan updated", Status::Ok),
    ("view_image", "attached local image path", Status::Ok),
    ("view_image", "unable to ", Status::Error),
    ("request_user_input", "{\\\"answers\\\":", Status::Ok),
    (
        "request_user_input",
        "request_user_input is unavailable",
        Status::Error,
    ),
    ("spawn_agent", "{\\\"agent_id\\\":", Status::Ok),
    ("spawn_agent", "{\\\"task_name\\\":", Status::Ok),
    ("send_input", "{\\\"submission_id\\\":", Status::Ok),
    ("close_agent", "{\\\"previous_status\\\":", Status::Ok),
    ("wait_agent", "{\\\"status\\\":", Status::Ok),
    ("wait_agent", "{\\\"message\\\":", Status::Ok),
    ("wait_agent", "agent ids must be non-empty", Status::Error),
    ("get_goal", "{\\\"goal\\\":", Status::Ok),
    ("update_goal", "{\\\"goal\\\":", Status::Ok),
    ("create_goal", "{\\\"goal\\\":", Status::Ok),
];

/// Beginnings of truncated outputs.
const TRUNCATED_PREFIXES: [&str; 2] = ["Warning: truncated output", "Total output lines: "];

/// The marks that the harness inserts where it truncates: `…40250 tokens truncated…` from 0.63 on, earlier
/// `[... omitted 2704 of 3000 lines ...]`.
static TRUNCATION_MARKS: LazyLock<[Finder<'_>; 2]> =
    LazyLock::new(|| [Finder::new(" truncated…"), Finder::new("\\n[... omitted ")]);

/// True when the text contains such a mark.
fn has_truncation_mark(body: &str) -> bool {
    TRUNCATION_MARKS
        .iter()
        .any(|mark| mark.find(body.as_bytes()).is_some())
}

/// Milliseconds of a number of seconds (`0.3007`), exactly.
fn millis(seconds: &str) -> Option<u64> {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    fraction
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(())?;
    let thousandths = fraction
        .bytes()
        .chain(*b"000")
        .take(3)
        .fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(1000)?
        .checked_add(thousandths)
}

/// The first line of a text that is still escaped, and the rest. Lines of framing have no other escapes.
fn split_line(text: &str) -> (&str, &str) {
    let end =
        memchr_iter(b'\\', text.as_bytes()).find(|at| text.as_bytes().get(at + 1) == Some(&b'n'));
    end.map_or((text, ""), |at| (&text[..at], &text[at + 2..]))
}

/// The text after a number of lines that may have any escapes. None if there are fewer.
fn skip_lines(text: &str, lines: usize) -> Option<&str> {
    let (mut rest, mut left, mut at) = (text, lines, 0);
    while left > 0 {
        at += rest.get(at..)?.find('\\')?;
        if rest.as_bytes().get(at + 1) == Some(&b'n') {
            rest = rest.get(at + 2..)?;
            (at, left) = (0, left - 1);
        } else {
            at += 2;
        }
    }
    Some(rest)
}

/// The text of an output (without quotes) after its framing.
pub fn strip_framing(text: &str) -> &str {
    ExitFacts::default()
        .read_framing(
            text,
            Framing {
                may_nest: true,
                ..Framing::default()
            },
        )
        .text
}

/// True if an output (a token) has the form that the harness gives to what a command printed or a patch changed.
pub fn is_of_harness(token: &str) -> bool {
    let framing = Framing {
        may_nest: true,
        ..Framing::default()
    };
    let body = ExitFacts::default().read_framing(unquote(token), framing);
    body.is_printed
        || may_be_wrapped(token)
        || ExitFacts::of_body(body.text) != ExitFacts::default()
}

/// The text after the line count at the beginning of a truncated output.
pub fn strip_line_count(text: &str) -> &str {
    match text.strip_prefix("Total output lines: ") {
        Some(rest) => rest.split_once("\\n\\n").map_or(rest, |(_, rest)| rest),
        None => text,
    }
}

/// True when `copy` is the beginning and the end of `full` around a truncation mark.
pub fn is_truncated_copy(copy: &str, full: &str) -> bool {
    let copy = match copy.strip_prefix("Warning: truncated output") {
        Some(rest) => rest.split_once("\\n").map_or(rest, |(_, rest)| rest),
        None => copy,
    };
    let Some((start, rest)) = strip_line_count(copy).split_once('…') else {
        return false;
    };
    let Some((mark, end)) = rest.split_once('…') else {
        return false;
    };
    let count = mark
        .strip_suffix(" tokens truncated")
        .or(mark.strip_suffix(" chars truncated"));
    let is_mark = count.is_some_and(|count| count.parse::<u64>().is_ok());
    is_mark
        && full.len() >= start.len() + end.len()
        && full.starts_with(start)
        && full.ends_with(end)
}

/// What an output has printed, as a JSON token: its text, without the JSON that wraps it, or the texts of its list.
pub fn printed_by(item: Value<'_>) -> Option<Cow<'_, str>> {
    let output = item.first_member("output")?;
    if output.is_array() {
        return joined_lines(output);
    }
    if may_be_wrapped(output.raw())
        && let Some(Ok(decoded)) = output.text().map(|text| text.decode())
        && let Ok(value) = parse(&decoded, &mut StructuralIndex::default())
        && let Some(inner) = wrapped_of(&decoded, value).and_then(|wrapped| wrapped.output())
    {
        return Some(Cow::Owned(inner.raw().to_owned()));
    }
    Some(Cow::Borrowed(output.raw()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(text: &str) -> ExitFacts {
        read(
            text,
            Framing {
                may_nest: true,
                ..Framing::default()
            },
        )
    }

    fn read(text: &str, framing: Framing) -> ExitFacts {
        ExitFacts::of_token(&serde_json::to_string(text).unwrap(), framing)
    }

    #[test]
    fn lines_of_a_command_are_no_framing() {
        let text = "Command: /bin/bash -lc \"cat <<'X'\nProcess exited with code 9\nOutput:\nX\"\nChunk ID: f453d7\nWall time: 0.5000 seconds\n\
                    Process exited with code 0\nOriginal token count: 7\nOutput:\nProcess exited with code 9\n";
        let of = |line_breaks_of_command| {
            read(
                text,
                Framing {
                    line_breaks_of_command,
                    may_nest: false,
                },
            )
        };
        assert_eq!(
            (of(3).exit, of(3).duration_ms, of(3).status),
            (Some(0), Some(500), Some(Status::Ok))
        );
        assert_eq!(of(0), ExitFacts::default());
        let escaped = "Command: /bin/bash -lc \"printf 'a\\nb'; exit 5\"\nChunk ID: 77b15b\nWall time: 0.0 seconds\nProcess exited with code 5\nOutput:\na";
        assert_eq!(read(escaped, Framing::default()).exit, Some(5));
    }

    #[test]
    fn what_a_command_prints_is_not_its_status() {
        let framed = |printed: &str| {
            format!(
                "Chunk ID: a\nWall time: 1.0 seconds\nProcess exited with code 0\nOutput:\n{printed}"
            )
        };
        for printed in [
            "error: none",
            "aborted by user",
            "Exit code: 7\nx",
            r#"{"output":"x","metadata":{"exit_code":7}}"#,
        ] {
            let facts = read(&framed(printed), Framing::default());
            assert_eq!(
                (facts.exit, facts.status),
                (Some(0), Some(Status::Ok)),
                "{printed}"
            );
        }
        let running = read(
            "Chunk ID: a\nProcess running with session ID 5\nOutput:\nerror: x",
            Framing::default(),
        );
        assert_eq!((running.status, running.running), (None, true));
    }

    #[test]
    fn every_form_of_output_has_its_exit_code() {
        let wrapped =
            r#"{"output":"err-line\n","metadata":{"exit_code":3,"duration_seconds":0.3}}"#;
        let mut index = StructuralIndex::default();
        let wrapped = ExitFacts::of_wrapped(&wrapped_output(wrapped, &mut index).unwrap());
        assert_eq!(
            (wrapped.exit, wrapped.duration_ms, wrapped.status),
            (Some(3), Some(300), Some(Status::Error))
        );
        let shell_command =
            facts("Exit code: 3\nWall time: 0 seconds\nTotal output lines: 3\nOutput:\nx");
        assert_eq!(
            (shell_command.exit, shell_command.duration_ms),
            (Some(3), Some(0))
        );
        let unified = facts(
            "Chunk ID: 97a71f\nWall time: 0.0550 seconds\nProcess exited with code 3\nOriginal token count: 5\nOutput:\nx\n",
        );
        assert_eq!(
            (unified.exit, unified.duration_ms, unified.running),
            (Some(3), Some(55), false)
        );
        let heredoc = facts(
            "Wall time: 0.0000 seconds\nOutput:\nExit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM a\n",
        );
        assert_eq!((heredoc.exit, heredoc.patched), (Some(0), true));
        let heredoc = facts(
            "Wall time: 0.1 seconds\nOutput:\n{\"output\":\"Success. Updated the following files:\\nM a\\n\",\"metadata\":{\"exit_code\":0}}",
        );
        assert_eq!((heredoc.exit, heredoc.patched), (Some(0), true));
    }

    #[test]
    fn a_running_command_has_no_exit_code() {
        let running = facts(
            "Chunk ID: 155b20\nWall time: 0.3007 seconds\nProcess running with session ID 52830\nOutput:\nname? ",
        );
        assert_eq!(
            (running.exit, running.status, running.running),
            (None, None, true)
        );
    }

    #[test]
    fn refusals_and_failures_have_a_status() {
        for (text, status) in [
            ("patch rejected by user", Status::Denied),
            (
                "patch rejected: writing outside of the project; rejected by user approval settings",
                Status::Denied,
            ),
            ("patch rejected: empty patch", Status::Error),
        ] {
            assert_eq!(facts(text).status, Some(status), "{text}");
        }
        assert_eq!(
            facts("exec_command failed: CreateProcess { message: \"Rejected(\\\"rejected by user\\\")\" }").status,
            Some(Status::Denied)
        );
        assert_eq!(
            facts("aborted by user after 2.9s").status,
            Some(Status::Cancelled)
        );
        assert_eq!(
            facts("Wall time: 3.0 seconds\naborted by user").status,
            Some(Status::Cancelled)
        );
        assert_eq!(
            facts("unsupported call: no_such_tool").status,
            Some(Status::Error)
        );
        let plan = |tool| {
            facts("Plan updated")
                .with_status_of_tool(tool, "\"Plan updated\"")
                .status
        };
        assert_eq!(
            (plan(Some("update_plan")), plan(Some("echo")), plan(None)),
            (Some(Status::Ok), None, None)
        );
    }

    #[test]
    fn a_truncated_copy_has_the_start_and_the_end_of_the_full_text() {
        let cut =
            "Warning: truncated output (x)\\nTotal output lines: 3\\n\\nab…7 tokens truncated…yz";
        assert!(is_truncated_copy(cut, "abcdefxyz"));
        assert!(!is_truncated_copy(cut, "acdefxyz"));
        assert!(!is_truncated_copy(cut, "abz"));
        assert!(!is_truncated_copy("ab…yz", "abxyz"));
        assert_eq!(
            strip_framing("Chunk ID: a\\nProcess exited with code 0\\nOutput:\\nok\\n"),
            "ok\\n"
        );
        assert_eq!(strip_framing("no framing"), "no framing");
    }
}
