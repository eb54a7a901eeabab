//! Pointers of events: their first part, and the names that the source has for their members.

use super::Emitter;
use crate::event::Pointer;

impl Emitter<'_> {
    /// Sets the first part of all pointers until the next record. For a record inside another record.
    pub fn set_pointer_prefix(&mut self, prefix: Pointer<'static>) {
        self.pointer_prefix = prefix;
    }

    /// Makes pointers that begin with `name` begin with `member`, for an artifact that names a member otherwise. Records inside others keep
    /// their names.
    pub fn set_pointer_alias(&mut self, name: &'static str, member: &'static str) {
        self.pointer_alias = Some((name, member));
    }

    /// The pointer's first part and its rest, as the source names them.
    pub(super) fn named_as_in_source<'p>(&self, pointer: Pointer<'p>) -> (Pointer<'static>, Pointer<'p>) {
        let same = (self.pointer_prefix, pointer);
        let Some((name, member)) = self.pointer_alias.filter(|_| self.pointer_prefix.is_root()) else { return same };
        let rest = |path: &'p str| path.strip_prefix(name);
        let renamed = match pointer {
            Pointer::At(path) => rest(path).map(Pointer::At),
            Pointer::Item(path, index) => rest(path).map(|path| Pointer::Item(path, index)),
            Pointer::Field(path, index, field) => rest(path).map(|path| Pointer::Field(path, index, field)),
            _ => None,
        };
        renamed.map_or(same, |rest| (Pointer::At(member), rest))
    }
}
