//! An answer within its bounds: what fits is printed, and the last line says how much there is.

use std::io;
use std::path::Path;

use engram_command::report::{one_line, printable_json};
use serde::Serialize;
use serde_json::{Value, json};

use super::args::Bounds;
use crate::show::pager;

/// How long quotations of a first result may be that does not fit, in characters: each is tried.
const SHORTER: [usize; 5] = [400, 100, 40, 10, 0];

/// Collects what is printed, up to the bound.
pub struct Page<'b> {
    bounds: &'b Bounds,
    parts: Vec<String>,
    /// Notes between the results and the last line, as text.
    asides: String,
    bytes: usize,
    is_full: bool,
    /// The first result, if it alone does not fit.
    first: Option<String>,
}

/// What the last line says.
pub struct End<'e> {
    /// How many results there are.
    pub total: usize,
    /// The index that was asked.
    pub index: &'e Path,
    /// More members of the last line in JSON.
    pub more: Value,
    /// What was left out, and why.
    pub notes: &'e [String],
}

impl<'b> Page<'b> {
    pub fn new(bounds: &'b Bounds) -> Page<'b> {
        Page {
            bounds,
            parts: Vec::new(),
            asides: String::new(),
            bytes: 0,
            is_full: false,
            first: None,
        }
    }

    /// Adds a result, in the form that was asked for. What does not fit is left for the next question.
    pub fn add(&mut self, value: &impl Serialize, text: impl FnOnce() -> String) {
        if self.is_full {
            return;
        }
        let part = if self.bounds.json {
            self.line(&serde_json::to_string(value).unwrap_or_default())
        } else {
            self.bounds.keys.clean(&text()).into_owned()
        };
        if self.bytes + part.len() > self.most() {
            self.is_full = true;
            self.first = Some(part).filter(|_| self.parts.is_empty());
            return;
        }
        self.bytes += part.len();
        self.parts.push(part);
    }

    /// Adds a note beside the results. As JSON it is in the last line.
    pub fn aside(&mut self, text: impl FnOnce() -> String) {
        if !self.bounds.json {
            self.asides = self.bounds.keys.clean(&text()).into_owned();
        }
    }

    /// Prints the results and the last line, through a pager in a terminal.
    pub fn end(mut self, end: &End<'_>) -> io::Result<()> {
        let text = self.fitting(end);
        let wants_pager = !self.bounds.no_pager && !self.bounds.json;
        pager::page(wants_pager, |out| out.write_all(text.as_bytes()))
    }

    fn most(&self) -> usize {
        usize::try_from(self.bounds.max_bytes).unwrap_or(usize::MAX)
    }

    fn line(&self, json: &str) -> String {
        format!("{}\n", printable_json(&self.bounds.keys.clean_json(json)))
    }

    /// All that is printed: as many results as the bound has room for beside the last line.
    fn fitting(&mut self, end: &End<'_>) -> String {
        let most = self.most();
        loop {
            let tail = self.tail(end, self.parts.len());
            if self.bytes + tail.len() <= most {
                if self.parts.is_empty()
                    && let Some(first) = self.first.take()
                    && let Some(short) = self.shortened(&first, end)
                {
                    self.parts.push(short);
                    return self.fitting_as_it_is(end);
                }
                return self.parts.concat() + &tail;
            }
            match self.parts.pop() {
                Some(part) => {
                    self.bytes -= part.len();
                    self.first = Some(part);
                }
                // The last line is always there.
                None => return self.shortest_tail(end),
            }
        }
    }

    fn fitting_as_it_is(&self, end: &End<'_>) -> String {
        self.parts.concat() + &self.tail(end, self.parts.len())
    }

    /// The first result with shorter quotations, or with fewer lines; `None` if nothing of it fits.
    fn shortened(&self, first: &str, end: &End<'_>) -> Option<String> {
        let room = self.most().checked_sub(self.tail(end, 1).len())?;
        if !self.bounds.json {
            const CUT: &str = "  ...\n";
            let kept = first.get(..floor(first, room.checked_sub(CUT.len())?))?;
            let kept = &kept[..=kept.rfind('\n')?];
            return Some(format!("{kept}{CUT}"));
        }
        let value: Value = serde_json::from_str(first).ok()?;
        SHORTER.iter().find_map(|chars| {
            let mut value = value.clone();
            cut_quotations(&mut value, *chars);
            Some(self.line(&value.to_string())).filter(|line| line.len() <= room)
        })
    }

    /// The last line, and in words the notes before it.
    fn tail(&self, end: &End<'_>, returned: usize) -> String {
        let next = self.bounds.skip + returned;
        if self.bounds.json {
            let mut last = json!({"k": "end", "returned": returned, "total": end.total});
            last["index"] = json!(end.index);
            if next < end.total {
                last["next"] = json!(next);
            }
            if !end.notes.is_empty() {
                last["notes"] = json!(end.notes);
            }
            if let (Value::Object(last), Value::Object(more)) = (&mut last, &end.more) {
                last.extend(more.clone());
            }
            return self.line(&last.to_string());
        }
        let mut text = self.asides.clone();
        for note in end.notes {
            text.push_str(&format!("note: {}\n", one_line(note)));
        }
        text.push_str(&self.shown(end, returned));
        text
    }

    /// `10 of 12 shown`, unless all are.
    fn shown(&self, end: &End<'_>, returned: usize) -> String {
        let next = self.bounds.skip + returned;
        if next >= end.total {
            return String::new();
        }
        let (total, most) = (end.total, self.bounds.max_bytes);
        if self.bounds.limit == 0 {
            return format!("0 of {total} shown: the limit is 0\n");
        }
        if returned == 0 {
            return format!("0 of {total} fit into {most} bytes; `--max-bytes` allows more\n");
        }
        format!("{returned} of {total} shown; `--skip {next}` shows the next\n")
    }

    /// The last line without what can be left out.
    fn shortest_tail(&self, end: &End<'_>) -> String {
        if !self.bounds.json {
            return self.shown(end, 0);
        }
        let mut last = json!({"k": "end", "returned": 0, "total": end.total});
        if self.bounds.skip < end.total {
            last["next"] = json!(self.bounds.skip);
        }
        format!("{last}\n")
    }
}

/// The last byte at or before `at` where a character begins.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Cuts the text of each quotation in a value.
fn cut_quotations(value: &mut Value, chars: usize) {
    match value {
        Value::Object(members) if members.get("quoted") == Some(&json!(true)) => {
            let Some(Value::String(text)) = members.get_mut("text") else {
                return;
            };
            if let Some((end, _)) = text.char_indices().nth(chars) {
                text.truncate(end);
                members.insert("cut".to_owned(), json!(true));
            }
        }
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| cut_quotations(member, chars)),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| cut_quotations(item, chars)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engram_command::keys::Keys;

    fn bounds(json: bool, max_bytes: u64) -> Bounds {
        Bounds {
            json,
            limit: 10,
            skip: 0,
            max_bytes,
            no_pager: true,
            keys: Keys {
                redact: false,
                no_redact: false,
            },
        }
    }

    fn printed(bounds: &Bounds, results: &[&str]) -> String {
        let mut page = Page::new(bounds);
        for text in results {
            let quote = json!({"quoted": true, "from": "t#1", "text": text});
            page.add(&json!({"quote": quote}), || format!("result\n  | {text}\n"));
        }
        let notes = ["a note".to_owned()];
        page.fitting(&End {
            total: results.len(),
            index: Path::new("/somewhere/index.db"),
            more: json!({"more": 1}),
            notes: &notes,
        })
    }

    #[test]
    fn an_answer_has_at_most_as_many_bytes_as_asked_for() {
        let long = "words ".repeat(200);
        for results in [vec!["short"; 30], vec![long.as_str(); 3], vec![]] {
            for is_json in [true, false] {
                for most in (60..3000).step_by(37) {
                    let text = printed(&bounds(is_json, most), &results);
                    assert!(
                        text.len() as u64 <= most,
                        "{most}: {} bytes: {text}",
                        text.len()
                    );
                    if is_json {
                        let last: Value =
                            serde_json::from_str(text.lines().last().unwrap()).unwrap();
                        let returned = text.lines().count() - 1;
                        assert_eq!(
                            (&last["returned"], &last["total"]),
                            (&json!(returned), &json!(results.len()))
                        );
                        assert_eq!(
                            last["next"].as_u64().is_some(),
                            returned < results.len(),
                            "{text}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_first_result_that_is_too_long_is_cut_where_words_are_quoted() {
        let long = "words ".repeat(200);
        let text = printed(&bounds(true, 400), &[&long]);
        let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(first["quote"]["cut"], true);
        assert_eq!(first["quote"]["text"].as_str().unwrap().len(), 100);
        let words = printed(&bounds(false, 100), &[&long]);
        assert!(words.starts_with("result\n  ...\n"), "{words}");
    }

    #[test]
    fn keys_are_replaced_unless_they_are_asked_for() {
        let key = format!("ghp_{}", "aB3dE5gH7jK9mN2pQ4rS6tU8vW0xY1zA2b3C");
        for is_json in [true, false] {
            let mut bounds = bounds(is_json, 1 << 20);
            assert!(!printed(&bounds, &[&key]).contains("ghp_"));
            bounds.keys.no_redact = true;
            assert!(printed(&bounds, &[&key]).contains(&key));
        }
    }
}
