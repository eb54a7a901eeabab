//! `engram grep`.

use std::io::{self, IsTerminal, stdout};

use engram_adapters::Registry;
use engram_command::exit::Exit;
use engram_command::report::{Reporter, one_line, printable};
use engram_command::summary::count;
use engram_command::table::Screen;
use engram_index::{Error, Match, Pattern, Quote};
use serde_json::json;

use super::args::Grep;
use super::ask::{self, Opened};
use super::page::{End, Page};
use super::print::{Look, about};
use super::{keys_of, place};

/// What is before a line of a hit.
const MARGIN: &str = "  | ";

/// Runs `engram grep`.
///
/// # Errors
/// When standard output cannot be written to.
pub fn grep(args: &Grep, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let (mut page, mut total, mut failures) = (Page::new(&args.bounds), 0, Vec::new());
    let (mut last, look) = (None, Look::stdout());
    let mut searched = 0;
    let width = stdout().is_terminal().then(|| Screen::stdout().width);
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
                let time = found.t.as_deref().and_then(|t| t.get(..16));
                let time = time.unwrap_or("at an unknown time").replace('T', " ");
                let what = format!("{time}  {} {}", found.kind, found.member);
                // Hits of one session stand below its title.
                let whose = Some((found.session.clone(), found.about.clone()));
                let is_next = whose != last;
                last = whose;
                page.add(&found, || {
                    let of = is_next.then(|| about(&found.about, look));
                    of.unwrap_or_default() + &text(&found.quote, &what, width)
                });
            }
            total += 1;
            // One more than is shown says that there is more.
            total <= wanted
        };
        for tape in opened.index.tapes()? {
            searched += 1;
            // A tape that went away meanwhile has hits without a title.
            let about = || opened.index.about(&tape).unwrap_or_default();
            match pattern.search(&tape, &about, &mut take) {
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

/// A hit: the event, as `engram show` opens it, and the line. In a terminal it is wrapped.
fn text(quote: &Quote, what: &str, width: Option<usize>) -> String {
    let name = name_of(&quote.from);
    let mut text = format!("{}  {what}\n", one_line(&name));
    let first = quote.text.lines().next().unwrap_or_default();
    let first = printable(first);
    let lines = match width {
        Some(width) => textwrap::wrap(&first, width.saturating_sub(MARGIN.len()).max(20)),
        None => vec![first],
    };
    for line in lines {
        text.push_str(&format!("{MARGIN}{line}\n"));
    }
    text
}

/// `ID#SEQ` of an event on a tape: the name of the file without its ending.
fn name_of(from: &str) -> String {
    let (tape, seq) = from.rsplit_once('#').unwrap_or((from, ""));
    let file = tape.rsplit(['/', '\\']).next().unwrap_or(tape);
    let id = file.split_once(".tape.jsonl").map_or(file, |(id, _)| id);
    format!("{id}#{seq}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_names_its_event_and_fits_the_terminal() {
        let quote = Quote {
            quoted: true,
            from: "/home/dev/tapes/codex/a-1.tape.jsonl.zst#12".to_owned(),
            text: "one two three four five six\nseven".to_owned(),
            cut: false,
        };
        let text = |width| text(&quote, "msg.in text", width);
        let short = "a-1#12  msg.in text\n  | one two three four\n  | five six\n";
        assert_eq!(text(Some(24)), short);
        assert!(text(None).ends_with("\n  | one two three four five six\n"));
    }
}
