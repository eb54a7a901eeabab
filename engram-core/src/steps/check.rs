//! Step 1 for one record: its members, its kinds of events, and its version.

use super::member_check::{Collect, FoundMember, MemberCheck};
use crate::audit::record_type;
use crate::coverage::Grade;
use crate::descriptor::AdapterDescriptor;
use crate::emit::Fault;
use crate::error::{AdapterError, ErrorCode};
use crate::event::{Kind, Kinds, Pointer, RecordLocation};
use crate::members::{
    JsonNode, KnownObjects, MemberTable, Path, UnknownMember, UnknownMembers, Walk,
};
use crate::policy::Policy;
use crate::support::{ResolvedSupport, refusal, resolve_support};
use crate::version::Revision;

/// What the checks of all records have found so far.
#[derive(Debug)]
pub(super) struct Checks {
    descriptor: &'static AdapterDescriptor,
    policy: Policy,
    pub support: ResolvedSupport,
    members: MemberCheck,
    /// Members that the table does not name.
    pub unknown: UnknownMembers,
    /// The kinds whose claims are lowered so far.
    lowered_so_far: Kinds,
    /// The kinds whose claims are lowered from a record on, by its number.
    pub lowered: Vec<(usize, Kinds)>,
}

/// The check of one record.
#[derive(Debug)]
pub struct Check<'c> {
    checks: &'c mut Checks,
    base: Pointer<'static>,
    /// The kinds whose claims this record lowers.
    lowers: Kinds,
    is_identified: bool,
    /// The support before this record.
    before: Option<ResolvedSupport>,
}

impl Checks {
    pub fn new(
        descriptor: &'static AdapterDescriptor,
        policy: Policy,
        support: ResolvedSupport,
    ) -> Result<Self, AdapterError> {
        let members = MemberCheck::new(descriptor.members).map_err(|error| {
            AdapterError::new(ErrorCode::AdapterDefect)
                .expected("a member table")
                .found(&error.to_string())
        })?;
        Ok(Checks {
            descriptor,
            policy,
            support,
            members,
            unknown: UnknownMembers::default(),
            lowered_so_far: Kinds::default(),
            lowered: Vec::new(),
        })
    }

    pub fn begin(&mut self, base: Pointer<'static>) -> Check<'_> {
        self.members.found.clear();
        Check {
            checks: self,
            base,
            lowers: Kinds::default(),
            is_identified: false,
            before: None,
        }
    }
}

impl Check<'_> {
    /// The policy of this conversion.
    pub fn policy(&self) -> Policy {
        self.checks.policy
    }

    /// Compares a value with the adapter's member table. `record` is its type, as the table names it, `at` its place in the record. `select`
    /// returns what only the adapter knows: the value of a selector that begins with `@`.
    ///
    /// A member that the table does not name, or whose value has another type, ends the conversion under strict policy (`unknown_member`)
    /// when the record is accepted. Under permissive policy it is counted in the ledger, and the claims of the kinds that the record gives are
    /// lowered from here on. A type that the table does not name counts as one unknown member.
    pub fn members<'n, N: JsonNode<'n>>(
        &mut self,
        record: &str,
        value: N,
        at: Pointer<'_>,
        select: &dyn Fn(&str) -> Option<&'n str>,
    ) {
        if !self.named_members(record, value, at, select) {
            let MemberCheck { known, found, .. } = &mut self.checks.members;
            Collect {
                known,
                found,
                record,
                prefix: self.base,
                at,
            }
            .add(&Path::root(value), None);
            self.lower(&Kind::ALL);
        }
    }

    /// As [`Check::members`], if the table names the type; else the adapter must report it. Returns whether it does.
    pub fn named_members<'n, N: JsonNode<'n>>(
        &mut self,
        record: &str,
        value: N,
        at: Pointer<'_>,
        select: &dyn Fn(&str) -> Option<&'n str>,
    ) -> bool {
        let Some(table) = self.checks.members.table else {
            return true;
        };
        let Some(shape) = table.record(record) else {
            return false;
        };
        let MemberCheck { known, found, .. } = &mut self.checks.members;
        let before = found.members.len();
        let mut collect = Collect {
            known,
            found,
            record,
            prefix: self.base,
            at,
        };
        Walk::of(table, select).record(shape, &Path::root(value), &mut collect);
        if self.checks.members.found.members.len() > before {
            self.lower(&shape.feeds);
        }
        true
    }

    /// Compares the outer part of a document with the member table. For [`Conversion::items`](super::Conversion::items).
    pub fn document<'n, N: JsonNode<'n>>(&mut self, root: N) {
        let Some((table, shape)) = self
            .checks
            .members
            .table
            .and_then(|table| Some((table, table.document(root)?)))
        else {
            return;
        };
        let MemberCheck { known, found, .. } = &mut self.checks.members;
        let before = found.members.len();
        let mut collect = Collect {
            known,
            found,
            record: "document",
            prefix: Pointer::Root,
            at: Pointer::Root,
        };
        Walk::of(table, &|_| None).record(shape, &Path::root(root), &mut collect);
        if self.checks.members.found.members.len() > before {
            self.lower(&shape.feeds);
        }
    }

    fn lower(&mut self, kinds: &[Kind]) {
        kinds
            .iter()
            .for_each(|kind| self.lowers[*kind as usize] = true);
    }

    /// Names a part of the record that the adapter does not know. One that the harness's own types declare is no fault. Step 3 emits it ([`Emitter::unrecognized_block`](super::Emitter::unrecognized_block)).
    ///
    /// # Errors
    /// [`Fault::Unrecognized`] under strict policy.
    pub fn unknown_block(&self, name: &str) -> Result<(), Fault> {
        if self.checks.policy == Policy::Strict && !self.checks.descriptor.declares_block(name) {
            Err(Fault::unrecognized(name))
        } else {
            Ok(())
        }
    }

    /// Says that the record will give an event of this kind, from the value at `pointer`. Needed where a log may mix forms: a kind that the
    /// claims of this form do not have at all must not be emitted.
    ///
    /// # Errors
    /// [`Fault::Refused`] if the claims of this form have no event of this kind.
    #[inline]
    pub fn gives(&self, kind: Kind, pointer: Pointer<'_>) -> Result<(), Fault> {
        if self.checks.support.coverage.grade(kind) == Grade::None {
            Err(self.unclaimed(kind, pointer))
        } else {
            Ok(())
        }
    }

    #[cold]
    fn unclaimed(&self, kind: Kind, pointer: Pointer<'_>) -> Fault {
        let pointer = format!("{}{pointer}", self.base);
        Fault::Refused {
            pointer,
            expected: "only kinds of events that this form of the log has",
            found: kind.as_str().into(),
        }
    }

    /// Says which version wrote the record. Returns its revision if the version is another one than before. Step 3 says it too
    /// ([`Emitter::version`](super::Emitter::version)).
    ///
    /// # Errors
    /// [`Fault::Fatal`] under strict policy, if the version is not supported.
    pub fn version(&mut self, version: &str) -> Result<Option<&'static Revision>, Fault> {
        if self.checks.support.version.as_deref() == Some(version) {
            return Ok(None);
        }
        let descriptor = self.checks.descriptor;
        let (revision, support) = descriptor.matrix.resolve(Some(version));
        if self.checks.policy == Policy::Strict
            && let Some(error) = refusal(descriptor, support, Some(version))
        {
            return Err(Fault::Fatal(error));
        }
        let support = resolve_support(descriptor, Some(version), revision, support);
        let before = std::mem::replace(&mut self.checks.support, support);
        self.before.get_or_insert(before);
        Ok(revision)
    }

    /// Says that the record has an id or a time of its own: a later record with the same bytes repeats it
    /// ([`Conversion::repeats_are_exact`](super::Conversion::repeats_are_exact)).
    pub fn identify(&mut self) {
        self.is_identified = true;
    }

    /// The record is accepted. Returns whether it is identified.
    ///
    /// # Errors
    /// Under strict policy, if it has a member that the table does not name.
    pub(super) fn accept(
        self,
        number: usize,
        location: RecordLocation,
    ) -> Result<bool, AdapterError> {
        let Check {
            checks,
            lowers,
            is_identified,
            ..
        } = self;
        if !checks.members.found.members.is_empty() {
            checks.settle_members(number, lowers, location)?;
        }
        Ok(is_identified)
    }

    /// The record is not accepted: it says nothing about versions.
    pub(super) fn reject(self) {
        if let Some(before) = self.before {
            self.checks.support = before;
        }
    }
}

impl Checks {
    /// Whether the harness's own types declare a record that the conversion does not know. Its members are compared with them.
    ///
    /// # Errors
    /// Under strict policy, if they do not declare a member of it.
    #[cold]
    pub(super) fn declared<'n, N: JsonNode<'n>>(
        &mut self,
        fault: &Fault,
        value: N,
        number: usize,
        location: RecordLocation,
    ) -> Result<bool, AdapterError> {
        let Fault::Unrecognized { name } = fault else {
            return Ok(false);
        };
        let kind = record_type(self.descriptor, value.json());
        // A record that the table names, and that has something which the conversion does not know, stays a fault.
        let own = self
            .members
            .table
            .filter(|table| table.record(&kind).is_none());
        let declared = own.and_then(MemberTable::declared).and_then(|table| {
            let shape = table.record(&kind).or_else(|| table.record(name))?;
            Some((table, shape))
        });
        let Some((table, shape)) = declared else {
            return Ok(false);
        };
        self.members.found.clear();
        let mut collect = Collect {
            known: &mut KnownObjects::default(),
            found: &mut self.members.found,
            record: name,
            prefix: Pointer::Root,
            at: Pointer::Root,
        };
        Walk::of(table, &|_| None).record(shape, &Path::root(value), &mut collect);
        if !self.members.found.members.is_empty() {
            let mut lowers = Kinds::default();
            shape
                .feeds
                .iter()
                .for_each(|kind| lowers[*kind as usize] = true);
            self.settle_members(number, lowers, location)?;
        }
        Ok(true)
    }

    #[cold]
    fn settle_members(
        &mut self,
        number: usize,
        lowers: Kinds,
        first: RecordLocation,
    ) -> Result<(), AdapterError> {
        if self.policy == Policy::Strict {
            return Err(self.unknown_member(first.line()));
        }
        for found in self.members.found.members.drain(..) {
            let FoundMember {
                record,
                pattern,
                types,
                ..
            } = found;
            let found = types.map(|(_, found)| found);
            self.unknown.add(UnknownMember {
                record,
                pointer: pattern,
                found,
                count: 1,
                first,
            });
        }
        self.unknown.more += std::mem::take(&mut self.members.found.more);
        let before = self.lowered_so_far;
        self.lowered_so_far
            .iter_mut()
            .zip(lowers)
            .for_each(|(lowered, lowers)| *lowered |= lowers);
        if before != self.lowered_so_far {
            self.lowered.push((number, self.lowered_so_far));
        }
        Ok(())
    }

    fn unknown_member(&self, line: u64) -> AdapterError {
        let mut error = AdapterError::new(ErrorCode::UnknownMember);
        if let Some(first) = self.members.found.members.first() {
            error.pointer = Some(first.pointer.clone());
            if let Some((expected, found)) = &first.types {
                error = error.expected(expected.as_str()).found(found);
            }
        }
        if line > 0 { error.line(line) } else { error }
    }
}
