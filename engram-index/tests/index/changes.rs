//! What a person may do to a file after a session.

/// A line of a changed file.
#[derive(Debug, Clone)]
pub struct Line {
    pub text: String,
    /// The line of the file before, if this one stayed.
    pub from: Option<usize>,
}

impl Line {
    pub fn kept(text: &str, from: usize) -> Line {
        Line {
            text: text.to_owned(),
            from: Some(from),
        }
    }

    fn by_hand(text: impl Into<String>) -> Line {
        Line {
            text: text.into(),
            from: None,
        }
    }
}

/// A change of a file.
pub struct Change {
    pub name: &'static str,
    /// The lines after it; `None` if the file is not one for this change.
    pub change: fn(&[Line]) -> Option<Vec<Line>>,
    /// The path after it.
    pub place: fn(&str) -> String,
    pub line_end: &'static str,
}

const fn of(name: &'static str, change: fn(&[Line]) -> Option<Vec<Line>>) -> Change {
    Change {
        name,
        change,
        place: str::to_owned,
        line_end: "\n",
    }
}

/// The changes of the specification, and three that only write what stands elsewhere in the file.
pub const CHANGES: &[Change] = &[
    of("one line on top", |lines| {
        Some(put(lines, 0, &BY_HAND[..1]))
    }),
    of("one line changed", |lines| {
        Some(changed(lines, |at| at == lines.len() / 2))
    }),
    of("a function in the middle", |lines| {
        Some(put(lines, lines.len() / 2, &BY_HAND))
    }),
    of("lines appended", |lines| {
        Some(put(lines, lines.len(), &BY_HAND[1..5]))
    }),
    of("first half cut", |lines| {
        Some(lines[lines.len() / 2..].to_vec())
    }),
    of("halves swapped", |lines| {
        let (first, second) = lines.split_at(lines.len() / 2);
        Some([second, first].concat())
    }),
    of("every fifth changed", |lines| {
        Some(changed(lines, |at| at % 5 == 2))
    }),
    Change {
        place: |path| match path.rsplit_once('/') {
            Some((directory, name)) => format!("{directory}/other_{name}"),
            None => format!("other_{path}"),
        },
        ..of("renamed", |lines| Some(lines.to_vec()))
    },
    Change {
        place: |path| path.replace("/home/dev/", "/home/else/"),
        ..of("another clone", |lines| Some(lines.to_vec()))
    },
    Change {
        line_end: "\r\n",
        ..of("CRLF", |lines| Some(lines.to_vec()))
    },
    of("+ lines of the file written again", again),
    of("+ a block written again at the end", |lines| {
        let block = lines.iter().take(3).map(|line| Line::by_hand(&line.text));
        Some(
            lines
                .iter()
                .cloned()
                .chain([Line::by_hand("# again, by a person")])
                .chain(block)
                .collect(),
        )
    }),
    of("+ all rewritten but short lines", rewritten),
];

const BY_HAND: [&str; 6] = [
    "# words of a person",
    "def by_hand(value):",
    "    \"\"\"Nobody asked an agent for this.\"\"\"",
    "    total = value * 3 + 17",
    "    return total",
    "",
];

fn put(lines: &[Line], at: usize, new: &[&str]) -> Vec<Line> {
    let new = new.iter().map(|text| Line::by_hand(*text));
    lines[..at]
        .iter()
        .cloned()
        .chain(new)
        .chain(lines[at..].iter().cloned())
        .collect()
}

fn changed(lines: &[Line], is_changed: impl Fn(usize) -> bool) -> Vec<Line> {
    let line = |(at, line): (usize, &Line)| match is_changed(at) {
        true => Line::by_hand(format!("{} # by a person", line.text)),
        false => line.clone(),
    };
    lines.iter().enumerate().map(line).collect()
}

/// A person writes common lines of the file once more, one by one.
fn again(lines: &[Line]) -> Option<Vec<Line>> {
    let mut short: Vec<&str> = lines
        .iter()
        .map(|line| line.text.as_str())
        .filter(|text| text.trim().len() <= 24)
        .collect();
    short.sort_by_key(|text| (text.trim().len(), text.to_string()));
    let middle = short.len() / 2;
    let chosen: Vec<&str> = short
        .iter()
        .take(3)
        .chain(short.iter().skip(middle).take(2))
        .copied()
        .collect();
    let mut changed = lines.to_vec();
    for (n, text) in chosen.into_iter().enumerate() {
        let at = (n * 7 + 3) % (changed.len() + 1);
        changed.insert(at, Line::by_hand(text));
    }
    Some(changed)
}

/// A person wrote all anew, and only short lines are the same. A file that has hardly anything else has not changed then.
fn rewritten(lines: &[Line]) -> Option<Vec<Line>> {
    let is_short = |line: &&Line| line.text.trim().len() < 14;
    let letters = |line: &Line| line.text.chars().filter(|c| !c.is_whitespace()).count();
    let all: usize = lines.iter().map(letters).sum();
    let short: usize = lines.iter().filter(is_short).map(letters).sum();
    let line = |(at, line): (usize, &Line)| match is_short(&line) {
        true => Line::by_hand(&line.text),
        false => Line::by_hand(format!(
            "x{at} {}",
            line.text.chars().rev().collect::<String>()
        )),
    };
    (3 * short < all).then(|| lines.iter().enumerate().map(line).collect())
}
