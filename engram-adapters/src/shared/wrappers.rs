//! Text that a harness, an editor or a plugin puts around the words of a person, inside the same string.
//!
//! An adapter has one table of [`Wrapper`]s. Each row says how such a text begins and ends, where it may stand, and where the fact is from.
//! [`split`] divides a text into the words and the rest. The rows decide nothing else: whose words they are is a question of the adapter.
//!
//! ```
//! use engram_adapters::shared::wrappers::{End, Part, Place, Wrapper, split};
//!
//! const TABLE: &[Wrapper] = &[Wrapper {
//!     name: "editor",
//!     place: Place::Start,
//!     begin: "<editor>",
//!     end: End::First("</editor>"),
//!     source: "1.2.0 and later: recorded",
//! }];
//! assert_eq!(
//!     split("<editor>a.rs</editor>\nfix it", TABLE),
//!     [Part::Wrapped { name: "editor", text: "<editor>a.rs</editor>" }, Part::Words("fix it")]
//! );
//! assert_eq!(split("what is <editor>?", TABLE), [Part::Words("what is <editor>?")]);
//! ```

/// A text that stands around the words of a person.
#[derive(Debug, Clone, Copy)]
pub struct Wrapper {
    /// Name of its `meta context`.
    pub name: &'static str,
    /// Where it may stand.
    pub place: Place,
    /// How it begins.
    pub begin: &'static str,
    /// Where it ends.
    pub end: End,
    /// The versions that write it, and where this is known from.
    pub source: &'static str,
}

/// Where a wrapper may stand. A person may write the same tags, so it is nowhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At the beginning of the text, or directly behind another wrapper that stands there.
    Start,
    /// On lines of its own, anywhere: it begins with a line, and a line ends with it.
    Lines,
    /// Around the words: the text begins and ends with it, and the words are between.
    Frame,
}

/// Where a wrapper ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With the first occurrence of this text. Without one it is no wrapper.
    First(&'static str),
    /// With the last occurrence of this text: what is wrapped may contain it.
    Last(&'static str),
    /// With the text that it stands in.
    OfText,
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'t> {
    /// Words.
    Words(&'t str),
    /// A wrapper, or one side of a frame.
    Wrapped {
        /// Its row's name.
        name: &'static str,
        /// All of it, with its begin and end.
        text: &'t str,
    },
}

/// The parts of a text, in their order. White space between words and a wrapper belongs to neither. A text without a wrapper is one part, as
/// it is. A text that is only wrappers has no words.
pub fn split<'t>(text: &'t str, table: &[Wrapper]) -> Vec<Part<'t>> {
    let mut parts = Vec::new();
    let mut words = text;
    while let Some((name, length)) = at_start(words.trim_start(), table) {
        let (wrapped, after) = words.trim_start().split_at(length);
        parts.push(Part::Wrapped {
            name,
            text: wrapped,
        });
        words = after;
    }
    if let Some((name, begin, inside, end)) = framed(words, table) {
        parts.push(Part::Wrapped { name, text: begin });
        push_words(inside, table, &mut parts);
        if !end.is_empty() {
            parts.push(Part::Wrapped { name, text: end });
        }
    } else {
        push_words(words, table, &mut parts);
    }
    if let [Part::Words(_)] = parts[..] {
        parts[0] = Part::Words(text);
    }
    parts
}

/// True if a text begins with a wrapper that may stand there.
pub fn begins_wrapped(text: &str, table: &[Wrapper]) -> bool {
    at_start(text.trim_start(), table).is_some()
}

/// The wrapper that a text begins with, and its length.
fn at_start(text: &str, table: &[Wrapper]) -> Option<(&'static str, usize)> {
    table
        .iter()
        .filter(|row| row.place == Place::Start && text.starts_with(row.begin))
        .find_map(|row| Some((row.name, length(text, row)?)))
}

/// The frame around a text: its name, its begin, the words, its end.
fn framed<'t>(
    text: &'t str,
    table: &[Wrapper],
) -> Option<(&'static str, &'t str, &'t str, &'t str)> {
    table
        .iter()
        .filter(|row| row.place == Place::Frame)
        .find_map(|row| {
            let rest = text.strip_prefix(row.begin)?;
            let words = match row.end {
                End::First(end) => rest.find(end).map(|at| &rest[..at]),
                End::Last(end) => rest.rfind(end).map(|at| &rest[..at]),
                End::OfText => Some(rest),
            }?;
            let (begin, _) = text.split_at(row.begin.len());
            Some((row.name, begin, words, &rest[words.len()..]))
        })
}

/// Adds words, and the wrappers that stand on lines of their own among them. One walk over the lines: a text may have many wrappers, and many
/// beginnings without an end.
fn push_words<'t>(text: &'t str, table: &[Wrapper], parts: &mut Vec<Part<'t>>) {
    let mut rows: Vec<Ends<'_, '_>> = table
        .iter()
        .filter(|row| row.place == Place::Lines)
        .map(|row| Ends {
            row,
            text,
            found: Some(Ended {
                at: 0,
                ends_line: false,
            }),
        })
        .collect();
    let (mut words, mut line) = (0, 0);
    while line < text.len() {
        if let Some((name, end)) = rows.iter_mut().find_map(|row| row.on_lines(line)) {
            push_trimmed(&text[words..line], parts);
            parts.push(Part::Wrapped {
                name,
                text: &text[line..end],
            });
            (words, line) = (end, end);
        }
        line = text[line..]
            .find('\n')
            .map_or(text.len(), |at| line + at + 1);
    }
    push_trimmed(&text[words..], parts);
}

/// Where the wrappers of one row end in a text.
struct Ends<'t, 'w> {
    row: &'w Wrapper,
    text: &'t str,
    /// The end that was found last. `None` if no further one is in the text.
    found: Option<Ended>,
}

/// An end of a wrapper.
#[derive(Clone, Copy)]
struct Ended {
    at: usize,
    /// The line ends with it.
    ends_line: bool,
}

impl Ends<'_, '_> {
    /// The name and the end of the wrapper that begins with a line, if a line ends with it.
    fn on_lines(&mut self, line: usize) -> Option<(&'static str, usize)> {
        if !self.text[line..].starts_with(self.row.begin) {
            return None;
        }
        let from = line + self.row.begin.len();
        let found = self.found?;
        // What was found for an earlier line serves this one too, so each part of the text is searched once.
        let found = match self.row.end {
            End::First(end) if found.at < from + end.len() => {
                self.find(self.text[from..].find(end).map(|at| from + at + end.len()))?
            }
            End::Last(end) if found.at == 0 => {
                self.find(self.text.rfind(end).map(|at| at + end.len()))?
            }
            End::OfText if found.at == 0 => self.find(Some(self.text.len()))?,
            _ => found,
        };
        (found.ends_line && from <= found.at).then_some((self.row.name, found.at))
    }

    /// Keeps the end that was found.
    fn find(&mut self, at: Option<usize>) -> Option<Ended> {
        self.found = at.map(|at| {
            let behind = self.text[at..].trim_start_matches([' ', '\t', '\r']);
            Ended {
                at,
                ends_line: behind.is_empty() || behind.starts_with('\n'),
            }
        });
        self.found
    }
}

fn push_trimmed<'t>(words: &'t str, parts: &mut Vec<Part<'t>>) {
    let words = words.trim();
    if !words.is_empty() {
        parts.push(Part::Words(words));
    }
}

/// The length of a wrapper at the beginning of a text.
fn length(text: &str, row: &Wrapper) -> Option<usize> {
    let inside = &text[row.begin.len()..];
    let end = match row.end {
        End::First(end) => inside.find(end)? + end.len(),
        End::Last(end) => inside.rfind(end)? + end.len(),
        End::OfText => inside.len(),
    };
    Some(row.begin.len() + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn row(name: &'static str, place: Place, begin: &'static str, end: End) -> Wrapper {
        Wrapper {
            name,
            place,
            begin,
            end,
            source: "a test",
        }
    }

    const TABLE: &[Wrapper] = &[
        row("open", Place::Start, "<open>", End::First("</open>")),
        row(
            "setup",
            Place::Start,
            "# Context\n",
            End::Last("## Request:\n"),
        ),
        row("note", Place::Lines, "<note>", End::First("</note>")),
        row(
            "files",
            Place::Lines,
            "--- Files ---",
            End::First("--- End ---"),
        ),
        row("cut", Place::Lines, "--- Cut ---", End::OfText),
        row("steer", Place::Frame, "Steered:\n", End::Last("\nGo on.")),
    ];

    /// The parts, with the name of each wrapper before its text.
    fn parts(text: &str) -> Vec<String> {
        split(text, TABLE)
            .into_iter()
            .map(|part| match part {
                Part::Words(words) => words.to_owned(),
                Part::Wrapped { name, text } => format!("{name}={text}"),
            })
            .collect()
    }

    #[test]
    fn what_stands_around_words_is_split_off() {
        let cases: &[(&str, &[&str])] = &[
            ("<open>a</open>fix it", &["open=<open>a</open>", "fix it"]),
            (
                "<open>a</open>\n<open>b</open>\nfix it",
                &["open=<open>a</open>", "open=<open>b</open>", "fix it"],
            ),
            ("<open>a</open>", &["open=<open>a</open>"]),
            (
                "# Context\nx\n## Request:\nfix it",
                &["setup=# Context\nx\n## Request:\n", "fix it"],
            ),
            (
                "fix it\n<note>\na\n</note>\nand this\n\n<note>b</note>",
                &[
                    "fix it",
                    "note=<note>\na\n</note>",
                    "and this",
                    "note=<note>b</note>",
                ],
            ),
            (
                "see @a\n--- Files ---\nx\n--- End ---",
                &["see @a", "files=--- Files ---\nx\n--- End ---"],
            ),
            (
                "see @a\n--- Cut ---\nx\ny",
                &["see @a", "cut=--- Cut ---\nx\ny"],
            ),
            (
                "Steered:\nleft\nGo on.",
                &["steer=Steered:\n", "left", "steer=\nGo on."],
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(parts(text), *expected, "{text}");
        }
    }

    #[test]
    fn the_time_is_linear_in_the_text() {
        for line in [
            "<note>\n",
            "<note>a</note>\n",
            "<note>a</note> x\n",
            "--- Files ---\n",
        ] {
            let text = line.repeat(200_000);
            assert!(!split(&text, TABLE).is_empty());
        }
    }

    #[test]
    fn words_that_only_look_like_a_wrapper_stay_as_they_are() {
        for text in [
            "  what does <open>a</open> mean?\n",
            "<open> is never closed",
            "why <note>a</note> here",
            "<note>a</note> is what I see",
            "Steered:\nand no end",
            "",
        ] {
            let expected: &[&str] = if text.is_empty() { &[] } else { &[text] };
            assert_eq!(parts(text), expected);
        }
    }
}
