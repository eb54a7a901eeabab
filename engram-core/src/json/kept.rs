//! A record that is kept until a later one: a copy of its text and of its structure, so that it is parsed only once.

use crate::emit::{Emitter, Reserved};

use super::node::Node;
use super::value::Value;

/// A copy of a record. Its memory is part of what a conversion may keep ([`Emitter::keep`]).
#[derive(Debug)]
pub struct KeptRecord {
    text: String,
    nodes: Box<[Node]>,
    reserved: Option<Reserved>,
}

impl KeptRecord {
    /// Copies a record. `None` if there is no memory left for it.
    ///
    /// ```
    /// use engram_core::json::{KeptRecord, StructuralIndex, parse};
    /// use engram_core::emit::{Emitter, Fault};
    ///
    /// fn keep(line: &str, out: &Emitter) -> Result<Option<KeptRecord>, Fault> {
    ///     let mut index = StructuralIndex::default();
    ///     Ok(KeptRecord::of(parse(line, &mut index)?, out))
    /// }
    /// ```
    pub fn of(record: Value<'_>, out: &Emitter) -> Option<Self> {
        let (text, nodes) = record.parts();
        let reserved = out.reserve(text.len() + size_of_val(nodes))?;
        Some(KeptRecord { text: text.to_owned(), nodes: nodes.into(), reserved: Some(reserved) })
    }

    /// It does not count as kept any more, because it is converted now. What its conversion keeps counts.
    pub fn release(&mut self) {
        self.reserved = None;
    }

    /// The record.
    pub fn value(&self) -> Value<'_> {
        Value::of_nodes(&self.text, &self.nodes)
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.text.len() + size_of_val(&*self.nodes)
    }
}
