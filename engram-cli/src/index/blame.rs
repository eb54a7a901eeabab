//! `engram blame`: who made each line.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::Path;

use engram_adapters::Registry;
use engram_command::exit::Exit;
use engram_command::report::{Reporter, one_line};
use engram_index::{About, Answer, Error, Item, Tier, Words};
use serde_json::json;

use super::args::Blame;
use super::ask::{self, Asked, Opened};
use super::explain::{MayBeGone, Text, text_of};
use super::page::{End, Page};
use super::{keys_of, place, print};

/// The fewest characters of a prompt that a line shows, on a wide screen and on a narrow one.
const PROMPT_CHARS: [usize; 2] = [24, 10];
/// A screen with fewer columns is narrow: the time is a day, and the harness is left out, so that code has room.
const NARROW: usize = 110;
/// Columns where standard output is no terminal.
const COLUMNS: usize = 140;
/// Longer lines do not take room from the prompt.
const CODE_CHARS: usize = 80;
/// What stands beside the prompt, the number and the line, on a wide screen and on a narrow one.
const FIXED_CHARS: [usize; 2] = [48, 30];

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Blame, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let answered = (|| {
        let asked = Asked::new(&args.file)?;
        let Opened { index, mut notes } = ask::open(&args.source, registry, report)?;
        let Text { asked, text, at } = text_of(asked, args.rev.as_deref(), MayBeGone::No)?;
        let repository = asked.repository().ok();
        let mut query = asked.query(&text, repository.as_ref(), args.rev.as_deref(), &mut notes);
        query.at = at;
        (query.limit, query.words, query.keys) = (usize::MAX, Words::Prompt, keys_of(args.keys));
        let mut answer = index.explain(&query)?;
        answer.notes.extend(notes);
        Ok::<_, Error>((index, text, answer))
    })();
    match answered {
        Ok((index, text, answer)) => {
            print(args, index.path(), &text, &answer).map(|()| Exit::Success)
        }
        Err(error) => Ok(place::failed(&error, report)),
    }
}

/// Lines one after the other that have one cause: the first, the last, and the cause.
fn runs(count: usize, answer: &Answer) -> Vec<(usize, usize, &Item)> {
    let all = answer.items.iter().flat_map(|item| {
        item.lines
            .iter()
            .map(move |[first, last]| (*first, (*last).min(count), item))
    });
    let mut runs: Vec<_> = all.collect();
    runs.sort_by_key(|(first, ..)| *first);
    runs
}

fn print(args: &Blame, index: &Path, text: &str, answer: &Answer) -> io::Result<()> {
    let bounds = args.bounds();
    let mut page = Page::new(&bounds);
    let lines: Vec<&str> = text.lines().collect();
    let runs = runs(lines.len(), answer);
    if args.json {
        for (first, last, item) in runs.iter().skip(bounds.skip).take(bounds.limit) {
            let value = json!({"lines": [first, last], "tier": item.tier, "why": item.why, "call": item.call, "prompt": item.prompt});
            page.add(&value, String::new);
        }
        return page.end(&End {
            total: runs.len(),
            index,
            more: json!({"lines": answer.lines}),
            notes: &answer.notes,
        });
    }
    let look = Look::new(&lines, answer);
    let each = runs
        .iter()
        .flat_map(|(first, last, item)| (*first..=*last).map(move |line| (line, *item)));
    page.aside(|| legend(answer));
    for (line, item) in each.clone().skip(bounds.skip).take(bounds.limit) {
        page.add(&(), || look.line(line, item, lines[line - 1]));
    }
    page.end(&End {
        total: each.count(),
        index,
        more: json!({}),
        notes: &answer.notes,
    })
}

/// How lines are printed.
struct Look {
    has_colours: bool,
    is_narrow: bool,
    /// Characters of the prompt.
    prompt: usize,
    /// Digits of a line number.
    digits: usize,
}

impl Look {
    /// The prompt gets what the widest of the usual lines leaves of the screen.
    fn new(lines: &[&str], answer: &Answer) -> Look {
        let is_terminal = io::stdout().is_terminal();
        let columns = terminal_size::terminal_size().filter(|_| is_terminal);
        let columns = columns.map_or(COLUMNS, |(width, _)| usize::from(width.0));
        let digits = lines.len().to_string().len().max(4);
        let longest = answer
            .items
            .iter()
            .map(|item| first_line(item).chars().count())
            .max()
            .unwrap_or(0);
        let code = lines
            .iter()
            .map(|line| line.chars().count())
            .max()
            .unwrap_or(0)
            .min(CODE_CHARS);
        let is_narrow = columns < NARROW;
        let of = |sizes: [usize; 2]| sizes[usize::from(is_narrow)];
        Look {
            is_narrow,
            has_colours: is_terminal
                && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
            prompt: longest.min(
                columns
                    .saturating_sub(of(FIXED_CHARS) + digits + code)
                    .max(of(PROMPT_CHARS)),
            ),
            digits,
        }
    }

    /// The tier, the time, the harness, the session and the beginning of the prompt; then the line.
    fn line(&self, line: usize, item: &Item, text: &str) -> String {
        let (mark, colour) = match item.tier {
            Tier::State | Tier::Line => (item.tier.as_str(), "\u{1b}[32m"),
            Tier::Moved => ("moved", "\u{1b}[33m"),
            Tier::Older => ("older", "\u{1b}[2m"),
            Tier::Unknown => ("-", "\u{1b}[2m"),
        };
        let call = item.call.as_ref();
        let time = call.and_then(|call| call.t.as_deref()).unwrap_or_default();
        let harness = call.map_or("", |call| &call.harness);
        let session = call.and_then(|call| call.session.as_deref());
        let session = short(session.unwrap_or_default());
        let prompt = one_line(first_line(item));
        let shown = match prompt.chars().count() > self.prompt {
            true => prompt.chars().take(self.prompt - 1).chain(['…']).collect(),
            false => prompt.into_owned(),
        };
        let place = match self.is_narrow {
            true => format!("{:10}", time.get(..10).unwrap_or(time)),
            false => format!("{:16} {harness:11}", time.get(..16).unwrap_or(time)),
        };
        let session = one_line(&session);
        let width = self.prompt;
        let margin = format!("{mark:5} {place} {session:8} {shown:width$}");
        let margin = match self.has_colours {
            true => format!("{colour}{margin}\u{1b}[0m"),
            false => margin,
        };
        format!(
            "{margin} {line:digits$} | {}\n",
            one_line(text),
            digits = self.digits
        )
    }
}

/// The title and the project of each session, by the beginning of its id.
fn legend(answer: &Answer) -> String {
    let calls = answer.items.iter().filter_map(|item| item.call.as_ref());
    let sessions: BTreeMap<String, &About> = calls
        .filter_map(|call| Some((short(call.session.as_deref()?), &call.about)))
        .collect();
    let look = print::Look::stdout();
    let line = |(session, about): (&String, &&About)| match print::about(about, look) {
        about if about.is_empty() => about,
        about => format!("{:8} {about}", one_line(session)),
    };
    sessions.iter().map(line).collect()
}

/// The part of an id that stands at each line.
fn short(session: &str) -> String {
    session.chars().take(8).collect()
}

fn first_line(item: &Item) -> &str {
    let prompt = item.prompt.as_ref().map(|prompt| prompt.text.as_str());
    prompt
        .and_then(|prompt| prompt.lines().next())
        .unwrap_or_default()
}
