//! Builds adapters with one defect: a registered adapter with changed input or output.

use engram_adapters::{Registration, Registry, conformance};
use engram_conformance::{Capabilities, Options, Recordings, Report};
use engram_core::adapter::{AdapterId, HarnessAdapter, StreamAdapter, convert_str};
use engram_core::descriptor::{AdapterDescriptor, UnknownVersionPolicy};
use engram_core::error::AdapterError;
use engram_core::pipeline;
use engram_core::policy::Policy;

/// How a changed adapter converts a session's text; it may use the real adapter.
pub type Convert = dyn Fn(&Real, &str) -> Result<String, AdapterError> + Send + Sync;

/// A registered adapter under one policy.
pub struct Real {
    pub entry: &'static Registration,
    pub policy: Policy,
}

impl Real {
    /// The real adapter.
    pub fn adapter(&self) -> &'static dyn StreamAdapter {
        self.entry.stream().expect("it is a streaming adapter")
    }

    /// The real tape.
    pub fn convert(&self, input: &str) -> Result<String, AdapterError> {
        self.under(self.policy, input)
    }

    /// The real tape under a policy.
    pub fn under(&self, policy: Policy, input: &str) -> Result<String, AdapterError> {
        convert_str(
            self.adapter(),
            input,
            &pipeline::Options {
                policy,
                ..pipeline::Options::default()
            },
        )
    }
}

/// A real adapter with one change.
pub struct Changed {
    pub real: Real,
    pub convert: Box<Convert>,
    pub descriptor: fn(AdapterDescriptor) -> AdapterDescriptor,
}

impl Changed {
    /// A real adapter without a change.
    pub fn unchanged(adapter: &str, policy: Policy) -> Changed {
        let entry = Registry::builtin()
            .by_id(adapter)
            .expect("it is registered");
        Changed {
            real: Real { entry, policy },
            convert: Box::new(Real::convert),
            descriptor: |descriptor| descriptor,
        }
    }
}

impl HarnessAdapter for Changed {
    fn id(&self) -> AdapterId {
        AdapterId(self.real.entry.id())
    }

    fn convert_to_tape_jsonl(&self, input: &str) -> Result<String, AdapterError> {
        (self.convert)(&self.real, input)
    }

    fn descriptor(&self) -> AdapterDescriptor {
        let unknown_version_policy = match self.real.policy {
            Policy::Strict => UnknownVersionPolicy::StrictFail,
            Policy::Permissive => UnknownVersionPolicy::PermissiveDegrade,
        };
        (self.descriptor)(AdapterDescriptor {
            unknown_version_policy,
            ..self.real.entry.descriptor()
        })
    }
}

/// The fixtures with these names, as a tree that declares no scenarios.
pub fn fixtures(names: &[&str]) -> Recordings {
    let mut recordings = all_fixtures();
    recordings
        .all
        .retain(|recording| names.contains(&recording.name().as_str()));
    assert_eq!(recordings.all.len(), names.len(), "{names:?}");
    recordings.is_declared = false;
    recordings
}

/// Every fixture, with its declared scenarios.
pub fn all_fixtures() -> Recordings {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    Recordings::load(&root).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs the kit on an adapter without its streaming form, or with the streaming form of the real adapter.
pub fn certify(
    changed: &Changed,
    recordings: &Recordings,
    with_stream: bool,
    without: Option<&str>,
) -> Report {
    conformance::with_capabilities(&Registry::builtin(), changed.real.entry, |capabilities| {
        let stream = capabilities.stream.filter(|_| with_stream);
        let options = Options {
            without,
            capabilities: Capabilities {
                stream,
                ..capabilities
            },
            ..Options::default()
        };
        engram_conformance::run(changed, recordings, &options)
    })
}
