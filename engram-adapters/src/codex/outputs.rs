//! What the text of a tool's output says about how the call ended: every form since the first release.
//!
//! The framing (`Exit code: 3`, `Chunk ID: ...`) is read on the JSON token as it stands, so that long outputs are not decoded.

use std::sync::LazyLock;

use engram_core::event::{Status, ToolResult};
use engram_core::text::Text;
use memchr::memchr_iter;
use memchr::memmem::Finder;

use crate::shared::value::{StructuralIndex, integer, parse, raw_str};

use super::schema::{Metadata, Wrapped};

/// How a call ended, as far as its output says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ending {
    /// Exit code of the command.
    pub exit: Option<i64>,
    /// Wall time.
    pub duration_ms: Option<u64>,
    /// How it ended.
    pub status: Option<Status>,
    /// The harness cut the output.
    pub truncated: bool,
    /// The command still runs: another output will follow.
    pub running: bool,
    /// `apply_patch` says that it changed the files.
    pub patched: bool,
}

impl<'a> Wrapped<'a> {
    /// The wrapped output that a decoded output text is.
    pub fn inside(text: &'a str, index: &'a mut StructuralIndex) -> Option<Wrapped<'a>> {
        if !text.starts_with("{\"output\":\"") {
            return None;
        }
        Wrapped::strict(parse(text, index).ok()?, "").ok()
    }

    /// How the call ended.
    pub fn ending(&self) -> Ending {
        let mut ending = Ending::of_body(raw_str(self.output()));
        if let Some(metadata) = self.metadata().map(Metadata::lenient) {
            ending.exit = integer(metadata.exit_code());
            ending.duration_ms = metadata.duration_seconds().and_then(|seconds| millis(seconds.raw()));
        }
        ending.settle()
    }
}

/// True when the decoded token may be a [`Wrapped`].
pub(super) fn may_be_wrapped(token: &str) -> bool {
    token.starts_with("\"{\\\"output\\\":")
}

/// The token without its quotes.
pub(super) fn unquote(token: &str) -> &str {
    token.strip_prefix('"').and_then(|token| token.strip_suffix('"')).unwrap_or(token)
}

impl Ending {
    /// What the output of a call says, given as its JSON token.
    pub fn of_token(token: &str) -> Ending {
        let text = unquote(token);
        let mut ending = Ending::default();
        let body = ending.read_framing(text);
        let said = Ending::of_body(body);
        ending.status = said.status.or(ending.status);
        ending.truncated = said.truncated;
        ending.patched = said.patched;
        if body.starts_with("{\\\"output\\\":")
            && let Ok(decoded) = Text::Token(&format!("\"{body}\"")).decode()
            && let Some(wrapped) = Wrapped::inside(&decoded, &mut StructuralIndex::default())
        {
            let inner = wrapped.ending();
            ending.exit = inner.exit.or(ending.exit);
            ending.patched = inner.patched;
        }
        ending.settle()
    }

    /// The facts of a result.
    pub fn facts(self) -> ToolResult<'static> {
        ToolResult {
            status: self.status,
            exit: self.exit,
            duration_ms: self.duration_ms,
            truncated: self.truncated,
            ..ToolResult::default()
        }
    }

    /// Reads the lines of framing and gives what follows `Output:`, or all of it where there is no framing.
    fn read_framing<'t>(&mut self, text: &'t str) -> &'t str {
        let mut rest = text;
        let mut framed = false;
        loop {
            let (line, after) = split_line(rest);
            if line == "Output:" {
                // `apply_patch` through a shell tool frames its own framing.
                if !after.starts_with("Exit code: ") {
                    return after;
                }
            } else if !self.read_line(line) {
                return if framed { rest } else { text };
            }
            framed = true;
            if after.is_empty() {
                return "";
            }
            rest = after;
        }
    }

    /// Reads one line of framing. False when it is none.
    fn read_line(&mut self, line: &str) -> bool {
        if let Some(code) = line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code ")) {
            self.exit = code.parse().ok();
            self.exit.is_some()
        } else if let Some(time) = line.strip_prefix("Wall time: ").or_else(|| line.strip_prefix("Wall time ")) {
            self.duration_ms = time.strip_suffix(" seconds").and_then(millis);
            self.duration_ms.is_some()
        } else if line.starts_with("Process running with session ID ") || line.starts_with("Script running with cell ID ") {
            self.running = true;
            true
        } else if line == "Script completed" {
            self.status = Some(Status::Ok);
            true
        } else if line == "Script failed" {
            self.status = Some(Status::Error);
            true
        } else {
            FRAMING.iter().any(|prefix| line.starts_with(prefix))
        }
    }

    /// What an unframed text says by how it begins.
    fn of_body(body: &str) -> Ending {
        let patched = body.starts_with("Success. Updated the following files:") || body == "Done!";
        let status = VERDICTS.iter().find(|(prefix, _)| body.starts_with(prefix)).map(|(_, status)| *status);
        let rejected = || body.starts_with("exec_command failed") && body.contains("Rejected(");
        Ending {
            patched,
            status: if rejected() {
                Some(Status::Denied)
            } else if patched {
                Some(Status::Ok)
            } else {
                status
            },
            truncated: CUT_HEADS.iter().any(|head| body.starts_with(head)) || (body.len() > 1000 && is_cut(body)),
            ..Ending::default()
        }
    }

    /// The status that the exit code gives, where the text gives none.
    fn settle(mut self) -> Ending {
        if let Some(exit) = self.exit
            && self.status.is_none_or(|status| status == Status::Ok)
        {
            self.status = Some(if exit == 0 { Status::Ok } else { Status::Error });
        }
        self.patched &= self.exit.is_none_or(|exit| exit == 0);
        self
    }
}

/// Beginnings of framing lines that say nothing for the tape.
const FRAMING: [&str; 4] = ["Chunk ID: ", "Command: ", "Original token count: ", "Total output lines: "];

/// Beginnings of outputs that say how the call ended.
const VERDICTS: &[(&str, Status)] = &[
    ("aborted", Status::Cancelled),
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

/// How a cut output begins.
const CUT_HEADS: [&str; 2] = ["Warning: truncated output", "Total output lines: "];

/// The marks that the harness puts where it cuts: `…40250 tokens truncated…` from 0.63 on, before it
/// `[... omitted 2704 of 3000 lines ...]`.
static CUT_MARKS: LazyLock<[Finder<'_>; 2]> = LazyLock::new(|| [Finder::new(" truncated…"), Finder::new("\\n[... omitted ")]);

/// True when the text holds such a mark.
fn is_cut(body: &str) -> bool {
    CUT_MARKS.iter().any(|mark| mark.find(body.as_bytes()).is_some())
}

/// Milliseconds of a number of seconds (`0.3007`), exactly.
fn millis(seconds: &str) -> Option<u64> {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    fraction.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    let thousandths = fraction.bytes().chain(*b"000").take(3).fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(thousandths)
}

/// The first line of a text that is still escaped, and what follows it. Lines of framing are short, and have no other escapes.
fn split_line(text: &str) -> (&str, &str) {
    let end = memchr_iter(b'\\', text.as_bytes()).find(|at| text.as_bytes().get(at + 1) == Some(&b'n'));
    end.map_or((text, ""), |at| (&text[..at], &text[at + 2..]))
}

/// What follows the framing of an output, given without its quotes.
pub(super) fn body(text: &str) -> &str {
    Ending::default().read_framing(text)
}

/// What follows the number of lines that begins the body of a cut output.
pub(super) fn listing(body: &str) -> &str {
    match body.strip_prefix("Total output lines: ") {
        Some(rest) => rest.split_once("\\n\\n").map_or(rest, |(_, rest)| rest),
        None => body,
    }
}

/// True when `body` is the head and the tail of `told` around the mark of a cut.
pub(super) fn is_cut_rendering(body: &str, told: &str) -> bool {
    let body = match body.strip_prefix("Warning: truncated output") {
        Some(rest) => rest.split_once("\\n").map_or(rest, |(_, rest)| rest),
        None => body,
    };
    let body = listing(body);
    let Some((head, rest)) = body.split_once('…') else { return false };
    let Some((cut, tail)) = rest.split_once('…') else { return false };
    let is_mark = cut.strip_suffix(" tokens truncated").or(cut.strip_suffix(" chars truncated")).is_some_and(|n| n.parse::<u64>().is_ok());
    is_mark && told.len() >= head.len() + tail.len() && told.starts_with(head) && told.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(text: &str) -> Ending {
        Ending::of_token(&serde_json::to_string(text).unwrap())
    }

    #[test]
    fn exit_codes_of_every_form() {
        let wrapped = r#"{"output":"err-line\n","metadata":{"exit_code":3,"duration_seconds":0.3}}"#;
        let mut index = StructuralIndex::default();
        let wrapped = Wrapped::inside(wrapped, &mut index).unwrap().ending();
        assert_eq!((wrapped.exit, wrapped.duration_ms, wrapped.status), (Some(3), Some(300), Some(Status::Error)));
        let shell_command = ending("Exit code: 3\nWall time: 0 seconds\nTotal output lines: 3\nOutput:\nx");
        assert_eq!((shell_command.exit, shell_command.duration_ms), (Some(3), Some(0)));
        let unified =
            ending("Chunk ID: 97a71f\nWall time: 0.0550 seconds\nProcess exited with code 3\nOriginal token count: 5\nOutput:\nx\n");
        assert_eq!((unified.exit, unified.duration_ms, unified.running), (Some(3), Some(55), false));
        let heredoc = ending(
            "Wall time: 0.0000 seconds\nOutput:\nExit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM a\n",
        );
        assert_eq!((heredoc.exit, heredoc.patched), (Some(0), true));
        let heredoc = ending(
            "Wall time: 0.1 seconds\nOutput:\n{\"output\":\"Success. Updated the following files:\\nM a\\n\",\"metadata\":{\"exit_code\":0}}",
        );
        assert_eq!((heredoc.exit, heredoc.patched), (Some(0), true));
    }

    #[test]
    fn a_running_command_has_not_ended() {
        let running = ending("Chunk ID: 155b20\nWall time: 0.3007 seconds\nProcess running with session ID 52830\nOutput:\nname? ");
        assert_eq!((running.exit, running.status, running.running), (None, None, true));
    }

    #[test]
    fn refusals_and_failures() {
        assert_eq!(ending("patch rejected by user").status, Some(Status::Denied));
        assert_eq!(
            ending("exec_command failed: CreateProcess { message: \"Rejected(\\\"rejected by user\\\")\" }").status,
            Some(Status::Denied)
        );
        assert_eq!(ending("aborted by user after 2.9s").status, Some(Status::Cancelled));
        assert_eq!(ending("Wall time: 3.0 seconds\naborted by user").status, Some(Status::Cancelled));
        assert_eq!(ending("unsupported call: no_such_tool").status, Some(Status::Error));
        assert_eq!(ending("Plan updated").status, None);
    }

    #[test]
    fn a_cut_output_has_the_head_and_the_tail_of_the_whole() {
        let cut = "Warning: truncated output (x)\\nTotal output lines: 3\\n\\nab…7 tokens truncated…yz";
        assert!(is_cut_rendering(cut, "abcdefxyz"));
        assert!(!is_cut_rendering(cut, "acdefxyz"));
        assert!(!is_cut_rendering(cut, "abz"));
        assert!(!is_cut_rendering("ab…yz", "abxyz"));
        assert_eq!(body("Chunk ID: a\\nProcess exited with code 0\\nOutput:\\nok\\n"), "ok\\n");
        assert_eq!(body("no framing"), "no framing");
    }
}
