//! Answers, as they are written as JSON. Words of a tape stand in quotations and nowhere else.

use serde::Serialize;

use crate::names;

/// What an answer rests on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// The whole file is what the index knows of it, byte for byte, and a call made this line of it.
    State,
    /// The line stayed from a text that the index knows, and a call made it there.
    Line,
    /// As `Line`, but the text is of a file with another name, or the line stood in another order.
    Moved,
    /// The line was there when a session first saw the file.
    Older,
    /// Nothing in the index proves who made the line.
    #[default]
    Unknown,
}

impl Tier {
    /// The name in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Tier::State => "state",
            Tier::Line => "line",
            Tier::Moved => "moved",
            Tier::Older => "older",
            Tier::Unknown => "unknown",
        }
    }
}

/// Why nobody knows who made a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// No session of the index changed the file.
    NoSession,
    /// There is no file in the question, and no edit of the index is known by this text.
    NoEdit,
    /// No session left this line: it came after all of them, or between two of them. A person's line is such a line.
    Nobody,
    /// The line came while a session ran commands, and the tape does not say what they did to the file.
    Command,
    /// A call changed the file, and the tape does not say how.
    NoText,
    /// A call wrote the whole file, and nobody knows which of the lines were there before.
    Overwritten,
    /// There are equal lines, of the call or beside it, and nothing proves which one this is.
    Unclear,
}

impl Why {
    /// The reason in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Why::NoSession => "no session of the index changed the file",
            Why::NoEdit => {
                "no edit of the index is known by this text; a text of a few lines may be too short for it, and `engram grep` searches for words"
            }
            Why::Nobody => {
                "no session left this line; it is a person's, or of a session that is not in the index"
            }
            Why::Command => {
                "it came while a session ran commands, and the log does not say what they did to the file"
            }
            Why::NoText => "a call changed the file, and the log does not say how",
            Why::Overwritten => {
                "a call wrote the whole file, and the log does not say what was there before"
            }
            Why::Unclear => "there are equal lines, and nothing proves which one this is",
        }
    }
}

/// Words of a tape. They are history and no instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quote {
    /// Always true.
    pub quoted: bool,
    /// `TAPE#SEQ`.
    pub from: String,
    /// The words.
    pub text: String,
    /// True if they are longer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// What a tape says that its session is about; a tape of a sub-agent without a title has that of its session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct About {
    /// The title, as last stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The first working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// A call, and where it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CallInfo {
    /// The harness.
    pub harness: String,
    /// The id of the session, if its log has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The id of the sub-agent, if one made the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What the log says the session is about.
    #[serde(flatten)]
    pub about: About,
    /// The path of the tape.
    pub tape: String,
    /// The event of the call on the tape.
    pub seq: i64,
    /// When it was made: RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t: Option<String>,
    /// The harness's own name of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the tool does: `edit`, `write`, ...; `execute` for a command, of which the index knows what it wrote by its text.
    #[serde(rename = "tool_kind", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The model that asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `ok`, `error`, `denied` or `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// True if the file of the tape is gone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
    /// True if the file of the tape has another text now. Nothing is quoted from it until it is taken in again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
}

impl CallInfo {
    /// `ID#SEQ`: the name of the tape without its ending, and the event of the call. `engram show` opens it.
    pub fn name(&self) -> String {
        format!("{}#{}", names::tape(&self.tape), self.seq)
    }
}

/// Lines with one cause.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Item {
    /// Lines of the file, from 1, both ends included.
    pub lines: Vec<[usize; 2]>,
    /// What the answer rests on.
    pub tier: Tier,
    /// Why nobody knows, of tier `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// True if white space or quotes of the lines were changed since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reformatted: bool,
    /// `create`, `update`, `overwrite`, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<&'static str>,
    /// The file of the edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The lines that the edit replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before_range: Option<(i64, i64)>,
    /// The lines that the edit left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_range: Option<(i64, i64)>,
    /// The call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallInfo>,
    /// Other tapes and calls that prove the same: `TAPE#SEQ`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The prompt of the turn in which the call was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Quote>,
    /// For a sub-agent: the prompts of the sessions that started it, up to the root.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub started_by: Vec<Quote>,
    /// What the agent said between the prompt and the call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<Quote>,
    /// What the model thought between the prompt and the call, and the harness may not have shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<Quote>,
    /// What the call was asked to change, as a diff, or its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Quote>,
    /// Later edits of the same file, the last first: `TAPE#SEQ`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<String>,
    /// Of unknown lines: commands of the time, which may have made them. No proof.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hint: Vec<CallInfo>,
}

/// A prompt, an answer or an output that has most of the fingerprints of the asked lines. It proves nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mention {
    /// The share of fingerprints.
    pub share: f64,
    /// The path of the tape.
    pub tape: String,
    /// The kind of the event, unless the tape is gone or another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its words, unless the tape is gone or another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<Quote>,
}

/// The number of lines of each tier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LineCounts {
    /// Of [`Tier::State`].
    pub state: usize,
    /// Of [`Tier::Line`].
    pub line: usize,
    /// Of [`Tier::Moved`].
    pub moved: usize,
    /// Of [`Tier::Older`].
    pub older: usize,
    /// Of [`Tier::Unknown`].
    pub unknown: usize,
}

impl LineCounts {
    /// Adds a line.
    pub fn add(&mut self, tier: Tier) {
        *match tier {
            Tier::State => &mut self.state,
            Tier::Line => &mut self.line,
            Tier::Moved => &mut self.moved,
            Tier::Older => &mut self.older,
            Tier::Unknown => &mut self.unknown,
        } += 1;
    }
}

/// The answer to a question about lines.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Answer {
    /// Lines with their causes, in the order of the file. At most as many as the question allows.
    #[serde(skip)]
    pub items: Vec<Item>,
    /// How many there are.
    pub total: usize,
    /// Lines by tier.
    pub lines: LineCounts,
    /// True if the whole file is what an edit of the index left.
    pub state_known: bool,
    /// Texts that mention the asked lines, if the index knows what was said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mentioned: Vec<Mention>,
    /// What was left out, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
