//! A view as one page: its style and script are inside, and its security policy forbids everything else.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::safe::{visible, visible_line};
use super::view::*;
use super::words::{clock, heading, outcome, summary, titles, usage};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A diff up to this size is unfolded.
const UNFOLDED_BYTES: usize = 16 << 10;

/// Writes a view as a page.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write(view: &SessionView, out: &mut impl Write) -> io::Result<()> {
    let title = view.facts.title.clone().unwrap_or_else(|| heading(&view.facts));
    let title = escaped(&visible_line(&title));
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>",
        policy()
    )?;
    let mut page = Page { out };
    page.header(view, "h1")?;
    page.out.write_all(
        b"<div id=\"bar\" hidden><input id=\"filter\" type=\"search\" placeholder=\"Filter\" aria-label=\"Filter\">\
          <label><input id=\"failed\" type=\"checkbox\"> errors only</label>\
          <label><input id=\"talk\" type=\"checkbox\"> conversation only</label>\
          <output id=\"count\"></output></div>\n<main>\n",
    )?;
    page.items(&view.items)?;
    writeln!(page.out, "</main>\n<script>{SCRIPT}</script>\n</body>\n</html>")
}

/// The policy allows the page's own style and script, by their hashes.
fn policy() -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

struct Page<'o, W> {
    out: &'o mut W,
}

impl<W: Write> Page<'_, W> {
    fn header(&mut self, view: &SessionView, element: &str) -> io::Result<()> {
        let title = view.facts.title.clone().unwrap_or_else(|| heading(&view.facts));
        write!(self.out, "<header><{element}>{}</{element}>", escaped(&visible_line(&title)))?;
        let lines = view.facts.title.is_some().then(|| heading(&view.facts)).into_iter().chain(summary(view));
        for line in lines {
            write!(self.out, "<p>{}</p>", escaped(&visible_line(&line)))?;
        }
        writeln!(self.out, "</header>")
    }

    fn items(&mut self, items: &[Item]) -> io::Result<()> {
        for group in groups(items) {
            match group {
                [first, _, ..] => self.group(first, group)?,
                items => items.iter().try_for_each(|item| self.item(item))?,
            }
        }
        Ok(())
    }

    /// Notices of no importance, folded into one article.
    fn group(&mut self, first: &Item, items: &[Item]) -> io::Result<()> {
        self.begin(first, "aside")?;
        write!(self.out, "<details><summary>{}<b>{}</b></summary>", time(first), escaped(&titles(items)))?;
        items.iter().try_for_each(|item| self.item(item))?;
        self.end(true)
    }

    fn item(&mut self, item: &Item) -> io::Result<()> {
        match &item.body {
            Body::Message(message) => self.message(item, message),
            Body::Call(call) => self.call(item, call),
            Body::Usage(sum, model) => {
                self.begin(item, "usage")?;
                writeln!(self.out, "{}</article>", escaped(&visible_line(&usage(sum, model.as_deref()))))
            }
            Body::Notice(notice) => self.notice(item, notice),
            Body::Agent(agent) => {
                self.begin(item, "call")?;
                self.agent(agent)?;
                writeln!(self.out, "</article>")
            }
        }
    }

    fn message(&mut self, item: &Item, message: &Message) -> io::Result<()> {
        let class = match message.who {
            Who::Person => "person",
            Who::Agent => "caller",
            Who::Answer => "answer",
            Who::Commentary => "answer commentary",
            Who::Reasoning => "aside reasoning",
            Who::Harness | Who::Instructions => "aside",
        };
        self.begin(item, class)?;
        let folded = message.who.is_folded() && message.text.is_some();
        self.title(item, message.who.name(), folded)?;
        if message.is_opaque {
            write!(self.out, "<p>The log has only an encrypted form.</p>")?;
        }
        if let Some(text) = &message.text {
            self.block("text", text)?;
        }
        self.list(&message.attachments)?;
        self.end(folded)
    }

    fn call(&mut self, item: &Item, call: &Call) -> io::Result<()> {
        self.begin(item, if call.has_failed() { "call failed" } else { "call" })?;
        let size: usize = call.diffs.iter().flat_map(|diff| &diff.parts).map(|(_, text)| text.len()).sum();
        let is_open = !call.agents.is_empty() || (size > 0 && size <= UNFOLDED_BYTES);
        write!(self.out, "<details{}><summary>{}", if is_open { " open" } else { "" }, time(item))?;
        let summary = visible_line(call.summary.as_deref().unwrap_or_default());
        write!(self.out, "<b>{}</b> <code>{}</code>", escaped(&visible_line(&call.tool)), escaped(&summary))?;
        writeln!(self.out, " <i>{}</i></summary>", escaped(&visible_line(&outcome(call))))?;
        for (name, value) in &call.arguments {
            write!(self.out, "<h4>{}</h4>", escaped(&visible_line(name)))?;
            self.block("code", value)?;
        }
        for diff in &call.diffs {
            self.diff(diff)?;
        }
        self.list(&call.effects)?;
        for agent in &call.agents {
            self.agent(agent)?;
        }
        if let Some(result) = &call.result {
            self.result(result)?;
        }
        writeln!(self.out, "</details></article>")
    }

    fn result(&mut self, result: &CallResult) -> io::Result<()> {
        for (name, text) in [("output", &result.stdout), ("error output", &result.stderr)] {
            if let Some(text) = text.as_ref().filter(|text| !text.is_empty()) {
                write!(self.out, "<h4>{name}</h4>")?;
                self.block("code", text)?;
            }
        }
        self.list(&result.files)
    }

    fn diff(&mut self, diff: &Diff) -> io::Result<()> {
        write!(self.out, "<h4>change</h4><pre class=\"diff\">")?;
        for (sign, text) in &diff.parts {
            let element = match sign {
                Sign::Removed => "del",
                Sign::Added => "ins",
                Sign::Same | Sign::Header => "span",
            };
            let prefix = sign.prefix();
            let text = format!("{prefix}{}", visible(text).replace('\n', &format!("\n{prefix}")));
            write!(self.out, "<{element}>{}\n</{element}>", escaped(&text))?;
        }
        writeln!(self.out, "</pre>")
    }

    fn notice(&mut self, item: &Item, notice: &Notice) -> io::Result<()> {
        let class = match notice.kind {
            NoticeKind::Error => "notice failed",
            NoticeKind::Turn => "notice",
            NoticeKind::Detail => "aside",
        };
        self.begin(item, class)?;
        self.title(item, &notice.title, notice.text.is_some())?;
        if let Some(text) = &notice.text {
            self.block("text", text)?;
        }
        self.end(notice.text.is_some())
    }

    fn agent(&mut self, agent: &SessionView) -> io::Result<()> {
        write!(self.out, "<details class=\"agent\"><summary>sub-agent</summary>")?;
        self.header(agent, "h3")?;
        self.items(&agent.items)?;
        writeln!(self.out, "</details>")
    }

    fn begin(&mut self, item: &Item, class: &str) -> io::Result<()> {
        let replay = if item.is_replay { " replay" } else { "" };
        let undone = if item.is_undone { " undone" } else { "" };
        write!(self.out, "<article class=\"{class}{replay}{undone}\">")
    }

    /// The heading of an item. If `folded`, it is all that is visible at first; [`Page::end`] ends what it folds.
    fn title(&mut self, item: &Item, title: &str, folded: bool) -> io::Result<()> {
        let marks = [(item.is_replay, " <i>repeated from another session</i>"), (item.is_undone, " <i>undone</i>")];
        let marks: String = marks.iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| *mark).collect();
        let (begin, end) = if folded { ("<details><summary>", "</summary>") } else { ("<h2>", "</h2>") };
        let title = escaped(&visible_line(title));
        write!(self.out, "{begin}{}<b>{title}</b>{marks}{end}", time(item))
    }

    fn end(&mut self, folded: bool) -> io::Result<()> {
        writeln!(self.out, "{}</article>", if folded { "</details>" } else { "" })
    }

    fn list(&mut self, lines: &[String]) -> io::Result<()> {
        lines.iter().try_for_each(|line| write!(self.out, "<p class=\"fact\">{}</p>", escaped(&visible_line(line))))
    }

    /// A line end directly after `<pre>` is not a part of its text.
    fn block(&mut self, class: &str, text: &str) -> io::Result<()> {
        writeln!(self.out, "<pre class=\"{class}\" dir=\"auto\">\n{}</pre>", escaped(&visible(text)))
    }
}

fn time(item: &Item) -> String {
    let Some(time) = &item.time else { return String::new() };
    format!("<time title=\"{}\">{}</time> ", escaped(&visible_line(time)), escaped(&visible_line(clock(time))))
}

/// Text for an element or a quoted attribute.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
        out.push_str(&rest[..at]);
        out.push_str(match rest.as_bytes()[at] {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            _ => "&#39;",
        });
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_for_elements_and_attributes() {
        assert_eq!(escaped("<script>'a' & \"b\"</script>"), "&lt;script&gt;&#39;a&#39; &amp; &quot;b&quot;&lt;/script&gt;");
        assert_eq!(escaped("é\n"), "é\n");
    }

    #[test]
    fn style_and_script_cannot_end_their_element() {
        assert!(!STYLE.contains('<') && !SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
    }
}
