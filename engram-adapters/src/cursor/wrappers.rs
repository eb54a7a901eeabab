//! What the harness puts around the words of a person, or sends in their place: sections with tags.

use super::messages::prompt_timestamp::placeholder;

/// The section with the person's words.
const WORDS: &str = "user_query";

/// A section that the harness sends without a person's words.
struct Section {
    /// The name of its tag, and of its `meta context`.
    tag: &'static str,
    /// Who wrote what is in it.
    content: Content,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// A person, in files of rules: its text is kept, however long it is.
    Instructions,
    /// The harness.
    Context,
}

/// The sections (SDK 1.0.32). The list counts for a text that has no words; around words any tag is a section.
const SECTIONS: &[Section] = &[
    context("user_info"),
    context("project_layout"),
    instructions("rules"),
    instructions("always_applied_workspace_rules"),
    instructions("agent_requestable_workspace_rules"),
    instructions("user_rules"),
    context("agent_skills"),
    context("available_skills"),
    context("cloud_instructions"),
    context("cloud_task_instructions"),
    context("open_and_recently_viewed_files"),
    context("system_reminder"),
    context("system-reminder"),
    context("instructions_update"),
    context("mcp_instructions"),
    context("mcp_file_system"),
    context("mcp_file_system_servers"),
    context("git_status"),
    context("agent_transcripts"),
    instructions("cursor_rules_context"),
    context("attached_files"),
    context("external_links"),
    context("timestamp"),
    context("system_notification"),
    context("task_notification"),
    context("agent_notification"),
    context("dynamic_tool_catalog"),
];

const fn instructions(tag: &'static str) -> Section {
    let content = Content::Instructions;
    Section { tag, content }
}

const fn context(tag: &'static str) -> Section {
    let content = Content::Context;
    Section { tag, content }
}

fn row(tag: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.tag == tag)
}

/// True for a section with the text of files that a person wrote.
pub(super) fn is_written_by_a_person(tag: &str) -> bool {
    row(tag).is_some_and(|section| section.content == Content::Instructions)
}

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'t> {
    /// What a person wrote, or an agent for a sub-agent.
    Words(&'t str),
    /// A section of the harness, with its tags.
    Section { name: &'t str, text: &'t str },
}

/// The words in a text, without the sections around them.
pub(super) fn words_of(text: &str) -> &str {
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
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start();
    loop {
        if let Some((text, after)) = placeholder(rest) {
            let name = "placeholder";
            parts.push(Part::Section { name, text });
            rest = after.trim_start();
            continue;
        }
        let Some(name) = opening_tag(rest) else { break };
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
    let is_context =
        |part: &Part<'_>| matches!(part, Part::Section { name, .. } if row(name).is_some());
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
            parts(
                "<timestamp>now</timestamp>\n<user_query>\nx\n</user_query>\n[Image]\n[File: a b]"
            ),
            [
                section("timestamp", "<timestamp>now</timestamp>"),
                Part::Words("x"),
                section("placeholder", "[Image]"),
                section("placeholder", "[File: a b]")
            ]
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
            "[Image]",
            "x\n[Image]",
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
