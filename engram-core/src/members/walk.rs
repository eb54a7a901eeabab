//! A walk through a JSON value along a member table.

use std::ops::Range;

use super::json_types::JsonTypes;
use super::known::{Inner, KnownObjects};
use super::model::{
    Choice, Content, MemberTable, Need, RecordShape, Row, Selector, SelectorKey, Shape, ShapeId,
};
use super::node::JsonNode;
use super::path::{Path, Step};
use super::repeated::repeated;

/// Values are not looked at below this depth. Only shapes that contain themselves get there.
const MAX_DEPTH: usize = 128;

/// Receives what a walk finds.
pub trait Visitor<N: Copy> {
    /// Objects that were complete, if nothing is wanted but what is unknown or of another type.
    fn known(&mut self) -> Option<&mut KnownObjects> {
        None
    }

    /// True if [`Visitor::value`] is wanted.
    const VALUES: bool = false;
    /// True if [`Visitor::leaf`] is wanted.
    const LEAVES: bool = false;
    /// True if [`Visitor::required`] is wanted.
    const REQUIRED: bool = false;

    /// A value that the table does not name, or a member whose name the object has already.
    fn unknown(&mut self, path: &Path<'_, N>);

    /// A value of a type that the table does not name, or a time that is not readable.
    fn mismatch(&mut self, path: &Path<'_, N>, row: &Row);

    /// A value of any type with a row, `null` too, before the values in it. Nothing in user data has a row. `declared` is the row that the
    /// harness's own types have for it.
    fn value(&mut self, path: &Path<'_, N>, row: &Row, declared: Option<&Row>) {
        let _ = (path, row, declared);
    }

    /// A string, number or boolean with a row, or user data of any kind.
    fn leaf(&mut self, path: &Path<'_, N>, row: &Row) {
        let _ = (path, row);
    }

    /// An object that the adapter reports as unrecognized.
    fn unrecognized(&mut self, path: &Path<'_, N>) {
        let _ = path;
    }

    /// A value that is a record of its own.
    fn record(&mut self, path: &Path<'_, N>) {
        let _ = path;
    }

    /// A value that has no row, or does not fit it, and that the harness's own types declare. Its contents follow, with the rows of those.
    fn declared(&mut self, path: &Path<'_, N>) {
        let _ = path;
    }

    /// A member that every object in this place has, and whether this object has it.
    fn required(&mut self, object: &Path<'_, N>, name: &str, is_present: bool) {
        let _ = (object, name, is_present);
    }
}

/// A walk along a table. `select` returns what only the adapter knows, by the key of a selector.
#[derive(Clone, Copy)]
pub struct Walk<'t, 's, 'v> {
    pub(super) table: &'t MemberTable,
    select: &'s dyn Fn(&str) -> Option<&'v str>,
    /// The record, if the declared types are asked for what its table does not name.
    pub(super) record: Option<&'t RecordShape>,
    /// True if complete objects may be remembered: the shapes are those of the adapter's own table.
    learns: bool,
}

impl<'t, 's, 'v> Walk<'t, 's, 'v> {
    /// A walk along this table. `select` returns the values of selectors that begin with `@`, or None if the value is not known: then the
    /// case that fits best applies.
    pub fn of(table: &'t MemberTable, select: &'s dyn Fn(&str) -> Option<&'v str>) -> Self {
        Walk {
            table,
            select,
            record: None,
            learns: true,
        }
    }

    /// The same walk along the declared types, which ask no further ones.
    pub(super) fn along<'d>(&self, table: &'d MemberTable) -> Walk<'d, 's, 'v> {
        Walk {
            table,
            select: self.select,
            record: None,
            learns: false,
        }
    }
}

impl<'a> Walk<'_, '_, '_> {
    /// Walks through a record.
    pub fn record<N: JsonNode<'a>, V: Visitor<N>>(
        &self,
        shape: &RecordShape,
        root: &Path<'_, N>,
        visitor: &mut V,
    ) {
        let walk = Walk {
            record: Some(shape),
            ..*self
        };
        walk.value(self.table.row(shape.row), root, visitor);
    }

    pub(super) fn value<N: JsonNode<'a>, V: Visitor<N>>(
        &self,
        row: &Row,
        path: &Path<'_, N>,
        visitor: &mut V,
    ) {
        let types = path.node.types();
        if V::VALUES {
            visitor.value(path, row, self.declared_row(path).map(|(_, row)| row));
        }
        if path.depth > MAX_DEPTH {
            return;
        }
        if !row.types.allow(types) || (!row.forms.is_none() && !row.forms.accept(path.node)) {
            return self.mismatch(path, row, visitor);
        }
        if path.node.is_null() {
            return;
        }
        match row.content {
            Content::Record if types == JsonTypes::ARRAY => {
                for (index, item) in path.node.items().enumerate() {
                    visitor.record(&path.inner(Step::Item(index), item));
                }
            }
            Content::Record => visitor.record(path),
            Content::Described {
                object: Some(shape),
                ..
            } if types == JsonTypes::OBJECT => self.object(shape, row, path, visitor),
            Content::Described { items, .. } if types == JsonTypes::ARRAY => {
                let row = items.map(|row| self.table.row(row));
                for (index, item) in path.node.items().enumerate() {
                    let types = item.types();
                    match row {
                        Some(row)
                            if !V::LEAVES
                                && !V::VALUES
                                && row.types.allow(types)
                                && types.is_leaf()
                                && row.forms.is_none() => {}
                        Some(row) => self.value(row, &path.inner(Step::Item(index), item), visitor),
                        None => self.unknown(&path.inner(Step::Item(index), item), visitor),
                    }
                }
            }
            Content::Free | Content::Described { .. } if V::LEAVES => visitor.leaf(path, row),
            Content::Free | Content::Described { .. } => {}
        }
    }

    pub(super) fn object<N: JsonNode<'a>, V: Visitor<N>>(
        &self,
        shape: ShapeId,
        row: &Row,
        path: &Path<'_, N>,
        visitor: &mut V,
    ) {
        let Some(selector) = &self.table.shape(shape).selector else {
            return self.members(shape, path, visitor);
        };
        match self.choose(selector, row, path) {
            Choice::Shape(shape) => self.object(shape, row, path, visitor),
            Choice::Free(row) if V::LEAVES => visitor.leaf(path, self.table.row(row)),
            Choice::Free(_) => {}
            Choice::Unrecognized | Choice::Unknown
                if self.declares_case(selector, path, visitor) => {}
            Choice::Unrecognized => visitor.unrecognized(path),
            Choice::Unknown => match &selector.key {
                SelectorKey::Member {
                    levels: 0, name, ..
                } if path.node.find(name).is_some() => {
                    let value = path.node.find(name).unwrap_or(path.node);
                    visitor.unknown(&path.inner(Step::Name(name), value));
                }
                _ => visitor.unknown(path),
            },
        }
    }

    pub(super) fn choose<N: JsonNode<'a>>(
        &self,
        selector: &Selector,
        row: &Row,
        path: &Path<'_, N>,
    ) -> Choice {
        match &selector.key {
            SelectorKey::Member { levels, known, .. } => {
                let mut members = object_around(path, *levels)
                    .into_iter()
                    .flat_map(N::each_member);
                let value = members
                    .find(|member| N::has_name(*member, known))
                    .map(N::value_of);
                selector.choose(value.filter(|value| !value.is_null()).map_or("", N::word))
            }
            SelectorKey::Adapter(key) => match (self.select)(key) {
                Some(value) => selector.choose(value),
                None => self.best_fit(selector, row, path),
            },
        }
    }

    fn members<N: JsonNode<'a>, V: Visitor<N>>(
        &self,
        id: ShapeId,
        path: &Path<'_, N>,
        visitor: &mut V,
    ) {
        if self.learns
            && let Some(inner) = visitor
                .known()
                .and_then(|known| known.inner(self.table, id, path.node))
        {
            return self.inner(inner, path, visitor);
        }
        let shape = self.table.shape(id);
        let is_allowed = |name: &str| shape.find(name).is_some_and(|member| member.repeats);
        for (name, node) in repeated(path.node)
            .into_iter()
            .filter(|(name, _)| !is_allowed(name))
        {
            visitor.unknown(&path.inner(Step::Name(name), node));
        }
        for (name, node) in path.node.members() {
            match (shape.find(name), shape.rest) {
                (Some(member), _) => self.value(
                    self.table.row(member.row),
                    &path.inner(Step::Name(name), node),
                    visitor,
                ),
                (None, Some(row)) => self.value(
                    self.table.row(row),
                    &path.inner(Step::Key(name), node),
                    visitor,
                ),
                (None, None) => self.unknown(&path.inner(Step::Name(name), node), visitor),
            }
        }
        if V::REQUIRED {
            required(shape, path, visitor);
        }
    }

    /// Walks through the containers, and the values with a form, in an object that is otherwise complete.
    fn inner<N: JsonNode<'a>, V: Visitor<N>>(
        &self,
        inner: Range<usize>,
        path: &Path<'_, N>,
        visitor: &mut V,
    ) {
        let mut place = N::Place::default();
        for at in inner {
            let Some(Inner { leaves, row }) = visitor.known().and_then(|known| known.inner_at(at))
            else {
                return;
            };
            let Some(member) = path.node.member_after(&mut place, leaves) else {
                return;
            };
            if let Some(row) = row {
                self.value(
                    self.table.row(row),
                    &path.inner(Step::Name(N::name_of(member)), N::value_of(member)),
                    visitor,
                );
            }
        }
    }
}

/// Reports the members that every object of this shape has.
fn required<'a, N: JsonNode<'a>, V: Visitor<N>>(
    shape: &Shape,
    path: &Path<'_, N>,
    visitor: &mut V,
) {
    for (at, member) in shape
        .members
        .iter()
        .enumerate()
        .filter(|(_, member)| member.need == Need::Always)
    {
        // Aliases share a row; the first of them is used for all.
        let aliases = || shape.members.iter().filter(|alias| alias.row == member.row);
        if aliases()
            .next()
            .is_some_and(|first| std::ptr::eq(first, &shape.members[at]))
        {
            let is_present = path
                .node
                .members()
                .any(|(name, _)| aliases().any(|alias| name == &*alias.name));
            visitor.required(path, &member.name, is_present);
        }
    }
}

/// The object itself, or the one this many levels around it. Arrays do not count.
fn object_around<'a, N: JsonNode<'a>>(path: &Path<'_, N>, levels: usize) -> Option<N> {
    let mut at = path;
    for _ in 0..levels {
        at = at.outer?;
        while at.node.types() == JsonTypes::ARRAY {
            at = at.outer?;
        }
    }
    Some(at.node)
}

#[cfg(test)]
mod tests;
