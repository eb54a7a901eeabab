//! The inputs that further ones are made of.

use std::collections::HashSet;

use fastrand::Rng;

/// The most inputs. The seeds stay; of the others a random one makes room.
const MAX_INPUTS: usize = 4000;

/// Seeds, and inputs that showed a new behaviour.
pub struct Corpus {
    inputs: Vec<Vec<u8>>,
    seeds: usize,
    behaviours: HashSet<u64>,
}

impl Corpus {
    pub fn new(seeds: Vec<Vec<u8>>) -> Corpus {
        Corpus {
            seeds: seeds.len(),
            inputs: seeds,
            behaviours: HashSet::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    /// The number of seeds.
    pub fn seeds(&self) -> u64 {
        self.seeds as u64
    }

    pub fn seed(&self, at: u64) -> Vec<u8> {
        self.inputs[at as usize].clone()
    }

    /// The number of different behaviours so far.
    pub fn behaviours(&self) -> usize {
        self.behaviours.len()
    }

    /// Any input: a new one as often as a seed.
    pub fn any(&self, rng: &mut Rng) -> &[u8] {
        let grown = self.seeds < self.inputs.len() && rng.bool();
        let range = if grown {
            self.seeds..self.inputs.len()
        } else {
            0..self.seeds
        };
        &self.inputs[rng.usize(range)]
    }

    pub fn keep_if_new(&mut self, behaviour: u64, input: Vec<u8>) {
        if !self.behaviours.insert(behaviour) {
            return;
        }
        if self.inputs.len() < MAX_INPUTS {
            self.inputs.push(input);
        } else {
            let at = self.seeds + behaviour as usize % (MAX_INPUTS - self.seeds);
            self.inputs[at] = input;
        }
    }
}
