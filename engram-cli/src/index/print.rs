//! Answers as text and as JSON, within their bounds. Words of a tape stand behind `| `, where a terminal cannot be controlled.

use std::io::{self, Write};
use std::path::Path;

use engram_index::{CallInfo, Event, Item, Mention, Quote, Tier, Why};
use serde::Serialize;
use serde_json::{Value, json};

use super::args::Bounds;
use crate::report::{one_line, printable, printable_json};

/// Collects what is printed, up to the bound.
pub struct Page<'b> {
    bounds: &'b Bounds,
    text: String,
    returned: usize,
    is_full: bool,
}

impl<'b> Page<'b> {
    pub fn new(bounds: &'b Bounds) -> Page<'b> {
        Page {
            bounds,
            text: String::new(),
            returned: 0,
            is_full: false,
        }
    }

    /// Adds a result, in the form that was asked for. What does not fit is left for the next question.
    pub fn add(&mut self, value: &impl Serialize, text: impl FnOnce() -> String) {
        let part = if self.bounds.json {
            format!(
                "{}\n",
                printable_json(&serde_json::to_string(value).unwrap_or_default())
            )
        } else {
            text()
        };
        // One result is always shown: texts in it have bounds of their own.
        let fits = self.text.len() + part.len()
            <= usize::try_from(self.bounds.max_bytes).unwrap_or(usize::MAX)
            || self.returned == 0;
        if self.is_full || !fits {
            self.is_full = true;
            return;
        }
        self.text.push_str(&part);
        self.returned += 1;
    }

    /// Adds a note beside the results. As JSON it is in the last line.
    pub fn aside(&mut self, text: impl FnOnce() -> String) {
        if !self.bounds.json {
            self.text.push_str(&text());
        }
    }

    /// Prints the results, and how many there are.
    pub fn end(self, total: usize, index: &Path, more: Value, notes: &[String]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        self.end_in(&mut out, total, index, more, notes)?;
        out.flush()
    }

    /// As [`Page::end`], into a pager.
    pub fn end_in(
        self,
        out: &mut dyn Write,
        total: usize,
        index: &Path,
        more: Value,
        notes: &[String],
    ) -> io::Result<()> {
        let next = self.bounds.skip + self.returned;
        out.write_all(self.text.as_bytes())?;
        if self.bounds.json {
            let mut end =
                json!({"k": "end", "returned": self.returned, "total": total, "index": index});
            if next < total {
                end["next"] = json!(next);
            }
            if !notes.is_empty() {
                end["notes"] = json!(notes);
            }
            if let (Value::Object(end), Value::Object(more)) = (&mut end, more) {
                end.extend(more);
            }
            writeln!(out, "{}", printable_json(&end.to_string()))?;
        } else {
            notes
                .iter()
                .try_for_each(|note| writeln!(out, "note: {}", one_line(note)))?;
            if next < total {
                writeln!(
                    out,
                    "{} of {total} shown; `--skip {next}` shows the next",
                    self.returned
                )?;
            }
        }
        Ok(())
    }
}

/// Lines with their cause, in words.
pub fn item(item: &Item) -> String {
    let lines: Vec<String> = item
        .lines
        .iter()
        .map(|[first, last]| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        })
        .collect();
    let why = item.why.map_or("", Why::as_str);
    let mut text = format!("lines {}  {}{why}", lines.join(","), words_of(item.tier));
    if let Some(call) = &item.call {
        text.push_str(&format!("\n  {}", call_line(call, item.op)));
        if let Some(file) = &item.file {
            text.push_str(&format!(
                "\n  in {}{}",
                one_line(file),
                range(item.after_range)
            ));
        }
        if call.absent {
            text.push_str("\n  its tape is gone, so there are no words");
        }
    }
    for other in &item.also {
        text.push_str(&format!("\n  also proven by {}", one_line(other)));
    }
    text.push('\n');
    let tape = item.call.as_ref().map_or("", |call| call.tape.as_str());
    let quoted = |title: &str, quote: &Quote| quoted(title, quote, tape);
    for (title, quote) in item
        .prompt
        .iter()
        .map(|quote| ("prompt", quote))
        .chain(item.started_by.iter().map(|quote| ("started by", quote)))
    {
        text.push_str(&quoted(title, quote));
    }
    for (title, quotes) in [
        ("reasoning before the call", &item.reasoning),
        ("said before the call", &item.said),
    ] {
        quotes
            .iter()
            .for_each(|quote| text.push_str(&quoted(title, quote)));
    }
    item.change
        .iter()
        .for_each(|quote| text.push_str(&quoted("the change", quote)));
    if !item.later.is_empty() {
        let later: Vec<&str> = item
            .later
            .iter()
            .map(|place| place.strip_prefix(tape).unwrap_or(place))
            .collect();
        text.push_str(&format!(
            "  later edits of the file: {}\n",
            one_line(&later.join(" "))
        ));
    }
    if !item.hint.is_empty() {
        text.push_str("  commands of sessions that changed the file; one of them may have made the lines, nothing proves it:\n");
        item.hint
            .iter()
            .for_each(|call| text.push_str(&format!("    {}\n", call_line(call, None))));
    }
    text.push('\n');
    text
}

/// Texts that mention the lines, in words.
pub fn mentioned(mentions: &[Mention]) -> String {
    let mut text = String::new();
    for mention in mentions {
        let kind = mention.kind.as_deref().unwrap_or("its tape is gone");
        text.push_str(&format!(
            "mentioned {:.2}, which proves nothing  {}  {}\n",
            mention.share,
            kind,
            one_line(&mention.tape)
        ));
        mention
            .said
            .iter()
            .for_each(|said| text.push_str(&quoted("said", said, &mention.tape)));
    }
    text
}

/// Something that happened to a file, in words.
pub fn event(event: &Event) -> String {
    let confirmed = if event.confirmed {
        ""
    } else {
        " (outcome not in the log)"
    };
    let share = event
        .share
        .map(|share| format!(" {share:.2}"))
        .unwrap_or_default();
    let lines = match (event.before_range, event.after_range) {
        (Some(_), Some(_)) => format!(
            "{} ->{}",
            range(event.before_range),
            range(event.after_range)
        ),
        (before, after) => range(before.or(after)),
    };
    let way = event.way.map(|way| format!(" ({way})")).unwrap_or_default();
    let mut text = format!(
        "{}{way}{share}{confirmed}  {}{lines}\n  {}\n",
        event.what,
        one_line(&event.file),
        call_line(&event.call, None)
    );
    event
        .prompt
        .iter()
        .for_each(|quote| text.push_str(&quoted("prompt", quote, &event.call.tape)));
    event
        .change
        .iter()
        .for_each(|quote| text.push_str(&quoted("the change", quote, &event.call.tape)));
    text.push('\n');
    text
}

const fn words_of(tier: Tier) -> &'static str {
    match tier {
        Tier::State => {
            "state: the file is what the index knows of it, and this call made the lines"
        }
        Tier::Line => "line: the lines stayed since this call made them",
        Tier::Moved => "moved: this call made the lines, in another file or another order",
        Tier::Older => "older: the lines were there when a session first saw the file",
        Tier::Unknown => "unknown: ",
    }
}

fn range(range: Option<(i64, i64)>) -> String {
    match range {
        None => String::new(),
        Some((first, last)) if last < first => format!(" before line {first}"),
        Some((first, last)) if first == last => format!(" line {first}"),
        Some((first, last)) => format!(" lines {first}-{last}"),
    }
}

fn call_line(call: &CallInfo, op: Option<&str>) -> String {
    let mut parts = vec![
        call.t
            .clone()
            .unwrap_or_else(|| "at an unknown time".to_owned()),
        call.harness.clone(),
    ];
    parts.extend(call.model.clone());
    parts.extend(op.map(str::to_owned));
    parts.extend(call.tool.as_ref().map(|tool| format!("by {tool}")));
    parts.extend(
        call.status
            .filter(|status| *status != "ok")
            .map(str::to_owned),
    );
    parts.push(call.name());
    one_line(&parts.join("  ")).into_owned()
}

/// A quotation. Of the tape that was named before, only the event is named.
fn quoted(title: &str, quote: &Quote, tape: &str) -> String {
    let mut text = format!(
        "  {title} ({}):\n",
        one_line(quote.from.strip_prefix(tape).unwrap_or(&quote.from))
    );
    quote
        .text
        .lines()
        .for_each(|line| text.push_str(&format!("  | {}\n", printable(line))));
    if quote.cut {
        text.push_str("  | ...\n");
    }
    text
}
