//! `engram grep`.

use std::io;

use engram_adapters::Registry;
use engram_command::exit::Exit;
use engram_command::report::{Reporter, one_line, printable};
use engram_command::summary::count;
use engram_index::{Error, Match, Pattern};
use serde_json::json;

use super::args::Grep;
use super::ask::{self, Opened};
use super::page::{End, Page};
use super::{keys_of, place};

/// Runs `engram grep`.
///
/// # Errors
/// When standard output cannot be written to.
pub fn grep(args: &Grep, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let (mut page, mut total, mut failures) = (Page::new(&args.bounds), 0, Vec::new());
    let mut searched = 0;
    let found = (|| {
        let pattern = Pattern::new(
            &args.pattern,
            args.ignore_case,
            &args.kind,
            keys_of(args.bounds.keys),
        )?;
        let opened = ask::open(&args.source, registry, report)?;
        let wanted = args.bounds.skip.saturating_add(args.bounds.limit);
        let mut take = |found: Match| {
            if (args.bounds.skip..wanted).contains(&total) {
                let value =
                    json!({"kind": found.kind, "member": found.member, "quote": found.quote});
                page.add(&value, || text(&found));
            }
            total += 1;
            // One more than is shown says that there is more.
            total <= wanted
        };
        for tape in opened.index.tapes()? {
            searched += 1;
            match pattern.search(&tape, &mut take) {
                Ok(()) => {}
                Err(error) => failures.push(error),
            }
        }
        Ok::<_, Error>(opened)
    })();
    match found {
        Ok(Opened { index, notes }) => {
            page.end(&End {
                total,
                index: index.path(),
                more: json!({}),
                notes: &notes,
            })?;
            if total == 0 && !args.bounds.json {
                report.note(&format!("no hit in {}", count(searched, "tape")));
            }
            failures
                .iter()
                .for_each(|error| report.finding(error.code(), &error.to_string()));
            Ok(if failures.is_empty() {
                Exit::Success
            } else {
                Exit::PartialFailure
            })
        }
        Err(error) => Ok(place::failed(&error, report)),
    }
}

fn text(found: &Match) -> String {
    let first = found.quote.text.lines().next().unwrap_or_default();
    format!(
        "{}  {} {}\n  | {}\n",
        one_line(&found.quote.from),
        found.kind,
        found.member,
        printable(first)
    )
}
