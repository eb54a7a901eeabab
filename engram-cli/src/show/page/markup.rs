//! Markdown of a log as HTML of a page. HTML in it is shown as text, no picture is loaded, and only links to the web are links.

use pulldown_cmark::{Alignment, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use crate::show::safe::visible;

/// A longer text is shown as it is.
const MARKDOWN_BYTES: usize = 256 << 10;
/// A text that nests lists and quotations deeper is shown as it is.
const MAX_DEPTH: usize = 24;

/// The text as HTML; `None` if it is better shown as it is.
pub fn of_markdown(text: &str) -> Option<String> {
    if text.len() > MARKDOWN_BYTES {
        return None;
    }
    let text = visible(text);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut links = Vec::new();
    let events: Vec<Event<'_>> = Parser::new_ext(&text, options)
        .filter_map(|event| {
            match &event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                _ => {}
            }
            deepest = deepest.max(depth);
            safe(event, &mut links)
        })
        .collect();
    if deepest > MAX_DEPTH {
        return None;
    }
    let mut out = String::with_capacity(text.len() * 2);
    html::push_html(&mut out, events.into_iter());
    Some(out)
}

/// What a page may have of an event. `links` says of each open link and picture whether it is a link on the page.
fn safe<'t>(event: Event<'t>, links: &mut Vec<bool>) -> Option<Event<'t>> {
    Some(match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
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
            Event::Text(CowStr::from(format!("[picture {dest_url}] ")))
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
    })
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

    fn html_of(text: &str) -> String {
        of_markdown(text).unwrap()
    }

    #[test]
    fn markdown_is_rendered() {
        let html = html_of(
            "# Title\n\n- **a** `b`\n\n| x | y |\n|:--|--:|\n| 1 | 2 |\n\n```rust\nfn main() {}\n```\n",
        );
        for part in [
            "<h3>Title</h3>",
            "<li><strong>a</strong> <code>b</code></li>",
            "<td>1</td>",
            "fn main() {}\n</code></pre>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert!(!html.contains("style="), "{html}");
    }

    #[test]
    fn nothing_in_a_text_is_html_of_the_page_or_loads() {
        let evil = "<script>alert(1)</script>\n\nx <img src=x onerror=alert(1)> ![a](http://x/y.png) \
                    [j](javascript:alert(1)) [d](data:text/html,x) <b>\n\n<div>\n<script>\n</div>\n\n[ok](https://example.org \"t\")";
        let html = html_of(evil);
        for part in [
            "<script",
            "<img",
            "<b>",
            "<div",
            "javascript:alert(1)\"",
            " src=\"",
            "href=\"data",
        ] {
            assert!(!html.contains(part), "{part} in {html}");
        }
        assert!(
            html.contains("&lt;script&gt;") && html.contains("[picture http://x/y.png]"),
            "{html}"
        );
        assert_eq!(html.matches("<a ").count(), 1, "{html}");
        assert!(
            html.contains("<a href=\"https://example.org\" title=\"https://example.org\">ok</a>"),
            "{html}"
        );
    }

    #[test]
    fn what_would_be_slow_or_deep_is_not_rendered() {
        assert_eq!(of_markdown(&">".repeat(10_000)), None);
        assert_eq!(of_markdown(&"a".repeat(MARKDOWN_BYTES + 1)), None);
        assert!(of_markdown(&"[".repeat(100_000)).is_some());
    }
}
