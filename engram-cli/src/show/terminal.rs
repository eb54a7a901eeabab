//! A view for a terminal: wrapped to its width, with colours where they are wanted.

use std::io::{self, Write};

use engram_core::prices::Prices;

use super::safe::{visible, visible_line};
use super::view::*;
use super::words::{clock, count, heading, outcome, page_title, summary, titles, usage};

/// Lines of a folded text that are shown.
const SHOWN_LINES: usize = 10;

/// A text that is longer by no more lines is not cut.
const SPARED_LINES: usize = 3;

/// A line beyond this length is not wrapped at words: it is data.
const WRAPPED_BYTES: usize = 4096;

/// How a view is written to a terminal.
#[derive(Debug, Clone, Copy)]
pub struct Style<'p> {
    /// Columns.
    pub width: usize,
    /// Colours and bold text.
    pub has_colours: bool,
    /// Every line of every text.
    pub is_full: bool,
    /// A line with the tokens of each response.
    pub has_tokens: bool,
    /// For what costs that no log states.
    pub prices: &'p Prices,
}

/// The look of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Plain,
    Dim,
    Heading,
    Person,
    Agent,
    Tool,
    Failed,
    Removed,
    Added,
}

impl Look {
    fn code(self) -> &'static str {
        match self {
            Look::Plain => "",
            Look::Dim => "\u{1b}[2m",
            Look::Heading => "\u{1b}[1m",
            Look::Person => "\u{1b}[1;36m",
            Look::Agent => "\u{1b}[1;32m",
            Look::Tool => "\u{1b}[1;34m",
            Look::Failed => "\u{1b}[1;31m",
            Look::Removed => "\u{1b}[31m",
            Look::Added => "\u{1b}[32m",
        }
    }
}

/// Writes a view.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write(view: &SessionView, style: Style<'_>, out: &mut impl Write) -> io::Result<()> {
    Terminal {
        out,
        style,
        indent: String::new(),
    }
    .view(view)
}

/// What is before the lines of a sub-agent.
const INDENT: &str = "  | ";

struct Terminal<'o, 'p, W> {
    out: &'o mut W,
    style: Style<'p>,
    indent: String,
}

impl<W: Write> Terminal<'_, '_, W> {
    fn view(&mut self, view: &SessionView) -> io::Result<()> {
        self.line(Look::Heading, &heading(&view.facts))?;
        let title = page_title(view);
        if title != heading(&view.facts) {
            self.wrapped(Look::Plain, &title)?;
        }
        for line in summary(view, self.style.prices) {
            self.wrapped(Look::Dim, &line)?;
        }
        for group in groups(&view.items) {
            match group {
                [first, ..] if first.detail().is_some() && !self.style.is_full => {
                    self.details(group)?
                }
                items => items.iter().try_for_each(|item| self.item(item))?,
            }
        }
        Ok(())
    }

    /// Notices of no importance, by their titles alone.
    fn details(&mut self, items: &[Item]) -> io::Result<()> {
        let time = items
            .first()
            .and_then(|item| item.time.as_deref())
            .map_or("", clock);
        self.line(Look::Plain, "")?;
        self.wrapped(Look::Dim, format!("{time} {}", titles(items)).trim_start())
    }

    fn item(&mut self, item: &Item) -> io::Result<()> {
        match &item.body {
            Body::Message(message) => self.message(item, message),
            Body::Call(call) => self.call(item, call),
            Body::Usage(..) if !self.style.has_tokens => Ok(()),
            Body::Usage(sum, model) => {
                self.line(Look::Dim, &format!("  {}", usage(sum, model.as_deref())))
            }
            Body::Notice(notice) => self.notice(item, notice),
            Body::Agent(agent) => self.agent(agent),
        }
    }

    fn message(&mut self, item: &Item, message: &Message) -> io::Result<()> {
        let look = match message.who {
            Who::Person => Look::Person,
            Who::Answer | Who::Commentary => Look::Agent,
            _ => Look::Dim,
        };
        self.title(item, look, message.who.name())?;
        if message.is_opaque {
            self.line(Look::Dim, "  (the log has only an encrypted form)")?;
        }
        if let Some(text) = &message.text {
            let lines = if message.who.is_folded() {
                self.shown_lines()
            } else {
                usize::MAX
            };
            self.prose(
                if message.who.is_folded() {
                    Look::Dim
                } else {
                    Look::Plain
                },
                text,
                lines,
            )?;
        }
        for attachment in &message.attachments {
            self.line(Look::Dim, &format!("  [{}]", attachment.label))?;
        }
        Ok(())
    }

    fn call(&mut self, item: &Item, call: &Call) -> io::Result<()> {
        let summary = call
            .summary
            .as_deref()
            .map(visible_line)
            .unwrap_or_default();
        let look = if call.has_failed() {
            Look::Failed
        } else {
            Look::Tool
        };
        self.title(item, look, &format!("{} {summary}", call.tool))?;
        for (name, value) in &call.arguments {
            self.output(Look::Dim, &format!("{name}: {value}"))?;
        }
        for diff in &call.diffs {
            self.diff(diff)?;
        }
        for agent in &call.agents {
            self.agent(agent)?;
        }
        for effect in &call.effects {
            self.line(Look::Plain, &format!("  = {effect}"))?;
        }
        self.result(call)
    }

    fn result(&mut self, call: &Call) -> io::Result<()> {
        let look = if call.has_failed() {
            Look::Failed
        } else {
            Look::Dim
        };
        self.line(look, &format!("  -> {}", outcome(call)))?;
        let Some(result) = &call.result else {
            return Ok(());
        };
        if let Some(text) = &result.stdout {
            self.output(Look::Dim, text)?;
        }
        if let Some(text) = &result.stderr {
            self.output(
                if result.is_failure() {
                    Look::Removed
                } else {
                    Look::Dim
                },
                text,
            )?;
        }
        for file in &result.files {
            self.line(Look::Dim, &format!("     [{}]", file.label))?;
        }
        Ok(())
    }

    fn diff(&mut self, diff: &Diff) -> io::Result<()> {
        let mut left = self.shown_lines().saturating_mul(4);
        for (sign, text) in &diff.parts {
            let look = match sign {
                Sign::Same => Look::Plain,
                Sign::Removed => Look::Removed,
                Sign::Added => Look::Added,
                Sign::Header => Look::Dim,
            };
            let text = visible(text);
            for line in text.split('\n') {
                if left == 0 {
                    return self.line(Look::Dim, "  … (--full shows the rest)");
                }
                left -= 1;
                self.line(look, &format!("  {}{line}", sign.prefix()))?;
            }
        }
        Ok(())
    }

    fn notice(&mut self, item: &Item, notice: &Notice) -> io::Result<()> {
        let look = match notice.kind {
            NoticeKind::Error => Look::Failed,
            NoticeKind::Turn => Look::Heading,
            NoticeKind::Detail => Look::Dim,
        };
        self.title(item, look, &notice.title)?;
        match &notice.text {
            Some(text) => self.prose(Look::Dim, text, self.shown_lines()),
            None => Ok(()),
        }
    }

    fn agent(&mut self, agent: &SessionView) -> io::Result<()> {
        let before = self.indent.len();
        // Below this the lines of one more level have no room.
        if before < DEEPEST * INDENT.len() {
            self.indent.push_str(INDENT);
        }
        let written = self.line(Look::Plain, "").and_then(|()| self.view(agent));
        self.indent.truncate(before);
        written
    }

    /// The first line of an item, after an empty line.
    fn title(&mut self, item: &Item, look: Look, title: &str) -> io::Result<()> {
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
        // The name under which `show ID#SEQ` opens it.
        let name = match item.body {
            Body::Message(_) | Body::Call(_) => format!("  #{}", item.seq),
            _ => String::new(),
        };
        let look = if item.is_rewound || item.is_replay {
            Look::Dim
        } else {
            look
        };
        self.line(Look::Plain, "")?;
        self.line(
            look,
            format!("{time} {}{marks}{name}", visible_line(title)).trim_start(),
        )
    }

    /// The lines of a folded text that are shown.
    fn shown_lines(&self) -> usize {
        if self.style.is_full {
            usize::MAX
        } else {
            SHOWN_LINES
        }
    }

    /// How many of all lines are shown: all of them, if a cut would save only a few.
    fn worth_cutting(&self, all: usize, shown: usize) -> usize {
        match all.saturating_sub(shown) <= SPARED_LINES {
            true => all,
            false => shown,
        }
    }

    /// Text that is wrapped at words.
    fn prose(&mut self, look: Look, text: &str, lines: usize) -> io::Result<()> {
        let text = visible(text);
        let mut all = text.trim_end().split('\n');
        let lines = self.worth_cutting(all.clone().count(), lines);
        for line in all.by_ref().take(lines) {
            self.wrapped(look, &format!("  {line}"))?;
        }
        self.rest(all.count())
    }

    /// Text whose lines stay as they are.
    fn output(&mut self, look: Look, text: &str) -> io::Result<()> {
        let text = visible(text);
        let mut all = text.trim_end().split('\n');
        let lines = self.worth_cutting(all.clone().count(), self.shown_lines());
        for line in all.by_ref().take(lines) {
            self.line(look, &format!("     {line}"))?;
        }
        self.rest(all.count())
    }

    fn rest(&mut self, lines: usize) -> io::Result<()> {
        if lines == 0 {
            return Ok(());
        }
        let them = if lines == 1 { "it" } else { "them" };
        self.line(
            Look::Dim,
            &format!(
                "     … {} more (--full shows {them})",
                count(lines as u64, "line")
            ),
        )
    }

    fn wrapped(&mut self, look: Look, text: &str) -> io::Result<()> {
        let width = self.style.width.saturating_sub(self.indent.len()).max(20);
        if text.len() <= width || text.len() > WRAPPED_BYTES {
            return self.line(look, text);
        }
        let begin = text.len() - text.trim_start().len();
        let options =
            textwrap::Options::new(width).subsequent_indent(&text[..begin.min(width / 2)]);
        for line in textwrap::wrap(&visible(text), options) {
            self.line(look, &line)?;
        }
        Ok(())
    }

    /// One line. Whatever it contains, it is safe and has no line end.
    fn line(&mut self, look: Look, text: &str) -> io::Result<()> {
        let text = visible(text).replace('\n', " ").replace('\t', "    ");
        let text = text.trim_end();
        let coloured = self.style.has_colours && look != Look::Plain && !text.is_empty();
        let (begin, end) = if coloured {
            (look.code(), "\u{1b}[0m")
        } else {
            ("", "")
        };
        let line = format!("{}{begin}{text}{end}", self.indent);
        writeln!(self.out, "{}", line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(item: Item, style: Style) -> String {
        let mut out = Vec::new();
        let view = SessionView {
            items: vec![item],
            is_complete: true,
            ..SessionView::default()
        };
        write(&view, style, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn reasoning(text: &str) -> Item {
        let message = Message {
            who: Who::Reasoning,
            text: Some(text.to_owned()),
            attachments: Vec::new(),
            is_opaque: false,
        };
        Item {
            seq: 1,
            also: Vec::new(),
            time: None,
            is_replay: false,
            is_rewound: true,
            body: Body::Message(message),
        }
    }

    fn plain() -> Style<'static> {
        Style {
            width: 30,
            has_colours: false,
            is_full: false,
            has_tokens: false,
            prices: Prices::builtin(),
        }
    }

    #[test]
    fn text_is_wrapped_at_words_with_its_indent() {
        let text = "a sentence that is longer than the width of the terminal";
        let shown = shown(reasoning(text), plain());
        assert!(shown.contains("reasoning (rewound)  #1\n  a sentence that is longer\n  than the width of the\n  terminal\n"), "{shown}");
    }

    #[test]
    fn colours_are_only_where_they_are_wanted() {
        assert!(!shown(reasoning("x"), plain()).contains('\u{1b}'));
        assert!(
            shown(
                reasoning("x"),
                Style {
                    has_colours: true,
                    ..plain()
                }
            )
            .contains("\u{1b}[2m  x\u{1b}[0m")
        );
    }

    #[test]
    fn long_texts_are_shortened_unless_everything_is_wanted() {
        let text = "line\n".repeat(50);
        let lines = |style| shown(reasoning(&text), style).matches("line\n").count();
        assert_eq!(
            (
                lines(plain()),
                lines(Style {
                    is_full: true,
                    ..plain()
                })
            ),
            (SHOWN_LINES, 50)
        );
        assert!(shown(reasoning(&text), plain()).contains("… 40 lines more"));
    }
}
