//! Support of one version: how well it is known, and what is claimed for it.

use crate::coverage::Coverage;
use crate::descriptor::AdapterDescriptor;
use crate::error::{AdapterError, ErrorCode, excerpt};
use crate::event::{Claims, Harness};
use crate::text::Text;
use crate::version::{Revision, Support};

/// Support level, revision and claims of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedSupport {
    pub version: Option<String>,
    pub revision: Option<&'static str>,
    pub support: Support,
    pub coverage: Coverage,
    pub degraded: Vec<&'static str>,
}

impl ResolvedSupport {
    /// The harness, for an event.
    pub fn harness<'a>(&'a self, family: &'a str) -> Harness<'a> {
        Harness {
            family,
            version: self.version.as_deref().map(Text::Plain),
            schema: self.revision,
        }
    }

    /// Lowers level and claims to those of another version of the same artifact. The version is that of the lowest level.
    pub fn lower_to(&mut self, other: &ResolvedSupport) {
        if other.support > self.support {
            (self.support, self.revision) = (other.support, other.revision);
            self.version.clone_from(&other.version);
        }
        self.coverage = self.coverage.lowest(&other.coverage);
        let more = other
            .degraded
            .iter()
            .copied()
            .filter(|reason| !self.degraded.contains(reason));
        self.degraded.extend(more.collect::<Vec<_>>());
    }

    /// The claims, for an event.
    pub fn claims(&self) -> Claims<'_> {
        Claims {
            support: self.support,
            coverage: (&self.coverage).into(),
            degraded: self.degraded.clone(),
        }
    }
}

/// Resolves support level, revision and coverage claim for a version.
pub(crate) fn resolve_support(
    descriptor: &'static AdapterDescriptor,
    version: Option<&str>,
    revision: Option<&'static Revision>,
    support: Support,
) -> ResolvedSupport {
    let claimed = revision.map_or(descriptor.coverage, |revision| revision.coverage);
    let degraded: Vec<&'static str> = support.degradation().into_iter().collect();
    let supported = degraded.is_empty();
    ResolvedSupport {
        version: version.map(str::to_owned),
        // Below these levels the revision is only the best guess, and a tape names no schema that is not proven.
        revision: revision
            .filter(|_| supported)
            .map(|revision| revision.schema),
        support,
        coverage: if supported {
            claimed
        } else {
            claimed.degraded()
        },
        degraded,
    }
}

/// The error for this support level under strict policy, if any.
pub(crate) fn refusal(
    descriptor: &'static AdapterDescriptor,
    support: Support,
    version: Option<&str>,
) -> Option<AdapterError> {
    let code = match support {
        Support::Tested | Support::Between => return None,
        Support::Ahead | Support::Unknown => ErrorCode::UnknownHarnessVersion,
        Support::KnownBad => ErrorCode::KnownBadVersion,
    };
    let mut error = AdapterError::new(code);
    if code == ErrorCode::UnknownHarnessVersion {
        let nearest = descriptor.matrix.nearest(version);
        (error.older_recorded, error.newer_recorded) = (nearest.older, nearest.newer);
    }
    error.adapter = Some(descriptor.adapter_id);
    error.harness = Some(descriptor.harness_family);
    error.version = version.map(excerpt);
    Some(error)
}
