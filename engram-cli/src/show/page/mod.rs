//! A view as one page: its style and script are inside, and its security policy forbids everything else.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

mod images;
mod markup;
pub mod site;

pub use images::{Images, hashes};

use super::safe::{visible, visible_line};
use super::view::*;
use super::words::{
    clock, first_line, heading, outcome, page_title, short_usage, summary, titles, usage,
};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A diff up to this size is unfolded.
const UNFOLDED_BYTES: usize = 16 << 10;
/// An argument up to this size, on one line, is listed beside its name.
const LINE_BYTES: usize = 120;
/// So many items are laid out together.
const SECTION: usize = 100;
/// Of a longer output, the beginning and the end are on the page.
const OUTPUT_BYTES: (usize, usize) = (6 << 10, 2 << 10);

/// How a page is written.
#[derive(Debug, Clone, Copy)]
pub struct Style<'i> {
    /// Every line of every output.
    pub is_full: bool,
    /// Pictures of the log.
    pub images: &'i Images,
}

/// Writes a view as a page.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write(view: &SessionView, style: Style<'_>, out: &mut impl Write) -> io::Result<()> {
    begin(&page_title(view), out)?;
    let mut page = Page {
        out,
        style,
        prompts: Numbers::Given(0),
    };
    page.header(view, "h1")?;
    page.out.write_all(
        b"<div id=\"bar\" hidden><input id=\"filter\" type=\"search\" placeholder=\"Search  /\" aria-label=\"Search\">\
          <button id=\"previous\" title=\"previous prompt (k)\">\xe2\x86\x91</button>\
          <button id=\"next\" title=\"next prompt (j)\">\xe2\x86\x93</button>\
          <label><input id=\"failed\" type=\"checkbox\"> errors only</label>\
          <label><input id=\"talk\" type=\"checkbox\"> conversation only</label>\
          <output id=\"count\"></output></div>\n",
    )?;
    page.contents(&view.items)?;
    writeln!(page.out, "<main>")?;
    page.sections(&view.items)?;
    writeln!(page.out, "</main>\n</div>")?;
    end(page.out)
}

/// The beginning of a page, with its policy and style.
fn begin(title: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"generator\" content=\"engram\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>",
        policy(),
        escaped(&visible_line(title))
    )
}

fn end(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "<footer>Made by engram from the log of the session.</footer>\n<script>{SCRIPT}</script>\n</body>\n</html>"
    )
}

/// The policy allows the page's own style and script, by their hashes, and pictures that are inside the page.
fn policy() -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

/// Whether prompts have numbers: those of the session itself, which the contents lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// So many had one so far.
    Given(u64),
    /// Inside a sub-agent.
    No,
}

struct Page<'o, 'i, W> {
    out: &'o mut W,
    style: Style<'i>,
    prompts: Numbers,
}

/// True for what a person wrote in this session.
fn is_prompt(item: &Item) -> bool {
    matches!(&item.body, Body::Message(message) if message.who == Who::Person)
}

impl<W: Write> Page<'_, '_, W> {
    fn header(&mut self, view: &SessionView, element: &str) -> io::Result<()> {
        let (title, heading) = (page_title(view), heading(&view.facts));
        write!(
            self.out,
            "<header><{element}>{}</{element}>",
            escaped(&visible_line(&title))
        )?;
        let lines = (title != heading)
            .then_some(heading)
            .into_iter()
            .chain(summary(view));
        for line in lines {
            write!(self.out, "<p>{}</p>", escaped(&visible_line(&line)))?;
        }
        let files = view.all_files();
        if element == "h1" && !files.is_empty() {
            let count = super::words::count(files.len() as u64, "file");
            write!(
                self.out,
                "<details><summary>{count} changed</summary><ul class=\"files\">"
            )?;
            for (file, edits) in files {
                let edits = super::words::count(edits, "edit");
                write!(
                    self.out,
                    "<li>{} <b>{edits}</b></li>",
                    escaped(&visible_line(file))
                )?;
            }
            write!(self.out, "</ul></details>")?;
        }
        writeln!(self.out, "</header>")
    }

    /// The prompts of the session, each a link.
    fn contents(&mut self, items: &[Item]) -> io::Result<()> {
        let prompts: Vec<&Item> = items.iter().filter(|item| is_prompt(item)).collect();
        if prompts.len() < 2 {
            return writeln!(self.out, "<div>");
        }
        writeln!(self.out, "<div class=\"columns\">")?;
        let count = super::words::count(prompts.len() as u64, "prompt");
        write!(
            self.out,
            "<nav aria-label=\"Prompts\"><details open><summary>{count}</summary><ol>"
        )?;
        for (number, item) in (1..).zip(prompts) {
            let text = match &item.body {
                Body::Message(message) => message.text.as_deref().and_then(first_line),
                _ => None,
            };
            let text = text.unwrap_or_else(|| "(no text)".to_owned());
            write!(
                self.out,
                "<li><a href=\"#p{number}\">{}</a></li>",
                escaped(&visible_line(&text))
            )?;
        }
        writeln!(self.out, "</ol></details></nav>")
    }

    /// The items of the session in sections. A browser lays out a section when it comes into sight, so a page with 100,000 items opens and
    /// is searched in seconds.
    fn sections(&mut self, items: &[Item]) -> io::Result<()> {
        let groups: Vec<&[Item]> = groups(items).collect();
        for section in groups.chunks(SECTION) {
            writeln!(self.out, "<section>")?;
            section.iter().try_for_each(|group| self.folded(group))?;
            writeln!(self.out, "</section>")?;
        }
        Ok(())
    }

    fn items(&mut self, items: &[Item]) -> io::Result<()> {
        groups(items).try_for_each(|group| self.folded(group))
    }

    /// Items that belong together: several notices become one article.
    fn folded(&mut self, items: &[Item]) -> io::Result<()> {
        match items {
            [first, _, ..] => self.group(first, items),
            items => items.iter().try_for_each(|item| self.item(item)),
        }
    }

    /// Notices of no importance, folded into one article.
    fn group(&mut self, first: &Item, items: &[Item]) -> io::Result<()> {
        self.begin(first, "aside")?;
        write!(
            self.out,
            "<details><summary>{}<b>{}</b></summary>",
            time(first),
            escaped(&titles(items))
        )?;
        items.iter().try_for_each(|item| self.item(item))?;
        self.end(true)
    }

    fn item(&mut self, item: &Item) -> io::Result<()> {
        match &item.body {
            Body::Message(message) => self.message(item, message),
            Body::Call(call) => self.call(item, call),
            Body::Usage(sum, model) => {
                let line = usage(sum, model.as_deref());
                if line.is_empty() {
                    return Ok(());
                }
                self.begin(item, "usage")?;
                let short = escaped(&short_usage(sum));
                writeln!(
                    self.out,
                    "<details><summary>{short}</summary>{}</details></article>",
                    escaped(&visible_line(&line))
                )
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
            // What a person typed is shown as it was typed.
            match message.who {
                Who::Person | Who::Harness => self.block("text", text)?,
                _ => self.markdown(text)?,
            }
        }
        self.attached(&message.attachments)?;
        self.end(folded)
    }

    fn markdown(&mut self, text: &str) -> io::Result<()> {
        match markup::of_markdown(text) {
            Some(html) => writeln!(self.out, "<div class=\"md\" dir=\"auto\">{html}</div>"),
            None => self.block("text", text),
        }
    }

    fn call(&mut self, item: &Item, call: &Call) -> io::Result<()> {
        self.begin(
            item,
            if call.has_failed() {
                "call failed"
            } else {
                "call"
            },
        )?;
        let size: usize = call
            .diffs
            .iter()
            .flat_map(|diff| &diff.parts)
            .map(|(_, text)| text.len())
            .sum();
        let is_open = !call.agents.is_empty() || (size > 0 && size <= UNFOLDED_BYTES);
        write!(
            self.out,
            "<details{}><summary>{}",
            if is_open { " open" } else { "" },
            time(item)
        )?;
        let summary = visible_line(call.summary.as_deref().unwrap_or_default());
        write!(
            self.out,
            "<b>{}</b> <code>{}</code>",
            escaped(&visible_line(&call.tool)),
            escaped(&summary)
        )?;
        writeln!(
            self.out,
            " <i>{}</i></summary>",
            escaped(&visible_line(&outcome(call)))
        )?;
        self.arguments(&call.arguments)?;
        for diff in &call.diffs {
            self.diff(diff)?;
        }
        self.list(&call.effects)?;
        for agent in &call.agents {
            self.agent(agent)?;
        }
        if let Some(result) = &call.result {
            // What a harness answers to a change is the change again.
            self.result(result, !call.diffs.is_empty() && !call.has_failed())?;
        }
        writeln!(self.out, "</details></article>")
    }

    /// Short arguments side by side, long ones in boxes.
    fn arguments(&mut self, arguments: &[(String, String)]) -> io::Result<()> {
        let is_short = |value: &str| value.len() <= LINE_BYTES && !value.contains('\n');
        let (short, long): (Vec<_>, Vec<_>) =
            arguments.iter().partition(|(_, value)| is_short(value));
        if !short.is_empty() {
            write!(self.out, "<dl class=\"arguments\">")?;
            for (name, value) in short {
                write!(
                    self.out,
                    "<dt>{}</dt><dd>{}</dd>",
                    escaped(&visible_line(name)),
                    escaped(&visible_line(value))
                )?;
            }
            writeln!(self.out, "</dl>")?;
        }
        for (name, value) in long {
            write!(self.out, "<h4>{}</h4>", escaped(&visible_line(name)))?;
            self.output(value)?;
        }
        Ok(())
    }

    fn result(&mut self, result: &CallResult, is_folded: bool) -> io::Result<()> {
        for (name, text) in [("output", &result.stdout), ("error output", &result.stderr)] {
            let Some(text) = text.as_ref().filter(|text| !text.is_empty()) else {
                continue;
            };
            if is_folded {
                write!(
                    self.out,
                    "<details><summary class=\"fact\">{name}</summary>"
                )?;
                self.output(text)?;
                write!(self.out, "</details>")?;
            } else {
                write!(self.out, "<h4>{name}</h4>")?;
                self.output(text)?;
            }
        }
        self.attached(&result.files)
    }

    /// The text of an output. A long one is cut in the middle, unless everything is wanted.
    fn output(&mut self, text: &str) -> io::Result<()> {
        let (first, last) = OUTPUT_BYTES;
        if self.style.is_full || text.len() <= first + last {
            return self.block("code", text);
        }
        let (begin, end) = (
            text.floor_char_boundary(first),
            text.ceil_char_boundary(text.len() - last),
        );
        self.block("code", &text[..begin])?;
        let left_out = super::words::number((end - begin) as u64);
        write!(
            self.out,
            "<p class=\"fact\">{left_out} bytes are left out; <code>--full</code> shows them</p>"
        )?;
        self.block("code", &text[end..])
    }

    /// Pictures that the log has, and the names of other files.
    fn attached(&mut self, files: &[Attached]) -> io::Result<()> {
        for file in files {
            let label = escaped(&visible_line(&file.label));
            match self.style.images.get(file) {
                Some(image) => write!(
                    self.out,
                    "<img src=\"data:{};base64,{}\" alt=\"{label}\">",
                    image.media_type, image.base64
                )?,
                None => write!(self.out, "<p class=\"fact\">{label}</p>")?,
            }
        }
        Ok(())
    }

    fn diff(&mut self, diff: &Diff) -> io::Result<()> {
        write!(self.out, "<pre class=\"diff\">")?;
        for (sign, text) in &diff.parts {
            let element = match sign {
                Sign::Removed => "del",
                Sign::Added => "ins",
                Sign::Same | Sign::Header => "span",
            };
            let prefix = sign.prefix();
            let text = format!(
                "{prefix}{}",
                visible(text).replace('\n', &format!("\n{prefix}"))
            );
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
            self.markdown(text)?;
        }
        self.end(notice.text.is_some())
    }

    fn agent(&mut self, agent: &SessionView) -> io::Result<()> {
        let title = escaped(&visible_line(&page_title(agent)));
        write!(
            self.out,
            "<details class=\"agent\"><summary>sub-agent <b>{title}</b></summary>"
        )?;
        self.header(agent, "h3")?;
        let outer = std::mem::replace(&mut self.prompts, Numbers::No);
        self.items(&agent.items)?;
        self.prompts = outer;
        writeln!(self.out, "</details>")
    }

    fn begin(&mut self, item: &Item, class: &str) -> io::Result<()> {
        let replay = if item.is_replay { " replay" } else { "" };
        let undone = if item.is_undone { " undone" } else { "" };
        let mut id = String::new();
        if let (Numbers::Given(number), true) = (&mut self.prompts, is_prompt(item)) {
            *number += 1;
            id = format!(" id=\"p{number}\"");
        }
        write!(self.out, "<article class=\"{class}{replay}{undone}\"{id}>")
    }

    /// The heading of an item. If `folded`, it is all that is visible at first; [`Page::end`] ends what it folds.
    fn title(&mut self, item: &Item, title: &str, folded: bool) -> io::Result<()> {
        let marks = [
            (item.is_replay, " <i>repeated from another session</i>"),
            (item.is_undone, " <i>undone</i>"),
        ];
        let marks: String = marks
            .iter()
            .filter(|(is_so, _)| *is_so)
            .map(|(_, mark)| *mark)
            .collect();
        let link = match self.prompts {
            Numbers::Given(number) if is_prompt(item) => {
                format!("<a href=\"#p{number}\" title=\"link to this prompt\">#{number}</a>")
            }
            _ => String::new(),
        };
        let (begin, end) = if folded {
            ("<details><summary>", "</summary>")
        } else {
            ("<h2>", "</h2>")
        };
        let title = escaped(&visible_line(title));
        write!(
            self.out,
            "{begin}{link}{}<b>{title}</b>{marks}{end}",
            time(item)
        )
    }

    fn end(&mut self, folded: bool) -> io::Result<()> {
        writeln!(
            self.out,
            "{}</article>",
            if folded { "</details>" } else { "" }
        )
    }

    fn list(&mut self, lines: &[String]) -> io::Result<()> {
        lines.iter().try_for_each(|line| {
            write!(
                self.out,
                "<p class=\"fact\">{}</p>",
                escaped(&visible_line(line))
            )
        })
    }

    /// A line end directly after `<pre>` is not a part of its text.
    fn block(&mut self, class: &str, text: &str) -> io::Result<()> {
        writeln!(
            self.out,
            "<pre class=\"{class}\" dir=\"auto\">\n{}</pre>",
            escaped(&visible(text))
        )
    }
}

fn time(item: &Item) -> String {
    let Some(time) = &item.time else {
        return String::new();
    };
    format!(
        "<time title=\"{}\">{}</time> ",
        escaped(&visible_line(time)),
        escaped(&visible_line(clock(time)))
    )
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
        assert_eq!(
            escaped("<script>'a' & \"b\"</script>"),
            "&lt;script&gt;&#39;a&#39; &amp; &quot;b&quot;&lt;/script&gt;"
        );
        assert_eq!(escaped("é\n"), "é\n");
    }

    #[test]
    fn style_and_script_cannot_end_their_element() {
        assert!(!STYLE.contains('<') && !SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
    }
}
