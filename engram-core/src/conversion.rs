//! The options of a conversion, and what it amounts to.

use crate::coverage::Coverage;
use crate::descriptor::AdapterDescriptor;
use crate::emit::Emitter;
use crate::event::KindCounts;
use crate::input::head::Identity;
use crate::ledger::Ledger;
use crate::limits::Limits;
use crate::policy::Policy;
use crate::side_info::SideInfo;
use crate::version::Support;

/// Options of a conversion.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The treatment of unknown and malformed input.
    pub policy: Policy,
    /// Limits on records.
    pub limits: Limits,
    /// True if reads and edits have the texts that were hashed, so that an index needs neither the log nor the arguments of calls.
    pub span_text: bool,
    /// Facts from files next to the artifact.
    pub context: SideInfo,
}

/// The result of a conversion.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Summary {
    /// The id of the adapter.
    pub adapter_id: &'static str,
    /// The harness that wrote the artifact.
    pub harness: &'static str,
    /// The last harness version that the artifact records.
    pub version: Option<String>,
    /// The schema, if it is known.
    pub schema: Option<&'static str>,
    /// The lowest support level of the versions that the artifact records.
    pub support: Support,
    /// The version that has this level.
    pub support_version: Option<String>,
    /// The lowest claim for each kind that is made anywhere in the artifact.
    pub coverage: Coverage,
    /// Reason codes for all claims that were lowered somewhere in the artifact; empty if none was.
    pub degraded: Vec<&'static str>,
    /// The id of the session, if the artifact has one.
    pub session_id: Option<String>,
    /// The id of the sub-agent, if the artifact belongs to one.
    pub agent_id: Option<String>,
    /// Events per kind.
    pub counts: KindCounts,
    /// The outcomes of all records.
    pub ledger: Ledger,
    /// Size of the artifact in bytes.
    pub input_bytes: u64,
    /// False if the artifact ends inside a record.
    pub complete: bool,
}

impl Summary {
    /// What a conversion amounts to that has ended.
    pub(crate) fn of(
        descriptor: &AdapterDescriptor,
        identity: &Identity,
        out: &Emitter<'_>,
        input_bytes: u64,
        complete: bool,
    ) -> Self {
        let (support, lowest) = (out.support(), out.lowest_support());
        Summary {
            adapter_id: descriptor.adapter_id,
            harness: out.family,
            version: support.version.clone(),
            schema: support.revision,
            support: lowest.support,
            support_version: lowest.version.clone(),
            coverage: lowest.coverage,
            degraded: lowest.degraded.clone(),
            session_id: identity.session_id.clone(),
            agent_id: identity.agent_id.clone(),
            counts: out.counts(),
            ledger: out.ledger().clone(),
            input_bytes,
            complete,
        }
    }
}
