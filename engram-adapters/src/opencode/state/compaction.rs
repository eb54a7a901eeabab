//! A compaction that has begun and has no summary yet.

use crate::shared::restorable::Restorable;

/// What started the last compaction. Its summary is in a later message.
#[derive(Default)]
pub struct PendingCompaction {
    trigger: Restorable<Option<&'static str>>,
}

impl PendingCompaction {
    /// A compaction begins. Returns its trigger; 1.0.98 does not record whether it was automatic.
    pub fn begin(&mut self, is_automatic: Option<bool>) -> Option<&'static str> {
        self.trigger.set(is_automatic.map(|automatic| if automatic { "auto" } else { "manual" }));
        *self.trigger
    }

    /// The trigger of the compaction that ends with its summary.
    pub fn end(&mut self) -> Option<&'static str> {
        let trigger = *self.trigger;
        self.trigger.set(None);
        trigger
    }

    /// The record is converted: its change stays.
    pub fn commit(&mut self) {
        self.trigger.commit();
    }

    /// The record is malformed: its change is taken back.
    pub fn roll_back(&mut self) {
        self.trigger.roll_back();
    }
}
