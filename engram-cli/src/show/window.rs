//! `engram show ID#SEQ`: one event and those around it, bounded. Answers name events so, and this opens them.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use engram_adapters::sessions::SessionOptions;
use engram_command::exit::Exit;
use engram_command::report::{Reporter, one_line, printable, printable_json};
use engram_core::error::AdapterError;
use engram_core::event::EventRef;
use engram_core::redact::Redacting;
use engram_core::sink::EventSink;
use serde_json::{Map, Value, json};

use super::args::Show;
use super::place::Place;

/// Longest text of an event that is shown without `--full`, in characters.
const TEXT_CHARS: usize = 1500;

/// Texts up to this length stand on the line of their event.
const INLINE_CHARS: usize = 60;

/// Most events that are kept on each side, whatever is asked for.
pub const MAX_SIDE: u64 = 1000;

/// Members that every event has, and that a reader of a window does not need.
const ENVELOPE: [&str; 7] = ["seq", "t", "k", "source", "parent", "t_basis", "origin"];

/// The target and the event that `TARGET#SEQ` names. A file that is really called so is a file.
pub fn named(target: &std::path::Path) -> Option<(PathBuf, u64)> {
    let text = target.to_str().filter(|_| !target.exists())?;
    let (of, seq) = text.rsplit_once('#')?;
    let is_number = !seq.is_empty() && seq.bytes().all(|byte| byte.is_ascii_digit());
    let seq = seq.parse().ok().filter(|_| is_number && !of.is_empty())?;
    Some((PathBuf::from(of), seq))
}

/// Prints the window around an event.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(
    place: &Place,
    seq: u64,
    args: &Show,
    options: &SessionOptions,
    report: &Reporter,
) -> io::Result<Exit> {
    let mut window = Window::around(seq, args.before.min(MAX_SIDE), args.after.min(MAX_SIDE));
    if let Err(error) = read(place, &mut window, options, !args.keys.no_redact)
        && !window.is_read
    {
        return Ok(report.failure(&error));
    }
    let Some(at) = window.events.iter().position(|event| seq_of(event) == seq) else {
        return Ok(report.not_found(&format!(
            "`{}` has {} events, and none is #{seq}",
            place.path().display(),
            window.seen
        )));
    };
    let name = args.target.as_deref().unwrap_or(Path::new(""));
    let name = name.to_string_lossy();
    let (name, _) = name.rsplit_once('#').unwrap_or((&name, ""));
    let page = Page {
        name,
        asked: seq,
        is_json: args.json,
        chars: if args.full { usize::MAX } else { TEXT_CHARS },
    };
    // The last line counts too.
    let total = window.events.len();
    let most = usize::try_from(args.max_bytes).unwrap_or(usize::MAX);
    let room = most.saturating_sub(last_line(args.json, total.saturating_sub(1), total).len());
    let shown = page.fitting(&window.events, at, room);
    let mut out = io::stdout().lock();
    for text in &shown {
        out.write_all(text.as_bytes())?;
    }
    out.write_all(last_line(args.json, shown.len(), total).as_bytes())?;
    out.flush()?;
    Ok(Exit::Success)
}

/// The line after the events. In words there is one only if events are left out.
fn last_line(is_json: bool, returned: usize, total: usize) -> String {
    if is_json {
        format!(
            "{}\n",
            json!({"k": "end", "returned": returned, "total": total})
        )
    } else if returned < total {
        format!("{returned} of {total} events shown; `--max-bytes` shows more\n")
    } else {
        String::new()
    }
}

fn read(
    place: &Place,
    window: &mut Window,
    options: &SessionOptions,
    redact: bool,
) -> Result<(), AdapterError> {
    if redact {
        place.send(options, &mut Redacting::new(window)?)
    } else {
        place.send(options, window)
    }
}

/// A sink that keeps the events around one, and ends the reading behind them.
struct Window {
    first: u64,
    last: u64,
    events: VecDeque<Value>,
    seen: u64,
    /// True when all of the window was read: the rest of the session is not needed.
    is_read: bool,
}

impl Window {
    fn around(seq: u64, before: u64, after: u64) -> Window {
        Window {
            first: seq.saturating_sub(before),
            last: seq.saturating_add(after),
            events: VecDeque::new(),
            seen: 0,
            is_read: false,
        }
    }
}

impl EventSink for Window {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        let seq = record.seq.get();
        if seq > self.last {
            self.is_read = true;
            return Err(io::Error::other("the window is read"));
        }
        self.seen += 1;
        if seq >= self.first {
            // Lone surrogates of a log are no JSON for other readers.
            let line = record.to_line();
            let line = engram_core::text::replace_lone_surrogates(&line);
            self.events.extend(serde_json::from_str::<Value>(&line));
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.is_read = true;
        Ok(())
    }
}

fn seq_of(event: &Value) -> u64 {
    event["seq"].as_u64().unwrap_or(u64::MAX)
}

/// How events are printed.
struct Page<'a> {
    /// What the command line calls the session.
    name: &'a str,
    asked: u64,
    is_json: bool,
    /// Longest text, in characters.
    chars: usize,
}

impl Page<'_> {
    /// The events that fit into `most` bytes, in their order: the one at `at`, then those nearest to it. Its texts are cut further if it alone
    /// does not fit.
    fn fitting(&self, events: &VecDeque<Value>, at: usize, most: usize) -> Vec<String> {
        let mut chars = self.chars.min(most);
        let mut asked = self.event(&events[at], chars);
        while asked.len() > most && chars > 0 {
            chars /= 2;
            asked = self.event(&events[at], chars);
        }
        if asked.len() > most {
            return Vec::new();
        }
        let (mut used, mut shown) = (asked.len(), VecDeque::from([asked]));
        let (mut before, mut after) = (at.checked_sub(1), Some(at + 1));
        while before.is_some() || after.is_some() {
            let mut fits = |at: usize| {
                let text = self.event(events.get(at)?, chars);
                used = used.saturating_add(text.len());
                (used <= most).then_some(text)
            };
            after = after.and_then(|at| {
                shown.push_back(fits(at)?);
                Some(at + 1)
            });
            before = before.and_then(|at| {
                shown.push_front(fits(at)?);
                at.checked_sub(1)
            });
        }
        shown.into()
    }

    fn event(&self, event: &Value, chars: usize) -> String {
        if !self.is_json {
            return self.words(event, chars);
        }
        let (mut event, mut is_cut) = (event.clone(), false);
        cut_strings(&mut event, chars, &mut is_cut);
        let mut line = json!({"quoted": true, "from": format!("{}#{}", self.name, seq_of(&event)), "event": event});
        if is_cut {
            line["cut"] = json!(true);
        }
        format!("{}\n", printable_json(&line.to_string()))
    }

    /// An event as a person reads it: what it is, its short members on the same line, its texts behind `| `.
    fn words(&self, event: &Value, chars: usize) -> String {
        let word = |key: &str| one_line(event[key].as_str().unwrap_or_default()).into_owned();
        let sign = if seq_of(event) == self.asked {
            '>'
        } else {
            ' '
        };
        let mut line = format!("{sign} #{} {} {}", seq_of(event), word("t"), word("k"));
        let mut texts = String::new();
        let nothing = Map::new();
        let members = event.as_object().unwrap_or(&nothing);
        for (key, value) in members
            .iter()
            .filter(|(key, _)| !ENVELOPE.contains(&key.as_str()))
        {
            self.member(key, value, chars, &mut line, &mut texts);
        }
        format!("{line}\n{texts}")
    }

    fn member(
        &self,
        key: &str,
        value: &Value,
        chars: usize,
        line: &mut String,
        texts: &mut String,
    ) {
        match value {
            Value::String(text) if text.len() > INLINE_CHARS || text.contains('\n') => {
                texts.push_str(&format!("    {}:\n", one_line(key)));
                let (shown, is_cut) = cut(text, chars);
                for quoted in shown.lines() {
                    texts.push_str(&format!("    | {}\n", printable(quoted)));
                }
                if is_cut {
                    texts.push_str("    (cut; `--full` shows all)\n");
                }
            }
            Value::String(text) => {
                line.push_str(&format!("  {}={}", one_line(key), one_line(text)))
            }
            Value::Object(members) => members.iter().for_each(|(inner, value)| {
                self.member(&format!("{key}.{inner}"), value, chars, line, texts)
            }),
            Value::Array(_) if key.ends_with("anchor_hashes") => {}
            other => {
                let text = other.to_string();
                line.push_str(&format!(
                    "  {}={}",
                    one_line(key),
                    one_line(cut(&text, INLINE_CHARS).0)
                ));
            }
        }
    }
}

/// The text with at most so many characters, and whether it is longer.
fn cut(text: &str, chars: usize) -> (&str, bool) {
    match text.char_indices().nth(chars) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

/// Cuts each string in a value.
fn cut_strings(value: &mut Value, chars: usize, is_cut: &mut bool) {
    match value {
        Value::String(text) => {
            if let (shown, true) = cut(text, chars) {
                *is_cut = true;
                *text = shown.to_owned();
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| cut_strings(item, chars, is_cut)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| cut_strings(member, chars, is_cut)),
        _ => {}
    }
}
