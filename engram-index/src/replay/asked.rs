//! The text of a question, and a step that left this very text: the hash of the file says so, though nobody knew all of its lines.

use std::rc::Rc;

use engram_core::hash::Hash;

use super::{Making, Origin};
use crate::line_key::{BYTE_ORDER_MARK, Key, is_hole, keys};
use crate::rows::{Digest, Kind, digest};
use crate::steps::Step;

/// The text that a question is about.
#[derive(Debug)]
pub struct Asked {
    pub lines: Rc<[Key]>,
    /// The hashes that a tape may have of the file.
    pub(super) hashes: Vec<Digest>,
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
}

impl Making {
    /// True if the hash of the file after a step is that of the text of the question: the step left this text.
    pub(super) fn is_asked(&self, step: &Step) -> bool {
        step.file_hashes[1].is_some_and(|hash| self.hashes.contains(&hash))
    }

    /// Where the lines that a step left stand in the text of the question, if it left this text and they stand in one place alone. Lines with their
    /// numbers stand at the beginning.
    pub(super) fn place_in_asked(&self, step: &Step) -> Option<usize> {
        let fits = |run: &[Key]| {
            let mut pairs = run.iter().zip(step.after.iter());
            pairs.all(|(line, known)| is_hole(*known) || line == known)
        };
        if !self.is_asked(step) || step.after.is_empty() {
            return None;
        }
        if step.kind != Kind::Piece {
            let run = self.text.get(..step.after.len())?;
            return fits(run).then_some(0);
        }
        let runs = self.text.windows(step.after.len()).enumerate();
        let mut places = runs.filter(|(_, run)| fits(run)).map(|(place, _)| place);
        places.next().filter(|_| places.next().is_none())
    }

    /// The origins of the text of the question, which a step left. `known` are those of the lines at this place.
    pub(super) fn origins_in_asked(
        &self,
        step: &Step,
        place: usize,
        known: &[Origin],
    ) -> Rc<[Origin]> {
        let mut origins = self.seen(step, &self.text).to_vec();
        for (line, (key, origin)) in step.after.iter().zip(known).enumerate() {
            if !is_hole(*key) && !matches!(origin, Origin::Unproven(_)) {
                origins[place + line] = *origin;
            }
        }
        origins.into()
    }

    /// What nobody knew of the last text of a file is as it is in the text of the question.
    pub(super) fn fill(&mut self, step: &Step, origins: Rc<[Origin]>) {
        if let Some(mut state) = self.now.get(&step.file).cloned() {
            self.order += 1;
            state.lines = self.text.clone();
            state.origins = origins;
            state.whole = true;
            state.order = self.order;
            self.found.same.push(state.clone());
            self.keep(state.clone());
            self.now.insert(step.file, state);
        }
    }
}
