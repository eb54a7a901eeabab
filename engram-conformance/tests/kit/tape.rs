//! Changing a tape by hand, so that nothing breaks but what is meant to: events are numbered, linked and counted anew.

use std::collections::BTreeMap;

/// The lines of a tape.
#[derive(Clone)]
pub struct Tape(Vec<String>);

impl Tape {
    /// The lines of a text.
    pub fn of(text: &str) -> Tape {
        Tape(text.lines().map(str::to_owned).collect())
    }

    /// The text of the lines as they are now.
    pub fn text(&self) -> String {
        self.0.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The text with `seq`, `parent` and the counts made to fit.
    pub fn sealed(&self) -> String {
        let seqs: BTreeMap<u64, usize> =
            self.0.iter().enumerate().filter_map(|(at, line)| Some((number(line, "{\"seq\":")?, at))).rev().collect();
        let mut lines: Vec<String> = self.0.iter().enumerate().map(|(at, line)| renumbered(line, at, &seqs)).collect();
        if let Some(stop) = lines.last().cloned() {
            let at = lines.len() - 1;
            lines[at] = recounted(&stop, &lines);
        }
        Tape(lines).text()
    }

    /// The place of the first line that holds all of these.
    pub fn find(&self, holds: &[&str]) -> Option<usize> {
        self.0.iter().position(|line| holds.iter().all(|piece| line.contains(piece)))
    }

    /// The places of all lines that hold all of these.
    pub fn all(&self, holds: &[&str]) -> Vec<usize> {
        (0..self.0.len()).filter(|at| holds.iter().all(|piece| self.0[*at].contains(piece))).collect()
    }

    /// The line at a place.
    pub fn line(&self, at: usize) -> &str {
        &self.0[at]
    }

    /// A field of the line at a place, as it stands there.
    pub fn field(&self, at: usize, key: &str) -> Option<&str> {
        let from = self.0[at].split_once(&format!("\"{key}\":"))?.1;
        let end = if let Some(text) = from.strip_prefix('"') { text.find('"')? + 2 } else { from.find([',', '}'])? };
        Some(&from[..end])
    }

    /// Replaces a piece of the line at a place.
    pub fn replace(&mut self, at: usize, from: &str, to: &str) {
        self.0[at] = self.0[at].replacen(from, to, 1);
    }

    /// Puts a line before a place.
    pub fn insert(&mut self, at: usize, line: String) {
        self.0.insert(at, line);
    }

    /// Takes a line out.
    pub fn remove(&mut self, at: usize) -> String {
        self.0.remove(at)
    }

    /// Brings all lines but the first and the last into another order.
    pub fn sort_by_key(&mut self, key: impl Fn(&str) -> usize) {
        let end = self.0.len() - 1;
        self.0[1..end].sort_by_key(|line| key(line));
    }
}

fn number(line: &str, before: &str) -> Option<u64> {
    let from = line.split_once(before)?.1;
    from.split(|byte: char| !byte.is_ascii_digit()).next()?.parse().ok()
}

fn renumbered(line: &str, at: usize, seqs: &BTreeMap<u64, usize>) -> String {
    let Some(seq) = number(line, "{\"seq\":") else { return line.to_owned() };
    let line = line.replacen(&format!("{{\"seq\":{seq},"), &format!("{{\"seq\":{at},"), 1);
    let Some(parent) = number(&line, ",\"parent\":") else { return line };
    let now = seqs.get(&parent).map(|at| format!(",\"parent\":{at}")).unwrap_or_default();
    line.replacen(&format!(",\"parent\":{parent}"), &now, 1)
}

fn recounted(stop: &str, lines: &[String]) -> String {
    let Some((before, rest)) = stop.split_once("\"counts\":{") else { return stop.to_owned() };
    let Some((counts, after)) = rest.split_once('}') else { return stop.to_owned() };
    let of = |kind: &str| lines.iter().filter(|line| line.contains(&format!("\"k\":\"{kind}\""))).count();
    let kinds = counts.split(',').filter_map(|count| count.split('"').nth(1));
    let counts: Vec<String> = kinds.map(|kind| format!("\"{kind}\":{}", of(kind))).collect();
    format!("{before}\"counts\":{{{}}}{after}", counts.join(","))
}

#[test]
fn a_tape_that_is_sealed_unchanged_is_the_same() {
    let text = "{\"seq\":0,\"k\":\"meta\"}\n{\"seq\":1,\"k\":\"tool.call\"}\n{\"seq\":2,\"k\":\"tool.result\",\"parent\":1}\n{\"seq\":3,\"k\":\"meta\",\"counts\":{\"meta\":2,\"tool.call\":1,\"tool.result\":1}}\n";
    let mut tape = Tape::of(text);
    assert_eq!(tape.sealed(), text);
    tape.insert(1, "{\"seq\":9,\"k\":\"meta\"}".to_owned());
    assert!(tape.sealed().contains("\"parent\":2") && tape.sealed().contains("\"meta\":3"));
}
