//! Markdown of a log as HTML of a page, with colours in its code.

use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd, html};

use super::code;
use crate::show::prose::{events, language_of};
use crate::show::safe::visible;

/// The text as HTML; `None` if it is better shown as it is.
pub fn of_markdown(text: &str) -> Option<String> {
    let text = visible(text);
    let events = with_colours(events(&text)?);
    let mut out = String::with_capacity(text.len() * 2);
    html::push_html(&mut out, events.into_iter());
    Some(out)
}

/// Each block of code as one piece of HTML.
fn with_colours(events: Vec<Event<'_>>) -> Vec<Event<'_>> {
    let (mut out, mut block): (Vec<Event<'_>>, Option<(CodeBlockKind<'_>, String)>) =
        (Vec::with_capacity(events.len()), None);
    for event in events {
        match (event, &mut block) {
            (Event::Start(Tag::CodeBlock(kind)), _) => block = Some((kind, String::new())),
            (Event::Text(text), Some((_, code))) => code.push_str(&text),
            (Event::End(TagEnd::CodeBlock), _) => {
                let (kind, code) = block
                    .take()
                    .unwrap_or((CodeBlockKind::Indented, String::new()));
                let html = code::html(&code, language_of(&kind).and_then(code::named));
                // A line end directly after `<pre>` is not a part of its text.
                out.push(Event::Html(
                    format!("<pre class=\"code\">\n{html}</pre>\n").into(),
                ));
            }
            (event, _) => out.push(event),
        }
    }
    out
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
            "<pre class=\"code\">\n<i class=\"k\">fn</i> main() {}\n</pre>",
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
}
