//! The files that this session added or changed.

use std::collections::HashSet;

use engram_core::keys::hash64;

/// What is known of the files that a run added or changed.
#[derive(Debug, Default)]
pub struct SeenFiles {
    seen: HashSet<u64>,
    /// The run, in a file to which several have printed.
    pub run: u64,
}

impl SeenFiles {
    /// Adds a file that is there. True when it is new.
    pub fn insert(&mut self, path: &str) -> bool {
        self.seen.insert(hash64((self.run, path)))
    }

    /// Removes a file that is no longer there.
    pub fn remove(&mut self, path: &str) {
        self.seen.remove(&hash64((self.run, path)));
        self.set_bare_cr(path, false);
    }

    /// Gives a file another name.
    pub fn rename(&mut self, path: &str, new_path: &str) {
        self.set_bare_cr(new_path, self.has_bare_cr(path));
        self.remove(path);
        self.insert(new_path);
    }

    /// Sets whether a CR stands alone in a file.
    pub fn set_bare_cr(&mut self, path: &str, has_bare_cr: bool) {
        let key = hash64((self.run, "bare cr", path));
        if has_bare_cr {
            self.seen.insert(key);
        } else {
            self.seen.remove(&key);
        }
    }

    /// True if a CR stands alone in a file.
    pub fn has_bare_cr(&self, path: &str) -> bool {
        self.seen.contains(&hash64((self.run, "bare cr", path)))
    }
}
