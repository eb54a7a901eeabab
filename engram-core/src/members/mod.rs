//! Member tables: every member of every record of a harness, with its JSON type and what becomes of its value.
//!
//! A table is text (`docs/members.md` has the format). An adapter embeds it as a [`MemberSource`] in its descriptor. The conversion checks
//! each record against it, so that a member which the table does not name is never passed over without a word; the audit takes from it what
//! became of each value.

mod best_fit;
mod compile;
mod declared;
mod json_types;
mod known;
mod known_name;
mod left_out;
mod model;
mod node;
mod path;
mod readers;
mod repeated;
mod syntax;
mod unknown;
mod value_forms;
mod walk;

use std::mem;
use std::sync::{Mutex, OnceLock};

pub use json_types::JsonTypes;
pub use known::KnownObjects;
pub use known_name::KnownName;
pub use model::{
    DeclaredTypes, Fate, FateKind, MemberTable, Need, RecordShape, Row, TableContext, TableMark,
    TableOmission, TableRule,
};
pub use node::{JsonNode, RawNode};
pub(crate) use path::push_name;
pub use path::{Path, Step};
pub use readers::{Reader, ReaderField, readers};
pub use syntax::MemberTableError;
pub use unknown::{DEGRADED_BY_MEMBERS, MAX_UNKNOWN_MEMBERS, UnknownMember, UnknownMembers};
pub use value_forms::ValueForms;
pub use walk::{Visitor, Walk};

/// What a table consists of, for code that is generated from one.
#[doc(hidden)]
pub mod compiled {
    pub use super::known_name::Tail;
    pub use super::model::{
        Choice, Content, List, Member, Name, NameIndex, RowId, Selector, SelectorKey, Shape,
        ShapeId,
    };
}

/// The text of a member table, with what was compiled from it: with the program, or when it is first used.
///
/// ```
/// use engram_core::members::MemberSource;
///
/// static MEMBERS: MemberSource = MemberSource::new(&["record message feeds msg.in\n  text string tape\n"]);
/// assert!(MEMBERS.table()?.record("message").is_some());
/// # Ok::<(), engram_core::members::MemberTableError>(())
/// ```
#[derive(Debug)]
pub struct MemberSource {
    parts: &'static [&'static str],
    /// What the harness's own types declare.
    declared: Option<&'static MemberSource>,
    /// The table that was compiled with the program.
    compiled: Option<&'static MemberTable>,
    table: OnceLock<Result<MemberTable, MemberTableError>>,
    /// What conversions that have ended have learned, for later ones.
    known: Mutex<Vec<KnownObjects>>,
}

impl DeclaredTypes for MemberSource {
    fn declared_table(&self) -> Option<&MemberTable> {
        self.table().ok()
    }
}

/// The most [`KnownObjects`] that are kept: one for each conversion at the same time.
const MAX_KEPT: usize = 64;

impl MemberSource {
    /// A table that consists of these texts, one after the other.
    pub const fn new(parts: &'static [&'static str]) -> MemberSource {
        MemberSource {
            parts,
            declared: None,
            compiled: None,
            table: OnceLock::new(),
            known: Mutex::new(Vec::new()),
        }
    }

    /// As [`MemberSource::new`], with the table of what the harness's own types declare. It is compiled when a record first has something
    /// that the other does not name.
    pub const fn with_declared(
        parts: &'static [&'static str],
        declared: &'static MemberSource,
    ) -> MemberSource {
        MemberSource {
            parts,
            declared: Some(declared),
            compiled: None,
            table: OnceLock::new(),
            known: Mutex::new(Vec::new()),
        }
    }

    /// As [`MemberSource::new`], with the table that a build script has compiled from these texts.
    pub const fn compiled(
        parts: &'static [&'static str],
        table: &'static MemberTable,
    ) -> MemberSource {
        MemberSource {
            parts,
            declared: None,
            compiled: Some(table),
            table: OnceLock::new(),
            known: Mutex::new(Vec::new()),
        }
    }

    /// The texts, one after the other.
    pub fn text(&self) -> String {
        self.parts.concat()
    }

    /// The compiled table.
    ///
    /// # Errors
    /// If the text is not a member table.
    pub fn table(&self) -> Result<&MemberTable, MemberTableError> {
        if let Some(table) = self.compiled {
            return Ok(table);
        }
        self.table
            .get_or_init(|| {
                let mut table = MemberTable::parse(&self.text())?;
                table.declared = self.declared.map(|source| source as &dyn DeclaredTypes);
                Ok(table)
            })
            .as_ref()
            .map_err(Clone::clone)
    }

    /// What an earlier conversion has learned. It makes the check faster, and changes nothing that it finds.
    pub(crate) fn take_known(&self) -> KnownObjects {
        self.known
            .try_lock()
            .ok()
            .and_then(|mut known| known.pop())
            .unwrap_or_default()
    }

    /// Keeps what a conversion has learned.
    pub(crate) fn keep_known(&self, objects: &mut KnownObjects) {
        if let Ok(mut known) = self.known.try_lock()
            && known.len() < MAX_KEPT
            && !objects.is_full()
        {
            known.push(mem::take(objects));
        }
    }
}
