//! The oldest transcripts: text under `user:` and `assistant:` lines. They are opened into the JSON document of the older transcripts.
//!
//! Nothing in the text is escaped, so only what is certain is read from it: arguments stay text.

use std::borrow::Cow;
use std::path::Path;

use engram_core::adapter::SideInfo;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;

use crate::open::lines::quoted;
use crate::open::store::{Export, Opened, Store, StoredSession, TextForm};
use crate::open::text;
use crate::shared::neighbours::Neighbours;

/// What a line begins. All lines up to the next such line belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block<'t> {
    User,
    Assistant,
    Thinking,
    Call(&'t str),
    Result(&'t str),
    TurnEnded(&'t str),
}

impl<'t> Block<'t> {
    /// The block that a line begins, and the part of the line that is its content. `after_blank`: the line before is empty.
    fn begin(line: &'t str, after_blank: bool, in_assistant: bool) -> Option<(Block<'t>, &'t str)> {
        match line {
            "user:" if after_blank => return Some((Block::User, "")),
            "assistant:" if after_blank => return Some((Block::Assistant, "")),
            "[Thinking]" if in_assistant => return Some((Block::Thinking, "")),
            _ => {}
        }
        if let Some(reasoning) = line.strip_prefix("[Thinking] ").filter(|_| in_assistant) {
            return Some((Block::Thinking, reasoning));
        }
        if let Some(tool) = line.strip_prefix("[Tool call] ").filter(|_| in_assistant) {
            return Some((Block::Call(tool), ""));
        }
        if let Some(tool) = line.strip_prefix("[Tool result] ").filter(|_| after_blank) {
            return Some((Block::Result(tool), ""));
        }
        line.strip_prefix("Turn ended: ")
            .filter(|_| after_blank)
            .map(|ended| (Block::TurnEnded(ended), ""))
    }
}

/// The blocks of a transcript with their texts, in order.
fn blocks(text: &str) -> Vec<(Block<'_>, &str)> {
    let mut found = Vec::new();
    let (mut at, mut after_blank) = (0, true);
    let mut begun: Option<(Block<'_>, usize)> = None;
    for line in text.split_inclusive('\n') {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        let in_assistant = begun.is_some_and(|(block, _)| {
            matches!(block, Block::Assistant | Block::Thinking | Block::Call(_))
        });
        if let Some((block, content)) = Block::begin(bare, after_blank, in_assistant) {
            found.extend(
                begun.map(|(block, start)| (block, text.get(start..at).unwrap_or_default())),
            );
            let start = if block == Block::Thinking {
                at + bare.len() - content.len()
            } else {
                at + line.len()
            };
            begun = Some((block, start));
        }
        after_blank = bare.is_empty();
        at += line.len();
    }
    found.extend(begun.map(|(block, start)| (block, text.get(start..).unwrap_or_default())));
    found
}

/// A message of the agent, put together from its blocks.
#[derive(Default)]
struct Message {
    text: Option<String>,
    thinking: Option<String>,
    calls: Vec<String>,
}

impl Message {
    fn json(self) -> String {
        let member = |key: &str, text: Option<String>| {
            text.map(|text| format!(",\"{key}\":{}", quoted(&text)))
                .unwrap_or_default()
        };
        let calls = if self.calls.is_empty() {
            String::new()
        } else {
            format!(",\"toolCalls\":[{}]", self.calls.join(","))
        };
        format!(
            "{{\"role\":\"assistant\"{}{}{calls}}}",
            member("text", self.text),
            member("thinking", self.thinking)
        )
    }

    fn is_empty(&self) -> bool {
        self.text.is_none() && self.thinking.is_none() && self.calls.is_empty()
    }
}

/// The document. Arguments stay text, since it shows neither types nor where a value ends.
fn document(text: &str) -> String {
    let (mut messages, mut open, mut ended) = (Vec::new(), Message::default(), String::new());
    for (block, text) in blocks(text) {
        let content = without_separator(text);
        let continues_message = matches!(block, Block::Thinking | Block::Call(_));
        if !continues_message && !open.is_empty() {
            messages.push(std::mem::take(&mut open).json());
        }
        match block {
            Block::User => messages.push(format!(
                "{{\"role\":\"user\",\"text\":{}}}",
                quoted(content)
            )),
            Block::Assistant => {
                open.text = Some(content.to_owned()).filter(|content| !content.is_empty())
            }
            Block::Thinking => {
                // The first line is the reasoning, empty if it is redacted. The answer follows.
                let (reasoning, rest) = text.split_once('\n').unwrap_or((text, ""));
                open.thinking = Some(reasoning.to_owned());
                open.text =
                    Some(without_separator(rest).to_owned()).filter(|rest| !rest.is_empty());
            }
            Block::Call(tool) => open.calls.push(format!(
                "{{\"toolName\":{},\"args\":{}}}",
                quoted(tool),
                quoted(content)
            )),
            Block::Result(tool) => messages.push(format!(
                "{{\"role\":\"tool\",\"toolResult\":{{\"toolName\":{}}}}}",
                quoted(tool)
            )),
            Block::TurnEnded(status) => ended = turn_ended(status, content),
        }
    }
    if !open.is_empty() {
        messages.push(open.json());
    }
    format!(
        "{{\"mode\":\"agent\",\"messages\":[{}]{ended}}}",
        messages.join(",")
    )
}

/// `success.`, `aborted.`, `aborted: <text>.` or `error: <text>`.
fn turn_ended(ended: &str, rest: &str) -> String {
    let ended = if rest.is_empty() {
        ended.to_owned()
    } else {
        format!("{ended}\n{rest}")
    };
    let (status, error) = ended
        .split_once(": ")
        .map_or((ended.trim_end_matches('.'), None), |(status, error)| {
            (status, Some(error))
        });
    let error = error
        .map(|error| format!(",\"error\":{}", quoted(error)))
        .unwrap_or_default();
    format!(",\"turnEnded\":{{\"status\":{}{error}}}", quoted(status))
}

/// The text without the line end that closes it and the empty line that separates it from the next block.
fn without_separator(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\n').unwrap_or(text)
}

/// What a file may begin with that an editor saved.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Text transcripts, from a file or a stream.
pub(in crate::cursor) const TEXT_FORM: TextForm = TextForm {
    begins: |first| is_transcript(&String::from_utf8_lossy(first)),
    document: |text| document(&with_own_line_ends(text)),
};

/// True for a first line `user:`, followed by a section that Cursor puts around prompts.
fn is_transcript(text: &str) -> bool {
    let text = with_own_line_ends(text);
    text.strip_prefix("user:\n")
        .is_some_and(|rest| rest.starts_with("<user_query>\n") || rest.starts_with("<timestamp>"))
}

/// The text as the harness wrote it: without a byte order mark, and with `\n` for its line ends, if its first line has another one.
fn with_own_line_ends(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if text.starts_with("user:\r\n") {
        text.replace("\r\n", "\n").into()
    } else {
        text.into()
    }
}

/// One text transcript.
pub(in crate::cursor) struct TextTranscript {
    session: [StoredSession; 1],
    limits: Limits,
}

/// The text of a regular file.
fn read(path: &Path, limits: Limits) -> Result<String, AdapterError> {
    // The path itself may be a link; from there on nothing leads outside.
    let path = path.canonicalize()?;
    let directory = path
        .parent()
        .and_then(|directory| Neighbours::open(directory, &path));
    let file = path
        .file_name()
        .zip(directory)
        .and_then(|(name, directory)| directory.open_file(Path::new(name)));
    let Some(file) = file else {
        return Err(AdapterError::new(ErrorCode::Io).expected("a regular file"));
    };
    text::text(file, limits)
}

impl TextTranscript {
    /// Opens a transcript that begins with `head`. None if it is something else.
    pub(in crate::cursor) fn open(
        path: &Path,
        head: &[u8],
        limits: Limits,
    ) -> Opened<TextTranscript> {
        let Some(name) = path.file_stem().filter(|_| (TEXT_FORM.begins)(head)) else {
            return Ok(None);
        };
        let session = [StoredSession {
            id: name.to_string_lossy().into_owned(),
            path: path.to_owned(),
        }];
        Ok(Some(TextTranscript { session, limits }))
    }
}

impl Store for TextTranscript {
    fn kind(&self) -> &'static str {
        "Cursor text transcript"
    }

    fn sessions(&self) -> &[StoredSession] {
        &self.session
    }

    fn export(&self, session: &StoredSession) -> Result<Export, AdapterError> {
        let at_path = |error: AdapterError| error.path(session.path.to_string_lossy());
        let text = read(&session.path, self.limits).map_err(at_path)?;
        Ok(Export {
            text: (TEXT_FORM.document)(&text),
            context: SideInfo::default(),
        })
    }

    fn verify_unchanged(&self) -> Result<(), AdapterError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_transcript_becomes_a_json_document() {
        let text = "user:\n<user_query>\nhi\n\nthere\n</user_query>\n\nassistant:\n[Thinking] hm\nSure.\n[Tool call] Write\n  path: a\n  contents: x\n\n\n\
            [Tool result] Write\n\nassistant:\n[Thinking]\ndone\n\nTurn ended: error: context limit";
        let expected = "{\"mode\":\"agent\",\"messages\":[{\"role\":\"user\",\"text\":\"<user_query>\\nhi\\n\\nthere\\n</user_query>\"},\
            {\"role\":\"assistant\",\"text\":\"Sure.\",\"thinking\":\"hm\",\"toolCalls\":[{\"toolName\":\"Write\",\"args\":\"  path: a\\n  contents: x\\n\"}]},\
            {\"role\":\"tool\",\"toolResult\":{\"toolName\":\"Write\"}},{\"role\":\"assistant\",\"text\":\"done\",\"thinking\":\"\"}],\
            \"turnEnded\":{\"status\":\"error\",\"error\":\"context limit\"}}";
        assert!(is_transcript(text));
        for saved in [
            format!("\u{feff}{text}"),
            text.replace('\n', "\r\n"),
            format!("\u{feff}{}", text.replace('\n', "\r\n")),
        ] {
            assert!((TEXT_FORM.begins)(saved.as_bytes()));
            assert_eq!((TEXT_FORM.document)(&saved), expected);
        }
        assert_eq!(document(text), expected);
        assert_eq!(
            turn_ended("success.", ""),
            ",\"turnEnded\":{\"status\":\"success\"}"
        );
    }
}
