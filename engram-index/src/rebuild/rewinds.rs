//! Edits that a rewind took back together with their files.

use std::collections::HashMap;
use std::rc::Rc;

use super::{Now, Rebuild};
use crate::diff;
use crate::line_key::Key;
use crate::rows::{FileRef, Kind, StepRow};
use crate::text_state::{Line, State};

/// The text of a file before and after a step.
type Texts = (Option<Rc<[Key]>>, Rc<[Key]>);

impl Rebuild {
    /// The files that calls edited behind the event `to` have the texts that they had there. Their steps since then are no steps to the file of
    /// today. A file that only commands changed is not restored by any harness.
    pub fn restored(&mut self, to: u64) {
        self.flush();
        let behind = self.edited.partition_point(|(seq, _)| *seq <= to);
        for (_, file) in self.edited.split_off(behind) {
            self.restore(&file, to);
        }
    }

    fn restore(&mut self, file: &FileRef, to: u64) {
        let Some(first) = self
            .steps
            .iter()
            .find(|step| step.file == *file && step.seq > to)
            .cloned()
        else {
            return;
        };
        let earlier = self
            .steps
            .iter()
            .filter(|step| step.file == *file && step.seq <= to);
        let mut written: Rc<[Key]> = Rc::default();
        let mut last = None;
        for step in earlier {
            last = texts(step, &written);
            written = last
                .as_ref()
                .map_or(written, |(_, after): &Texts| after.clone());
        }
        let now = match (first.kind, texts(&first, &written)) {
            (Kind::Created, _) => Now::Absent,
            (_, Some((Some(before), _))) => known(&before, first.whole),
            _ if last.is_some() => known(&written, first.whole),
            _ => Now::Unknown,
        };
        self.steps
            .retain(|step| step.file != *file || step.seq <= to);
        let restored = self.file(file);
        (restored.now, restored.written) = (now, written.to_vec());
        self.find_last_steps();
    }

    /// Steps went: the last ones have other places.
    fn find_last_steps(&mut self) {
        let places: HashMap<&FileRef, usize> = self
            .steps
            .iter()
            .enumerate()
            .map(|(at, step)| (&step.file, at))
            .collect();
        for (file, state) in &mut self.files {
            state.last = places.get(file).copied();
        }
    }
}

/// The texts of a step, whose data begins at the text that was written last; `None` if it has no text.
fn texts(step: &StepRow, written: &Rc<[Key]>) -> Option<Texts> {
    let mut data = step.data.as_slice();
    let is_text = !matches!(
        step.kind,
        Kind::Deleted | Kind::Lost | Kind::Piece | Kind::Appended
    );
    let before = match step.has_before && is_text {
        true => Some(diff::decode(written, &mut data)?),
        false => None,
    };
    let after = is_text.then(|| diff::decode(before.as_ref().unwrap_or(written), &mut data))??;
    Some((before, after))
}

/// Lines without their texts.
fn known(keys: &[Key], whole: bool) -> Now {
    let lines = keys.iter().map(|key| Line {
        key: *key,
        text: None,
    });
    Now::Known(State {
        lines: lines.collect(),
        whole,
        blank_end: false,
    })
}
