//! Which token counts are those of a response: several records have those of one, and totals run on.

use std::collections::HashMap;

use crate::codex::notes::{Counts, Header, Kind, Notes, Tokens};

/// The usage that a record of counts gives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Usage {
    /// None: the counts repeat those of a response, or estimate the size of the context.
    #[default]
    Told,
    /// The counts of a response, and those of earlier responses that no record has (of an interrupted turn).
    Response {
        counts: Counts,
        earlier: Option<Counts>,
    },
    /// What the total rose since the last one. The record has no counts of its own response.
    Difference(Counts),
}

/// By record of counts: the usage that it gives.
pub fn usage(notes: &Notes, repeats: &[bool]) -> Vec<Usage> {
    let (mut state, mut usage) = (State::default(), vec![Usage::Told; notes.tokens.len()]);
    for (at, note) in notes.notes.iter().enumerate() {
        match note.kind {
            Kind::Header => {
                if let Some(header) = notes.headers.get(note.at as usize) {
                    state.begin_thread(header);
                }
            }
            Kind::NoTokens => state.begin_process(),
            Kind::Tokens if !repeats.get(at).is_some_and(|is| *is) => {
                usage[note.at as usize] = state.read(notes.tokens[note.at as usize])
            }
            _ => {}
        }
    }
    usage
}

/// The counts that were read last.
#[derive(Debug, Default)]
struct State {
    /// The total in the last event. `None` while it is not known, as in a fork that continues the totals of another file.
    total: Option<Counts>,
    /// The request in the last event.
    last: Option<Counts>,
    /// The thread continues another one, and no record of its own is read yet.
    is_inherited: bool,
    /// How many records have these counts (0.160 and later), without those that an event has repeated. An event with other counts is of an older
    /// version, which went on with the thread.
    records: HashMap<Counts, u32>,
    /// The request and the total in the last event, of whatever process.
    said: Option<(Counts, Option<Counts>)>,
    has_read_any: bool,
}

impl State {
    /// Versions that write the base of a thread also write records. The first event of such a thread may repeat the last response of the other
    /// thread, which no record of this file has.
    fn begin_thread(&mut self, header: &Header) {
        if header.is_new {
            self.total = Some(Counts::default());
        }
        self.is_inherited |= header.has_base;
    }

    /// A process of the harness has no counts yet. Its total may begin anew or continue that of the thread.
    fn begin_process(&mut self) {
        if self.last.is_some() {
            (self.total, self.last) = (None, None);
        }
    }

    fn read(&mut self, tokens: Tokens) -> Usage {
        let is_first = !std::mem::replace(&mut self.has_read_any, true);
        match tokens {
            Tokens::Record(counts) => {
                self.is_inherited = false;
                *self.records.entry(counts).or_default() += 1;
                Usage::Response {
                    counts,
                    earlier: None,
                }
            }
            Tokens::Event {
                last: Some(last),
                total,
            } => self.event(last, total),
            Tokens::Event {
                last: None,
                total: Some(total),
            } => self.total_alone(total, is_first),
            Tokens::Event {
                last: None,
                total: None,
            } => Usage::Told,
        }
    }

    /// A request is repeated before and after each response (0.44 to 0.130), and after a compaction.
    fn event(&mut self, last: Counts, total: Option<Counts>) -> Usage {
        let (before, last_before) = (self.total, self.last);
        self.total = total;
        if last.is_zero() {
            return Usage::Told;
        }
        self.last = Some(last);
        let is_same = if total.is_some() {
            total == before
        } else {
            last_before == Some(last)
        };
        if self.repeats_record(last, total) || is_same {
            return Usage::Told;
        }
        // A total that equals its request counts anew. Where responses have records, none of them is earlier.
        let spent = before
            .filter(|_| self.records.is_empty())
            .zip(total.filter(|total| *total != last))
            .and_then(|(before, total)| total.without(&before));
        let earlier = spent
            .and_then(|spent| spent.without(&last))
            .filter(|earlier| !earlier.is_zero());
        Usage::Response {
            counts: last,
            earlier,
        }
    }

    /// True if a record has the counts of the event, or if a later process writes the last event again. False in a log without records.
    fn repeats_record(&mut self, last: Counts, total: Option<Counts>) -> bool {
        let is_again = self.said.replace((last, total)) == Some((last, total));
        if let Some(left) = self.records.get_mut(&last).filter(|left| **left > 0) {
            *left -= 1;
            return true;
        }
        self.is_inherited || is_again && !self.records.is_empty()
    }

    /// A total without the request that it contains: what it rose is the usage. A smaller total counts anew.
    fn total_alone(&mut self, total: Counts, is_first: bool) -> Usage {
        let before = self.total.replace(total).or(is_first.then(Counts::default));
        let spent = before.map(|before| total.without(&before).unwrap_or(total));
        spent
            .filter(|spent| !spent.is_zero())
            .map_or(Usage::Told, Usage::Difference)
    }
}

impl Counts {
    /// True if nothing was counted.
    pub fn is_zero(&self) -> bool {
        self.list()
            .into_iter()
            .all(|count| count.unwrap_or_default() == 0)
    }

    fn list(&self) -> [Option<u64>; 5] {
        [
            self.input,
            self.cache_read,
            self.cache_write,
            self.output,
            self.reasoning,
        ]
    }

    /// What is left of these counts without `other`. `None` if any count is smaller than that of `other`.
    fn without(&self, other: &Counts) -> Option<Counts> {
        let mut counts = self.list();
        for (count, other) in counts.iter_mut().zip(other.list()) {
            if let Some(other) = other {
                *count = Some(count.unwrap_or_default().checked_sub(other)?);
            }
        }
        let [input, cache_read, cache_write, output, reasoning] = counts;
        Some(Counts {
            input,
            cache_read,
            cache_write,
            output,
            reasoning,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(input: u64, output: u64) -> Counts {
        Counts {
            input: Some(input),
            output: Some(output),
            ..Counts::default()
        }
    }

    fn event(last: (u64, u64), total: (u64, u64)) -> Tokens {
        Tokens::Event {
            last: Some(counts(last.0, last.1)),
            total: Some(counts(total.0, total.1)),
        }
    }

    /// What each gives: the inputs of its own response and of earlier ones.
    fn inputs(tokens: &[Tokens]) -> Vec<(u64, u64)> {
        let mut state = State::default();
        let input = |counts: Counts| counts.input.unwrap_or_default();
        let shown = |usage| match usage {
            Usage::Told => (0, 0),
            Usage::Response { counts, earlier } => (input(counts), earlier.map_or(0, input)),
            Usage::Difference(counts) => (0, input(counts)),
        };
        tokens
            .iter()
            .map(|tokens| shown(state.read(*tokens)))
            .collect()
    }

    #[test]
    fn a_response_counts_once() {
        let events = [
            ((10, 1), (10, 1)),
            ((10, 1), (10, 1)),
            ((10, 1), (20, 2)),
            ((0, 0), (20, 2)),
            ((0, 0), (20, 2)),
            ((5, 1), (25, 3)),
            ((30, 3), (30, 3)),
        ];
        let expected = [(10, 0), (0, 0), (10, 0), (0, 0), (0, 0), (5, 0), (30, 0)];
        assert_eq!(
            inputs(&events.map(|(last, total)| event(last, total))),
            expected
        );
    }

    #[test]
    fn an_event_that_repeats_a_record_adds_nothing_though_their_totals_differ() {
        let record = |input, output| Tokens::Record(counts(input, output));
        // A compaction has a record and no event of its own.
        let tokens = [
            record(10, 1),
            event((10, 1), (10, 1)),
            record(7, 1),
            event((0, 0), (10, 1)),
            record(8, 1),
            event((8, 1), (18, 2)),
        ];
        assert_eq!(
            inputs(&tokens),
            [(10, 0), (0, 0), (7, 0), (0, 0), (8, 0), (0, 0)]
        );
    }

    #[test]
    fn an_older_version_that_goes_on_has_events_alone() {
        let record = |input, output| Tokens::Record(counts(input, output));
        let tokens = [
            record(10, 1),
            event((10, 1), (10, 1)),
            event((10, 1), (10, 1)),
            event((12, 1), (22, 2)),
            event((12, 1), (34, 3)),
            record(12, 1),
            event((12, 1), (46, 4)),
        ];
        assert_eq!(
            inputs(&tokens),
            [(10, 0), (0, 0), (0, 0), (12, 0), (12, 0), (12, 0), (0, 0)]
        );
    }

    #[test]
    fn a_thread_with_a_base_repeats_the_last_response_of_the_thread_that_it_continues() {
        let read = |has_base| {
            let mut state = State::default();
            state.begin_thread(&Header {
                has_base,
                ..Header::default()
            });
            state.read(event((10, 1), (500, 50)))
        };
        assert_eq!(read(true), Usage::Told);
        assert_ne!(read(false), Usage::Told);
    }

    #[test]
    fn what_the_total_rose_beyond_the_request_is_of_earlier_responses() {
        // A fork continues an unknown total.
        assert_eq!(
            inputs(&[event((10, 1), (500, 50)), event((20, 2), (550, 56))]),
            [(10, 0), (20, 30)]
        );
        let mut state = State {
            total: Some(Counts::default()),
            ..State::default()
        };
        state.begin_process();
        let earlier = Some(counts(30, 4));
        assert_eq!(
            state.read(event((20, 2), (50, 6))),
            Usage::Response {
                counts: counts(20, 2),
                earlier
            }
        );
        state.begin_process();
        assert_eq!(
            state.read(event((20, 2), (90, 9))),
            Usage::Response {
                counts: counts(20, 2),
                earlier: None
            }
        );
    }

    #[test]
    fn totals_alone_give_their_differences() {
        let total = |input, output| Tokens::Event {
            last: None,
            total: Some(counts(input, output)),
        };
        assert_eq!(
            inputs(&[
                total(1000, 50),
                total(2000, 90),
                total(2000, 90),
                total(3000, 120),
                total(500, 10)
            ]),
            [(0, 1000), (0, 1000), (0, 0), (0, 1000), (0, 500)]
        );
    }
}
