//! A page over many sessions: an index with a search, and one page for each session.

use std::io::{self, Write};

use super::{begin, end, escaped};
use crate::show::safe::visible_line;
use crate::show::view::{Body, SessionView, Who};
use crate::show::words::{heading, page_title, summary};

/// Prompts of one session that the index has, and characters of each.
const PROMPTS: usize = 40;
const PROMPT_CHARS: usize = 160;

/// One session in the index.
pub struct Entry {
    /// The name of its page.
    pub file: String,
    title: String,
    lines: Vec<String>,
    prompts: Vec<String>,
    /// The time of its last event.
    pub last: String,
}

impl Entry {
    /// What the index says about a session.
    pub fn new(file: String, view: &SessionView) -> Entry {
        let prompts = view.items.iter().filter_map(|item| match &item.body {
            Body::Message(message) if message.who == Who::Person && !item.is_replay => {
                message.text.as_deref()
            }
            _ => None,
        });
        let short = |text: &str| {
            visible_line(text)
                .chars()
                .take(PROMPT_CHARS)
                .collect::<String>()
        };
        Entry {
            file,
            title: page_title(view),
            lines: std::iter::once(heading(&view.facts))
                .chain(summary(view))
                .collect(),
            prompts: prompts.take(PROMPTS).map(short).collect(),
            last: view
                .facts
                .times
                .as_ref()
                .map(|(_, last)| last.clone())
                .unwrap_or_default(),
        }
    }
}

/// Writes the index. Entries are in the order in which they are shown.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write(entries: &[Entry], out: &mut impl Write) -> io::Result<()> {
    begin("Sessions", out)?;
    writeln!(
        out,
        "<header><h1>Sessions</h1></header>\n<div id=\"bar\" hidden><input id=\"filter\" type=\"search\" \
         placeholder=\"Search titles, projects, models, prompts\" aria-label=\"Search\"><output id=\"count\"></output></div>\n\
         <main class=\"sessions\">"
    )?;
    for entry in entries {
        write!(
            out,
            "<article><h2><a href=\"{}\">{}</a></h2>",
            escaped(&entry.file.replace('%', "%25")),
            escaped(&visible_line(&entry.title))
        )?;
        let [place, numbers] = [
            &entry.lines[..entry.lines.len().min(3)],
            entry.lines.get(3..).unwrap_or_default(),
        ];
        for lines in [place, numbers]
            .into_iter()
            .filter(|lines| !lines.is_empty())
        {
            write!(out, "<p>{}</p>", escaped(&visible_line(&lines.join(" · "))))?;
        }
        if entry.prompts.len() > 1 {
            write!(
                out,
                "<details><summary class=\"fact\">prompts</summary><ol>"
            )?;
            entry
                .prompts
                .iter()
                .try_for_each(|prompt| write!(out, "<li>{}</li>", escaped(prompt)))?;
            write!(out, "</ol></details>")?;
        }
        writeln!(out, "</article>")?;
    }
    writeln!(out, "</main>")?;
    end(out)
}
