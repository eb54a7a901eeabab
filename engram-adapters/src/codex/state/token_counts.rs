//! Which token counts are new: several records state those of one response, and totals run on.

use crate::shared::restorable::Restorable;

/// Counts of tokens as the harness writes them: input with the cache, output with reasoning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub input: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
    pub output: Option<u64>,
    pub reasoning: Option<u64>,
}

impl Counts {
    /// True if nothing was counted.
    pub fn is_zero(&self) -> bool {
        self.list().into_iter().all(|count| count.unwrap_or_default() == 0)
    }

    fn list(&self) -> [Option<u64>; 5] {
        [self.input, self.cache_read, self.cache_write, self.output, self.reasoning]
    }

    /// What is left of these counts without `other`. None if any count is smaller than that of `other`.
    fn without(&self, other: &Counts) -> Option<Counts> {
        let mut counts = self.list();
        for (count, other) in counts.iter_mut().zip(other.list()) {
            if let Some(other) = other {
                *count = Some(count.unwrap_or_default().checked_sub(other)?);
            }
        }
        let [input, cache_read, cache_write, output, reasoning] = counts;
        Some(Counts { input, cache_read, cache_write, output, reasoning })
    }
}

/// What the counts of a `token_count` event add to those that were read.
#[derive(Debug, PartialEq, Eq)]
pub enum NewCounts {
    /// Nothing: they repeat the counts of a response, or estimate the size of the context.
    Nothing,
    /// The counts of a response, and those of earlier responses that no record states (of an interrupted turn).
    Response {
        /// The responses before it, together.
        earlier: Option<Counts>,
    },
}

/// The counts that were read last.
#[derive(Debug, Default)]
pub struct TokenCounts {
    /// The totals in the last `token_count`. None while no total is known, as in a fork that continues the totals of another file.
    total: Restorable<Option<Counts>>,
    /// The request in the last `token_count`.
    last: Restorable<Option<Counts>>,
    /// The counts in the `token_usage_record`s since the last `token_count`.
    recorded: Restorable<Vec<Counts>>,
}

/// The most counts that wait for the `token_count` that repeats them.
const MAX_RECORDED: usize = 64;

impl TokenCounts {
    /// Records that the thread is new: no response precedes its first.
    pub fn begin_thread(&mut self) {
        self.total.set(Some(Counts::default()));
    }

    /// Records that a process of the harness has no counts yet. Its total may begin anew or continue that of the thread.
    pub fn begin_process(&mut self) {
        if self.last.is_some() {
            self.total.set(None);
            self.last.set(None);
        }
    }

    /// Records the counts of a `token_usage_record`, which each response has once (0.160 and later).
    pub fn add_record(&mut self, counts: Counts) {
        let mut recorded = (*self.recorded).clone();
        if recorded.len() == MAX_RECORDED {
            recorded.remove(0);
        }
        recorded.push(counts);
        self.recorded.set(recorded);
    }

    /// Records the counts of a `token_count` event: of the last request, and the running total. A request is repeated before and after
    /// each response (0.44 to 0.130), next to a `token_usage_record` (0.160 and later), and after a compaction.
    pub fn add_event(&mut self, last: Counts, total: Option<Counts>) -> NewCounts {
        let (before, last_before) = (*self.total, *self.last);
        let recorded = (*self.recorded).clone();
        if !recorded.is_empty() {
            self.recorded.set(Vec::new());
        }
        self.total.set(total);
        if last.is_zero() {
            return NewCounts::Nothing;
        }
        self.last.set(Some(last));
        let is_same = if total.is_some() { total == before } else { last_before == Some(last) };
        if is_same || recorded.contains(&last) {
            return NewCounts::Nothing;
        }
        // A total that equals its request counts anew.
        let spent = before.zip(total.filter(|total| *total != last)).and_then(|(before, total)| total.without(&before));
        let earlier = spent.and_then(|spent| spent.without(&last)).filter(|earlier| recorded.is_empty() && !earlier.is_zero());
        NewCounts::Response { earlier }
    }

    /// The record is converted: its counts stay.
    pub fn commit(&mut self) {
        self.total.commit();
        self.last.commit();
        self.recorded.commit();
    }

    /// The record is malformed: its counts are forgotten.
    pub fn roll_back(&mut self) {
        self.total.roll_back();
        self.last.roll_back();
        self.recorded.roll_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(input: u64, output: u64) -> Counts {
        Counts { input: Some(input), output: Some(output), ..Counts::default() }
    }

    const ONE: NewCounts = NewCounts::Response { earlier: None };

    #[test]
    fn a_response_counts_once() {
        let mut state = TokenCounts::default();
        assert_eq!(state.add_event(counts(10, 1), Some(counts(10, 1))), ONE);
        assert_eq!(state.add_event(counts(10, 1), Some(counts(10, 1))), NewCounts::Nothing);
        assert_eq!(state.add_event(counts(10, 1), Some(counts(20, 2))), ONE, "the same counts again");
        assert_eq!(state.add_event(counts(0, 0), Some(counts(20, 2))), NewCounts::Nothing, "an estimate");
        assert_eq!(state.add_event(counts(0, 0), Some(counts(20, 2))), NewCounts::Nothing);
        assert_eq!(state.add_event(counts(5, 1), Some(counts(25, 3))), ONE);
        assert_eq!(state.add_event(counts(30, 3), Some(counts(30, 3))), ONE, "counted anew after a resume");
    }

    #[test]
    fn an_event_that_repeats_a_record_adds_nothing_though_their_totals_differ() {
        let mut state = TokenCounts::default();
        state.add_record(counts(10, 1));
        assert_eq!(state.add_event(counts(10, 1), Some(counts(10, 1))), NewCounts::Nothing);
        // A compaction has a record and no event of its own.
        state.add_record(counts(7, 1));
        assert_eq!(state.add_event(counts(0, 0), Some(counts(10, 1))), NewCounts::Nothing);
        state.add_record(counts(8, 1));
        assert_eq!(state.add_event(counts(8, 1), Some(counts(18, 2))), NewCounts::Nothing);
        assert_eq!(state.add_event(counts(9, 1), Some(counts(27, 3))), ONE, "by an older version");
    }

    #[test]
    fn what_the_total_rose_beyond_the_request_is_of_earlier_responses() {
        let mut state = TokenCounts::default();
        assert_eq!(state.add_event(counts(10, 1), Some(counts(500, 50))), ONE, "a fork continues an unknown total");
        assert_eq!(state.add_event(counts(20, 2), Some(counts(550, 56))), NewCounts::Response { earlier: Some(counts(30, 4)) });
        state.begin_process();
        assert_eq!(state.add_event(counts(20, 2), Some(counts(570, 58))), ONE);
        let mut state = TokenCounts::default();
        state.begin_thread();
        state.begin_process();
        assert_eq!(state.add_event(counts(20, 2), Some(counts(50, 6))), NewCounts::Response { earlier: Some(counts(30, 4)) });
    }
}
