//! What is fuzzed: each adapter, the store openers, the reader and checker of tapes, and the reader of files beside an artifact.

mod adapter;
mod files_beside;
mod store;
mod tape;

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

/// All targets.
pub fn all() -> Vec<Box<dyn Target>> {
    let adapters = ["claude-code", "codex", "gemini", "opencode", "cursor", "tool-intent"];
    let mut targets: Vec<Box<dyn Target>> =
        adapters.into_iter().map(|harness| Box::new(adapter::Adapter { harness }) as Box<dyn Target>).collect();
    targets.push(Box::new(store::Stores::new()));
    targets.push(Box::new(tape::Tapes));
    targets.push(Box::new(files_beside::FilesBeside::new()));
    targets
}
