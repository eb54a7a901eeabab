//! A snippet is the text of a call, with lines that stood there before: only its new lines are the call's.

use std::collections::HashMap;

use rusqlite::Connection;
use serde_json::Value;

use crate::hit::Hit;
use crate::lines::{Lines, hash_of};
use crate::rows::{Digest, What};
use crate::{names, window};

/// Takes back the lines of snippets that the call repeats from the text before. Where the call does not show that text, all of them.
pub fn keep_new_lines(db: &Connection, lines: &Lines<'_>, made: &mut [Option<Hit>]) -> rusqlite::Result<()> {
    let mut new_lines: HashMap<i64, Option<Vec<String>>> = HashMap::new();
    for (at, slot) in made.iter_mut().enumerate() {
        let Some(hit) = slot.as_ref().filter(|hit| hit.is_snippet() && hit.what == What::Update) else { continue };
        if !new_lines.contains_key(&hit.id) {
            let call = window::call(db, hit.tape, hit.call.unwrap_or(hit.seq))?;
            new_lines.insert(hit.id, call.args().and_then(|args| added(&args, hit)));
        }
        let is_new = new_lines[&hit.id].as_ref().is_some_and(|new| new.iter().any(|new| new == lines.run(at, 1)));
        if !is_new {
            *slot = None;
        }
    }
    Ok(())
}

/// The lines that are in the text after more often than in the text before.
fn added(args: &Value, hit: &Hit) -> Option<Vec<String>> {
    let (mut before, mut after) = (None, None);
    names::strings(args, &mut |_, text| {
        let text = if text.contains("\r\n") { text.replace("\r\n", "\n") } else { text.to_owned() };
        let is = |hash: Option<Digest>| hash == Some(hash_of(&text)) || hash == Some(hash_of(text.trim_end_matches('\n')));
        if is(hit.ah) {
            after = Some(text);
        } else if is(hit.bh) {
            before = Some(text);
        }
    });
    let (before, after) = (before?, after?);
    let mut old: HashMap<&str, usize> = HashMap::new();
    before.lines().for_each(|line| *old.entry(line).or_default() += 1);
    let mut new = Vec::new();
    for line in after.lines() {
        match old.get_mut(line).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => new.push(line.to_owned()),
        }
    }
    // A line that is both new and old cannot be told apart.
    let is_old = |line: &String| before.lines().any(|old| old == line);
    new.retain(|line| !is_old(line));
    Some(new)
}
