//! A page over many sessions: totals, charts, an index with filters and a search, and one page for each session.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{self, Write};

use super::Work;
use super::html::{begin, end, escaped, line};
use crate::show::safe::visible_line;
use crate::show::view::{Body, SessionView, Who};
use crate::show::words::{cost_of, heading, page_title, summary, with_agents};
use engram_command::project::project_of;
use engram_core::prices::Prices;
use engram_core::stats::Basis;

/// Prompts of one session that the index has, and characters of each.
const PROMPTS: usize = 40;
const PROMPT_CHARS: usize = 160;
/// Words of one session that the search finds, in bytes, and those of all sessions.
const WORDS_BYTES: usize = 8 << 10;
const ALL_WORDS_BYTES: usize = 24 << 20;
/// The length of a word that is worth a search, in characters.
const WORD_CHARS: std::ops::RangeInclusive<usize> = 3..=40;

/// One session in the index.
pub struct Entry {
    /// The name of its page.
    pub file: String,
    title: String,
    harness: String,
    project: String,
    lines: Vec<String>,
    /// Prompts, calls, tokens and US dollars, and the signs of the last two: `~` if it is computed, `+` if it is at least so much.
    sums: String,
    signs: String,
    prompts: Vec<String>,
    words: String,
    /// The time of its last event.
    pub last: String,
}

impl Entry {
    /// What the index says about a session.
    pub fn new(file: String, view: &SessionView, prices: &Prices) -> Entry {
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
        let (sum, cost) = (with_agents(view), cost_of(view, prices));
        let (tokens, is_partial) = sum.tokens.all().unwrap_or_default();
        let is_computed = cost.basis.is_some_and(|basis| basis != Basis::Stated);
        let signs = [(is_computed, "~"), (is_partial || cost.is_partial, "+")];
        let project = view.facts.project.as_deref().map(project_of);
        Entry {
            file,
            title: page_title(view),
            harness: view.facts.harness.clone(),
            project: project.map_or_else(|| "unknown".to_owned(), |project| visible_line(&project)),
            lines: std::iter::once(heading(&view.facts))
                .chain(summary(view, prices))
                .collect(),
            sums: format!(
                "{} {} {tokens} {}",
                sum.prompts,
                sum.calls,
                cost.usd.unwrap_or_default()
            ),
            signs: signs
                .iter()
                .filter(|(is_so, _)| *is_so)
                .map(|(_, sign)| *sign)
                .collect(),
            prompts: prompts.take(PROMPTS).map(short).collect(),
            words: words(view),
            last: view
                .facts
                .times
                .as_ref()
                .map(|(_, last)| last.clone())
                .unwrap_or_default(),
        }
    }
}

impl Entry {
    /// The session is counted from another page: the sums leave this one out.
    pub fn leave_out(&mut self) {
        self.sums.clear();
        self.signs.clear();
        self.lines.push("counted from another page".to_owned());
    }
}

/// Each word of the conversation, of the calls and of the names of files once, in the order of the session, as far as there is room.
fn words(view: &SessionView) -> String {
    let (mut known, mut words) = (HashSet::new(), String::new());
    let mut add = |text: &str| {
        for word in text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.')) {
            let word = word.to_lowercase();
            if words.len() + word.len() >= WORDS_BYTES {
                return;
            }
            if WORD_CHARS.contains(&word.chars().count()) && known.insert(word.clone()) {
                words.push_str(&word);
                words.push(' ');
            }
        }
    };
    for view in std::iter::once(view).chain(view.agents()) {
        for item in view.items.iter().filter(|item| !item.is_replay) {
            match &item.body {
                Body::Message(message) if !message.who.is_folded() => {
                    add(message.text.as_deref().unwrap_or_default())
                }
                Body::Call(call) => add(call.summary.as_deref().unwrap_or_default()),
                _ => {}
            }
        }
        view.files.keys().for_each(|file| add(file));
    }
    words
}

/// Writes the index. Entries are in the order in which they are shown.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write(
    entries: &[Entry],
    work: Option<&Work>,
    redact: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    begin("Sessions", out)?;
    write!(out, "<header><h1>Sessions</h1>")?;
    if let Some(work) = work {
        write!(out, "<p>{}</p>", escaped(&work.total()))?;
    }
    writeln!(out, "</header>")?;
    if let Some(work) = work {
        work.write(redact, out)?;
    }
    writeln!(
        out,
        "<div id=\"bar\" hidden><input id=\"filter\" type=\"search\" \
         placeholder=\"Search prompts, answers, commands and files of all sessions\" aria-label=\"Search\">"
    )?;
    choice("project", entries.iter().map(|entry| &entry.project), out)?;
    choice("harness", entries.iter().map(|entry| &entry.harness), out)?;
    writeln!(
        out,
        "<output id=\"count\"></output><span id=\"scope\" class=\"fact\" hidden>These are the sums of the pages, each session once. The charts are of all sessions: \
         <code>engram show --html DIR --project NAME</code> draws those of one project.</span></div>\n<main class=\"sessions\">"
    )?;
    let mut room = ALL_WORDS_BYTES;
    entries
        .iter()
        .try_for_each(|entry| article(entry, &mut room, out))?;
    writeln!(out, "</main>")?;
    end(out)
}

/// A list to choose one value from, if there are several.
fn choice<'e>(
    name: &str,
    values: impl Iterator<Item = &'e String>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    if counts.keys().collect::<BTreeSet<_>>().len() < 2 {
        return Ok(());
    }
    write!(
        out,
        "<select id=\"{name}\" aria-label=\"{name}\"><option value=\"\">every {name}</option>"
    )?;
    for (value, count) in counts {
        let value = line(value);
        let pages = engram_command::summary::count(count, "page");
        write!(out, "<option value=\"{value}\">{value} ({pages})</option>")?;
    }
    writeln!(out, "</select>")
}

fn article(entry: &Entry, room: &mut usize, out: &mut impl Write) -> io::Result<()> {
    write!(
        out,
        "<article data-project=\"{}\" data-harness=\"{}\" data-sums=\"{}\" data-signs=\"{}\"><h2><a href=\"{}\">{}</a></h2>",
        line(&entry.project),
        line(&entry.harness),
        entry.sums,
        entry.signs,
        escaped(&entry.file.replace('%', "%25")),
        line(&entry.title)
    )?;
    let [place, numbers] = [
        &entry.lines[..entry.lines.len().min(3)],
        entry.lines.get(3..).unwrap_or_default(),
    ];
    for lines in [place, numbers]
        .into_iter()
        .filter(|lines| !lines.is_empty())
    {
        write!(out, "<p>{}</p>", line(&lines.join(" · ")))?;
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
    if entry.words.len() <= *room {
        *room -= entry.words.len();
        write!(out, "<p hidden>{}</p>", line(&entry.words))?;
    }
    writeln!(out, "</article>")
}
