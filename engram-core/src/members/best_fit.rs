//! The shape that fits a value best, where nothing else says which one applies.

use super::model::{Choice, MemberTable, RecordShape, Row, Selector};
use super::node::JsonNode;
use super::path::Path;
use super::walk::{Visitor, Walk};

impl MemberTable {
    /// The shape of a document: of those with its JSON type the one under which the fewest values are unknown, and of several such the one
    /// under which the fewest members are absent.
    pub fn document<'a, N: JsonNode<'a>>(&self, root: N) -> Option<&RecordShape> {
        let walk = Walk::of(self, &|_| None);
        let faults = |shape: &RecordShape| {
            let mut count = CountFaults::default();
            walk.value(self.row(shape.row), &Path::root(root), &mut count);
            (
                !root.types().meets(self.row(shape.row).types),
                count.faults,
                count.absent,
            )
        };
        match self.documents() {
            [only] => Some(only),
            several => several.iter().min_by_key(|shape| faults(shape)),
        }
    }
}

impl<'a> Walk<'_, '_, '_> {
    /// The choice under which the fewest values are unknown, and of several such the one under which the fewest members are absent. User
    /// data fits better than a shape that names none of the members.
    pub(super) fn best_fit<N: JsonNode<'a>>(
        &self,
        selector: &Selector,
        row: &Row,
        path: &Path<'_, N>,
    ) -> Choice {
        let faults = |choice: Choice| match choice {
            Choice::Shape(shape) => {
                let mut count = CountFaults {
                    depth: path.depth + 1,
                    ..CountFaults::default()
                };
                // What is declared is so under every choice, and tells none apart.
                self.along(self.table).object(shape, row, path, &mut count);
                let names_none = count.unknown_members == path.node.members().count();
                (count.faults + if names_none { 2 } else { 0 }, count.absent)
            }
            Choice::Free(_) | Choice::Unrecognized => (1, usize::MAX),
            Choice::Unknown => (usize::MAX, 0),
        };
        selector
            .choices()
            .min_by_key(|choice| faults(*choice))
            .unwrap_or(selector.otherwise)
    }
}

/// Counts what does not fit.
#[derive(Default)]
struct CountFaults {
    /// The depth of the object's members.
    depth: usize,
    faults: usize,
    unknown_members: usize,
    absent: usize,
}

impl<N: Copy> Visitor<N> for CountFaults {
    const REQUIRED: bool = true;

    fn unknown(&mut self, path: &Path<'_, N>) {
        self.faults += 1;
        self.unknown_members += usize::from(path.depth == self.depth);
    }

    fn mismatch(&mut self, _: &Path<'_, N>, _: &Row) {
        self.faults += 1;
    }

    fn required(&mut self, _: &Path<'_, N>, _: &str, is_present: bool) {
        self.absent += usize::from(!is_present);
    }
}
