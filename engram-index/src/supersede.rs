//! Which of two tapes of one session says everything that the other says.

use std::collections::HashSet;

use engram_core::form_facts::FormFacts;

use crate::repeats;
use crate::rows::{Digest, FileRef, TapeRows, UNCONFIRMED, What};

/// One fact of a tape, without numbers that change when the session grows.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Fact<'r> {
    Prompt(Option<i64>, i64),
    Call(Option<i64>, &'r str, Option<&'r str>),
    Span(
        What,
        &'r FileRef,
        [Option<(i64, i64)>; 2],
        [Option<Digest>; 4],
        Option<i64>,
    ),
}

/// How two tapes with the same harness, session and agent stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// The first says nothing that the second does not say.
    Superseded,
    /// The second says nothing that the first does not say.
    Supersedes,
    /// Each says something of its own: another form of the session, or a copy before an undo.
    Apart,
}

/// Compares two tapes of one session. What is not confirmed yet may be said otherwise later, so it does not count.
///
/// Tapes of two logs in two schemas stand side by side, as in the sums: one of them has what the other lacks.
pub fn relation(one: &TapeRows, other: &TapeRows) -> Relation {
    let is_one_log = one.tape.input_hash == other.tape.input_hash;
    // Captures of two runs of a session may have no prompt and no call: what is kept of their answers tells them apart.
    let (mut within, mut around) = (true, true);
    if let Some((first, second)) = form(one).zip(form(other)) {
        if !is_one_log && !first.has_schema_of(&second) {
            return Relation::Apart;
        }
        within = second.contain(&first, |_, _| true);
        around = first.contain(&second, |_, _| true);
    }
    let (first, second) = (facts(one), facts(other));
    within &= first.is_subset(&second);
    around &= second.is_subset(&first);
    match (within, around) {
        (true, false) => Relation::Superseded,
        (false, true) => Relation::Supersedes,
        // Of one log read by two versions of its adapter, one stays, whatever each says.
        (false, false) if !is_one_log => Relation::Apart,
        _ if rank(one) < rank(other) => Relation::Superseded,
        _ => Relation::Supersedes,
    }
}

fn form(rows: &TapeRows) -> Option<FormFacts> {
    Some(repeats::read(rows.form.as_deref()?)?.0)
}

fn facts(rows: &TapeRows) -> HashSet<Fact<'_>> {
    let prompts = rows
        .prompts
        .iter()
        .map(|prompt| Fact::Prompt(prompt.t, prompt.by));
    let calls = rows
        .calls
        .iter()
        .map(|call| Fact::Call(call.t, &call.tool, call.call_id.as_deref()));
    let certain = rows
        .spans
        .iter()
        .filter(|span| span.flags & UNCONFIRMED == 0 && span.what != What::Failed);
    let spans = certain.map(|span| {
        Fact::Span(
            span.what,
            &span.file,
            [span.before, span.after],
            [span.bh, span.ah, span.fbh, span.fah],
            span.t,
        )
    });
    prompts.chain(calls).chain(spans).collect()
}

/// Of two tapes that say the same, the one with the higher rank stays: it ends later, or its adapter is newer, or its hash is larger.
fn rank(rows: &TapeRows) -> (bool, u64, Vec<u64>, usize, Digest) {
    let tape = &rows.tape;
    let version = tape
        .adapter
        .rsplit(' ')
        .next()
        .unwrap_or_default()
        .split('.')
        .map(|part| part.parse().unwrap_or(0))
        .collect();
    // A redacted tape has fewer hashes.
    let hashes = rows
        .spans
        .iter()
        .filter(|span| span.ah.is_some() || span.fah.is_some())
        .count();
    (tape.complete, tape.events, version, hashes, tape.tape_hash)
}
