//! Compares the usage on the tapes with what the model server counted.

use engram_core::event::Kind;
use memchr::memmem;
use serde_json::Value;

use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::ground_truth::RealUsage;
use crate::outcome::Findings;
use crate::subject::Subject;
use crate::tape::Event;

/// The gap of logs whose input may contain what came from the cache.
const CACHED_INPUT: &str = "usage.cached_input";
/// The gap of logs that count only at the end of a run.
const OF_RUNS: &str = "usage.run";
/// Numbers below this one occur in any record by chance.
const LEAST_TELLING: u64 = 10;

/// The counts of one response.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Counts([Option<u64>; 5]);

/// Their names in `tokens`.
const NAMES: [&str; 5] = ["input", "cache_read", "cache_write", "output", "reasoning"];
/// Words in the names that logs give them.
const WORDS: [&[&str]; 5] = [
    &["input", "prompt"],
    &["read", "cached"],
    &["write", "creation"],
    &["output", "completion", "candidates"],
    &["reasoning", "thoughts"],
];
/// The indexes of the counts that a log may have from before the end of a response begin here.
const OUTPUT: usize = 3;

impl Counts {
    fn of_real(real: &RealUsage) -> Counts {
        Counts([
            real.input,
            real.cache_read,
            real.cache_write,
            real.output,
            real.reasoning,
        ])
    }

    fn of_event(event: &Event) -> Counts {
        let tokens = event.0.get("tokens");
        Counts(NAMES.map(|name| {
            tokens
                .and_then(|tokens| tokens.get(name))
                .and_then(Value::as_u64)
        }))
    }

    fn add(&mut self, other: Counts) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            *sum = match (*sum, count) {
                (Some(sum), Some(count)) => Some(sum + count),
                (sum, count) => sum.or(count),
            };
        }
    }

    /// The first count that is given and is not the real one. What is given from before the end may be less than the real output.
    fn refuted_by(self, real: Counts, is_early: bool) -> Option<usize> {
        (0..NAMES.len()).find(|at| match (self.0[*at], real.0[*at]) {
            (Some(stated), Some(real)) => {
                if is_early && *at >= OUTPUT {
                    stated > real
                } else {
                    stated != real
                }
            }
            _ => false,
        })
    }

    /// True if a count is more than the other one.
    fn exceeds(self, other: Counts) -> bool {
        self.0
            .iter()
            .zip(other.0)
            .any(|(one, other)| one.zip(other).is_some_and(|(one, other)| one > other))
    }

    fn is_empty(self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    fn text(self) -> String {
        let counts = NAMES
            .iter()
            .zip(self.0)
            .filter_map(|(name, count)| Some(format!("{name} {}", count?)));
        counts.collect::<Vec<_>>().join(", ")
    }

    /// The spellings in logs of the input count, which may contain the cache, and of the output count, which may lack reasoning.
    fn spellings(self) -> [Vec<u64>; 2] {
        let [input, read, write, output, reasoning] = self.0.map(Option::unwrap_or_default);
        let keep = |numbers: Vec<u64>| {
            numbers
                .into_iter()
                .filter(|number| *number >= LEAST_TELLING)
                .collect()
        };
        [
            keep(vec![
                input,
                input + read,
                input + write,
                input + read + write,
            ]),
            keep(vec![output, output.saturating_sub(reasoning)]),
        ]
    }
}

/// One usage of a tape.
struct Stated<'s> {
    session: &'s ConvertedSession,
    event: &'s Event,
    counts: Counts,
}

impl Stated<'_> {
    fn is_early(&self) -> bool {
        self.event.0.get("provisional") == Some(&Value::Bool(true))
    }

    fn id(&self) -> Option<&str> {
        self.event.text("message_id")
    }

    fn fits(&self, real: &RealUsage) -> bool {
        self.counts
            .refuted_by(Counts::of_real(real), self.is_early() || real.cut_off)
            .is_none()
    }
}

/// Each usage is that of one real response, and each response whose counts the log has is there once. So the sums are right too.
///
/// A usage belongs to the response that it names. If its id is not one of the model server's, it belongs to any response with the same
/// counts that has none yet. Where the revision declares that its log counts runs, it may be the sum of responses that follow each other.
pub fn sums(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    if case.truth.usage.is_empty() {
        return;
    }
    let stated = |is_replay: bool| {
        let usages = case
            .events(Kind::Meta)
            .filter(move |(_, event)| event.is_meta("usage") && event.is_replay() == is_replay);
        usages
            .map(|(session, event)| Stated {
                session,
                event,
                counts: Counts::of_event(event),
            })
            .collect::<Vec<_>>()
    };
    let (conversations, real): (Vec<&RealUsage>, Vec<&RealUsage>) = case
        .truth
        .usage
        .iter()
        .partition(|real| real.conversation.is_some());
    if !conversations.is_empty() {
        return sums_of_conversations(case, findings, &conversations, &stated(false));
    }
    let mut ledger = Ledger {
        subject,
        case,
        findings,
        is_used: vec![false; real.len()],
        real,
    };
    let (named, mut others): (Vec<Stated<'_>>, Vec<Stated<'_>>) = stated(false)
        .into_iter()
        .partition(|stated| ledger.named(stated).is_some());
    named.iter().for_each(|stated| ledger.add_named(stated));
    // A usage that says less fits more responses.
    others.sort_by_key(|stated| {
        stated
            .counts
            .0
            .iter()
            .filter(|count| count.is_none())
            .count()
    });
    // The sum of a run does not have the requests that have a usage of their own.
    others.retain(|stated| !stated.counts.is_empty() && !ledger.add_fitting(stated));
    others.iter().for_each(|stated| ledger.add_run(stated));
    ledger.end(&stated(true));
}

/// Real responses, and which of them the tapes have.
struct Ledger<'l, 'c> {
    subject: &'l Subject<'l>,
    case: &'l Case<'c>,
    findings: &'l mut Findings,
    real: Vec<&'l RealUsage>,
    is_used: Vec<bool>,
}

impl Ledger<'_, '_> {
    /// The response that a usage names.
    fn named(&self, stated: &Stated<'_>) -> Option<usize> {
        let id = stated.id()?;
        self.real
            .iter()
            .position(|real| real.message_id.as_deref() == Some(id))
    }

    fn add_named(&mut self, stated: &Stated<'_>) {
        let Some(at) = self.named(stated) else { return };
        let real = self.real[at];
        if self.is_used[at] {
            return self.fail(stated, "is counted a second time");
        }
        self.is_used[at] = true;
        match stated
            .counts
            .refuted_by(Counts::of_real(real), stated.is_early() || real.cut_off)
        {
            Some(_) => {
                let counted = Counts::of_real(real).text();
                let wrong = format!("is wrong: the model server counted {counted}");
                self.fail(stated, &wrong);
            }
            None => self.is_complete(stated, Counts::of_real(real)),
        }
    }

    /// Gives a usage that names no response to one with the same counts and no usage yet. False if no response fits.
    fn add_fitting(&mut self, stated: &Stated<'_>) -> bool {
        // A usage without an input fits many responses; its record has the input of one.
        let record = stated.session.record_of(stated.event).unwrap_or_default();
        let has_input = |at: &usize| {
            self.real[*at]
                .input
                .is_some_and(|input| has_count(record, WORDS[0], input))
        };
        let all = 0..self.real.len();
        let mut fitting = all.filter(|at| !self.is_used[*at] && stated.fits(self.real[*at]));
        let Some(at) = fitting.clone().find(has_input).or_else(|| fitting.next()) else {
            return false;
        };
        self.is_used[at] = true;
        self.is_complete(stated, Counts::of_real(self.real[at]));
        true
    }

    /// Adds the usage of a run, if the revision declares that its log counts runs.
    fn add_run(&mut self, stated: &Stated<'_>) {
        let schema = stated.session.schema();
        let counts_runs = self.subject.declares_for(schema, Kind::Meta, OF_RUNS);
        // Sub-agents with another model are at work in the same run.
        let model = stated.event.text("model");
        let is_free = |at: &usize| !self.is_used[*at] && self.real[*at].may_be_of(model);
        let run = counts_runs.then(|| run_with(stated.counts, &self.real, is_free));
        match run.flatten() {
            Some((run, sum)) => {
                run.iter().for_each(|at| self.is_used[*at] = true);
                self.findings.gap(OF_RUNS);
                self.is_complete(stated, sum);
            }
            None if self.real.iter().any(|real| stated.fits(real)) => {
                self.fail(stated, "is counted a second time");
            }
            None => self.fail(stated, "is that of no response"),
        }
    }

    /// A count that the record has is on the tape.
    fn is_complete(&mut self, stated: &Stated<'_>, real: Counts) {
        let record = stated.session.record_of(stated.event).unwrap_or_default();
        let lost = (0..NAMES.len()).find(|at| {
            let is_logged =
                |count: u64| count >= LEAST_TELLING && has_count(record, WORDS[*at], count);
            stated.counts.0[*at].is_none() && real.0[*at].is_some_and(is_logged)
        });
        // Whether the output has the reasoning in it is a part of the same gap.
        let may_be_unknown = |name: &str| match name {
            "input" => true,
            "output" => matches!(stated.counts.0[4], Some(1..)),
            _ => false,
        };
        match lost {
            Some(at)
                if may_be_unknown(NAMES[at])
                    && self.subject.declares_for(
                        stated.session.schema(),
                        Kind::Meta,
                        CACHED_INPUT,
                    ) =>
            {
                self.findings.gap(CACHED_INPUT);
            }
            Some(at) => self.fail(
                stated,
                &format!("lacks `{}`, which its record has", NAMES[at]),
            ),
            None => self.findings.count("responses"),
        }
    }

    fn fail(&mut self, stated: &Stated<'_>, what: &str) {
        let id = stated
            .id()
            .map(|id| format!(" of {id}"))
            .unwrap_or_default();
        self.findings.fail(
            self.case.place_of(stated.session, stated.event),
            format!("usage{id} ({}) {what}", stated.counts.text()),
        );
    }

    /// The responses that no usage names. A log that names its responses has the counts of one that it does not name only in a sum.
    fn end(self, replayed: &[Stated<'_>]) {
        let is_named = |real: &RealUsage| {
            real.message_id
                .as_deref()
                .is_some_and(|id| self.case.is_logged(id))
        };
        let names_responses = self
            .real
            .iter()
            .zip(&self.is_used)
            .any(|(real, is_used)| *is_used && is_named(real));
        for (real, _) in self
            .real
            .iter()
            .zip(&self.is_used)
            .filter(|(_, is_used)| !**is_used)
        {
            let is_replayed = |stated: &Stated<'_>| match real.message_id.as_deref() == stated.id()
            {
                true => true,
                false => !stated.counts.is_empty() && stated.fits(real),
            };
            if real.cut_off {
                self.findings.note("responses that never ended");
            } else if replayed.iter().any(is_replayed) {
                self.findings.note("responses in repeated history only");
            } else if names_responses && !is_named(real) {
                self.findings.note("responses that the log does not name");
            } else if is_logged(self.case, real) {
                let id = real.message_id.as_deref().unwrap_or("without an id");
                let counts = Counts::of_real(real).text();
                self.findings.fail(
                    self.case.recording.name(),
                    format!("no usage of response {id} ({counts}), but the log has its counts"),
                );
            } else {
                self.findings.note("responses whose counts are not logged");
            }
        }
    }
}

/// The first run of responses that add up to this sum, of those that are free.
fn run_with(
    sum: Counts,
    real: &[&RealUsage],
    is_free: impl Fn(&usize) -> bool,
) -> Option<(Vec<usize>, Counts)> {
    let free: Vec<usize> = (0..real.len()).filter(is_free).collect();
    (0..free.len()).find_map(|from| {
        let mut counted = Counts([None; 5]);
        let to = (from..free.len()).find(|at| {
            counted.add(Counts::of_real(real[free[*at]]));
            sum.refuted_by(counted, false).is_none()
        })?;
        Some((free[from..=to].to_vec(), counted))
    })
}

/// True if the log has the counts of a response: input and output in one record, and in a record of this response if its id is logged.
fn is_logged(case: &Case<'_>, real: &RealUsage) -> bool {
    let counts = Counts::of_real(real);
    let [input, _] = counts.spellings();
    let has_counts = |record: &[u8]| states(record, counts);
    let id = real.message_id.as_deref().filter(|id| case.is_logged(id));
    case.sessions.iter().any(|session| match id {
        Some(id) => session.records_with(id).any(has_counts),
        None => input
            .iter()
            .any(|count| session.records_with(&count.to_string()).any(has_counts)),
    })
}

/// True if a record has a member with this number, whose name contains one of these words.
fn has_count(record: &[u8], words: &[&str], number: u64) -> bool {
    let digits = number.to_string();
    memmem::find_iter(record, digits.as_bytes()).any(|at| {
        let is_whole = record
            .get(at + digits.len())
            .is_none_or(|byte| matches!(byte, b',' | b'}' | b' ' | b'\n' | b'\r'));
        let name = record[..at]
            .trim_ascii_end()
            .strip_suffix(b":")
            .and_then(|before| before.trim_ascii_end().strip_suffix(b"\""));
        let name = name
            .and_then(|name| name.rsplit(|byte| *byte == b'"').next())
            .unwrap_or_default()
            .to_ascii_lowercase();
        is_whole
            && words
                .iter()
                .any(|word| memmem::find(&name, word.as_bytes()).is_some())
    })
}

/// The usage of a conversation adds up to its real sums, or to those of the part that an artifact has.
fn sums_of_conversations(
    case: &Case<'_>,
    findings: &mut Findings,
    real: &[&RealUsage],
    stated: &[Stated<'_>],
) {
    let mut ids: Vec<&str> = real
        .iter()
        .filter_map(|real| real.conversation.as_deref())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        let mut counted = Counts([None; 5]);
        real.iter()
            .filter(|real| real.conversation.as_deref() == Some(id))
            .for_each(|real| counted.add(Counts::of_real(real)));
        let mut sums: Vec<(&ConvertedSession, Counts)> = Vec::new();
        for usage in stated.iter().filter(|stated| is_of(stated, id)) {
            match sums
                .iter_mut()
                .find(|(session, _)| session.name() == usage.session.name())
            {
                Some((_, sum)) => sum.add(usage.counts),
                None => sums.push((usage.session, usage.counts)),
            }
        }
        if sums.is_empty() {
            findings.note("conversations without usage");
        }
        let entries: Vec<Counts> = real
            .iter()
            .filter(|real| real.conversation.as_deref() == Some(id))
            .map(|real| Counts::of_real(real))
            .collect();
        // Each form of a conversation may state its usage: the store all of it, a printed run its own.
        for (session, sum) in sums {
            let usages: Vec<&Stated<'_>> = stated
                .iter()
                .filter(|stated| is_of(stated, id) && stated.session.name() == session.name())
                .collect();
            match part_of(session, &usages, &entries, sum, counted) {
                Ok(what) => findings.count(what),
                Err(what) => findings.fail(case.place(session), what),
            }
        }
    }
}

fn is_of(stated: &Stated<'_>, conversation: &str) -> bool {
    stated
        .event
        .0
        .pointer("/source/session_id")
        .and_then(Value::as_str)
        == Some(conversation)
}

/// Compares the usages of a session with the real usages of its conversation, and names the part that the session has: all usages, those of
/// some runs, or those of some responses. Fails if the usages are no such part, or if the session has more usages.
fn part_of(
    session: &ConvertedSession,
    usages: &[&Stated<'_>],
    entries: &[Counts],
    sum: Counts,
    total: Counts,
) -> Result<&'static str, String> {
    if sum.refuted_by(total, false).is_none() {
        return Ok("conversations");
    }
    let wrong = format!(
        "the usage adds up to {}, the model server counted {}",
        sum.text(),
        total.text()
    );
    // Each is given by a record of its own, and together they are no more than all.
    let mut lines: Vec<Option<u64>> = usages.iter().map(|usage| usage.event.line()).collect();
    lines.sort_unstable();
    lines.dedup();
    let is_stated = |usage: &&Stated<'_>| {
        session
            .record_of(usage.event)
            .is_some_and(|record| states(record, usage.counts))
    };
    if lines.len() < usages.len() || !usages.iter().all(is_stated) || sum.exceeds(total) {
        return Err(wrong);
    }
    let is_run =
        |usage: &Stated<'_>, entry: &Counts| usage.counts.refuted_by(*entry, false).is_none();
    if !usages
        .iter()
        .all(|usage| entries.iter().any(|entry| is_run(usage, entry)))
    {
        return if has_logged(session, total) {
            Err(wrong)
        } else {
            Ok("parts of conversations, by response")
        };
    }
    let is_lost = |entry: &&Counts| {
        !usages.iter().any(|usage| is_run(usage, entry)) && has_logged(session, **entry)
    };
    match entries.iter().find(is_lost) {
        Some(entry) => Err(format!(
            "no usage of a run ({}), but the log has its counts",
            entry.text()
        )),
        None => Ok("parts of conversations, by run"),
    }
}

/// True if a record of the session has these counts.
fn has_logged(session: &ConvertedSession, counts: Counts) -> bool {
    let [input, _] = counts.spellings();
    input.iter().any(|count| {
        session
            .records_with(&count.to_string())
            .any(|record| states(record, counts))
    })
}

/// True if a record has the counts of input and output.
fn states(record: &[u8], counts: Counts) -> bool {
    let [input, output] = counts.spellings();
    let has = |at: usize, spelled: &[u64]| {
        spelled
            .iter()
            .any(|count| has_count(record, WORDS[at], *count))
    };
    has(0, &input) && has(OUTPUT, &output)
}

#[cfg(test)]
mod tests {
    use engram_core::adapter::SideInfo;

    use super::*;
    use crate::session::{Form, Session};

    #[test]
    fn counts_are_found_by_the_names_of_their_members() {
        let has = |record: &str| has_count(record.as_bytes(), WORDS[OUTPUT], 101);
        assert!(has("{\"output_tokens\": 101,\"x\":1}") && has("{\"completionTokens\":101}"));
        assert!(!has(
            "{\"total\":101,\"output\":1011,\"t\":\"10:101\",\"b\":\"101\"}"
        ));
    }

    #[test]
    fn counts_from_before_the_end_may_be_lower() {
        let real = Counts([Some(10), Some(0), None, Some(50), Some(16)]);
        let early = Counts([Some(10), None, Some(3), Some(1), None]);
        assert_eq!(early.refuted_by(real, true), None);
        assert_eq!(early.refuted_by(real, false), Some(OUTPUT));
        assert_eq!(
            Counts([Some(9), None, None, None, None]).refuted_by(real, true),
            Some(0)
        );
    }

    #[test]
    fn a_run_has_the_responses_one_behind_the_other_that_are_not_counted() {
        let response = |input: u64| RealUsage {
            input: Some(input),
            output: Some(input / 10),
            ..RealUsage::default()
        };
        let real = [100, 200, 300, 400].map(response);
        let real: Vec<&RealUsage> = real.iter().collect();
        let run = |input: u64, is_used: [bool; 4]| {
            let sum = Counts([Some(input), None, None, Some(input / 10), None]);
            run_with(sum, &real, |at| !is_used[*at]).map(|(run, _)| run)
        };
        assert_eq!(run(600, [false; 4]), Some(vec![0, 1, 2]));
        assert_eq!(run(700, [false; 4]), Some(vec![2, 3]));
        assert_eq!(run(800, [false; 4]), None, "one is left out");
        let counts_itself = [false, true, false, false];
        assert_eq!(run(800, counts_itself), Some(vec![0, 2, 3]));
        assert_eq!(run(600, counts_itself), None, "counted twice");
    }

    /// What the usages of a tape are of a conversation of two runs, of 300 and 500 tokens. The log has a line per usage, with the input.
    fn part(log: &[u64], usages: &[(u64, u64)]) -> Result<&'static str, String> {
        let line = |input: &u64| {
            format!(
                "{{\"usage\":{{\"input_tokens\":{input},\"output_tokens\":{}}}}}\n",
                input / 10
            )
        };
        let event = |(at, input): &(u64, u64)| {
            format!(
                "{{\"k\":\"meta\",\"label\":\"usage\",\"tokens\":{{\"input\":{input},\"output\":{}}},\"origin\":{{\"line\":{at}}}}}\n",
                input / 10
            )
        };
        let input = Session {
            name: String::new(),
            path: "log".into(),
            bytes: log.iter().map(line).collect::<String>().into_bytes(),
            context: SideInfo::default(),
            form: Form::Streamed,
            is_exported_by_opener: false,
        };
        let session = ConvertedSession::new(input, usages.iter().map(event).collect());
        let stated: Vec<Stated<'_>> = session
            .events
            .iter()
            .map(|event| Stated {
                session: &session,
                event,
                counts: Counts::of_event(event),
            })
            .collect();
        let counts = |input: u64| Counts([Some(input), None, None, Some(input / 10), None]);
        let mut sum = Counts([None; 5]);
        stated.iter().for_each(|stated| sum.add(stated.counts));
        part_of(
            &session,
            &stated.iter().collect::<Vec<_>>(),
            &[counts(300), counts(500)],
            sum,
            counts(800),
        )
    }

    #[test]
    fn an_artifact_may_have_the_usage_of_a_part_of_a_conversation() {
        assert_eq!(
            part(&[300, 500], &[(1, 300), (2, 500)]),
            Ok("conversations")
        );
        assert_eq!(
            part(&[500], &[(1, 500)]),
            Ok("parts of conversations, by run")
        );
        assert_eq!(
            part(&[100, 150], &[(1, 100), (2, 150)]),
            Ok("parts of conversations, by response")
        );
    }

    #[test]
    fn a_part_that_is_lost_counted_twice_or_not_stated_is_wrong() {
        assert!(
            part(&[300, 500], &[(1, 300)]).is_err(),
            "the log has the other run"
        );
        assert!(
            part(&[300], &[(1, 300), (1, 300)]).is_err(),
            "one record, two usages"
        );
        assert!(part(&[300], &[(1, 200)]).is_err(), "no record has it");
        assert!(
            part(&[500, 400], &[(1, 500), (2, 400)]).is_err(),
            "more than all"
        );
        assert!(
            part(&[100, 800], &[(1, 100)]).is_err(),
            "the log has the total"
        );
    }
}
