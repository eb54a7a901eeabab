//! What the check of a record against the member table finds.

use crate::error::excerpt;
use crate::event::Pointer;
use crate::members::{
    JsonNode, KnownObjects, MAX_UNKNOWN_MEMBERS, MemberSource, MemberTable, MemberTableError, Path,
    Row, Visitor,
};

/// The member table of the adapter, and what was found with it.
#[derive(Debug, Default)]
pub(super) struct MemberCheck {
    source: Option<&'static MemberSource>,
    pub table: Option<&'static MemberTable>,
    /// What complete objects in the records before look like.
    pub known: KnownObjects,
    /// What the current record has.
    pub found: Found,
}

/// Unknown members of one record, at most [`MAX_UNKNOWN_MEMBERS`]; further ones are counted.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub members: Vec<FoundMember>,
    pub more: u64,
}

#[derive(Debug)]
pub(super) struct FoundMember {
    /// The pointer in the outermost record, as the prefix was when it was found.
    pub pointer: String,
    /// As in the ledger.
    pub pattern: String,
    /// The types that the table names and the type of the value, if the table names the member.
    pub types: Option<(String, String)>,
    /// The record type.
    pub record: String,
}

impl Found {
    pub fn add(&mut self, member: impl FnOnce() -> FoundMember) {
        if self.members.len() < MAX_UNKNOWN_MEMBERS {
            self.members.push(member());
        } else {
            self.more += 1;
        }
    }

    pub fn clear(&mut self) {
        self.members.clear();
        self.more = 0;
    }
}

/// Collects what a walk finds in a record.
pub(super) struct Collect<'f> {
    pub known: &'f mut KnownObjects,
    pub found: &'f mut Found,
    pub record: &'f str,
    pub prefix: Pointer<'static>,
    pub at: Pointer<'f>,
}

impl Collect<'_> {
    #[cold]
    pub fn add<'n, N: JsonNode<'n>>(&mut self, path: &Path<'_, N>, expected: Option<&Row>) {
        let (record, prefix, at) = (self.record, self.prefix, self.at);
        self.found.add(|| FoundMember {
            pointer: format!("{prefix}{at}{}", path.pointer()),
            pattern: excerpt(&path.pattern()),
            types: expected.map(|row| (row.expected(), row.found(path.node).into_owned())),
            record: excerpt(record),
        });
    }
}

impl<'n, N: JsonNode<'n>> Visitor<N> for Collect<'_> {
    fn known(&mut self) -> Option<&mut KnownObjects> {
        Some(self.known)
    }

    fn unknown(&mut self, path: &Path<'_, N>) {
        self.add(path, None);
    }

    fn mismatch(&mut self, path: &Path<'_, N>, row: &Row) {
        self.add(path, Some(row));
    }
}

impl MemberCheck {
    pub fn new(source: Option<&'static MemberSource>) -> Result<Self, MemberTableError> {
        let table = source.map(MemberSource::table).transpose()?;
        let known = source.map(MemberSource::take_known).unwrap_or_default();
        Ok(MemberCheck {
            source,
            table,
            known,
            found: Found::default(),
        })
    }
}

impl Drop for MemberCheck {
    fn drop(&mut self) {
        if let Some(source) = self.source {
            source.keep_known(&mut self.known);
        }
    }
}
