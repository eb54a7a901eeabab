//! Lines and blocks that the questions of the plan leave out.

use std::collections::BTreeSet;

/// Blocks, each by the place of its note and its number in the line.
pub(in crate::claude_code) type Blocks = BTreeSet<(usize, usize)>;

/// Lines and blocks that count as not there.
pub(in crate::claude_code) struct Skip<'a> {
    pub lines: &'a [bool],
    pub blocks: &'a Blocks,
}

impl Skip<'_> {
    /// True for a line that counts as not there.
    pub fn has(&self, at: usize) -> bool {
        self.lines.get(at) == Some(&true)
    }

    /// True for a block that counts as not there.
    pub fn has_block(&self, at: usize, block: usize) -> bool {
        self.blocks.contains(&(at, block))
    }
}

#[cfg(test)]
impl Skip<'static> {
    /// Everything is there.
    pub fn nothing() -> Self {
        static NO_BLOCKS: Blocks = Blocks::new();
        Skip {
            lines: &[],
            blocks: &NO_BLOCKS,
        }
    }
}
