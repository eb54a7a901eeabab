//! The self-description of an adapter: versions, claims, gaps and omission rules.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::coverage::{Coverage, GapCode};
use crate::event::Kind;
use crate::ledger::Outcome;
use crate::members::{MemberSource, MemberTable};
pub use crate::omission::Omission;
use crate::version::{KnownBad, Revision, VersionMatrix};

/// The default treatment of an unknown version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownVersionPolicy {
    /// Fail with `unknown_harness_version`.
    StrictFail,
    /// Convert a safe subset and degrade the coverage.
    PermissiveDegrade,
}

/// A known loss.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Gap {
    /// The stable code that [`crate::coverage::Grade::Partial`] refers to.
    pub code: GapCode,
    /// What is lost, and why.
    pub reason: &'static str,
    /// The fixture that shows it, as `<version>/<scenario>`.
    pub fixture: &'static str,
}

/// A rule by which records or fields are omitted. To omit anything without a rule is a bug.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct OmissionRule {
    /// The rule's stable name.
    pub rule: &'static str,
    /// The kind of omission.
    pub omission: Omission,
    /// The record type that it applies to; `*` matches any run of characters.
    pub record: &'static str,
    /// For fields and opaque text: the JSON pointer from the root of the record. `*` matches one segment, `**` at the end any rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<&'static str>,
    /// Why the tape loses nothing by it.
    pub reason: &'static str,
}

impl OmissionRule {
    /// The rule for exact repeats that the driver finds, for adapters with a conversion whose
    /// [`repeats_are_exact`](crate::steps::Conversion::repeats_are_exact).
    pub const REPEATED: OmissionRule = OmissionRule::duplicate(
        "record.repeated",
        "*",
        "all bytes of the record, its id or its time among them, were read before",
    );

    /// A rule for records that are pieces of a text.
    pub const fn piece(
        rule: &'static str,
        record: &'static str,
        reason: &'static str,
    ) -> OmissionRule {
        OmissionRule {
            rule,
            omission: Omission::Piece,
            record,
            pointer: None,
            reason,
        }
    }

    /// A rule for records that repeat another record.
    pub const fn duplicate(
        rule: &'static str,
        record: &'static str,
        reason: &'static str,
    ) -> OmissionRule {
        OmissionRule {
            rule,
            omission: Omission::Duplicate,
            record,
            pointer: None,
            reason,
        }
    }

    /// A rule for records that are state without content.
    pub const fn bookkeeping(
        rule: &'static str,
        record: &'static str,
        reason: &'static str,
    ) -> OmissionRule {
        OmissionRule {
            rule,
            omission: Omission::Bookkeeping,
            record,
            pointer: None,
            reason,
        }
    }

    /// A rule for a field of a mapped record that the tape represents in another form.
    pub const fn field(
        rule: &'static str,
        record: &'static str,
        pointer: &'static str,
        reason: &'static str,
    ) -> OmissionRule {
        OmissionRule {
            rule,
            omission: Omission::Field,
            record,
            pointer: Some(pointer),
            reason,
        }
    }

    /// A rule for a field that is opaque: a signature, encrypted text, base64.
    pub const fn opaque(
        rule: &'static str,
        record: &'static str,
        pointer: &'static str,
        reason: &'static str,
    ) -> OmissionRule {
        OmissionRule {
            rule,
            omission: Omission::Opaque,
            record,
            pointer: Some(pointer),
            reason,
        }
    }

    /// The outcome of a record that this rule omits. `None` for rules about fields.
    pub fn outcome(&self) -> Option<Outcome> {
        match self.omission {
            Omission::Duplicate | Omission::Piece => {
                Some(Outcome::duplicate(self.record, self.rule))
            }
            Omission::Bookkeeping => Some(Outcome::bookkeeping(self.record, self.rule)),
            Omission::Field | Omission::Opaque => None,
        }
    }
}

/// An adapter's self-description.
#[derive(Debug, Clone, Copy)]
pub struct AdapterDescriptor {
    /// Stable id of the adapter.
    pub adapter_id: &'static str,
    /// Version of the adapter. Tape bytes change only with it.
    pub adapter_version: &'static str,
    /// The harness whose logs it reads: the value of `source.harness`.
    pub harness_family: &'static str,
    /// The revisions with their ranges and claims, and the known-bad list.
    pub matrix: VersionMatrix,
    /// How the schema of an artifact is detected, in one sentence.
    pub schema_detection_strategy: &'static str,
    /// The claims for all supported versions: for each kind, the weakest claim of any revision.
    pub coverage: Coverage,
    /// The default treatment of an unknown version.
    pub unknown_version_policy: UnknownVersionPolicy,
    /// JSON pointers to the parts of a record's type. The strings found there, joined with `/`, are the type in the ledger and in
    /// [`OmissionRule::record`]. `#` at the end means the name of the first member, whatever its value. A name before the pointer
    /// (`msg/msg/type`) comes before the string, if there is one: it distinguishes forms that use one type for different records.
    pub record_type: &'static [&'static str],
    /// All gaps that claims refer to.
    pub gaps: &'static [Gap],
    /// Every member of every record. Without it, members are not checked.
    pub members: Option<&'static MemberSource>,
    /// All omission rules.
    pub omission_rules: &'static [OmissionRule],
}

impl AdapterDescriptor {
    /// The rule with this name.
    pub fn rule(&self, name: &str) -> Option<&'static OmissionRule> {
        self.omission_rules.iter().find(|rule| rule.rule == name)
    }

    /// True if the harness's own types declare a block of this type. A block without a type is none of theirs.
    pub(crate) fn declares_block(&self, block: &str) -> bool {
        let table = self.members.and_then(|source| source.table().ok());
        table
            .and_then(MemberTable::declared)
            .is_some_and(|declared| !block.is_empty() && declared.names_case(block))
    }

    /// The outcome of a record of this type that gives no event, by the first rule that omits such records.
    pub fn ignored_record(&self, record: &str) -> Option<Outcome> {
        self.omission_rules
            .iter()
            .filter(|rule| rule.record == record)
            .find_map(OmissionRule::outcome)
    }

    /// True if records of this type may be pieces of a text.
    pub fn has_pieces(&self, record: &str) -> bool {
        self.omission_rules
            .iter()
            .any(|rule| rule.omission == Omission::Piece && rule.record == record)
    }
}

#[derive(Serialize)]
struct SupportedVersions {
    schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    versions: Option<&'static str>,
    tested: &'static [&'static str],
    coverage: Coverage,
    gaps: Gaps,
}

struct Gaps(Coverage);

impl Serialize for Gaps {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for kind in Kind::ALL {
            let gaps = self.0.grade(kind).gaps();
            if !gaps.is_empty() {
                map.serialize_entry(kind.as_str(), gaps)?;
            }
        }
        map.end()
    }
}

impl From<&Revision> for SupportedVersions {
    fn from(revision: &Revision) -> Self {
        SupportedVersions {
            schema: revision.schema,
            versions: revision.versions,
            tested: revision.tested,
            coverage: revision.coverage,
            gaps: Gaps(revision.coverage),
        }
    }
}

impl Serialize for AdapterDescriptor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Wire {
            adapter_id: &'static str,
            adapter_version: &'static str,
            harness_family: &'static str,
            supported_versions: Vec<SupportedVersions>,
            schema_detection_strategy: &'static str,
            coverage: Coverage,
            unknown_version_policy: UnknownVersionPolicy,
            known_bad_versions: &'static [KnownBad],
            record_type: &'static [&'static str],
            gaps: &'static [Gap],
            omission_rules: &'static [OmissionRule],
        }
        Wire {
            adapter_id: self.adapter_id,
            adapter_version: self.adapter_version,
            harness_family: self.harness_family,
            supported_versions: self
                .matrix
                .revisions
                .iter()
                .map(SupportedVersions::from)
                .collect(),
            schema_detection_strategy: self.schema_detection_strategy,
            coverage: self.coverage,
            unknown_version_policy: self.unknown_version_policy,
            known_bad_versions: self.matrix.known_bad,
            record_type: self.record_type,
            gaps: self.gaps,
            omission_rules: self.omission_rules,
        }
        .serialize(serializer)
    }
}
