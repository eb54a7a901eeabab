//! A text with the role of the user: a person's words, and the sections that the harness puts around them or sends in their place.

use std::mem;

use engram_core::emit::{Fault, Pointer, RecordHeader};
use engram_core::event::{Attachment, Author, ImplicitInput, Meta, MsgIn, Role};
use engram_core::hash::Hash;
use engram_core::text::Text;

use super::prompt_timestamp::{placeholder, prompt_time};
use crate::cursor::steps::Out;

/// The section with the person's words.
const WORDS: &str = "user_query";

/// Sections that the harness sends without a person's words, by their tag (SDK 1.0.32).
const CONTEXT_SECTIONS: &[&str] = &[
    "user_info",
    "project_layout",
    "rules",
    "always_applied_workspace_rules",
    "agent_requestable_workspace_rules",
    "user_rules",
    "agent_skills",
    "available_skills",
    "cloud_instructions",
    "cloud_task_instructions",
    "open_and_recently_viewed_files",
    "system_reminder",
    "system-reminder",
    "instructions_update",
    "mcp_instructions",
    "mcp_file_system",
    "mcp_file_system_servers",
    "git_status",
    "agent_transcripts",
    "cursor_rules_context",
    "attached_files",
    "external_links",
    "timestamp",
    "system_notification",
    "task_notification",
    "agent_notification",
    "dynamic_tool_catalog",
];

/// Sections with text that a person wrote: kept whole.
const INSTRUCTIONS: &[&str] = &[
    "rules",
    "always_applied_workspace_rules",
    "agent_requestable_workspace_rules",
    "user_rules",
    "cursor_rules_context",
];

/// The longest other section whose text is kept. Of a longer one the tape has hash and size.
const NOTICE_BYTES: usize = 4096;

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
enum Part<'t> {
    /// What a person wrote, or an agent for a sub-agent.
    Words(&'t str),
    /// A section of the harness, with its tags.
    Section { name: &'t str, text: &'t str },
}

/// A text with the role of the user, and what else its message says.
pub(in crate::cursor) struct UserText<'a> {
    /// The text.
    pub(in crate::cursor) text: Text<'a>,
    /// Who wrote the words in it.
    pub(in crate::cursor) by: Author,
    /// The id of its record.
    pub(in crate::cursor) id: Option<Text<'a>>,
    /// Its place.
    pub(in crate::cursor) pointer: Pointer<'a>,
}

impl UserText<'_> {
    /// Emits the words, with the attachments of their message, and the sections. Returns the number of events.
    pub(in crate::cursor) fn emit(
        &self,
        attachments: &mut Vec<Attachment<'_>>,
        out: &mut Out<'_, '_>,
    ) -> Result<usize, Fault> {
        // Parts of a text with half a character could not be written as the source has them.
        let Ok(decoded) = self.text.decode() else {
            return self.emit_words(self.text, mem::take(attachments), out);
        };
        if let Some(time) = prompt_time(&decoded) {
            out.set_header(RecordHeader {
                t: Some(&time),
                id: self.id,
                replay: false,
            });
        }
        let parts = parts(&decoded);
        if matches!(parts[..], [Part::Words(words)] if words.len() == decoded.len()) {
            return self.emit_words(self.text, mem::take(attachments), out);
        }
        for part in &parts {
            match part {
                Part::Words(words) => {
                    self.emit_words(Text::Plain(words), mem::take(attachments), out)?
                }
                Part::Section { name, text } => self.emit_section(name, text, out)?,
            };
        }
        Ok(parts.len())
    }

    fn emit_words(
        &self,
        words: Text<'_>,
        attachments: Vec<Attachment<'_>>,
        out: &mut Out<'_, '_>,
    ) -> Result<usize, Fault> {
        out.emit(
            MsgIn {
                role: Role::User,
                by: self.by,
                text: Some(words),
                attachments,
            },
            self.pointer,
        )?;
        Ok(1)
    }

    fn emit_section(&self, name: &str, text: &str, out: &mut Out<'_, '_>) -> Result<usize, Fault> {
        let is_kept = text.len() <= NOTICE_BYTES || INSTRUCTIONS.contains(&name);
        let context = ImplicitInput {
            name: Text::Plain(name),
            file: None,
            hash: (!is_kept).then(|| Hash::of_text(text)),
            bytes: (!is_kept).then_some(text.len() as u64),
            text: is_kept.then_some(Text::Plain(text)),
        };
        out.emit(Meta::Context(context), self.pointer)?;
        Ok(1)
    }
}

/// The words in a text, without the sections around them.
pub(in crate::cursor) fn words_of(text: &str) -> &str {
    let words = parts(text).into_iter().find_map(|part| {
        if let Part::Words(words) = part {
            Some(words)
        } else {
            None
        }
    });
    words.unwrap_or(text)
}

/// The parts of a text. A text that is not sections from its beginning to its end is a person's: a person may write tags too.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start();
    while let Some((placeholder, after)) = placeholder(rest) {
        parts.push(Part::Section {
            name: "placeholder",
            text: placeholder,
        });
        rest = after.trim_start();
    }
    while let Some(name) = opening_tag(rest) {
        // The words may have tags in them, and even the end of their own section.
        let end = if name == WORDS {
            rest.rfind("</user_query>")
        } else {
            rest.find(&format!("</{name}>"))
        };
        let Some(end) = end else { break };
        let (section, after) = rest.split_at(end + name.len() + "</>".len());
        let inner = || rest.get(name.len() + "<>".len()..end).unwrap_or_default();
        parts.push(if name == WORDS {
            Part::Words(without_line_ends(inner()))
        } else {
            Part::Section {
                name,
                text: section,
            }
        });
        rest = after.trim_start();
    }
    let has_words = parts.iter().any(|part| matches!(part, Part::Words(_)));
    let is_context = |part: &Part<'_>| matches!(part, Part::Section { name, .. } if CONTEXT_SECTIONS.contains(name));
    if rest.is_empty() && !parts.is_empty() && (has_words || parts.iter().all(is_context)) {
        parts
    } else {
        vec![Part::Words(text)]
    }
}

/// The name of the tag that a text begins with.
fn opening_tag(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix('<')?.split_once('>')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

/// The words without the line end that the harness puts on each side of them.
fn without_line_ends(words: &str) -> &str {
    let words = words.strip_prefix('\n').unwrap_or(words);
    words.strip_suffix('\n').unwrap_or(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section<'t>(name: &'t str, text: &'t str) -> Part<'t> {
        Part::Section { name, text }
    }

    #[test]
    fn words_are_split_from_the_sections_around_them() {
        let text = "<timestamp>now</timestamp>\n<user_query>\nfix it\n</user_query>\n<external_links>\n<a>x</a>\n</external_links>";
        let expected = [
            section("timestamp", "<timestamp>now</timestamp>"),
            Part::Words("fix it"),
            section(
                "external_links",
                "<external_links>\n<a>x</a>\n</external_links>",
            ),
        ];
        assert_eq!(parts(text), expected);
        assert_eq!(words_of(text), "fix it");
        assert_eq!(
            parts("[Image]\n<user_query>\nx\n</user_query>"),
            [section("placeholder", "[Image]"), Part::Words("x")]
        );
        assert_eq!(
            parts("<user_query>\na</user_query>\n<b>\n</user_query>"),
            [Part::Words("a</user_query>\n<b>")]
        );
    }

    #[test]
    fn a_text_that_only_looks_like_sections_is_a_persons() {
        for text in [
            "",
            "hello",
            "[Image]\nx",
            "<div>x</div>",
            "<user_info>",
            "<user_info>x</user_info> and more",
            "see <user_query>\nx\n</user_query>",
        ] {
            assert_eq!(parts(text), [Part::Words(text)], "{text}");
        }
        assert_eq!(
            parts("<user_info>x</user_info>"),
            [section("user_info", "<user_info>x</user_info>")]
        );
    }
}
