//! What holds for an artifact, or a part of one: its version, how well it is known, and what is claimed for it.

use crate::buffer::{Buffer, Push as _};
use crate::coverage::Coverage;
use crate::descriptor::AdapterDescriptor;
use crate::error::{AdapterError, ErrorCode, excerpt};
use crate::event::Kind;
use crate::members::{key, push_word};
use crate::text::Text;
use crate::version::{Revision, Support};

/// What a conversion amounts to so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedSupport {
    pub version: Option<String>,
    pub revision: Option<&'static str>,
    pub support: Support,
    pub coverage: Option<Coverage>,
    pub degraded: Vec<&'static str>,
}

pub(crate) fn push_harness(out: &mut Buffer, family: &str, support: &ResolvedSupport) {
    out.object(key!("harness"), |harness| {
        harness.word(key!("family"), family);
        harness.name(key!("version"), &support.version.as_deref().map(Text::Plain));
        if let Some(schema) = support.revision {
            harness.word(key!("schema"), schema);
        }
    });
}

pub(crate) fn push_support(out: &mut Buffer, support: &ResolvedSupport) {
    out.word(key!("support"), support.support.as_str());
    if let Some(coverage) = &support.coverage {
        out.object(key!("coverage"), |inner| {
            for kind in Kind::ALL {
                push_word(inner.named(kind.as_str()), coverage.grade(kind).as_str());
            }
        });
    }
    out.piece(key!("degraded"));
    out.push('[');
    for (n, reason) in support.degraded.iter().enumerate() {
        out.push_str(if n == 0 { "\"" } else { ",\"" });
        out.push_str(reason);
        out.push('"');
    }
    out.push(']');
}

/// What holds for an artifact (or a part of one) of this version.
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
        revision: revision.filter(|_| supported).map(|revision| revision.schema),
        support,
        coverage: Some(if supported { claimed } else { claimed.degraded() }),
        degraded,
    }
}

/// The error that strict policy makes of this support, if any.
pub(crate) fn refusal(descriptor: &'static AdapterDescriptor, support: Support, version: Option<&str>) -> Option<AdapterError> {
    let code = match support {
        Support::Tested | Support::Untested => return None,
        Support::Unknown => ErrorCode::UnknownHarnessVersion,
        Support::KnownBad => ErrorCode::KnownBadVersion,
    };
    let mut error = AdapterError::new(code);
    error.adapter = Some(descriptor.adapter_id);
    error.harness = Some(descriptor.harness_family);
    error.version = version.map(excerpt);
    Some(error)
}
