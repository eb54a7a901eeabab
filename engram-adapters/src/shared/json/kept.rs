//! A record that is kept until a later one: a copy of its text and of its structure, so that it is parsed only once.

use super::node::Node;
use super::value::Value;

/// A copy of a record.
#[derive(Debug, Clone)]
pub struct KeptRecord {
    text: String,
    nodes: Box<[Node]>,
}

impl KeptRecord {
    /// Copies a record.
    ///
    /// ```
    /// use engram_adapters::shared::value::{KeptRecord, StructuralIndex, parse, raw_str};
    ///
    /// let mut index = StructuralIndex::default();
    /// let kept = KeptRecord::of(parse(r#"{"type":"result"}"#, &mut index)?);
    /// parse("[]", &mut index)?;
    /// assert_eq!(raw_str(kept.value().member("type")), "result");
    /// # Ok::<(), engram_core::emit::Fault>(())
    /// ```
    pub fn of(record: Value<'_>) -> Self {
        let (text, nodes) = record.parts();
        KeptRecord { text: text.to_owned(), nodes: nodes.into() }
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
