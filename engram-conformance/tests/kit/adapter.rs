//! An adapter that is right but for one thing: a registered one, with what goes in or comes out changed.

use engram_adapters::{Entry, by_id};
use engram_conformance::{Offered, Options, Recordings, Report, registry};
use engram_core::adapter::{AdapterId, HarnessAdapter, convert_str};
use engram_core::descriptor::{AdapterDescriptor, UnknownVersionPolicy};
use engram_core::error::AdapterError;
use engram_core::pipeline;
use engram_core::policy::Policy;

/// What an adapter makes of a session: its text, and the tape or the error that the real adapter gives.
pub type Convert = dyn Fn(&Real, &str) -> Result<String, AdapterError> + Send + Sync;

/// A registered adapter under one policy, by the three methods of the contract.
pub struct Real {
    pub entry: &'static Entry,
    pub policy: Policy,
}

impl Real {
    /// The real tape.
    pub fn convert(&self, input: &str) -> Result<String, AdapterError> {
        self.under(self.policy, input)
    }

    /// The real tape under a policy.
    pub fn under(&self, policy: Policy, input: &str) -> Result<String, AdapterError> {
        convert_str(self.entry.adapter, input, &pipeline::Options { policy, ..pipeline::Options::default() })
    }
}

/// A real adapter with one thing changed.
pub struct Changed {
    pub real: Real,
    pub convert: Box<Convert>,
    pub descriptor: fn(AdapterDescriptor) -> AdapterDescriptor,
}

impl Changed {
    /// An adapter in which nothing is changed.
    pub fn nothing(adapter: &str, policy: Policy) -> Changed {
        let entry = by_id(adapter).expect("it is registered");
        Changed { real: Real { entry, policy }, convert: Box::new(Real::convert), descriptor: |descriptor| descriptor }
    }
}

impl HarnessAdapter for Changed {
    fn id(&self) -> AdapterId {
        AdapterId(self.real.entry.adapter.describe().adapter_id)
    }

    fn convert_to_tape_jsonl(&self, input: &str) -> Result<String, AdapterError> {
        (self.convert)(&self.real, input)
    }

    fn descriptor(&self) -> AdapterDescriptor {
        let unknown_version_policy = match self.real.policy {
            Policy::Strict => UnknownVersionPolicy::StrictFail,
            Policy::Permissive => UnknownVersionPolicy::PermissiveDegrade,
        };
        (self.descriptor)(AdapterDescriptor { unknown_version_policy, ..*self.real.entry.adapter.describe() })
    }
}

/// The fixtures of these names, as a tree that declares nothing.
pub fn fixtures(names: &[&str]) -> Recordings {
    let mut recordings = all_fixtures();
    recordings.all.retain(|recording| names.contains(&recording.name().as_str()));
    assert_eq!(recordings.all.len(), names.len(), "{names:?}");
    recordings.is_declared = false;
    recordings
}

/// Every fixture, with what it declares.
pub fn all_fixtures() -> Recordings {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    Recordings::load(&root).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs the kit on an adapter by its three methods alone; where asked, with the streaming form of the real one beside it.
pub fn certify(changed: &Changed, recordings: &Recordings, with_stream: bool, without: Option<&str>) -> Report {
    registry::offered(changed.real.entry, |offered| {
        let stream = offered.stream.filter(|_| with_stream);
        let options = Options { without, offered: Offered { stream, ..offered }, ..Options::default() };
        engram_conformance::run(changed, recordings, &options)
    })
}
