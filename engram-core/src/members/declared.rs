//! What a member table does not name, and the harness's own types declare.
//!
//! The declared types are a table of their own. A walk asks it only for a value that its own table does not name, or names with another
//! type: it follows the path of that value from the record on. So the types cost nothing where a table is complete.

use super::json_types::JsonTypes;
use super::model::{
    Choice, Content, FateKind, RecordShape, Row, RowId, Selector, SelectorKey, ShapeId,
};
use super::node::JsonNode;
use super::path::{Once, Path, Step};
use super::walk::{Visitor, Walk};

impl Row {
    /// The types of a value that has this row, and another among the declared types. `null` is allowed if they have it. Other types of theirs
    /// are allowed only where the tape does not have the value: a tape must not lack a value that the adapter reads in its other type. And what a table
    /// says of numbers is more than their JSON type.
    pub fn types_beside(&self, declared: &Row) -> JsonTypes {
        let is_left_out = self
            .fate
            .as_ref()
            .is_some_and(|fate| matches!(fate.kind, FateKind::Omit | FateKind::Opaque));
        let numbers = match self.types.meets(JsonTypes::NATURAL) {
            true => JsonTypes::NATURAL,
            false => JsonTypes::default(),
        };
        self.types.or(match is_left_out {
            true => declared.types.without(numbers),
            false => declared.types.and(JsonTypes::NULL),
        })
    }
}

impl<'t, 's, 'v> Walk<'t, 's, 'v> {
    /// Reports a value without a row, unless it is declared.
    #[cold]
    pub(super) fn unknown<'a, N: JsonNode<'a>, V: Visitor<N>>(
        &self,
        path: &Path<'_, N>,
        visitor: &mut V,
    ) {
        if !self.is_declared(path, None, visitor) {
            visitor.unknown(path);
        }
    }

    /// Reports a value that does not fit its row, unless its JSON type is declared.
    #[cold]
    pub(super) fn mismatch<'a, N: JsonNode<'a>, V: Visitor<N>>(
        &self,
        path: &Path<'_, N>,
        row: &Row,
        visitor: &mut V,
    ) {
        if !self.is_declared(path, Some(row), visitor) {
            visitor.mismatch(path, row);
        }
    }

    /// True if the harness's own types declare a value that has none of the types of its row. Then it is walked through along them.
    #[cold]
    pub(super) fn is_declared<'a, N: JsonNode<'a>, V: Visitor<N>>(
        &self,
        path: &Path<'_, N>,
        own: Option<&Row>,
        visitor: &mut V,
    ) -> bool {
        let types = path.node.types();
        let Some((walk, row)) = self.declared_row(path) else {
            return false;
        };
        let allowed = own.map_or(row.types, |own| own.types_beside(row));
        let fits_own = own.is_some_and(|own| own.types.allow(types));
        let has_case = types != JsonTypes::OBJECT
            || !walk.has_shape(row)
            || walk.shape_of(path, row).is_some();
        if fits_own || !allowed.allow(types) || !has_case {
            return false;
        }
        visitor.declared(path);
        walk.value(row, path, visitor);
        true
    }

    /// True if the harness's own types declare the case that an object chooses by a member: they have cases by the same member, and this case is
    /// among them. Types without cases, such as a status that may be any string, declare no case.
    #[cold]
    pub(super) fn declares_case<'a, N: JsonNode<'a>, V: Visitor<N>>(
        &self,
        selector: &Selector,
        path: &Path<'_, N>,
        visitor: &mut V,
    ) -> bool {
        let has_cases = self
            .declared_row(path)
            .is_some_and(|(walk, row)| walk.has_cases_by(selector, row, path));
        has_cases && self.is_declared(path, None, visitor)
    }

    /// True if the shape of an object is chosen by the member that another selector has.
    fn has_cases_by<'a, N: JsonNode<'a>>(
        &self,
        other: &Selector,
        row: &Row,
        path: &Path<'_, N>,
    ) -> bool {
        let Content::Described { object, .. } = row.content else {
            return false;
        };
        let mut shape = object;
        while let Some(own) = shape.and_then(|id| self.table.shape(id).selector.as_ref()) {
            if is_by_same_member(&own.key, &other.key) {
                return true;
            }
            shape = match self.choose(own, row, path) {
                Choice::Shape(shape) => Some(shape),
                _ => None,
            };
        }
        false
    }

    /// The row that the declared types have for the value at a path, and a walk along them.
    pub(super) fn declared_row<'a, N: JsonNode<'a>>(
        &self,
        path: &Path<'_, N>,
    ) -> Option<(Walk<'t, 's, 'v>, &'t Row)> {
        let (shape, table) = (self.record?, self.table.declared()?);
        let is_shape = |document: &RecordShape| std::ptr::eq(document, shape);
        let declared = if self.table.documents.iter().any(is_shape) {
            table.document(root_of(path))
        } else {
            table.record(&shape.name)
        };
        let walk = self.along(table);
        let row = walk.row_at(declared?.row, path)?;
        Some((walk, table.row(row)))
    }

    /// The row of the value at a path. None if the table has none. A row that allows anything declares no member.
    fn row_at<'a, N: JsonNode<'a>>(&self, root: RowId, path: &Path<'_, N>) -> Option<RowId> {
        if let Once::Known(row) = path.declared_row.get() {
            return row;
        }
        let row = match path.outer {
            None => Some(root),
            Some(outer) => self.row_in(root, outer, path.step()),
        };
        path.declared_row.set(Once::Known(row));
        row
    }

    /// The row of a member or an item of the value at a path.
    fn row_in<'a, N: JsonNode<'a>>(
        &self,
        root: RowId,
        outer: &Path<'_, N>,
        step: Step<'_>,
    ) -> Option<RowId> {
        let row = self.table.row(self.row_at(root, outer)?);
        match (row.content, step) {
            (Content::Described { items, .. }, Step::Item(_)) => items,
            (Content::Described { .. }, Step::Name(name) | Step::Key(name)) => {
                let shape = self.table.shape(self.shape_of(outer, row)?);
                let rest = shape.rest.filter(|id| !self.table.row(*id).is_free());
                shape.find(name).map(|member| member.row).or(rest)
            }
            _ => None,
        }
    }

    /// True if the members of an object with this row have rows.
    fn has_shape(&self, row: &Row) -> bool {
        matches!(
            row.content,
            Content::Described {
                object: Some(_),
                ..
            }
        )
    }

    /// The shape of an object, by the values of its selectors. None if they choose none.
    fn shape_of<'a, N: JsonNode<'a>>(&self, path: &Path<'_, N>, row: &Row) -> Option<ShapeId> {
        if let Once::Known(shape) = path.declared_shape.get() {
            return shape;
        }
        let Content::Described { object, .. } = row.content else {
            return None;
        };
        let mut shape = object;
        while let Some(selector) = shape.and_then(|id| self.table.shape(id).selector.as_ref()) {
            shape = match self.choose(selector, row, path) {
                Choice::Shape(shape) => Some(shape),
                _ => None,
            };
        }
        path.declared_shape.set(Once::Known(shape));
        shape
    }
}

/// The value that a path begins at.
fn root_of<N: Copy>(path: &Path<'_, N>) -> N {
    path.outer.map_or(path.node, root_of)
}

/// True if two selectors look at a member with the same name.
fn is_by_same_member(one: &SelectorKey, other: &SelectorKey) -> bool {
    match (one, other) {
        (SelectorKey::Member { name: one, .. }, SelectorKey::Member { name: other, .. }) => {
            one == other
        }
        _ => false,
    }
}
