//! Which sources have not changed since the index was written, by a look at their files' states only.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use engram_adapters::Registry;
use engram_adapters::sessions::{FormIdentity, SessionFinder, SessionOptions, Stamp};
use engram_command::inputs::{Inputs, find_with};
use engram_core::overview::Overview;

use super::entry::{Entry, Key, Setup, State};
use super::index::Index;

/// The index compared with the files that it is about.
pub struct Known<'k> {
    /// The index.
    pub index: &'k Index,
    /// The directory of tapes.
    pub root: &'k Path,
    /// The adapters.
    pub registry: &'k Registry,
    /// What decides about tapes in this run. Without options, they do not count.
    pub setup: &'k Setup,
    /// True for sessions that this run wants.
    pub wants: &'k dyn Fn(&Overview) -> bool,
    /// The files that the caller named: each must be a session, so it is an error each time if it is not one.
    pub named: HashSet<String>,
    /// The states of sources that must be read, as they were before they are opened.
    pub changed: RefCell<BTreeMap<String, Stamp>>,
    /// What was found of each source: a store is asked about for each of its sessions.
    pub found: RefCell<HashMap<String, bool>>,
}

impl Known<'_> {
    /// Finds the sessions at these paths. What has not changed since the index was written is not opened.
    pub fn find(&self, paths: &[PathBuf], options: &SessionOptions) -> Inputs {
        let finder = SessionFinder::new(options).skip_unchanged(|path| self.is_unchanged(path));
        find_with(paths, finder, |finder| {
            let again = self.reopen_other_forms(finder.forms(), finder.unchanged());
            again.iter().for_each(|path| finder.open_again(path));
        })
    }

    /// True if no file or store at this path needs to be opened.
    pub fn is_unchanged(&self, path: &Path) -> bool {
        let Some(source) = source_of(path) else {
            return false;
        };
        let found = self.found.borrow().get(&source).copied();
        found.unwrap_or_else(|| {
            let is_unchanged = self.is_as_it_was(path, &source);
            self.found.borrow_mut().insert(source, is_unchanged);
            is_unchanged
        })
    }

    fn is_as_it_was(&self, path: &Path, source: &str) -> bool {
        let Ok(now) = Stamp::of(self.registry, path, &[]) else {
            return false;
        };
        let mut entries = self
            .index
            .of_source(source)
            .filter(|entry| entry.state != State::Gone)
            .peekable();
        let is_unchanged = entries.peek().is_some()
            && entries.all(|entry| self.is_current(entry, path, &now))
            && !self.has_changed_form(source);
        if !is_unchanged {
            self.changed.borrow_mut().insert(source.to_owned(), now);
        }
        is_unchanged
    }

    fn is_current(&self, entry: &Entry, path: &Path, now: &Stamp) -> bool {
        let beside = entry
            .overview
            .as_ref()
            .map(|overview| &overview.beside[..])
            .unwrap_or_default();
        let has_stamp = || match beside {
            [] => entry.stamp == *now,
            beside => Stamp::of(self.registry, path, beside).is_ok_and(|now| entry.stamp == now),
        };
        let wanted = || entry.overview.as_ref().is_some_and(self.wants);
        let is_settled = match entry.state {
            State::Current => self.has_tape(entry),
            State::NoSession | State::Nothing => !self.named.contains(&entry.source),
            State::OtherForm => entry
                .form_of
                .as_ref()
                .is_some_and(|used| self.is_current_source(used)),
            State::Filtered => entry.tape.is_none() && !wanted(),
            State::Writing | State::Failed | State::Gone => false,
        };
        let has_options =
            self.setup.options.is_empty() || entry.setup.options == self.setup.options;
        is_settled && entry.setup.adapters == self.setup.adapters && has_options && has_stamp()
    }

    /// True if the session that another form was compared with is as it was then.
    fn is_current_source(&self, used: &Key) -> bool {
        let Some(entry) = self
            .index
            .get(used)
            .filter(|entry| entry.state != State::OtherForm)
        else {
            return false;
        };
        let path = Path::new(&used.0);
        Stamp::of(self.registry, path, &[]).is_ok_and(|now| self.is_current(entry, path, &now))
    }

    /// True if a form that was skipped for a session of this source has changed.
    fn has_changed_form(&self, source: &str) -> bool {
        let has_changed = |entry: &Entry| {
            Stamp::of(self.registry, Path::new(&entry.source), &[])
                .is_ok_and(|now| now != entry.stamp)
        };
        self.index.forms_of(source).any(has_changed)
    }

    /// The unchanged sources that have one of these sessions in another form: which form is used must be decided again.
    fn reopen_other_forms<'f>(
        &self,
        forms: impl Iterator<Item = &'f FormIdentity>,
        unchanged: &[PathBuf],
    ) -> Vec<PathBuf> {
        let mut changed: HashMap<&str, Vec<&FormIdentity>> = HashMap::new();
        forms.for_each(|form| changed.entry(&form.session_id).or_default().push(form));
        if changed.is_empty() {
            return Vec::new();
        }
        let has_one = |entry: &Entry| {
            let overview = entry.overview.as_ref();
            overview.is_some_and(|it| {
                let id = it.session_id.as_deref().unwrap_or_default();
                let forms = changed.get(id).into_iter().flatten();
                forms.into_iter().any(|form| form.is_of(&it.harness, id))
            })
        };
        let again = |path: &&PathBuf| {
            source_of(path).is_some_and(|source| self.index.of_source(&source).any(has_one))
        };
        let again: Vec<PathBuf> = unchanged.iter().filter(again).cloned().collect();
        for path in &again {
            if let (Some(source), Ok(now)) = (source_of(path), Stamp::of(self.registry, path, &[]))
            {
                self.changed.borrow_mut().insert(source, now);
            }
        }
        again
    }

    fn has_tape(&self, entry: &Entry) -> bool {
        let tape: Option<PathBuf> = entry.tape.as_ref().map(|tape| self.root.join(tape));
        tape.and_then(|tape| tape.symlink_metadata().ok())
            .is_some_and(|found| found.is_file() && Some(found.len()) == entry.tape_bytes)
    }
}

/// The source that a path is, or the store whose root contains it.
pub fn container(changed: &BTreeMap<String, Stamp>, path: &Path) -> Option<String> {
    let own = source_of(path)?;
    let store = Path::new(&own)
        .ancestors()
        .filter_map(Path::to_str)
        .find(|source| changed.contains_key(*source))
        .map(str::to_owned);
    Some(store.unwrap_or(own))
}

/// The path of a source in the index. `None` for a path that is not Unicode: it would not be the same path when it is read again.
pub fn source_of(path: &Path) -> Option<String> {
    std::path::absolute(path)
        .ok()?
        .into_os_string()
        .into_string()
        .ok()
}
