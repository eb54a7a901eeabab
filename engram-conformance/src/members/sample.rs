//! The changes to try: one of each member of a session, or a seeded sample over all sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::sync::{Arc, OnceLock};

use engram_core::keys::hash64;
use engram_core::members::{MemberSource, MemberTable};

use super::change::{Change, Kind};
use super::survey::{Member, Survey, survey};
use super::trial::{Original, Reported, Trial};
use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::outcome::Findings;
use crate::subject::Subject;

/// With the value `all`, every member of every session is changed.
const FULL_RUN: &str = "ENGRAM_MEMBERS";
/// The most changes of a sample, per recording.
const MAX_PER_RECORDING: usize = 40;
/// A tree of so many recordings is not a part of one: each member of each record type is tried at least once.
const WHOLE_TREE: usize = 10;
/// Of this many trials, one is repeated under strict policy.
const STRICT_TRIALS: u64 = 8;
/// Decides which occurrence of a member is changed.
const SEED: u64 = 20;

/// What is tried once: a kind of change of a member in records of one type, alone or inside another record, of one schema. In a full run it
/// is tried once in each session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key {
    session: String,
    schema: String,
    outer: String,
    record: String,
    pattern: String,
    kind: Kind,
}

/// The changes to try, and what the surveys of the sessions found.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    findings: Findings,
    /// With the rank of the chosen occurrence: the one with the lowest is tried.
    trials: BTreeMap<Key, ((u32, u64), Trial)>,
}

fn is_full_run() -> bool {
    static IS_FULL: OnceLock<bool> = OnceLock::new();
    *IS_FULL.get_or_init(|| env::var_os(FULL_RUN).is_some_and(|value| value == "all"))
}

impl Sample {
    /// The members of one recording. Nothing without a member table.
    pub fn of(subject: &Subject<'_>, case: &Case<'_>) -> Sample {
        let mut sample = Sample::default();
        if let Some(Ok(table)) = subject.descriptor.members.map(MemberSource::table) {
            for session in &case.sessions {
                sample.add_session(subject, case, session, table);
            }
        }
        sample
    }

    fn add_session(
        &mut self,
        subject: &Subject<'_>,
        case: &Case<'_>,
        session: &ConvertedSession,
        table: &MemberTable,
    ) {
        let Some(survey) = survey(&subject.descriptor, table, session) else {
            return self.findings.note("sessions that are not UTF-8");
        };
        self.findings.count("sessions");
        self.findings
            .note_many("values of user data", survey.user_data);
        self.findings
            .note_many("lines that are not one JSON value", survey.other_lines);
        self.add_faults(case, session, &survey);
        let reported = Reported::by(&session.tape);
        let original = Arc::new(Original {
            place: case.place(session),
            bytes: session.source().to_vec(),
            context: session.input.context.clone(),
            can_be_cut: reported == Reported::default()
                && survey.members.iter().all(|member| member.line > 0),
            reported,
        });
        for member in survey.members {
            self.add_member(session.schema().unwrap_or_default(), member, &original);
        }
    }

    /// Members that the recording has and the table has not.
    fn add_faults(&mut self, case: &Case<'_>, session: &ConvertedSession, survey: &Survey) {
        for ((record, pattern), (line, what)) in &survey.faults {
            let line = if *line > 0 {
                format!(":{line}")
            } else {
                String::new()
            };
            self.findings.fail(
                format!("{}{line}", case.place(session)),
                format!("`{record}` {pattern}: {what}"),
            );
        }
    }

    fn add_member(&mut self, schema: &str, member: Member, original: &Arc<Original>) {
        let value = || member.value.clone();
        let choice = hash64((SEED, &member.record, &member.pattern));
        let changes = [
            member.name.clone().map(Change::rename),
            Change::retype(value(), member.allowed),
            Change::nullify(value(), member.allowed),
            Change::reform(value(), member.allowed, choice),
        ];
        for change in changes.into_iter().flatten() {
            let key = Key {
                session: if is_full_run() {
                    original.place.clone()
                } else {
                    String::new()
                },
                schema: schema.to_owned(),
                outer: member.outer.clone(),
                record: member.record.clone(),
                pattern: member.pattern.clone(),
                kind: change.kind,
            };
            let end = if original.can_be_cut {
                member.end
            } else {
                original.bytes.len()
            };
            let trial = Trial {
                original: Arc::clone(original),
                record: member.record.clone(),
                pattern: member.pattern.clone(),
                line: member.line,
                end: member.end,
                change,
            };
            // The shorter the session, the cheaper the trial.
            let rank = (
                end.ilog2(),
                hash64((SEED, &key, &original.place, member.line)),
            );
            self.add_trial(key, rank, trial);
        }
    }

    fn add_trial(&mut self, key: Key, rank: (u32, u64), trial: Trial) {
        match self.trials.get(&key) {
            Some((known, _)) if *known <= rank => {}
            _ => drop(self.trials.insert(key, (rank, trial))),
        }
    }

    /// Adds the members of other recordings.
    pub fn add(&mut self, other: Sample) {
        self.findings.add(other.findings);
        for (key, (rank, trial)) in other.trials {
            self.add_trial(key, rank, trial);
        }
    }

    /// What the surveys found.
    pub fn findings(&self) -> Findings {
        self.findings.clone()
    }

    /// The trials for a tree of this many recordings, each with true if strict policy is to be tried too. Members of each record type come
    /// first, then the same members in records of further schemas.
    pub fn trials(&self, recordings: usize) -> Vec<(&Trial, bool)> {
        let mut seen = BTreeSet::new();
        let mut is_first =
            |key: &Key| seen.insert(hash64((&key.outer, &key.record, &key.pattern, key.kind)));
        let ranked = self
            .trials
            .iter()
            .map(|(key, (_, trial))| (!is_first(key), hash64((SEED, key)), trial));
        let mut trials: Vec<(bool, u64, &Trial)> = ranked.collect();
        trials.sort_by_key(|(is_again, hash, _)| (*is_again, *hash));
        if !is_full_run() {
            let first = trials.iter().take_while(|(is_again, ..)| !is_again).count();
            let least = if recordings < WHOLE_TREE { 0 } else { first };
            trials.truncate(least.max(MAX_PER_RECORDING * recordings));
        }
        trials
            .into_iter()
            .map(|(_, hash, trial)| (trial, hash % STRICT_TRIALS == 0))
            .collect()
    }

    /// How many changes there are, tried or not.
    pub fn len(&self) -> usize {
        self.trials.len()
    }
}
