//! The text of a question, and a step that left this very text: the hash of the file says so, though nobody knew all of its lines.

use std::rc::Rc;

use engram_core::hash::Hash;

use crate::line_key::{BYTE_ORDER_MARK, Key, is_hole, keys};
use crate::rows::{Digest, Kind, digest};
use crate::steps::Step;

/// The text that a question is about.
#[derive(Debug)]
pub struct Asked {
    pub lines: Rc<[Key]>,
    /// The hashes that a tape may have of the file.
    hashes: Vec<Digest>,
}

impl Asked {
    /// A whole text.
    pub fn of(text: &str) -> Asked {
        let unmarked = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let of = |text: &str| digest(&Hash::of_text(text));
        let ends = |text: &str| [of(text), of(&text.replace("\r\n", "\n"))];
        Asked {
            lines: keys(text).into(),
            hashes: [text, unmarked].into_iter().flat_map(ends).collect(),
        }
    }

    /// True if the hash of the file after a step is that of the text: the step left this text.
    pub fn is_after(&self, step: &Step) -> bool {
        step.file_hashes[1].is_some_and(|hash| self.hashes.contains(&hash))
    }

    /// Where the lines that a step left stand in the text, if it left this text and they stand in one place alone. Lines with their numbers stand at
    /// the beginning.
    pub fn place_of(&self, step: &Step) -> Option<usize> {
        let fits = |run: &[Key]| {
            let mut pairs = run.iter().zip(step.after.iter());
            pairs.all(|(line, known)| is_hole(*known) || line == known)
        };
        if !self.is_after(step) || step.after.is_empty() {
            return None;
        }
        if step.kind != Kind::Piece {
            let run = self.lines.get(..step.after.len())?;
            return fits(run).then_some(0);
        }
        let runs = self.lines.windows(step.after.len()).enumerate();
        let mut places = runs.filter(|(_, run)| fits(run)).map(|(place, _)| place);
        places.next().filter(|_| places.next().is_none())
    }
}
