//! The path from a record to a value in it.

use std::cell::Cell;
use std::fmt::Write as _;

use super::model::{RowId, ShapeId};
use crate::text::Text;

/// One step of a path.
#[derive(Debug, Clone, Copy)]
pub enum Step<'p> {
    /// The record itself.
    Root,
    /// A member, by its name.
    Name(&'p str),
    /// A member of a map, by its key.
    Key(&'p str),
    /// An item of an array.
    Item(usize),
}

/// What was found out once, and is not looked for again.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Once<T> {
    #[default]
    Unasked,
    Known(Option<T>),
}

/// A value and the path to it.
#[derive(Debug, Clone)]
pub struct Path<'p, N> {
    pub(super) outer: Option<&'p Path<'p, N>>,
    step: Step<'p>,
    pub(super) depth: usize,
    /// The row of the value among the declared types, and its shape if it is an object: many values in it may ask for them.
    pub(super) declared_row: Cell<Once<RowId>>,
    pub(super) declared_shape: Cell<Once<ShapeId>>,
    /// The value.
    pub node: N,
}

impl<'p, N: Copy> Path<'p, N> {
    /// The path of a record.
    pub fn root(node: N) -> Path<'p, N> {
        Path {
            outer: None,
            step: Step::Root,
            depth: 0,
            declared_row: Cell::default(),
            declared_shape: Cell::default(),
            node,
        }
    }

    /// The step from the outer value to this one.
    pub fn step(&self) -> Step<'p> {
        self.step
    }

    pub(super) fn inner(&'p self, step: Step<'p>, node: N) -> Path<'p, N> {
        Path {
            outer: Some(self),
            step,
            depth: self.depth + 1,
            declared_row: Cell::default(),
            declared_shape: Cell::default(),
            node,
        }
    }

    /// The steps, outermost first.
    fn steps(&self) -> Vec<Step<'p>> {
        let (mut steps, mut at) = (vec![self.step], self.outer);
        while let Some(path) = at {
            steps.push(path.step);
            at = path.outer;
        }
        steps.reverse();
        steps
    }

    /// The JSON pointer (RFC 6901) from the record to the value.
    pub fn pointer(&self) -> String {
        self.join(|pointer, step| match step {
            Step::Root => {}
            Step::Name(name) | Step::Key(name) => push_name(pointer, name),
            Step::Item(index) => _ = write!(pointer, "/{index}"),
        })
    }

    /// As [`Path::pointer`], with `*` for items of arrays and keys of maps.
    pub fn pattern(&self) -> String {
        self.join(|pointer, step| match step {
            Step::Root => {}
            Step::Name(name) => push_name(pointer, name),
            Step::Key(_) | Step::Item(_) => pointer.push_str("/*"),
        })
    }

    fn join(&self, push: impl Fn(&mut String, Step<'_>)) -> String {
        let mut pointer = String::new();
        for step in self.steps() {
            push(&mut pointer, step);
        }
        pointer
    }
}

/// Adds a name as a segment of a pointer.
pub(crate) fn push_name(pointer: &mut String, name: &str) {
    pointer.push('/');
    let name = Text::Token(&format!("\"{name}\""))
        .decode_lossy()
        .into_owned();
    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
}
