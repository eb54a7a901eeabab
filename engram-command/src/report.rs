//! Standard error: errors, warnings, notes and the progress bar.

use std::borrow::Cow;
use std::io::{self, Write, stderr};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::redact::{redacted, redacted_json};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::exit::Exit;
use crate::message::sentence;
use crate::progress;

/// The format of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ErrorFormat {
    /// A sentence.
    Text,
    /// A JSON object.
    Json,
}

/// Writes everything that is not a result. A clone writes to the same place.
#[derive(Debug, Clone)]
pub struct Reporter {
    format: ErrorFormat,
    quiet: bool,
    verbose: bool,
    redacts: bool,
    muted: bool,
    bar: ProgressBar,
}

#[derive(Serialize)]
struct WireError<'e> {
    #[serde(flatten)]
    error: &'e AdapterError,
    message: String,
}

#[derive(Serialize)]
struct WireUsage<'e> {
    code: &'static str,
    message: &'e str,
}

impl Reporter {
    /// A reporter without a progress bar. With `quiet`, and in JSON format, it prints only errors; with `verbose`, details too.
    pub fn new(format: ErrorFormat, quiet: bool, verbose: bool) -> Self {
        let quiet = quiet || format == ErrorFormat::Json;
        Reporter {
            format,
            quiet,
            verbose: verbose && !quiet,
            redacts: false,
            muted: false,
            bar: ProgressBar::hidden(),
        }
    }

    /// A reporter that prints nothing.
    pub fn muted(&self) -> Reporter {
        Reporter {
            muted: true,
            ..self.clone()
        }
    }

    /// The same reporter. With `redacts`, it replaces keys and tokens in everything that it prints or [cleans](Reporter::clean).
    pub fn redacting(&self, redacts: bool) -> Reporter {
        Reporter {
            redacts,
            ..self.clone()
        }
    }

    /// A text that may leave the process.
    pub fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.redacts {
            redacted(text)
        } else {
            Cow::Borrowed(text)
        }
    }

    /// As [`Reporter::clean`], for JSON text.
    pub fn clean_json<'t>(&self, json: &'t str) -> Cow<'t, str> {
        if self.redacts {
            redacted_json(json)
        } else {
            Cow::Borrowed(json)
        }
    }

    /// An error that may leave the process. Of an excerpt that is cut off, the last word is left out: it may be the beginning of a key.
    pub fn clean_error(&self, error: &AdapterError) -> AdapterError {
        let mut error = error.clone();
        if self.redacts {
            error.found = error.found.map(|found| without_cut_word(&found));
            for text in [
                &mut error.version,
                &mut error.pointer,
                &mut error.expected,
                &mut error.found,
            ]
            .into_iter()
            .flatten()
            {
                *text = redacted(text).into_owned();
            }
        }
        error
    }

    /// Shows a progress bar of that many bytes, if standard error is a terminal.
    pub fn start_progress(&self, bytes: u64) {
        if !self.quiet {
            progress::start(&self.bar, bytes);
        }
    }

    /// The progress bar.
    pub fn bar(&self) -> &ProgressBar {
        &self.bar
    }

    /// Removes the progress bar.
    pub fn end_progress(&self) {
        self.bar.finish_and_clear();
    }

    fn error(&self, error: &AdapterError) {
        let error = &self.clean_error(error);
        match self.format {
            ErrorFormat::Text => self.line(&one_line(&format!("error: {}", sentence(error)))),
            ErrorFormat::Json => self.json(&WireError {
                error,
                message: sentence(error),
            }),
        }
    }

    /// Reports an error and returns its exit code.
    pub fn failure(&self, error: &AdapterError) -> Exit {
        self.error(error);
        Exit::from(error.code)
    }

    /// Reports that there is no session at these paths, and returns the exit code.
    pub fn no_session(&self, places: &[PathBuf]) -> Exit {
        let places: Vec<_> = places.iter().map(|path| shown(path)).collect();
        let error = AdapterError::new(ErrorCode::UnknownHarness).expected("a session");
        let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        let has_home = std::env::var_os(home).is_some_and(|home| !home.is_empty());
        self.failure(&match places.is_empty() {
            false => error.path(places.join(", ")),
            true if has_home => error,
            true => error.found(&format!(
                "{home} is not set, so there is no home to look in; name a directory"
            )),
        })
    }

    /// Reports that the command line is wrong, and returns the exit code.
    pub fn usage(&self, message: &str) -> Exit {
        match self.format {
            ErrorFormat::Text => self.line(&format!(
                "error: {message}\n\nFor more information, try '--help'."
            )),
            ErrorFormat::Json => self.json(&WireUsage {
                code: "usage",
                message,
            }),
        }
        Exit::Usage
    }

    /// Reports that there is no such thing as the command line names, and returns the exit code.
    pub fn not_found(&self, message: &str) -> Exit {
        self.finding(ErrorCode::NotFound.as_str(), message);
        Exit::from(ErrorCode::NotFound)
    }

    /// Prints a line, unless the command is quiet.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            self.line(&one_line(text));
        }
    }

    /// True if details are printed.
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// A reporter that prints only errors.
    pub fn silenced(&self) -> Reporter {
        Reporter {
            quiet: true,
            verbose: false,
            ..self.clone()
        }
    }

    /// Reports something that the caller asked for, with a stable code.
    pub fn finding(&self, code: &'static str, message: &str) {
        match self.format {
            ErrorFormat::Text => self.line(&one_line(&format!("error: {message}"))),
            ErrorFormat::Json => self.json(&WireUsage { code, message }),
        }
    }

    /// True if a program reads standard error: one object per line.
    pub fn is_json(&self) -> bool {
        self.format == ErrorFormat::Json
    }

    /// Prints a line if the command is verbose.
    pub fn detail(&self, text: &str) {
        if self.verbose {
            self.note(text);
        }
    }

    fn json(&self, value: &impl Serialize) {
        if let Ok(json) = serde_json::to_string(value) {
            self.line(&printable_json(&self.clean_json(&json)));
        }
    }

    /// Standard error may be closed; then there is nothing to do.
    fn line(&self, text: &str) {
        if self.muted {
            return;
        }
        self.bar.suspend(|| {
            let _ = writeln!(stderr().lock(), "{}", printable(&self.clean(text)));
        });
    }
}

/// An excerpt without the word in which it is cut off.
fn without_cut_word(found: &str) -> String {
    match found.strip_suffix('…') {
        Some(cut) => format!(
            "{}…",
            cut.rfind(char::is_whitespace)
                .map_or("", |end| &cut[..=end])
        ),
        None => found.to_owned(),
    }
}

/// The path as a message shows it.
pub fn shown(path: &Path) -> Cow<'_, str> {
    path.to_string_lossy()
}

/// `text` with control characters escaped: file names may contain terminal commands.
pub fn printable(text: &str) -> Cow<'_, str> {
    without(text, |c| is_command(c) && c != '\n')
}

/// As [`printable`], on one line, so that a name with a line end cannot look like another message.
pub fn one_line(text: &str) -> Cow<'_, str> {
    without(text, is_command)
}

/// Writes a value as one line of JSON that a terminal can show.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_json(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    writeln!(out, "{}", printable_json(&serde_json::to_string(value)?))
}

/// JSON text as a terminal may show it. It remains the same JSON value: these characters occur only in strings.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_command) {
        return Cow::Borrowed(json);
    }
    json.chars()
        .map(|c| {
            if is_command(c) {
                format!("\\u{:04x}", u32::from(c))
            } else {
                c.to_string()
            }
        })
        .collect::<String>()
        .into()
}

/// Characters that a terminal obeys instead of showing them, and those that reorder the text around them.
fn is_command(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}')
}

fn without(text: &str, is_command: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_command) {
        return Cow::Borrowed(text);
    }
    text.chars()
        .map(|c| {
            if is_command(c) {
                c.escape_default().to_string()
            } else {
                c.to_string()
            }
        })
        .collect::<String>()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\u{1b}[2Jb\r"), "a\\u{1b}[2Jb\\r");
        assert_eq!(printable("é\nb"), "é\nb");
        assert_eq!(one_line("é\nb\u{1b}"), "é\\nb\\u{1b}");
        assert_eq!(one_line("a\u{202e}b"), "a\\u{202e}b");
    }

    #[test]
    fn with_redaction_no_key_leaves_in_an_error() {
        let key = format!("ghp_{}", "aB3dE5gH7jK9mN2pQ4rS6tU8vW0xY1zA2b3C");
        let report = Reporter::new(ErrorFormat::Text, false, false).redacting(true);
        let cut = format!("some text and {}", &key[..20]);
        for found in [
            format!("a {key} b"),
            format!("{cut}{}", " x".repeat(60)),
            format!("{}{cut}rest", "y ".repeat(24)),
        ] {
            let mut error = AdapterError::new(ErrorCode::MalformedRecord).found(&found);
            error.version = Some(key.clone());
            let text = format!("{:?}", report.clean_error(&error));
            assert!(
                !text.contains(&key) && (found.contains(" x") || !text.contains("ghp_")),
                "{text}"
            );
        }
        assert_eq!(report.clean(&key), "[redacted:github-token]");
        assert_eq!(
            Reporter::new(ErrorFormat::Text, false, false).clean(&key),
            key
        );
    }

    #[test]
    fn json_with_control_characters_remains_json() {
        let text = "a\u{9b}31m\u{202e}\u{7f}é";
        let json = serde_json::to_string(text).unwrap();
        let shown = printable_json(&json);
        assert_eq!(shown, "\"a\\u009b31m\\u202e\\u007fé\"");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
    }
}
