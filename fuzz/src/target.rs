//! What a target of fuzzing is.

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
