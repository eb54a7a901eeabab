//! Answers in words. Words of a tape stand behind `| `, where they cannot control a terminal.

use std::io::{self, IsTerminal};
use std::path::Path;

use engram_command::homes::in_short;
use engram_command::report::{one_line, printable};
use engram_command::table::Screen;
use engram_index::{About, CallInfo, Event, Item, Mention, Quote, Tier, Why};

/// How a text is printed.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    has_colours: bool,
    /// Of a terminal.
    width: Option<usize>,
}

/// What a part of a text is.
#[derive(Debug, Clone, Copy)]
enum Part {
    Proven,
    Weak,
    Heading,
    Added,
    Removed,
}

impl Look {
    /// For standard output: colours in a terminal, unless `NO_COLOR` is set.
    pub fn stdout() -> Look {
        let screen = Screen::stdout();
        Look {
            has_colours: screen.has_colours,
            width: io::stdout().is_terminal().then_some(screen.width),
        }
    }

    fn paint(self, part: Part, text: &str) -> String {
        let colour = match part {
            Part::Proven => "\u{1b}[1;32m",
            Part::Weak => "\u{1b}[1;33m",
            Part::Heading => "\u{1b}[36m",
            Part::Added => "\u{1b}[32m",
            Part::Removed => "\u{1b}[31m",
        };
        if self.has_colours {
            format!("{colour}{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Lines with their cause, in words.
pub fn item(item: &Item, look: Look) -> String {
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
    let part = match item.tier {
        Tier::State | Tier::Line | Tier::Moved => Part::Proven,
        Tier::Older | Tier::Unknown => Part::Weak,
    };
    let is_one = matches!(item.lines.as_slice(), [[first, last]] if first == last);
    let word = if is_one { "line" } else { "lines" };
    let lines = format!("{word} {}", lines.join(","));
    let mut text = format!("{}  {}{why}", look.paint(part, &lines), words_of(item.tier));
    if let Some(call) = &item.call {
        text.push_str(&format!("\n  {}", call_line(call, item.op, look)));
        let about = about(&call.about, look);
        if !about.is_empty() {
            text.push_str(&format!("\n  {}", about.trim_end()));
        }
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
        if call.changed {
            let tape = one_line(&call.tape);
            text.push_str(&format!(
                "\n  its tape has changed, so there are no words; run `engram index add {tape}`"
            ));
        }
    }
    for other in &item.also {
        text.push_str(&format!("\n  also proven by {}", one_line(other)));
    }
    text.push('\n');
    let tape = item.call.as_ref().map_or("", |call| call.tape.as_str());
    let quoted = |title: &str, quote: &Quote| quoted(title, quote, tape, look);
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
        .for_each(|quote| text.push_str(&change(quote, tape, look)));
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
            .for_each(|call| text.push_str(&format!("    {}\n", call_line(call, None, look))));
    }
    text.push('\n');
    text
}

/// Texts that mention the lines, in words.
pub fn mentioned(mentions: &[Mention], look: Look) -> String {
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
            .for_each(|said| text.push_str(&quoted("said", said, &mention.tape, look)));
    }
    text
}

/// Something that happened to a file, in words.
pub fn event(event: &Event, look: Look) -> String {
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
        call_line(&event.call, None, look)
    );
    let about = about(&event.call.about, look);
    if !about.is_empty() {
        text.push_str(&format!("  {about}"));
    }
    event
        .prompt
        .iter()
        .for_each(|quote| text.push_str(&quoted("prompt", quote, &event.call.tape, look)));
    event
        .change
        .iter()
        .for_each(|quote| text.push_str(&change(quote, &event.call.tape, look)));
    text.push('\n');
    text
}

/// The title and the project of a session, as a line; empty if its log has neither. In a terminal the title is cut so that the line
/// fits, with the indent of an answer.
pub fn about(about: &About, look: Look) -> String {
    const INDENT: usize = 9;
    const TITLE_CHARS: usize = 20;
    let project = about.project.as_deref().map(Path::new).map(in_short);
    let project = one_line(project.as_deref().unwrap_or_default()).into_owned();
    let title = one_line(about.title.as_deref().unwrap_or_default()).into_owned();
    let gap = if title.is_empty() || project.is_empty() {
        ""
    } else {
        "  "
    };
    let beside = INDENT + gap.len() + project.chars().count();
    let room = look
        .width
        .map(|width| width.saturating_sub(beside).max(TITLE_CHARS));
    let title = match room.filter(|room| title.chars().count() > *room) {
        Some(room) => title.chars().take(room - 1).chain(['…']).collect(),
        None => title,
    };
    match title.is_empty() && project.is_empty() {
        true => String::new(),
        false => format!("{}{gap}{project}\n", look.paint(Part::Heading, &title)),
    }
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

/// A call: when, who, how, and the name by which `show` finds it.
fn call_line(call: &CallInfo, op: Option<&str>, look: Look) -> String {
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
    fitting(&parts, look.width)
}

/// The parts in as few lines as fit into the width, indented from the second one on.
fn fitting(parts: &[String], width: Option<usize>) -> String {
    const INDENT: usize = 4;
    let room = width.unwrap_or(usize::MAX).saturating_sub(INDENT);
    let (mut text, mut used) = (String::new(), 0);
    for part in parts {
        let part = one_line(part);
        let chars = part.chars().count();
        let is_first = text.is_empty();
        if !is_first && used + 2 + chars > room {
            text.push_str("\n    ");
            used = chars;
        } else {
            text.push_str(if is_first { "" } else { "  " });
            used += chars + if is_first { 0 } else { 2 };
        }
        text.push_str(&part);
    }
    text
}

/// A quotation. Of the tape that was named before, only the event is named.
fn quoted(title: &str, quote: &Quote, tape: &str, look: Look) -> String {
    lines_of(title, quote, tape, look, |line| line.to_owned())
}

/// A change, as a diff.
fn change(quote: &Quote, tape: &str, look: Look) -> String {
    lines_of("the change", quote, tape, look, |line| {
        match line.as_bytes().first() {
            Some(b'+') => look.paint(Part::Added, line),
            Some(b'-') => look.paint(Part::Removed, line),
            _ => line.to_owned(),
        }
    })
}

fn lines_of(
    title: &str,
    quote: &Quote,
    tape: &str,
    look: Look,
    paint: impl Fn(&str) -> String,
) -> String {
    let from = one_line(quote.from.strip_prefix(tape).unwrap_or(&quote.from)).into_owned();
    let heading = look.paint(Part::Heading, &format!("{title} ({from}):"));
    let mut text = format!("  {heading}\n");
    quote
        .text
        .lines()
        .for_each(|line| text.push_str(&format!("  | {}\n", paint(&printable(line)))));
    if quote.cut {
        text.push_str("  | ...\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_breaks_between_parts_and_only_in_a_terminal() {
        let parts =
            ["2026-11-30T06:00:00Z", "claude-code", "0123456789abcdef#12"].map(str::to_owned);
        assert_eq!(fitting(&parts, None), parts.join("  "));
        assert_eq!(fitting(&parts, Some(58)), parts.join("  "));
        let (head, name) = (parts[..2].join("  "), &parts[2]);
        assert_eq!(fitting(&parts, Some(57)), format!("{head}\n    {name}"));
        assert_eq!(fitting(&parts, Some(1)), parts.join("\n    "));
    }
}
