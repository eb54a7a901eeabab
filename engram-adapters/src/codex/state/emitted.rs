//! Texts that were emitted and files that were changed, by hash.

use crate::shared::seen_set::SeenSet;

/// Texts that later records may repeat.
#[derive(Debug, Default)]
pub struct EmittedTexts {
    seen: SeenSet,
}

impl EmittedTexts {
    /// Records an answer (a JSON token). True when it is new.
    pub fn insert_answer(&mut self, token: &str) -> bool {
        self.seen.insert(("answer", token))
    }

    /// Records instructions (a JSON token). True when they are new.
    pub fn insert_instructions(&mut self, token: &str) -> bool {
        self.seen.insert(("instructions", token))
    }

    /// Records a plan (a JSON token without its quotes). True when it is new.
    pub fn insert_plan(&mut self, plan: &str) -> bool {
        self.seen.insert(("plan", plan))
    }

    /// The record is converted: its texts stay.
    pub fn commit(&mut self) {
        self.seen.commit();
    }

    /// The record is malformed: its texts are forgotten.
    pub fn roll_back(&mut self) {
        self.seen.roll_back();
    }
}

/// What is known of the files that this session added or changed.
#[derive(Debug, Default)]
pub struct SeenFiles {
    seen: SeenSet,
}

impl SeenFiles {
    /// Records a file that is there. True when it is new.
    pub fn insert(&mut self, path: &str) -> bool {
        self.seen.insert(path)
    }

    /// Records that a file is no longer there.
    pub fn remove(&mut self, path: &str) {
        self.seen.remove(path);
        self.set_bare_cr(path, false);
    }

    /// Records that a file has another name.
    pub fn rename(&mut self, path: &str, new_path: &str) {
        self.set_bare_cr(new_path, self.has_bare_cr(path));
        self.remove(path);
        self.seen.insert(new_path);
    }

    /// Records whether a CR stands alone in a file.
    pub fn set_bare_cr(&mut self, path: &str, has_bare_cr: bool) {
        if has_bare_cr {
            self.seen.insert(("bare cr", path));
        } else {
            self.seen.remove(("bare cr", path));
        }
    }

    /// True if a CR stands alone in a file.
    pub fn has_bare_cr(&self, path: &str) -> bool {
        self.seen.contains(("bare cr", path))
    }

    /// The record is converted: its files stay.
    pub fn commit(&mut self) {
        self.seen.commit();
    }

    /// The record is malformed: its files are forgotten.
    pub fn roll_back(&mut self) {
        self.seen.roll_back();
    }
}
