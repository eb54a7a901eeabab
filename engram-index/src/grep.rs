//! Where something was said: the tapes themselves are searched, so that the index needs no text.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::io::BufRead;
use std::path::Path;

use engram_core::event::Kind;
use engram_core::redact::redacted;
use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};
use serde::Serialize;
use serde_json::Value;

use crate::answer::{About, Quote};
use crate::error::Error;
use crate::window::{self, Keys};
use crate::{names, tape_file};

/// Characters of a quotation.
const QUOTE_CHARS: usize = 300;
/// Members that are no words of anybody.
const ENVELOPE: [&str; 4] = [
    "source",
    "origin",
    "before_anchor_hashes",
    "after_anchor_hashes",
];

/// What is searched for.
pub struct Pattern {
    regex: Regex,
    /// The pattern itself, if each line that matches has it as it is.
    literal: Option<Finder<'static>>,
    kinds: Vec<String>,
    keys: Keys,
}

/// A string on a tape that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Match {
    /// The harness.
    pub harness: String,
    /// The id of the session, if its log has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The id of the sub-agent, if the event is of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What the log says the session is about.
    #[serde(flatten)]
    pub about: About,
    /// When it happened, as the tape has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t: Option<String>,
    /// The kind of the event.
    pub kind: String,
    /// The member of the event.
    pub member: String,
    /// The text around the match.
    pub quote: Quote,
}

impl Pattern {
    /// A regular expression, over events of these kinds; of all kinds if there are none.
    ///
    /// # Errors
    /// [`Error::BadQuery`].
    pub fn new(
        pattern: &str,
        ignore_case: bool,
        kinds: &[String],
        keys: Keys,
    ) -> Result<Pattern, Error> {
        let known = Kind::ALL.map(Kind::as_str);
        if let Some(kind) = kinds.iter().find(|kind| !known.contains(&kind.as_str())) {
            return Err(Error::BadQuery(format!(
                "`{kind}` is no kind of event; the kinds are {}",
                known.join(", ")
            )));
        }
        let mut builder = RegexBuilder::new(pattern);
        let regex = builder
            .unicode(false)
            .multi_line(true)
            .case_insensitive(ignore_case)
            .build();
        let regex = regex.map_err(|error| {
            // The last line has the reason; those before show the pattern.
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default();
            let reason = reason.strip_prefix("error: ").unwrap_or(reason);
            Error::BadQuery(format!("`{pattern}` is no regular expression: {reason}"))
        })?;
        // Text that JSON writes as it is, without characters that mean something in a pattern.
        let is_plain = |c: char| {
            c.is_alphanumeric()
                || matches!(
                    c,
                    ' ' | '_'
                        | '-'
                        | '/'
                        | ':'
                        | ','
                        | ';'
                        | '='
                        | '<'
                        | '>'
                        | '@'
                        | '#'
                        | '%'
                        | '&'
                        | '!'
                        | '\''
                        | '~'
                        | '`'
                )
        };
        let literal = (!ignore_case && !pattern.is_empty() && pattern.chars().all(is_plain))
            .then(|| Finder::new(pattern).into_owned());
        Ok(Pattern {
            regex,
            literal,
            kinds: kinds.to_vec(),
            keys,
        })
    }

    /// Searches a tape. `about` is asked at the first hit, and `found` says whether to go on.
    ///
    /// # Errors
    /// As the file system gives them.
    pub fn search(
        &self,
        tape: &Path,
        about: &dyn Fn() -> About,
        found: &mut dyn FnMut(Match) -> bool,
    ) -> Result<(), Error> {
        let known = OnceCell::new();
        let mut text = tape_file::open(tape).map_err(Error::io(tape))?;
        let mut line = Vec::new();
        loop {
            line.clear();
            if text.read_until(b'\n', &mut line).map_err(Error::io(tape))? == 0 {
                return Ok(());
            }
            if self
                .literal
                .as_ref()
                .is_some_and(|literal| literal.find(&line).is_none())
            {
                continue;
            }
            for mut found_here in self.in_event(tape, &line) {
                found_here.about = known.get_or_init(about).clone();
                if !found(found_here) {
                    return Ok(());
                }
            }
        }
    }

    fn in_event(&self, tape: &Path, line: &[u8]) -> Vec<Match> {
        let mut matches = Vec::new();
        let Ok(Value::Object(mut event)) = serde_json::from_slice(line) else {
            return matches;
        };
        let seq = event.get("seq").and_then(Value::as_i64).unwrap_or_default();
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let source = |name| text(event.get("source").and_then(|source| source.get(name)));
        let kind = text(event.get("k")).unwrap_or_default();
        if !self.kinds.is_empty() && !self.kinds.contains(&kind) {
            return matches;
        }
        let harness = source("harness").unwrap_or_default();
        let (session, agent, t) = (
            source("session_id"),
            source("agent_id"),
            text(event.get("t")),
        );
        ENVELOPE.iter().for_each(|key| drop(event.remove(*key)));
        let event = Value::Object(event);
        names::strings(&event, &mut |member, text| {
            if matches!(member, "t" | "k") {
                return;
            }
            if let Some(found) = self.regex.find(text.as_bytes()) {
                matches.push(Match {
                    harness: harness.clone(),
                    session: session.clone(),
                    agent: agent.clone(),
                    about: About::default(),
                    t: t.clone(),
                    kind: kind.clone(),
                    member: member.to_owned(),
                    quote: self.quote(tape, seq, text, found.start()),
                });
            }
        });
        matches
    }

    /// The text around a match. What matches may be a key: then the text around the first replacement stands for it.
    fn quote(&self, tape: &Path, seq: i64, text: &str, at: usize) -> Quote {
        let clean = match self.keys {
            Keys::Shown => Cow::Borrowed(text),
            Keys::Replaced => redacted(text),
        };
        let at = match &clean {
            Cow::Borrowed(_) => at,
            Cow::Owned(clean) => self
                .regex
                .find(clean.as_bytes())
                .map(|found| found.start())
                .or_else(|| clean.find("[redacted:"))
                .unwrap_or_default(),
        };
        window::quote(tape, seq, around(&clean, at), QUOTE_CHARS, Keys::Shown)
    }
}

/// The text from the line of a match on, or a little before the match in a long line.
fn around(text: &str, at: usize) -> &str {
    let mut start = text.as_bytes()[..at]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    if at - start > QUOTE_CHARS / 2 {
        start = at - QUOTE_CHARS / 4;
    }
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    &text[start..]
}
