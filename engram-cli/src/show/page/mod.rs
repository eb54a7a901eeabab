//! A view as one page: its style and script are inside, and its security policy forbids everything else.

use std::io::{self, Write};

use engram_core::prices::Prices;

mod calls;
mod chart;
mod code;
mod html;
mod images;
mod markup;
pub mod site;
mod work;

pub use html::is_foreign;
pub use images::{Images, hashes};
pub use work::Work;

use self::html::{begin, end, escaped, line};
use super::safe::{visible, visible_line};
use super::view::*;
use super::words::{clock, first_line, heading, page_title, short_usage, summary, titles, usage};

/// So many items are laid out together.
const SECTION: usize = 100;

/// How a page is written.
#[derive(Debug, Clone, Copy)]
pub struct Style<'i> {
    /// Every line of every output.
    pub is_full: bool,
    /// Pictures of the log.
    pub images: &'i Images,
    /// For what costs that no log states.
    pub prices: &'i Prices,
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
        tape: view.tape,
    };
    page.header(view)?;
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

struct Page<'o, 'i, W> {
    out: &'o mut W,
    style: Style<'i>,
    /// The tape of the session or sub-agent that is written.
    tape: usize,
}

/// The id of an event: `e12`, of another tape of the family `t3e12`.
fn anchor(tape: usize, seq: u64) -> String {
    match tape {
        0 => format!("e{seq}"),
        tape => format!("t{tape}e{seq}"),
    }
}

/// True for what stands on the page with an anchor of its own.
fn has_anchor(item: &Item) -> bool {
    match &item.body {
        Body::Agent(_) => false,
        Body::Usage(sum, model) => !usage(sum, model.as_deref()).is_empty(),
        _ => true,
    }
}

/// True for what a person wrote in this session.
fn is_prompt(item: &Item) -> bool {
    matches!(&item.body, Body::Message(message) if message.who == Who::Person)
}

impl<W: Write> Page<'_, '_, W> {
    fn header(&mut self, view: &SessionView) -> io::Result<()> {
        let title = page_title(view);
        write!(self.out, "<header><h1>{}</h1>", line(&title))?;
        self.facts(view, &title)?;
        let files = view.all_files();
        if !files.is_empty() {
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
        self.sub_agents(view)?;
        writeln!(self.out, "</header>")
    }

    /// What is known of a session, below its title.
    fn facts(&mut self, view: &SessionView, title: &str) -> io::Result<()> {
        let heading = heading(&view.facts);
        let lines = (title != heading)
            .then_some(heading)
            .into_iter()
            .chain(summary(view, self.style.prices));
        for text in lines {
            write!(self.out, "<p>{}</p>", line(&text))?;
        }
        Ok(())
    }

    /// The sub-agents of the session and theirs, each a link to its first event.
    fn sub_agents(&mut self, view: &SessionView) -> io::Result<()> {
        let mut agents = view.agents();
        if agents.is_empty() {
            return Ok(());
        }
        agents.sort_by_key(|agent| agent.facts.times.as_ref().map(|(first, _)| first));
        let count = super::words::count(agents.len() as u64, "sub-agent");
        write!(
            self.out,
            "<details><summary>{count}</summary><ul class=\"files\">"
        )?;
        for agent in agents {
            let title = line(&page_title(agent));
            let first = agent.items.iter().find(|item| has_anchor(item));
            let calls = super::words::count(agent.totals.calls, "call");
            match first {
                Some(first) => write!(
                    self.out,
                    "<li><a href=\"#{}\">{title}</a> <b>{calls}</b></li>",
                    anchor(agent.tape, first.seq)
                )?,
                None => write!(self.out, "<li>{title} <b>{calls}</b></li>")?,
            }
        }
        write!(self.out, "</ul></details>")
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
        for item in prompts {
            let text = match &item.body {
                Body::Message(message) => message.text.as_deref().and_then(first_line),
                _ => None,
            };
            let text = text.unwrap_or_else(|| "(no text)".to_owned());
            write!(
                self.out,
                "<li><a href=\"#{}\">{}</a></li>",
                self.anchor(item.seq),
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
        write!(self.out, "<article class=\"aside\">")?;
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
                    "<details><summary>{short} {}</summary>{}</details></article>",
                    self.link(item),
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
        write!(self.out, "<header>")?;
        self.facts(agent, &page_title(agent))?;
        writeln!(self.out, "</header>")?;
        let outer = std::mem::replace(&mut self.tape, agent.tape);
        self.items(&agent.items)?;
        self.tape = outer;
        writeln!(self.out, "</details>")
    }

    /// Begins the article of an item, with an anchor for each event that it shows.
    fn begin(&mut self, item: &Item, class: &str) -> io::Result<()> {
        let replay = if item.is_replay { " replay" } else { "" };
        let rewound = if item.is_rewound { " rewound" } else { "" };
        if matches!(item.body, Body::Agent(_)) {
            return write!(self.out, "<article class=\"{class}\">");
        }
        let id = self.anchor(item.seq);
        write!(
            self.out,
            "<article class=\"{class}{replay}{rewound}\" id=\"{id}\">"
        )?;
        for seq in &item.also {
            write!(self.out, "<span id=\"{}\"></span>", self.anchor(*seq))?;
        }
        Ok(())
    }

    /// As [`anchor`], on the tape that is written.
    fn anchor(&self, seq: u64) -> String {
        anchor(self.tape, seq)
    }

    /// A link to an item. The style shows its address, so that a search does not find it.
    fn link(&self, item: &Item) -> String {
        format!(
            "<a class=\"at\" href=\"#{}\" title=\"link to this event\"></a>",
            self.anchor(item.seq)
        )
    }

    /// The heading of an item. If `folded`, it is all that is visible at first; [`Page::end`] ends what it folds.
    fn title(&mut self, item: &Item, title: &str, folded: bool) -> io::Result<()> {
        let marks = [
            (item.is_replay, " <i>repeated from another session</i>"),
            (item.is_rewound, " <i>rewound</i>"),
        ];
        let marks: String = marks
            .iter()
            .filter(|(is_so, _)| *is_so)
            .map(|(_, mark)| *mark)
            .collect();
        let link = self.link(item);
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
