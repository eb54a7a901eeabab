//! Facts about a session that the lines of its log repeat: the tape has each when it is new.

use std::hash::Hash;

use engram_core::emit::Pointer;
use engram_core::event::{Meta, SessionFacts};
use engram_core::keys::{KeyMap, hash64};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::value::{Field, non_empty_text, raw_str};

/// The most facts that are kept. One beyond them is new each time.
const MAX_FACTS: usize = 4096;

/// The facts as the log stated them last, by their names.
///
/// ```
/// use engram_adapters::shared::stated::Stated;
/// use engram_adapters::shared::value::{StructuralIndex, parse};
///
/// let mut index = StructuralIndex::default();
/// let line = parse(r#"{"model":"m"}"#, &mut index)?;
/// let mut stated = Stated::default();
/// assert!(stated.changed("model", line.member("model")).is_some());
/// assert!(stated.changed("model", line.member("model")).is_none());
/// # Ok::<(), engram_core::emit::Fault>(())
/// ```
#[derive(Debug, Default)]
pub struct Stated {
    last: KeyMap<u64>,
}

impl Stated {
    /// The text of a fact, if it is not empty and another one than before. The name is that of the fact, with a sub-agent if it is the
    /// sub-agent's.
    pub fn changed<'a>(&mut self, name: impl Hash, now: Field<'a>) -> Option<Text<'a>> {
        let text = non_empty_text(now)?;
        let (name, value) = (hash64(name), hash64(raw_str(now)));
        if self.last.get(&name) == Some(&value) {
            return None;
        }
        if self.last.len() < MAX_FACTS || self.last.contains_key(&name) {
            self.last.insert(name, value);
        }
        Some(text)
    }
}

/// Emits facts about the session, if there are any.
pub fn emit_facts<'p>(
    facts: SessionFacts<'_>,
    pointer: impl Into<Pointer<'p>>,
    out: &mut Emitter<'_>,
) {
    if !facts.is_empty() {
        out.emit(Meta::Session(facts), pointer);
    }
}
