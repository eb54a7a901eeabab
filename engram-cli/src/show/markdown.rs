//! A view as Markdown. Answers are rendered, prompts are quotations with their own lines, and every other text of the log is in code blocks or,
//! escaped, in headings. Nothing in a log becomes HTML or a picture.

use std::io::{self, Write};

use engram_core::prices::Prices;

use super::prose;
use super::safe::{visible, visible_line};
use super::view::*;
use super::words::{clock, heading, outcome, page_title, summary, titles, usage};

/// Writes a view.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write(view: &SessionView, style: Style<'_>, out: &mut impl Write) -> io::Result<()> {
    Markdown {
        out,
        style,
        level: 1,
    }
    .view(view)
}

/// How a view is written as Markdown.
#[derive(Debug, Clone, Copy)]
pub struct Style<'p> {
    /// A line with the tokens of each response.
    pub has_tokens: bool,
    /// For what costs that no log states.
    pub prices: &'p Prices,
}

struct Markdown<'o, 'p, W> {
    out: &'o mut W,
    style: Style<'p>,
    /// The level of the heading of the current session.
    level: usize,
}

impl<W: Write> Markdown<'_, '_, W> {
    fn view(&mut self, view: &SessionView) -> io::Result<()> {
        let title = page_title(view);
        self.heading(0, &title)?;
        if !heading(&view.facts).is_empty() && title != heading(&view.facts) {
            writeln!(self.out, "- {}", escaped(&heading(&view.facts)))?;
        }
        for line in summary(view, self.style.prices) {
            writeln!(self.out, "- {}", escaped(&line))?;
        }
        let groups = view
            .items
            .chunk_by(|one, next| is_title_alone(one) && is_title_alone(next));
        for group in groups {
            match group {
                [first, _, ..] => self.titles(first, group)?,
                items => items.iter().try_for_each(|item| self.item(item))?,
            }
        }
        Ok(())
    }

    /// Notices without a text, as one line.
    fn titles(&mut self, first: &Item, items: &[Item]) -> io::Result<()> {
        let time = first.time.as_deref().map_or("", clock);
        writeln!(
            self.out,
            "\n{}",
            escaped(&format!("{time} {}", titles(items)))
        )
    }

    fn item(&mut self, item: &Item) -> io::Result<()> {
        match &item.body {
            Body::Message(message) => {
                self.title(item, message.who.name())?;
                if message.is_opaque {
                    writeln!(self.out, "\nThe log has only an encrypted form.")?;
                }
                self.text(message)?;
                self.attached(&message.attachments)
            }
            Body::Call(call) => self.call(item, call),
            Body::Usage(sum, model) => {
                let line = usage(sum, model.as_deref());
                if line.is_empty() || !self.style.has_tokens {
                    Ok(())
                } else {
                    writeln!(self.out, "\n{}", escaped(&line))
                }
            }
            Body::Notice(notice) => {
                let error = if notice.kind == NoticeKind::Error {
                    "Error: "
                } else {
                    ""
                };
                self.title(item, &format!("{error}{}", notice.title))?;
                self.block("text", notice.text.as_deref())
            }
            Body::Agent(agent) => self.agent(agent),
        }
    }

    /// The text of a message. What a harness wrote is shown as it is.
    fn text(&mut self, message: &Message) -> io::Result<()> {
        let Some(text) = message.text.as_deref() else {
            return Ok(());
        };
        let rendered = match message.who {
            Who::Person | Who::Agent => prose::quotation(text),
            Who::Answer | Who::Commentary | Who::Reasoning => prose::document(text),
            Who::Harness | Who::Instructions => None,
        };
        match rendered {
            Some(text) => writeln!(self.out, "\n{}", text.trim_end()),
            None => self.block("text", Some(text)),
        }
    }

    fn call(&mut self, item: &Item, call: &Call) -> io::Result<()> {
        let failed = if call.has_failed() { "Failed: " } else { "" };
        self.title(
            item,
            &format!(
                "{failed}{} {}",
                call.tool,
                call.summary.as_deref().unwrap_or_default()
            ),
        )?;
        for (name, value) in &call.arguments {
            writeln!(self.out, "\n{}:", escaped(name))?;
            self.block("text", Some(value))?;
        }
        for diff in &call.diffs {
            self.block("diff", Some(&diff_text(diff)))?;
        }
        for agent in &call.agents {
            self.agent(agent)?;
        }
        self.list(&call.effects)?;
        writeln!(self.out, "\nResult: {}", escaped(&outcome(call)))?;
        let Some(result) = &call.result else {
            return Ok(());
        };
        self.block("text", result.stdout.as_deref())?;
        self.block("text", result.stderr.as_deref())?;
        self.attached(&result.files)
    }

    fn agent(&mut self, agent: &SessionView) -> io::Result<()> {
        self.level += 2;
        let written = self.view(agent);
        self.level -= 2;
        written?;
        writeln!(self.out, "\nEnd of {}.", escaped(&heading(&agent.facts)))
    }

    fn title(&mut self, item: &Item, title: &str) -> io::Result<()> {
        let marks = [
            (item.is_replay, " (repeated from another session)"),
            (item.is_rewound, " (rewound)"),
        ];
        let marks: String = marks
            .iter()
            .filter(|(is_so, _)| *is_so)
            .map(|(_, mark)| *mark)
            .collect();
        let time = item.time.as_deref().map_or("", clock);
        writeln!(self.out)?;
        self.heading(1, &format!("{time} {title}{marks}"))
    }

    fn heading(&mut self, below: usize, title: &str) -> io::Result<()> {
        writeln!(
            self.out,
            "{} {}\n",
            "#".repeat((self.level + below).min(6)),
            escaped(title)
        )
    }

    fn list(&mut self, lines: &[String]) -> io::Result<()> {
        if !lines.is_empty() {
            writeln!(self.out)?;
        }
        lines
            .iter()
            .try_for_each(|line| writeln!(self.out, "- {}", escaped(line)))
    }

    fn attached(&mut self, files: &[Attached]) -> io::Result<()> {
        let labels: Vec<String> = files.iter().map(|file| file.label.clone()).collect();
        self.list(&labels)
    }

    /// A code block, fenced by more backticks than the text has in a row.
    fn block(&mut self, language: &str, text: Option<&str>) -> io::Result<()> {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(());
        };
        let text = visible(text);
        let longest = text
            .split(|c| c != '`')
            .map(str::len)
            .max()
            .unwrap_or_default();
        let fence = "`".repeat((longest + 1).max(3));
        writeln!(
            self.out,
            "\n{fence}{language}\n{}\n{fence}",
            text.trim_end_matches('\n')
        )
    }
}

/// True for a notice of no importance that has no text.
fn is_title_alone(item: &Item) -> bool {
    match &item.body {
        Body::Notice(notice) => notice.kind == NoticeKind::Detail && notice.text.is_none(),
        _ => false,
    }
}

fn diff_text(diff: &Diff) -> String {
    let mut text = String::new();
    for (sign, lines) in &diff.parts {
        for line in lines.split('\n') {
            text.push_str(sign.prefix());
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// One line in which nothing is markup and nothing becomes a link. Renderers make links of much that is no markup (addresses in any case, names
/// of hosts and people, numbers of issues, hashes of commits), each of other things, but none of them inside of code. So a line is code,
/// except words and numbers.
fn escaped(text: &str) -> String {
    let line = visible_line(text);
    if line.is_empty() || is_plain(&line) {
        return line;
    }
    let longest = line
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    // A backtick at an end would be one of the fence.
    let space = if line.starts_with('`') || line.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{space}{line}{space}{fence}")
}

/// The longest word that is no hash of a commit.
const LONGEST_WORD: usize = 30;

/// True for words, numbers and times.
fn is_plain(line: &str) -> bool {
    let is_word = |word: &str| {
        let hex = word.len() >= 7
            && word.bytes().all(|byte| byte.is_ascii_hexdigit())
            && word.bytes().any(|byte| byte.is_ascii_digit());
        !hex && word.len() <= LONGEST_WORD
    };
    let has_colon = line.split(':').skip(1).any(|after| {
        !after.starts_with(' ')
            && !after.starts_with(|c: char| c.is_ascii_digit())
            && !after.is_empty()
    });
    line.chars()
        .all(|c| c.is_alphanumeric() || matches!(c, ' ' | ',' | ':' | '\'' | '"' | '?'))
        && line.starts_with(char::is_alphanumeric)
        && line.split(|c: char| !c.is_alphanumeric()).all(is_word)
        && !has_colon
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markup() {
        assert_eq!(escaped("<b>*x*</b> [a](b)\n# c"), "`<b>*x*</b> [a](b) # c`");
        assert_eq!(escaped("a `b` ```c"), "````a `b` ```c````");
        assert_eq!(escaped("`a`"), "`` `a` ``");
        for plain in [
            "Prompt",
            "12:30:05 Answer: 3 calls, 2 edits",
            "Was it you? Yes",
            "日本語 é",
        ] {
            assert_eq!(escaped(plain), plain);
        }
    }

    #[test]
    fn nothing_becomes_a_link() {
        for link in [
            "HTTPS://evil.example/a",
            "hTtP://evil.example",
            "FTP://evil.example",
            "www.evil.example",
            "WWW.evil.example",
            "evil.example",
            "user@evil.example",
            "mailto:user@evil.example",
            "xmpp:a@evil.example",
            "javascript:alert",
            "//evil.example/x",
            "@octocat",
            "#1",
            "GH-1",
            ":tada:",
            "deadbeef1",
            "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef",
            "1. one",
            "- dash",
            "=== x",
            "$x$",
            "a<br>b",
        ] {
            for text in [link.to_owned(), format!("see {link} there")] {
                let shown = escaped(&text);
                assert!(
                    shown == format!("`{text}`") || (link == "=== x" && shown.starts_with('`')),
                    "{shown}"
                );
            }
        }
    }

    #[test]
    fn a_text_cannot_end_its_block() {
        let mut out = Vec::new();
        let mut markdown = Markdown {
            out: &mut out,
            style: Style {
                has_tokens: false,
                prices: Prices::builtin(),
            },
            level: 1,
        };
        markdown.block("text", Some("a\n````\n<script>\n")).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\n`````text\na\n````\n<script>\n`````\n"
        );
    }
}
