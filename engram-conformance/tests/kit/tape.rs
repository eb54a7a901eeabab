//! Edits the text of a tape. `sealed` then corrects numbers, parents and counts, so that the tape has no other defect.

use std::collections::BTreeMap;

use engram_core::anchor::anchors;
use engram_core::hash::Hash;
use serde_json::{Value, json};

/// The lines of a tape.
#[derive(Clone)]
pub struct Tape(Vec<String>);

impl Tape {
    /// The lines of a text.
    pub fn of(text: &str) -> Tape {
        Tape(text.lines().map(str::to_owned).collect())
    }

    /// The text of the lines, unchanged.
    pub fn text(&self) -> String {
        self.0.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The text with correct `seq`, `parent` and counts.
    pub fn sealed(&self) -> String {
        let seqs: BTreeMap<u64, usize> = self
            .0
            .iter()
            .enumerate()
            .filter_map(|(at, line)| Some((number(line, "{\"seq\":")?, at)))
            .rev()
            .collect();
        let mut lines: Vec<String> = self
            .0
            .iter()
            .enumerate()
            .map(|(at, line)| renumbered(line, at, &seqs))
            .collect();
        if let Some(stop) = lines.last().cloned() {
            let at = lines.len() - 1;
            lines[at] = recounted(&stop, &lines);
        }
        Tape(lines).text()
    }

    /// The index of the first line that contains all of these texts.
    pub fn find(&self, texts: &[&str]) -> Option<usize> {
        self.0
            .iter()
            .position(|line| texts.iter().all(|piece| line.contains(piece)))
    }

    /// The indexes of all lines that contain all of these texts.
    pub fn all(&self, texts: &[&str]) -> Vec<usize> {
        (0..self.0.len())
            .filter(|at| texts.iter().all(|piece| self.0[*at].contains(piece)))
            .collect()
    }

    /// The line at an index.
    pub fn line(&self, at: usize) -> &str {
        &self.0[at]
    }

    /// The JSON value of a field in the line at an index.
    pub fn field(&self, at: usize, key: &str) -> Option<&str> {
        let from = self.0[at].split_once(&format!("\"{key}\":"))?.1;
        let end = if let Some(text) = from.strip_prefix('"') {
            text.find('"')? + 2
        } else {
            from.find([',', '}'])?
        };
        Some(&from[..end])
    }

    /// Replaces the first occurrence of a text in the line at an index.
    pub fn replace(&mut self, at: usize, from: &str, to: &str) {
        self.0[at] = self.0[at].replacen(from, to, 1);
    }

    /// Gives the first read the whole text of its result, with what a hook added.
    pub fn read_whole_result(&mut self) {
        let Some(at) = self.find(&["\"k\":\"code.read\""]) else {
            return;
        };
        let id = self.field(at, "call_id").unwrap_or_default().to_owned();
        let Some(result) = self.find(&["\"k\":\"tool.result\"", &id]) else {
            return;
        };
        let event =
            |at: usize| -> Value { serde_json::from_str(self.line(at)).unwrap_or_default() };
        let (read, result) = (event(at), event(result));
        let text = result["stdout"].as_str().unwrap_or_default();
        let (count, hash) = (text.lines().count(), Hash::of_text(text).to_string());
        let prints: Vec<String> = anchors(text)
            .iter()
            .map(|anchor| format!("{anchor:016x}"))
            .collect();
        let facts = [
            ("range", json!([1, count])),
            ("total_lines", json!(count)),
            ("hash", json!(hash)),
            ("anchor_hashes", json!(prints)),
        ];
        for (key, value) in facts {
            self.replace(
                at,
                &format!("\"{key}\":{}", read[key]),
                &format!("\"{key}\":{value}"),
            );
        }
    }

    /// Inserts a line before an index.
    pub fn insert(&mut self, at: usize, line: String) {
        self.0.insert(at, line);
    }

    /// Removes a line.
    pub fn remove(&mut self, at: usize) -> String {
        self.0.remove(at)
    }
}

fn number(line: &str, before: &str) -> Option<u64> {
    let from = line.split_once(before)?.1;
    from.split(|byte: char| !byte.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

fn renumbered(line: &str, at: usize, seqs: &BTreeMap<u64, usize>) -> String {
    let Some(seq) = number(line, "{\"seq\":") else {
        return line.to_owned();
    };
    let line = line.replacen(&format!("{{\"seq\":{seq},"), &format!("{{\"seq\":{at},"), 1);
    let Some(parent) = number(&line, ",\"parent\":") else {
        return line;
    };
    let now = seqs
        .get(&parent)
        .map(|at| format!(",\"parent\":{at}"))
        .unwrap_or_default();
    line.replacen(&format!(",\"parent\":{parent}"), &now, 1)
}

fn recounted(stop: &str, lines: &[String]) -> String {
    let Some((before, rest)) = stop.split_once("\"counts\":{") else {
        return stop.to_owned();
    };
    let Some((counts, after)) = rest.split_once('}') else {
        return stop.to_owned();
    };
    let of = |kind: &str| {
        lines
            .iter()
            .filter(|line| line.contains(&format!("\"k\":\"{kind}\"")))
            .count()
    };
    let kinds = counts
        .split(',')
        .filter_map(|count| count.split('"').nth(1));
    let counts: Vec<String> = kinds
        .map(|kind| format!("\"{kind}\":{}", of(kind)))
        .collect();
    format!("{before}\"counts\":{{{}}}{after}", counts.join(","))
}

#[test]
fn sealing_corrects_parents_and_counts_and_nothing_else() {
    let text = "{\"seq\":0,\"k\":\"meta\"}\n{\"seq\":1,\"k\":\"tool.call\"}\n{\"seq\":2,\"k\":\"tool.result\",\"parent\":1}\n{\"seq\":3,\"k\":\"meta\",\"counts\":{\"meta\":2,\"tool.call\":1,\"tool.result\":1}}\n";
    let mut tape = Tape::of(text);
    assert_eq!(tape.sealed(), text);
    tape.insert(1, "{\"seq\":9,\"k\":\"meta\"}".to_owned());
    assert!(tape.sealed().contains("\"parent\":2") && tape.sealed().contains("\"meta\":3"));
}
