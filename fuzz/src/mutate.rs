//! Damage: to bytes, to the records of a log, and to the JSON values in them.

use fastrand::Rng;
use serde_json::Value;

use crate::corpus::Corpus;

/// The largest input, in bytes.
pub const MAX_BYTES: usize = 48 << 10;

/// Values that replace others.
const VALUES: &[&str] = &[
    "null",
    "\"\"",
    "{}",
    "[]",
    "0",
    "1",
    "-1",
    "7.5",
    "1e308",
    "18446744073709551615",
    "9223372036854775807",
    "-9223372036854775808",
    "true",
    "\"x\"",
    "[[]]",
    "{\"\":0}",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\"\u{202e}\u{9b}31m\"",
    "\"2026-11-23T00:00:00.000Z\"",
    "\"../../etc/passwd\"",
    "\"/home/dev/proj/src/a.py\"",
    "\"tool_use\"",
    "\"a\\r\\nb\"",
    "\"\u{feff}a\"",
    "{\"type\":\"text\",\"text\":\"x\"}",
];

/// Pieces of text that are inserted as bytes.
const PIECES: &[&str] = &[
    "\n", "\r\n", "\u{2028}", "\"", "\\", "\\u0061", "{", "}", "[", "]", ",", ":", "{}", "null",
    "\0", "\u{feff}", "\u{fffd}",
];

/// A damaged log: one of the corpus, changed up to four times.
pub fn log(corpus: &Corpus, rng: &mut Rng) -> Vec<u8> {
    let mut input = corpus.any(rng).to_vec();
    for _ in 0..rng.usize(1..=4) {
        input = match rng.u8(..10) {
            0 => bytes(input, rng),
            1..=3 => records(&input, corpus.any(rng), rng),
            _ => one_value(input, rng),
        };
    }
    input.truncate(MAX_BYTES);
    input
}

/// Changes bytes anywhere.
pub fn bytes(mut input: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
    let at = rng.usize(..=input.len());
    let end = (at + rng.usize(..=16)).min(input.len());
    match rng.u8(..5) {
        0 => input.truncate(at),
        1 => drop(input.drain(at..end)),
        2 => input
            .splice(at..at, rng.choice(PIECES).unwrap_or(&"").bytes())
            .for_each(drop),
        3 => {
            let copy = input[at..end].to_vec();
            input.splice(at..at, copy).for_each(drop);
        }
        _ => input[at..end]
            .iter_mut()
            .for_each(|byte| *byte ^= 1 << rng.u8(..8)),
    }
    input
}

/// Drops, repeats, moves or inserts a line.
fn records(input: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
    let from: Vec<&[u8]> = other.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.is_empty() || from.is_empty() {
        return input.to_vec();
    }
    let at = rng.usize(..lines.len());
    match rng.u8(..4) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(rng.usize(..=lines.len()), lines[at]),
        2 => {
            let line = lines.remove(at);
            lines.insert(rng.usize(..=lines.len()), line);
        }
        _ => lines.insert(at, from[rng.usize(..from.len())]),
    }
    lines.concat()
}

/// Changes one value of one line. A document is one line.
fn one_value(input: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
    let starts: Vec<usize> = std::iter::once(0)
        .chain(
            input
                .iter()
                .enumerate()
                .filter(|(_, byte)| **byte == b'\n')
                .map(|(at, _)| at + 1),
        )
        .collect();
    let is_document = serde_json::from_slice::<Value>(&input).is_ok();
    let start = if is_document {
        0
    } else {
        starts[rng.usize(..starts.len())]
    };
    let end = if is_document {
        input.len()
    } else {
        input[start..]
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(input.len(), |at| start + at)
    };
    let Ok(mut value) = serde_json::from_slice::<Value>(&input[start..end]) else {
        return bytes(input, rng);
    };
    json(&mut value, rng);
    let mut text = value.to_string();
    if rng.u8(..20) == 0 {
        text = escape_a_name(&text, rng);
    }
    let mut changed = input;
    changed.splice(start..end, text.into_bytes()).for_each(drop);
    changed
}

/// Changes a random value in a tree.
pub fn json(value: &mut Value, rng: &mut Rng) {
    let count = nodes(value);
    let chosen = rng.usize(..count);
    let donor = at(value, rng.usize(..count)).clone();
    change(at(value, chosen), donor, rng);
}

fn nodes(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(nodes).sum(),
        Value::Object(members) => members.values().map(nodes).sum(),
        _ => 0,
    }
}

/// The value number `index`, depth first.
fn at(value: &mut Value, index: usize) -> &mut Value {
    if index == 0 {
        return value;
    }
    let mut rest = index - 1;
    // Counted first: a borrow of a child cannot be given back.
    let position = children(value).into_iter().position(|size| {
        let is_inside = rest < size;
        if !is_inside {
            rest -= size;
        }
        is_inside
    });
    let position = position.unwrap_or_default();
    match value {
        Value::Array(items) => at(&mut items[position], rest),
        Value::Object(members) => at(
            members
                .values_mut()
                .nth(position)
                .expect("a counted member"),
            rest,
        ),
        _ => unreachable!("only containers have children"),
    }
}

fn children(value: &Value) -> Vec<usize> {
    match value {
        Value::Array(items) => items.iter().map(nodes).collect(),
        Value::Object(members) => members.values().map(nodes).collect(),
        _ => Vec::new(),
    }
}

fn change(value: &mut Value, donor: Value, rng: &mut Rng) {
    match (rng.u8(..8), value) {
        (0, value) => *value = donor,
        (1, Value::String(text)) => *text = changed_text(text, rng),
        (1..=2, Value::Number(number)) => {
            *number = changed_number(number.as_f64().unwrap_or_default(), rng)
        }
        (1..=3, Value::Object(members)) if !members.is_empty() => {
            let name = members
                .keys()
                .nth(rng.usize(..members.len()))
                .cloned()
                .unwrap_or_default();
            match rng.u8(..3) {
                0 => drop(members.remove(&name)),
                1 => {
                    let value = members.remove(&name).unwrap_or_default();
                    members.insert(format!("{name}x"), value);
                }
                _ => drop(members.insert("added".to_owned(), donor)),
            }
        }
        (1..=3, Value::Array(items)) if !items.is_empty() => {
            let at = rng.usize(..items.len());
            match rng.u8(..3) {
                0 => drop(items.remove(at)),
                1 => items.insert(at, items[at].clone()),
                _ => items.insert(at, donor),
            }
        }
        (_, value) => {
            *value = serde_json::from_str(rng.choice(VALUES).unwrap_or(&"null")).unwrap_or_default()
        }
    }
}

fn changed_text(text: &str, rng: &mut Rng) -> String {
    let mut text = text.to_owned();
    let ends: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let (from, to) = (ends[rng.usize(..ends.len())], ends[rng.usize(..ends.len())]);
    match rng.u8(..3) {
        0 => text.truncate(from),
        1 => text.insert_str(from, rng.choice(PIECES).unwrap_or(&"")),
        _ => text.replace_range(from.min(to)..from.max(to), ""),
    }
    text
}

fn changed_number(number: f64, rng: &mut Rng) -> serde_json::Number {
    let choices = [
        0.0,
        -1.0,
        number + 1.0,
        number - 1.0,
        -number,
        number * 1e6,
        f64::from(u32::MAX),
        1e300,
    ];
    let chosen = *rng.choice(&choices).unwrap_or(&0.0);
    if chosen.fract() == 0.0 && chosen.abs() < 9e15 {
        return serde_json::Number::from(chosen as i64);
    }
    serde_json::Number::from_f64(chosen).unwrap_or_else(|| 0.into())
}

/// Writes a letter of a name as an escape.
fn escape_a_name(text: &str, rng: &mut Rng) -> String {
    let names: Vec<usize> = text.match_indices("\":").map(|(at, _)| at).collect();
    let Some(end) = rng.choice(&names) else {
        return text.to_owned();
    };
    let (before, after) = text.split_at(*end);
    match before
        .chars()
        .next_back()
        .filter(char::is_ascii_alphanumeric)
    {
        Some(last) => format!(
            "{}\\u{:04x}{after}",
            &before[..before.len() - 1],
            u32::from(last)
        ),
        None => text.to_owned(),
    }
}
