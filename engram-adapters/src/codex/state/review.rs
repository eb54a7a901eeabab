//! A review inside the thread: the harness mirrors what it asks the reviewer into the thread that asked for the review.

use crate::shared::seen_set::SeenSet;

/// The review that runs, if any.
#[derive(Debug, Default)]
pub struct Review {
    /// The number of the review that runs; 0 if none does.
    running: u64,
    reviews: u64,
    prompts: SeenSet,
}

impl Review {
    /// Records that a review begins, with the instructions (a JSON token) that the session states itself.
    pub fn begin(&mut self, instructions: Option<&str>) {
        self.reviews += 1;
        self.running = self.reviews;
        if let Some(instructions) = instructions {
            self.prompts.insert((self.running, instructions));
        }
    }

    /// Records that the review ends.
    pub fn end(&mut self) {
        self.running = 0;
    }

    /// True while a review runs.
    pub fn is_running(&self) -> bool {
        self.running > 0
    }

    /// Records a prompt of the reviewer (a JSON token). True when it is new.
    pub fn insert_prompt(&mut self, prompt: &str) -> bool {
        self.prompts.insert((self.running, prompt))
    }

    /// The record is converted: its prompts stay.
    pub fn commit(&mut self) {
        self.prompts.commit();
    }

    /// The record is malformed: its prompts are forgotten.
    pub fn roll_back(&mut self) {
        self.prompts.roll_back();
    }
}
