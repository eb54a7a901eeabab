//! Markdown of a log as events of its parser: HTML in it is text, no picture is loaded, and only links to the web are links. Pages and
//! documents are made from them.

use pulldown_cmark::{
    Alignment, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd,
};
use pulldown_cmark_to_cmark::cmark;

use super::safe::visible;

/// A longer text is shown as it is.
const MARKDOWN_BYTES: usize = 256 << 10;
/// A text that nests lists and quotations deeper is shown as it is.
const MAX_DEPTH: usize = 24;

/// The parser of every text.
fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(
        text,
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS,
    )
}

/// The events of a text whose characters are [visible]; `None` if it is better shown as it is.
pub fn events(text: &str) -> Option<Vec<Event<'_>>> {
    if text.len() > MARKDOWN_BYTES {
        return None;
    }
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut links = Vec::new();
    let events: Vec<Event<'_>> = parser(text)
        .filter_map(|event| {
            match &event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                _ => {}
            }
            deepest = deepest.max(depth);
            safe(event, &mut links)
        })
        .flat_map(in_pieces)
        .collect();
    (deepest <= MAX_DEPTH).then_some(events)
}

/// A text that was markup as several texts. The writer of Markdown keeps a sign from being markup where a text begins with it, as the parser
/// divides texts; a text from elsewhere is divided so here.
fn in_pieces(event: Made<'_>) -> Vec<Event<'_>> {
    let text = match event {
        Made::Same(event) => return vec![event],
        Made::Text(text) => text,
    };
    let mut pieces = Vec::new();
    let mut begin = 0;
    let signs = text.match_indices(|c: char| c.is_ascii_punctuation() || c == '\n');
    for (at, _) in signs.chain([(text.len(), "")]) {
        if at > begin {
            pieces.push(Event::Text(text[begin..at].to_owned().into()));
        }
        begin = at;
    }
    pieces
}

/// An event of the parser, or a text in its place.
enum Made<'t> {
    Same(Event<'t>),
    Text(CowStr<'t>),
}

/// An answer as Markdown of a document; `None` if it is better shown as it is.
pub fn document(text: &str) -> Option<String> {
    let text = visible(text);
    written(&events(&text)?)
}

/// What a person typed as a quotation with the same lines; `None` if its blanks count, as in code.
pub fn quotation(text: &str) -> Option<String> {
    let text = visible(text);
    if text.len() > MARKDOWN_BYTES || text.lines().any(|line| line.starts_with([' ', '\t'])) {
        return None;
    }
    let mut written = String::new();
    for line in text.trim_end().lines().map(str::trim_end) {
        written.push_str("> ");
        written.push_str(&literal(line));
        // Two blanks keep the end of the line.
        written.push_str("  \n");
    }
    // Every line is a text again, and none became a heading, a list or a link.
    let is_text = parser(&written).all(|event| match event {
        Event::Start(tag) => matches!(tag, Tag::BlockQuote(_) | Tag::Paragraph),
        Event::End(_) | Event::Text(_) | Event::HardBreak | Event::SoftBreak => true,
        _ => false,
    });
    is_text.then_some(written)
}

/// A line in which nothing is markup.
fn literal(line: &str) -> String {
    let begins_list = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let mark = match begins_list.chars().next() {
        Some('.' | ')') if begins_list.len() < line.len() => Some(line.len() - begins_list.len()),
        Some('-' | '+' | '=') if begins_list.len() == line.len() => Some(0),
        _ => None,
    };
    let mut out = String::with_capacity(line.len() + 8);
    for (at, c) in line.char_indices() {
        if "\\`*_[]<>#|~&!".contains(c) || mark == Some(at) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The events as Markdown, if its parser finds nothing in it that it should not have.
fn written(events: &[Event<'_>]) -> Option<String> {
    let mut out = String::new();
    cmark(events.iter(), &mut out).ok()?;
    let is_safe = parser(&out).all(|event| match &event {
        Event::Html(_)
        | Event::InlineHtml(_)
        | Event::Start(Tag::HtmlBlock | Tag::Image { .. }) => false,
        Event::Start(Tag::Link { dest_url, .. }) => is_web(dest_url),
        _ => true,
    });
    is_safe.then_some(out)
}

/// The language that a block of code names.
pub fn language_of<'k>(kind: &'k CodeBlockKind<'_>) -> Option<&'k str> {
    match kind {
        CodeBlockKind::Fenced(info) => info.split(|c: char| !c.is_alphanumeric()).next(),
        CodeBlockKind::Indented => None,
    }
}

/// What is left of an event. `links` says of each open link and picture whether it is a link on the page.
fn safe<'t>(event: Event<'t>, links: &mut Vec<bool>) -> Option<Made<'t>> {
    Some(Made::Same(match event {
        Event::Html(text) | Event::InlineHtml(text) => return Some(Made::Text(text)),
        // Where cells are aligned is a style, which the policy of the page forbids.
        Event::Start(Tag::Table(columns)) => {
            Event::Start(Tag::Table(vec![Alignment::None; columns.len()]))
        }
        // Headings of a text are below those of the page.
        Event::Start(Tag::Heading { level, .. }) => Event::Start(Tag::Heading {
            level: lower(level),
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        }),
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(lower(level))),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::Start(Tag::Link {
            dest_url,
            link_type,
            id,
            ..
        }) => {
            links.push(is_web(&dest_url));
            // The address is what a reader must see before a click, whatever the log calls it.
            let title = dest_url.clone();
            is_web(&dest_url).then_some(Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            }))?
        }
        Event::Start(Tag::Image { dest_url, .. }) => {
            links.push(false);
            return Some(Made::Text(format!("[picture {dest_url}] ").into()));
        }
        Event::End(TagEnd::Link) => links
            .pop()
            .unwrap_or(false)
            .then_some(Event::End(TagEnd::Link))?,
        Event::End(TagEnd::Image) => {
            links.pop();
            return None;
        }
        event => event,
    }))
}

fn is_web(address: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| {
        address
            .get(..scheme.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
    })
}

fn lower(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kinds of what the parser finds in a document.
    fn found(markdown: &str) -> Vec<String> {
        parser(markdown)
            .filter_map(|event| match event {
                Event::Start(tag) => format!("{tag:?}")
                    .split(['(', ' '])
                    .next()
                    .map(str::to_owned),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn an_answer_is_rendered_as_it_was_meant() {
        let answer = "# Title\n\n- **a** `b`\n  - c\n\n| x | y |\n|--|--|\n| 1 | 2 |\n\n```rust\nfn main() {}\n```\n";
        let written = document(answer).unwrap();
        for kind in ["Heading", "List", "Item", "Strong", "Table", "CodeBlock"] {
            assert!(
                found(&written).iter().any(|found| found == kind),
                "{kind} in {written}"
            );
        }
        assert!(
            written.contains("### Title") && written.contains("```rust\nfn main() {}\n```"),
            "{written}"
        );
    }

    #[test]
    fn nothing_in_an_answer_is_html_or_loads() {
        let evil = "<script>alert(1)</script>\n\nx <img src=x> ![a](http://x/y.png) [j](javascript:alert(1)) <b>\n\n<div>\n![p](http://x/p.png)\n</div>\n\n\
                    [ok](https://example.org)\n\n&lt;i&gt; \\<b>\n\n[r]: javascript:x\n\n[r] <https://a.b> <javascript:x>";
        let written = document(evil).unwrap();
        assert!(
            !found(&written)
                .iter()
                .any(|kind| ["Image", "HtmlBlock"].contains(&kind.as_str())),
            "{written}"
        );
        assert!(written.contains("https://example.org"), "{written}");
        let html =
            parser(&written).filter(|event| matches!(event, Event::Html(_) | Event::InlineHtml(_)));
        assert_eq!(html.count(), 0, "{written}");
    }

    #[test]
    fn a_prompt_keeps_its_lines_and_is_no_markup() {
        let written = quotation("# fix *it*\n1. <b>x</b>\n\n- [a](http://b) & more\n===").unwrap();
        assert_eq!(found(&written), ["BlockQuote", "Paragraph", "Paragraph"]);
        let text: String = parser(&written)
            .map(|event| match event {
                Event::Text(text) => text.to_string(),
                Event::HardBreak => "\n".to_owned(),
                Event::End(TagEnd::Paragraph) => "\n\n".to_owned(),
                _ => String::new(),
            })
            .collect();
        assert_eq!(
            text.trim_end(),
            "# fix *it*\n1. <b>x</b>\n\n- [a](http://b) & more\n==="
        );
        assert_eq!(quotation("def f():\n    pass"), None);
    }

    #[test]
    fn what_would_be_slow_or_deep_is_not_rendered() {
        assert_eq!(events(&">".repeat(10_000)), None);
        assert_eq!(events(&"a".repeat(MARKDOWN_BYTES + 1)), None);
        assert!(events(&"[".repeat(100_000)).is_some());
    }

    /// Whatever stands in a text, its document has neither HTML nor pictures: such a text has no document.
    #[test]
    fn no_text_is_html_in_a_document() {
        let mut random = fastrand::Rng::with_seed(11);
        let parts = [
            "<b>",
            "</b>",
            "![a](b)",
            "[a](javascript:b)",
            "`",
            "\n",
            "\n\n",
            "> ",
            "- ",
            "    ",
            "\\",
            "&lt;",
            "*",
            "<!--",
            "-->",
            "|",
            "a",
            "](",
            "```\n",
            "<a\nb>",
        ];
        for _ in 0..3000 {
            let text: String = (0..random.usize(..16))
                .map(|_| parts[random.usize(..parts.len())])
                .collect();
            let made = [document(&text), quotation(&text)];
            for written in made.into_iter().flatten() {
                let is_evil = parser(&written).any(|event| {
                    matches!(
                        event,
                        Event::Html(_) | Event::InlineHtml(_) | Event::Start(Tag::Image { .. })
                    )
                });
                assert!(!is_evil, "{text:?} became {written:?}");
            }
        }
    }
}
