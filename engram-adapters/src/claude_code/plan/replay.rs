//! Copies of another session's history, with which resumed and forked sessions begin, and what shows them.
//!
//! No line states some of them. A session that was resumed in the terminal, or moved to the background, may begin with the history of another
//! session under a new session id. The copied lines keep their ids, so the log of the other session, which lies beside this log, proves them.

use engram_core::adapter::{LogRecord, OlderLog};

use super::copies::COPY_STEP_MS;
use super::repeats::Blocks;
use crate::claude_code::notes::{BlockKind, Flags, Kind, NO_TIME, NONE, Note, Notes};

/// Which lines are copies.
#[derive(Debug, Default)]
pub(in crate::claude_code) struct Replay {
    /// By the place of the note.
    pub is_copy: Vec<bool>,
    /// Results that are copies in a line that is new: those of the response that began a fork.
    pub results: Blocks,
    /// The first new line after copies that name their session, and that session.
    pub forked: Option<(usize, String)>,
    /// Only requests of another session show the copies: what no model was asked about may be one, too.
    pub is_by_requests: bool,
}

impl Replay {
    /// True for the line with the result of the response that launched a fork.
    pub fn is_launch(&self, at: usize) -> bool {
        self.results.range((at, 0)..(at + 1, 0)).next().is_some()
    }

    /// True if the log itself shows that it repeats another session.
    pub fn has_copies(&self, notes: &Notes) -> bool {
        self.is_copy
            .iter()
            .zip(&notes.all)
            .any(|(is_copy, note)| *is_copy && !note.is(Flags::BESIDE))
    }

    /// The session goes on from this one, with the first line after the copies.
    pub(super) fn set_forked(&mut self, notes: &Notes, skip: &[bool], session: &str) {
        let last = self
            .is_copy
            .iter()
            .rposition(|is_copy| *is_copy)
            .unwrap_or_default();
        let first_new = kept(notes, skip)
            .find(|(at, note)| *at > last && note.is_conversation())
            .map(|(at, _)| at);
        self.forked = first_new.map(|at| (at, session.to_owned()));
    }
}

/// Finds the copies among the lines that are not skipped.
pub(in crate::claude_code) fn replay(notes: &Notes, skip: &[bool]) -> Replay {
    let mut found = Replay {
        is_copy: vec![false; notes.all.len()],
        ..Replay::default()
    };
    // Where the log says which lines are copies, all others are new.
    let states_copies = notes.all.iter().any(|note| note.is(Flags::FORKED));
    // A fork is briefed after the copies (2.1.332). The history of a fork of a fork has an older briefing.
    let briefing = notes
        .all
        .iter()
        .zip(skip)
        .rposition(|(note, skip)| note.kind == Kind::ForkBriefing && !skip);
    let mut restamped = begins_with_copies(notes, skip).then(|| Restamped {
        until: last_answer_without_request(notes, skip),
        ..Restamped::default()
    });
    let foreign = last_foreign_request(notes, skip);
    found.is_by_requests = foreign.is_some() && !states_copies && briefing.is_none();
    let mut older = Older {
        begins_older: begins_older(notes, skip),
        ..Older::default()
    };
    let mut summary_asked = false;
    let mut only_copies = true;
    let mut origin = None;
    let mut requested_by = notes
        .requested_by
        .iter()
        .filter(|(at, _)| !skip[*at as usize])
        .peekable();
    for (at, note) in notes.all.iter().enumerate().filter(|(at, _)| !skip[*at]) {
        if matches!(note.kind, Kind::Enqueue | Kind::Dequeue) {
            older.set_queued(note);
        }
        if !note.is_conversation() {
            continue;
        }
        if note.is(Flags::COMPACTING) {
            // 2.1.90: the file of the agent that writes the summary begins with the history, under the same ids.
            summary_asked |= note.is(Flags::ASKS_SUMMARY);
            found.is_copy[at] = !summary_asked;
            continue;
        }
        while let Some((_, session)) = requested_by.next_if(|(place, _)| *place as usize <= at) {
            origin = Some(*session);
        }
        let is_restamped = restamped.as_mut().is_some_and(|copies| copies.has(note));
        let is_foreign = note.is(Flags::FOREIGN_REQUEST) || foreign.is_some_and(|last| at <= last);
        let (is_older, of_session) = older.has(note, only_copies);
        origin = of_session.or(origin);
        let is_copy = match briefing {
            _ if states_copies => note.is(Flags::FORKED),
            Some(briefing) => is_foreign || at < briefing,
            None => is_restamped || is_foreign || is_older,
        };
        let is_copy = is_copy || note.is(Flags::BESIDE);
        found.is_by_requests &= !is_restamped && !is_older;
        only_copies &= is_copy;
        found.is_copy[at] = is_copy;
    }
    add_launch(notes, &mut found);
    if let Some(session) =
        origin.and_then(|session| notes.sessions.get(usize::from(session).checked_sub(1)?))
    {
        found.set_forked(notes, skip, session);
    }
    found
}

/// The file of a fork begins with the response of its parent that launched it, and the result (2.1.332).
fn add_launch(notes: &Notes, found: &mut Replay) {
    let Some(fork) = notes.all.iter().position(|note| note.kind == Kind::Fork) else {
        return;
    };
    let Some(launch) = notes
        .all
        .iter()
        .skip(fork)
        .find(|note| note.kind == Kind::Assistant)
        .map(|note| note.message)
    else {
        return;
    };
    let mut calls = Vec::new();
    for (at, note) in notes.all.iter().enumerate().skip(fork) {
        let blocks = notes.blocks_of(at).iter().enumerate();
        if note.kind == Kind::Assistant && note.message == launch {
            found.is_copy[at] = true;
            calls.extend(
                blocks
                    .filter(|(_, block)| block.kind == BlockKind::Call)
                    .map(|(_, block)| block.key),
            );
        } else if note.kind == Kind::User {
            let results = blocks
                .filter(|(_, block)| block.kind == BlockKind::Result && calls.contains(&block.key));
            found.results.extend(results.map(|(n, _)| (at, n)));
        }
    }
}

/// Up to 2.0.29: the file begins with lines that all have the time of copying.
#[derive(Default)]
struct Restamped {
    /// The time of the last of them.
    last: Option<i64>,
    /// The first of them is a prompt that is a string, no list of blocks.
    prompts_are_strings: bool,
    /// The last answer that has no request id. Until then all is copied.
    until: Option<u64>,
    /// A line was none.
    is_over: bool,
}

impl Restamped {
    fn has(&mut self, note: &Note) -> bool {
        // Warm-up lines of sub-agents may come before the copies (2.0.20).
        let is_warm_up =
            self.last.is_none() && note.is(Flags::SIDECHAIN) && note.dialect.copies_are_restamped();
        let has = !self.is_over && !is_warm_up && self.goes_on(note);
        self.is_over |= !has && !is_warm_up;
        has
    }

    fn goes_on(&mut self, note: &Note) -> bool {
        if !note.dialect.copies_are_restamped() {
            return false;
        }
        let time = Some(note.time).filter(|time| *time != NO_TIME);
        if let (Some(until), Some(_)) = (self.until, self.last) {
            if note.uuid == until {
                self.until = None;
            }
            self.last = time.or(self.last);
            return true;
        }
        let is_string = note.kind == Kind::User && note.is(Flags::STRING);
        match (time, self.last) {
            (Some(now), None) => {
                (self.last, self.prompts_are_strings) = (Some(now), is_string);
                true
            }
            (Some(now), Some(last)) => {
                // An answer or a result that comes as fast as that is a copy. A prompt may be new.
                let step = if self.prompts_are_strings && is_string {
                    0
                } else {
                    COPY_STEP_MS
                };
                self.last = Some(now);
                (0..=step).contains(&(now - last)) && (self.prompts_are_strings || !is_string)
            }
            (None, _) => false,
        }
    }
}

/// True if the first answer of the model has the same time as the message before it.
fn begins_with_copies(notes: &Notes, skip: &[bool]) -> bool {
    let mut before = NO_TIME;
    for note in messages(notes, skip).filter(|note| !note.is(Flags::SIDECHAIN)) {
        if note.kind == Kind::Assistant && !note.is(Flags::SYNTHETIC) {
            let is_known =
                note.dialect.copies_are_restamped() && before != NO_TIME && note.time != NO_TIME;
            return is_known && (0..=COPY_STEP_MS).contains(&(note.time - before));
        }
        before = note.time;
    }
    false
}

/// The last copied answer: copies have no request id, and copied prompts are lists of blocks (1.0.45 to 2.0.29).
fn last_answer_without_request(notes: &Notes, skip: &[bool]) -> Option<u64> {
    let mut last = None;
    let mut has_prompt = false;
    for note in messages(notes, skip) {
        match note.kind {
            Kind::User if note.is(Flags::STRING) => break,
            Kind::User => has_prompt = true,
            _ if note.request != NONE || !has_prompt => break,
            _ => last = Some(note.uuid),
        }
    }
    last
}

fn messages<'n>(notes: &'n Notes, skip: &'n [bool]) -> impl Iterator<Item = &'n Note> {
    kept(notes, skip)
        .map(|(_, note)| note)
        .filter(|note| matches!(note.kind, Kind::User | Kind::Assistant))
}

/// The lines that are not skipped, with their places.
fn kept<'n>(notes: &'n Notes, skip: &'n [bool]) -> impl Iterator<Item = (usize, &'n Note)> {
    notes
        .all
        .iter()
        .enumerate()
        .zip(skip)
        .filter(|(_, skip)| !**skip)
        .map(|(line, _)| line)
}

/// The last answer that another session requested, before the first one that its own session requested (2.1.329).
fn last_foreign_request(notes: &Notes, skip: &[bool]) -> Option<usize> {
    let foreign = kept(notes, skip)
        .take_while(|(_, note)| !note.is(Flags::OWN_REQUEST))
        .filter(|(_, note)| note.is(Flags::FOREIGN_REQUEST));
    foreign.last().map(|(at, _)| at)
}

/// True if the first prompt or answer is older than the prompt that was queued before it.
fn begins_older(notes: &Notes, skip: &[bool]) -> bool {
    let mut queued = NO_TIME;
    for (_, note) in kept(notes, skip) {
        match note.kind {
            Kind::Enqueue | Kind::Dequeue | Kind::Remove => queued = note.time,
            Kind::User | Kind::Assistant => return note.time < queued,
            _ => {}
        }
    }
    false
}

/// 2.0.30 and later: lines older than the queued prompt for which the file was created, and lines of another session that are older than the
/// last queued prompt.
#[derive(Default)]
struct Older {
    /// When the last prompt was queued, and its session. Older lines were not written for it.
    queued: Option<(i64, u16)>,
    copying: bool,
    begins_older: bool,
}

impl Older {
    fn set_queued(&mut self, note: &Note) {
        if note.time != NO_TIME && note.session != 0 {
            self.queued = Some((note.time, note.session));
        }
    }

    /// True for a copy, with its session if the line is another session's.
    fn has(&mut self, note: &Note, only_copies: bool) -> (bool, Option<u16>) {
        let Some((time, session)) = self.queued.filter(|_| note.time != NO_TIME) else {
            return (false, None);
        };
        if note.time >= time {
            (self.queued, self.copying) = (None, false);
            return (false, None);
        }
        // The first line of a conversation is older than the prompt only if it is a copy. Hooks run before the prompt.
        let is_first = note.parent == NONE && matches!(note.kind, Kind::User | Kind::Boundary);
        let foreign = Some(note.session)
            .filter(|own| note.kind == Kind::User && *own != 0 && *own != session);
        self.copying |= foreign.is_some() || is_first || (only_copies && self.begins_older);
        (self.copying, foreign)
    }
}

/// Adds the lines that an older log has, too, unless the log itself shows all of its copies.
pub(in crate::claude_code) fn add_copies(
    notes: &Notes,
    skip: &[bool],
    replay: &mut Replay,
    older_logs: impl FnOnce(&[LogRecord]) -> Vec<OlderLog>,
) {
    if replay.has_copies(notes) && !replay.is_by_requests {
        return;
    }
    let has_id =
        |note: &Note| note.uuid != NONE && !note.is(Flags::IDENTITY) && !note.is(Flags::WRAPPED);
    let lines = || {
        notes
            .all
            .iter()
            .enumerate()
            .filter(|(at, note)| !skip[*at] && has_id(note))
    };
    let records: Vec<LogRecord> = lines()
        .map(|(_, note)| LogRecord {
            id: note.uuid,
            time: note.time,
        })
        .collect();
    let logs = older_logs(&records);
    let Some(nearest) = logs.first() else { return };
    for (at, note) in lines().filter(|(_, note)| note.is_conversation()) {
        replay.is_copy[at] |= logs.iter().any(|log| log.records.contains(&note.uuid));
    }
    replay.set_forked(notes, skip, &nearest.session_id);
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::claude_code::revisions::Dialect;

    fn sessions() -> Vec<String> {
        ["own", "first", "second"].map(str::to_owned).to_vec()
    }

    fn copies(lines: &[Note]) -> (Vec<bool>, Option<(usize, String)>) {
        let mut notes = Notes {
            sessions: sessions(),
            ..Notes::default()
        };
        for note in lines {
            if note.is(Flags::FOREIGN_REQUEST) {
                notes.requested_by.push((notes.all.len() as u32, 2));
            }
            notes.push(*note, &[]);
        }
        let found = replay(&notes, &vec![false; lines.len()]);
        (found.is_copy, found.forked)
    }

    #[test]
    fn lines_that_state_it_are_copies() {
        let forked = |note: Note| Note {
            flags: Flags::FORKED,
            ..note
        };
        assert_eq!(
            copies(&[forked(user()), forked(part(1)), user(), part(2)]).0,
            [true, true, false, false]
        );
    }

    #[test]
    fn lines_before_the_last_briefing_of_a_fork_are_copies() {
        let briefing = Note {
            kind: Kind::ForkBriefing,
            ..Note::default()
        };
        assert_eq!(
            copies(&[user(), briefing, part(1), briefing, user(), part(2)]).0,
            [true, true, true, false, false, false]
        );
    }

    #[test]
    fn the_response_that_launched_a_fork_is_a_copy() {
        let mut notes = Notes::default();
        notes.push(
            Note {
                kind: Kind::Fork,
                ..Note::default()
            },
            &[],
        );
        notes.push(part(1), &[call(5)]);
        notes.push(user(), &[result(5, 1), text(2)]);
        notes.push(part(2), &[call(6)]);
        notes.push(user(), &[result(6, 1)]);
        let found = replay(&notes, &[false; 5]);
        assert_eq!(found.is_copy, [false, true, false, false, false]);
        assert_eq!(found.results, Blocks::from([(2, 0)]));
    }

    #[test]
    fn lines_before_the_last_answer_for_another_session_are_copies() {
        let foreign = Note {
            flags: Flags::FOREIGN_REQUEST,
            ..part(1)
        };
        let own = Note {
            flags: Flags::OWN_REQUEST,
            ..part(2)
        };
        assert_eq!(
            copies(&[user(), foreign, user(), own]),
            (
                vec![true, true, false, false],
                Some((2, "first".to_owned()))
            )
        );
    }

    #[test]
    fn a_repeated_line_shows_no_copies() {
        let foreign = Note {
            flags: Flags::FOREIGN_REQUEST,
            ..part(1)
        };
        let mut notes = Notes {
            requested_by: vec![(1, 2), (3, 3)],
            sessions: sessions(),
            ..Notes::default()
        };
        [user(), foreign, user(), foreign]
            .iter()
            .for_each(|note| notes.push(*note, &[]));
        let found = replay(&notes, &[false, false, false, true]);
        assert_eq!(
            (found.is_copy, found.forked),
            (
                vec![true, true, false, false],
                Some((2, "first".to_owned()))
            )
        );
    }

    #[test]
    fn lines_that_were_copied_at_one_moment_are_copies() {
        let at = |time, note: Note| Note {
            time,
            dialect: Dialect::BlockLines,
            ..note
        };
        let prompt = |time| {
            at(
                time,
                Note {
                    flags: Flags::STRING,
                    ..user()
                },
            )
        };
        let lines = [
            prompt(5),
            at(5, part(1)),
            prompt(5),
            at(6, part(2)),
            prompt(90),
            at(91, part(3)),
        ];
        assert_eq!(copies(&lines).0, [true, true, true, true, false, false]);
        assert_eq!(
            copies(&[prompt(5), at(50, part(1)), prompt(50)]).0,
            [false; 3]
        );
    }

    #[test]
    fn lines_older_than_the_queued_prompt_are_copies() {
        let at = |time, kind, session| Note {
            time,
            kind,
            session,
            ..user()
        };
        let lines = [
            at(50, Kind::Enqueue, 1),
            at(50, Kind::Dequeue, 1),
            at(10, Kind::User, 2),
            at(11, Kind::Assistant, 1),
            at(51, Kind::User, 1),
        ];
        assert_eq!(
            copies(&lines),
            (
                vec![false, false, true, true, false],
                Some((4, "first".to_owned()))
            )
        );
    }

    use super::super::replay;

    #[test]
    fn lines_that_an_older_log_has_are_copies_unless_the_log_states_which_are() {
        let line = |uuid, flags| Note {
            uuid,
            flags,
            ..user()
        };
        let copies = |flags| {
            let mut notes = Notes::default();
            [
                line(1, Flags::default()),
                line(2, flags),
                line(3, Flags::default()),
            ]
            .iter()
            .for_each(|note| notes.push(*note, &[]));
            let mut found = replay::replay(&notes, &[false; 3]);
            let older = OlderLog {
                session_id: "first".to_owned(),
                records: [1, 2].into(),
            };
            add_copies(&notes, &[false; 3], &mut found, |records| {
                assert_eq!(
                    records.iter().map(|record| record.id).collect::<Vec<_>>(),
                    [1, 2, 3]
                );
                vec![older]
            });
            (found.is_copy, found.forked)
        };
        assert_eq!(
            copies(Flags::default()),
            (vec![true, true, false], Some((2, "first".to_owned())))
        );
        assert_eq!(copies(Flags::FORKED), (vec![false, true, false], None));
    }
}
