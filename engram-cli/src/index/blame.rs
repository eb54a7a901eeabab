//! `engram blame`: who made each line.

use std::io;
use std::path::Path;

use engram_index::{Answer, Error, Item, Query, Tier, Words};
use serde_json::json;

use super::args::Blame;
use super::ask::{self, Asked};
use super::explain::text_of;
use super::print::Page;
use crate::exit::Exit;
use crate::report::{Reporter, one_line};

/// Characters of a prompt that a line shows.
const PROMPT_CHARS: usize = 32;

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Blame, report: &Reporter) -> io::Result<Exit> {
    let answered = (|| {
        let asked = Asked::new(&args.file)?;
        let index = ask::open(&args.place, report)?;
        let (text, at) = text_of(&asked, args.rev.as_deref(), false)?;
        let mut query = Query::new(&text);
        (query.paths, query.repo, query.range, query.at) =
            (asked.paths.clone(), asked.repo.clone(), asked.range, at);
        (query.limit, query.words) = (usize::MAX, Words::Prompt);
        let answer = index.explain(&query)?;
        Ok::<_, Error>((index, text, answer))
    })();
    match answered {
        Ok((index, text, answer)) => {
            print(args, index.path(), &text, &answer).map(|()| Exit::Success)
        }
        Err(error) => Ok(ask::failed(&error, report)),
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
            let value = json!({"lines": [first, last], "tier": item.tier, "call": item.call, "prompt": item.prompt});
            page.add(&value, String::new);
        }
        return page.end(
            runs.len(),
            index,
            json!({"lines": answer.lines}),
            &answer.notes,
        );
    }
    let each = runs
        .iter()
        .flat_map(|(first, last, item)| (*first..=*last).map(move |line| (line, *item)));
    for (line, item) in each.clone().skip(bounds.skip).take(bounds.limit) {
        page.add(&(), || {
            format!(
                "{} {line:4} | {}\n",
                margin(item),
                one_line(lines[line - 1])
            )
        });
    }
    page.end(each.count(), index, json!({}), &answer.notes)
}

/// What stands before a line: the tier, the time, the harness, and the beginning of the prompt.
fn margin(item: &Item) -> String {
    let mark = match item.tier {
        Tier::State | Tier::Span => item.tier.as_str(),
        Tier::Anchor => "like",
        Tier::Unknown => "-",
    };
    let (time, harness) = item.call.as_ref().map_or(("", ""), |call| {
        (call.t.as_deref().unwrap_or_default(), call.harness.as_str())
    });
    let time = time.get(..16).unwrap_or(time);
    let prompt = item
        .prompt
        .as_ref()
        .map(|prompt| prompt.text.lines().next().unwrap_or_default())
        .unwrap_or_default();
    let shown: String = prompt.chars().take(PROMPT_CHARS).collect();
    format!(
        "{mark:5} {time:16} {harness:11} {:PROMPT_CHARS$}",
        one_line(&shown)
    )
}
