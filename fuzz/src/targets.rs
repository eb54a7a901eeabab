//! What is fuzzed: each adapter, the store openers, the reader and checker of tapes, and the reader of files beside an artifact.

mod adapter;
mod files_beside;
mod store;
mod tape;

use engram_adapters::Registry;
use fastrand::Rng;

use crate::corpus::Corpus;
use crate::mutate;

/// Something that takes any input and must keep its promises.
pub trait Target {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Inputs to begin with.
    fn seeds(&self) -> Vec<Vec<u8>>;

    /// Makes another input.
    fn mutate(&self, corpus: &mut Corpus, rng: &mut Rng) -> Vec<u8> {
        mutate::log(corpus, rng)
    }

    /// Runs an input. Returns a number for how the target behaved.
    ///
    /// # Errors
    /// The promise that was not kept.
    fn run(&mut self, input: &[u8]) -> Result<u64, String>;
}

/// All targets: the adapters of the registry, and what they share.
pub fn all(registry: &Registry) -> Vec<Box<dyn Target>> {
    let adapter = |harness| {
        Box::new(adapter::Adapter {
            harness,
            registry: registry.clone(),
        }) as Box<dyn Target>
    };
    let mut targets: Vec<Box<dyn Target>> = registry
        .adapters()
        .map(|entry| adapter(entry.descriptor().harness_family))
        .collect();
    targets.push(Box::new(store::Stores::new()));
    targets.push(Box::new(tape::Tapes));
    targets.push(Box::new(files_beside::FilesBeside::new()));
    targets
}
