//! Edits that a rewind took back together with their files.

use std::collections::HashMap;
use std::rc::Rc;

use super::{Now, Rebuild};
use crate::line_key::Key;
use crate::rows::{FileRef, Kind, StepRow};
use crate::step_text;
use crate::text_state::{Line, State};

impl Rebuild {
    /// The files that calls edited behind the event `to` have the texts that they had there. Their steps since then are no steps to the file of
    /// today. A file that only commands changed is not restored by any harness.
    pub fn restored(&mut self, to: u64) {
        self.flush();
        let behind = self.edited.partition_point(|(seq, _)| *seq <= to);
        let edited = self.edited.split_off(behind).into_iter();
        let mut files: HashMap<FileRef, Restored> = edited
            .map(|(_, file)| (file, Restored::default()))
            .collect();
        for step in &self.steps {
            if let Some(restored) = files.get_mut(&step.file) {
                restored.step(step, to);
            }
        }
        files.retain(|_, restored| restored.now.is_some());
        self.steps
            .retain(|step| step.seq <= to || !files.contains_key(&step.file));
        for (file, restored) in files {
            let state = self.file(&file);
            state.now = restored.now.unwrap_or_default();
            state.written = restored.written.to_vec();
        }
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

/// What a file was at the event to which a rewind goes back.
#[derive(Default)]
struct Restored {
    /// The lines that were written last.
    written: Rc<[Key]>,
    /// True if the last step had a text.
    has_text: bool,
    /// What is known of the file, by the first step behind the event; `None` without such a step.
    now: Option<Now>,
}

impl Restored {
    fn step(&mut self, step: &StepRow, to: u64) {
        if self.now.is_some() {
            return;
        }
        let mut written = self.written.clone();
        let texts = step_text::read(step.kind, step.has_before, &step.data, &mut written)
            .filter(|_| step_text::is_of_file(step.kind));
        if step.seq > to {
            let before = texts.and_then(|texts| texts.before);
            self.now = Some(match (step.kind, before) {
                (Kind::Created, _) => Now::Absent,
                (_, Some(before)) => known(&before, step.whole),
                _ if self.has_text => known(&self.written, step.whole),
                _ => Now::Unknown,
            });
            return;
        }
        (self.written, self.has_text) = (written, texts.is_some());
    }
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
