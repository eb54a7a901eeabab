//! The check of a record against the member table, and what follows from a member that the table does not name.

use super::member_check::{Collect, FoundMember, Kinds, MemberCheck};
use super::{Emitter, Fault};
use crate::coverage::Coverage;
use crate::error::{AdapterError, ErrorCode};
use crate::event::{Kind, Meta, Pointer, RevisionChange};
use crate::members::{DEGRADED_BY_MEMBERS, JsonNode, Path, UnknownMember, Walk};
use crate::policy::Policy;

impl Emitter<'_> {
    /// Compares a record with the adapter's member table. `record` is its type, as the table names it, `at` the pointer to `root` in the
    /// current record. `select` returns what only the adapter knows: the value of a selector that begins with `@`.
    ///
    /// Call it after [`Emitter::set_header`] and before the first event of the record. Under strict policy a member that the table does
    /// not name, or whose value has another type, makes the conversion fail when the record is settled (`unknown_member`), unless the
    /// record has a worse fault. Under permissive policy it is counted in the ledger, and the claims of the kinds that the record gives
    /// are lowered from here on.
    ///
    /// # Errors
    /// [`Fault::Fatal`] if the sink fails.
    pub fn check_members<'n, N: JsonNode<'n>>(
        &mut self,
        record: &str,
        root: N,
        at: Pointer<'_>,
        select: &dyn Fn(&str) -> Option<&'n str>,
    ) -> Result<(), Fault> {
        if self.check_named_members(record, root, at, select)? {
            return Ok(());
        }
        let MemberCheck { known, found, .. } = &mut self.members;
        Collect { known, found, record, prefix: self.pointer_prefix, at }.add(&Path::root(root), None);
        self.lower_claims(&Kind::ALL)
    }

    /// As [`Emitter::check_members`], if the table names the type of the record; else the adapter must report it. Returns whether it does.
    ///
    /// # Errors
    /// [`Fault::Fatal`] if the sink fails.
    pub fn check_named_members<'n, N: JsonNode<'n>>(
        &mut self,
        record: &str,
        root: N,
        at: Pointer<'_>,
        select: &dyn Fn(&str) -> Option<&'n str>,
    ) -> Result<bool, Fault> {
        let Some(table) = self.members.table else { return Ok(true) };
        let Some(shape) = table.record(record) else { return Ok(false) };
        let MemberCheck { known, found, .. } = &mut self.members;
        let before = found.members.len();
        let mut collect = Collect { known, found, record, prefix: self.pointer_prefix, at };
        Walk { table, select }.record(shape, &Path::root(root), &mut collect);
        if self.members.found.members.len() > before {
            self.lower_claims(&shape.feeds)?;
        }
        Ok(true)
    }

    /// Compares the outer part of a document with the member table, as [`Emitter::check_members`] does for records. It belongs to no
    /// record, so what it finds counts at once.
    ///
    /// # Errors
    /// [`Fault::Fatal`] if the sink fails.
    pub fn check_document<'n, N: JsonNode<'n>>(&mut self, root: N) -> Result<(), Fault> {
        let Some((table, shape)) = self.members.table.and_then(|table| Some((table, table.document(root)?))) else { return Ok(()) };
        let MemberCheck { known, found, .. } = &mut self.members;
        let mut collect = Collect { known, found, record: "document", prefix: Pointer::Root, at: Pointer::Root };
        Walk { table, select: &|_| None }.record(shape, &Path::root(root), &mut collect);
        if self.members.found.members.is_empty() {
            return Ok(());
        }
        self.lower_claims(&shape.feeds)?;
        self.settle_members();
        self.members.found.clear();
        Ok(())
    }

    /// Under permissive policy, lowers the claims of these kinds, and emits `meta revision` if that changes anything.
    #[cold]
    pub(super) fn lower_claims(&mut self, kinds: &[Kind]) -> Result<(), Fault> {
        if self.policy == Policy::Strict {
            return Ok(());
        }
        let before = self.members.lowered;
        kinds.iter().for_each(|kind| self.members.lowered[*kind as usize] = true);
        if before == self.members.lowered {
            return Ok(());
        }
        let support = self.support.clone();
        self.apply_lowered_claims();
        if self.support == support {
            return Ok(());
        }
        self.checkpoint.support.get_or_insert(support);
        let support = self.support.clone();
        let change = RevisionChange { harness: support.harness(self.descriptor.harness_family), claims: support.claims() };
        self.send(&Meta::Revision(Box::new(change)).into(), Pointer::Root, None).map(drop)
    }

    /// Lowers the claims for the current version as unknown members of earlier records require.
    pub(super) fn apply_lowered_claims(&mut self) {
        let lowered = self.members.lowered;
        if lowered.contains(&true) {
            self.support.coverage = lower(&self.support.coverage, lowered);
            if !self.support.degraded.contains(&DEGRADED_BY_MEMBERS) {
                self.support.degraded.push(DEGRADED_BY_MEMBERS);
            }
        }
    }

    /// Counts the unknown members of a record that is settled, or makes the conversion fail with the first.
    pub(super) fn settle_members(&mut self) {
        if self.members.found.members.is_empty() {
            return;
        }
        if self.policy == Policy::Strict {
            let error = self.unknown_member();
            return self.fail(error);
        }
        let first = self.record;
        for found in self.members.found.members.drain(..) {
            let FoundMember { record, pattern, types, .. } = found;
            let found = types.map(|(_, found)| found);
            self.ledger.unknown.add(UnknownMember { record, pointer: pattern, found, count: 1, first });
        }
        self.ledger.unknown.more += std::mem::take(&mut self.members.found.more);
    }

    fn unknown_member(&self) -> AdapterError {
        let mut error = AdapterError::new(ErrorCode::UnknownMember);
        if let Some(first) = self.members.found.members.first() {
            error.pointer = Some(first.pointer.clone());
            if let Some((expected, found)) = &first.types {
                error = error.expected(expected.as_str()).found(found);
            }
        }
        if self.record.line > 0 { error.line(self.record.line) } else { error }
    }
}

fn lower(coverage: &Coverage, kinds: Kinds) -> Coverage {
    let degraded = coverage.degraded();
    coverage.map(|kind, grade| if kinds[kind as usize] { degraded.grade(kind) } else { grade })
}
