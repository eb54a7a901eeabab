//! Facts that two records of different types state, matched by their order.

/// Compactions and the marks that follow them.
#[derive(Debug, Default)]
pub struct CompactionMarks {
    /// Compactions whose mark has not been read.
    unmarked: u64,
}

impl CompactionMarks {
    /// Records a compaction.
    pub fn add_compaction(&mut self) {
        self.unmarked += 1;
    }

    /// Records a mark. True when it belongs to a compaction that has its own record.
    pub fn take_marked(&mut self) -> bool {
        let is_marked = self.unmarked > 0;
        self.unmarked -= u64::from(is_marked);
        is_marked
    }
}

/// A web search as an event, and the response item directly after it.
#[derive(Debug, Default)]
pub struct SearchPair {
    /// How many records have been read.
    records: u64,
    /// The number of the last record that was a search event.
    last_event: Option<u64>,
    is_counted: bool,
}

impl SearchPair {
    /// Counts a record.
    pub fn begin_record(&mut self) {
        self.records += 1;
        self.is_counted = true;
    }

    /// Ends a record. A malformed one does not count.
    pub fn end_record(&mut self, is_converted: bool) {
        self.records -= u64::from(self.is_counted && !is_converted);
        self.is_counted = false;
    }

    /// Records that the current record is a search event.
    pub fn add_event(&mut self) {
        self.last_event = Some(self.records);
    }

    /// True if the previous record is a search event.
    pub fn follows_event(&self) -> bool {
        self.last_event.is_some_and(|event| event + 1 == self.records)
    }
}

/// Images that `view_image` attached. Up to 0.98 a message in the user's place contains them.
#[derive(Debug, Default)]
pub struct ViewedImages {
    /// Calls of `view_image` whose message has not been read.
    without_message: u64,
}

impl ViewedImages {
    /// Records a result of `view_image` that a message with the image follows.
    pub fn add_view(&mut self) {
        self.without_message += 1;
    }

    /// Records the end of a turn before its time: the messages of its calls do not follow.
    pub fn abort(&mut self) {
        self.without_message = 0;
    }

    /// Records a message with images. True when `view_image` attached them.
    pub fn take_message(&mut self) -> bool {
        let is_view = self.without_message > 0;
        self.without_message -= u64::from(is_view);
        is_view
    }
}
