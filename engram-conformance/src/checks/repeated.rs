//! A record that a log repeats changes no event.

use engram_core::keys::hash64;

use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::outcome::Findings;
use crate::repeats::{Way, difference_with_repeats, is_full_run, is_steady, repeatable};
use crate::subject::Subject;

/// Longer sessions are repeated in a full run only.
const MAX_BYTES: usize = 4 << 20;
/// How many lines of a session are repeated alone, except in a full run.
const ALONE: usize = 1;
/// Decides which lines are repeated alone.
const SEED: u64 = 22;
/// The most records of one session that are reported.
const MAX_RECORDS: usize = 2;

/// Repeats all records of each session at once, and some of them alone.
pub fn records(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    for session in &case.sessions {
        let has_lines = session.events.iter().any(|event| event.line().is_some());
        if session.input.is_exported_by_opener {
            // The key of a row is unique, and the opener writes each row once. A repeat of a line of its export occurs in no store.
            findings.note("sessions of stores, whose rows have unique keys");
        } else if !has_lines {
            findings.note("sessions that are not lines");
        } else if session.source().len() > MAX_BYTES && !is_full_run() {
            findings.note("sessions above the size of the sample");
        } else {
            let (lines, pieces) = repeatable(session, &subject.descriptor);
            findings.note_many("pieces of a text", pieces as u64);
            findings.note_many(
                "records without an id or a time",
                (line_count(session) - lines.len() - pieces) as u64,
            );
            Trials {
                subject,
                case,
                session,
                lines: &lines,
                failures: Vec::new(),
            }
            .run(findings);
        }
    }
}

fn line_count(session: &ConvertedSession) -> usize {
    session
        .source()
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .count()
}

/// The trials of one session.
struct Trials<'t> {
    subject: &'t Subject<'t>,
    case: &'t Case<'t>,
    session: &'t ConvertedSession,
    lines: &'t [usize],
    failures: Vec<(usize, Way, String)>,
}

impl Trials<'_> {
    fn run(mut self, findings: &mut Findings) {
        let is_whole = self.session.source().ends_with(b"\n");
        for way in [Way::After, Way::Between, Way::AtEnd]
            .into_iter()
            .filter(|way| is_whole || *way == Way::After)
        {
            let before = self.failures.len();
            self.find(self.lines, way);
            for at in alone(self.lines, &self.case.place(self.session), way) {
                if self.failures.len() == before {
                    self.find(&[at], way);
                }
            }
        }
        if !self.failures.is_empty() && !is_steady(self.subject, self.session) {
            return findings.note("sessions that give another tape each time");
        }
        findings.count_many(
            "records",
            if self.failures.is_empty() {
                self.lines.len() as u64
            } else {
                0
            },
        );
        for (line, way, what) in self.failures.drain(..) {
            let place = format!("{}:{}", self.case.place(self.session), line + 1);
            findings.fail(place, format!("the record again, {}: {what}", way.as_str()));
        }
    }

    /// Repeats all of these lines at once; where that changes the tape, finds the first of them that do.
    fn find(&mut self, lines: &[usize], way: Way) {
        let found = self.failures.iter().filter(|(_, of, _)| *of == way).count();
        if lines.is_empty() || found >= MAX_RECORDS {
            return;
        }
        let Some(what) = difference_with_repeats(self.subject, self.session, lines, way) else {
            return;
        };
        if lines.len() > 1 {
            let before = self.failures.len();
            let (first, second) = lines.split_at(lines.len() / 2);
            self.find(first, way);
            self.find(second, way);
            if self.failures.len() > before {
                return;
            }
        }
        // Only together they change the tape, or there is just one.
        self.failures.push((lines[0], way, what));
    }
}

/// A seeded choice of lines.
fn alone(lines: &[usize], place: &str, way: Way) -> Vec<usize> {
    let mut chosen: Vec<usize> = lines.to_vec();
    if !is_full_run() {
        chosen.sort_by_key(|line| hash64((SEED, place, way.as_str(), *line)));
        chosen.truncate(ALONE);
    }
    chosen
}
