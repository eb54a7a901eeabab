//! Histories that the harness writes again as message lines (0.61.0, when the user cancels).

use super::occurrences::HistoryPass;
use crate::shared::value::Field;

/// A history that is being written again.
pub struct HistoryRewrite {
    /// The time that all its messages have, as raw JSON.
    time: String,
    /// Which of its texts have been read.
    pub pass: HistoryPass,
}

/// The history that is being written again, if there is one.
#[derive(Default)]
pub struct HistoryRewrites {
    current: Option<HistoryRewrite>,
}

impl HistoryRewrites {
    /// True while a history is being written again.
    pub fn is_open(&self) -> bool {
        self.current.is_some()
    }

    /// Takes the history that a message of this time belongs to: the current one, or a new one if the message begins one.
    pub fn take(&mut self, time: Field<'_>, begins: impl FnOnce() -> bool) -> Option<HistoryRewrite> {
        let time = time?.raw();
        let current = self.current.take().filter(|rewrite| rewrite.time == time);
        current.or_else(|| begins().then(|| HistoryRewrite { time: time.to_owned(), pass: HistoryPass::default() }))
    }

    /// The record is converted: its texts count.
    pub fn commit(&mut self) {
        if let Some(rewrite) = &mut self.current {
            rewrite.pass.commit();
        }
    }

    /// The record is malformed: its texts do not count.
    pub fn roll_back(&mut self) {
        if let Some(rewrite) = &mut self.current {
            rewrite.pass.roll_back();
        }
    }

    /// Puts back what [`HistoryRewrites::take`] gave, for the next message. None ends the history.
    pub fn put_back(&mut self, rewrite: Option<HistoryRewrite>) {
        self.current = rewrite;
    }
}
