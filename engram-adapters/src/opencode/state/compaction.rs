//! A compaction that has begun and has no summary yet.

/// What started the last compaction. Its summary is in a later message.
#[derive(Default)]
pub struct PendingCompaction {
    trigger: Option<&'static str>,
}

impl PendingCompaction {
    /// A compaction begins. Returns its trigger; 1.0.98 does not record whether it was automatic.
    pub fn begin(&mut self, is_automatic: Option<bool>) -> Option<&'static str> {
        self.trigger = is_automatic.map(|automatic| if automatic { "auto" } else { "manual" });
        self.trigger
    }

    /// The trigger of the compaction that ends with its summary.
    pub fn end(&mut self) -> Option<&'static str> {
        self.trigger.take()
    }
}
