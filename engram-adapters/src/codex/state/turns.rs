//! Where the turns of the thread begin, to find the end of what is left when the user goes back.

use engram_core::event::Seq;

/// The most turns that are remembered. Beyond it the oldest are forgotten.
const MAX_TURNS: usize = 1 << 16;

/// The last event before each turn, oldest first.
#[derive(Debug, Default)]
pub struct Turns {
    before: Vec<Option<Seq>>,
}

impl Turns {
    /// Records a prompt that follows this event.
    pub fn begin(&mut self, before: Option<Seq>) {
        if self.before.len() == MAX_TURNS {
            self.before.remove(0);
        }
        self.before.push(before);
    }

    /// Removes the last turns. Returns the last event before them. None if there are not so many.
    pub fn remove(&mut self, turns: u64) -> Option<Seq> {
        let first = self.before.len().checked_sub(usize::try_from(turns).ok()?)?;
        let before = self.before.get(first).copied().flatten();
        self.before.truncate(first);
        before
    }
}
