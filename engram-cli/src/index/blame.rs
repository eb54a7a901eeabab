//! `engram blame`: who made each line.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

use engram_index::{Answer, Error, Item, Query, Tier, Words};
use serde_json::json;

use super::args::Blame;
use super::ask::{self, Asked};
use super::explain::text_of;
use crate::exit::Exit;
use crate::report::{Reporter, one_line, printable_json};

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
        (query.paths, query.repo, query.range, query.at) = (asked.paths.clone(), asked.repo.clone(), asked.range, at);
        (query.limit, query.words) = (usize::MAX, Words::Prompt);
        let answer = index.explain(&query)?;
        Ok::<_, Error>((text, answer))
    })();
    match answered {
        Ok((text, answer)) => print(args, &text, &answer).map(|()| Exit::Success),
        Err(error) => Ok(ask::failed(&error, report)),
    }
}

fn print(args: &Blame, text: &str, answer: &Answer) -> io::Result<()> {
    let mut of_line: HashMap<usize, &Item> = HashMap::new();
    for item in &answer.items {
        item.lines.iter().flat_map(|[first, last]| *first..=*last).for_each(|line| {
            of_line.insert(line, item);
        });
    }
    let mut out = BufWriter::new(io::stdout().lock());
    for (at, line) in text.lines().enumerate() {
        let Some(item) = of_line.get(&(at + 1)) else { continue };
        if args.json {
            let mut value = json!({"line": at + 1, "tier": item.tier});
            if let Some(call) = &item.call {
                value["call"] = json!(call);
                value["prompt"] = json!(item.prompt);
            }
            writeln!(out, "{}", printable_json(&value.to_string()))?;
        } else {
            writeln!(out, "{} {:4} | {}", margin(item), at + 1, one_line(line))?;
        }
    }
    out.flush()
}

/// What stands before a line: the tier, the time, the harness, and the beginning of the prompt.
fn margin(item: &Item) -> String {
    let mark = match item.tier {
        Tier::State | Tier::Span => item.tier.as_str(),
        Tier::Anchor => "like",
        Tier::Unknown => "-",
    };
    let (time, harness) = item.call.as_ref().map_or(("", ""), |call| (call.t.as_deref().unwrap_or_default(), call.harness.as_str()));
    let time = time.get(..16).unwrap_or(time);
    let prompt = item.prompt.as_ref().map(|prompt| prompt.text.lines().next().unwrap_or_default()).unwrap_or_default();
    let shown: String = prompt.chars().take(PROMPT_CHARS).collect();
    format!("{mark:5} {time:16} {harness:11} {:PROMPT_CHARS$}", one_line(&shown))
}
