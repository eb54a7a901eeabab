//! An adapter: no panic, no tape that `check` refuses, the same tape twice.

use engram_adapters::Registry;
use engram_core::check::check;
use engram_core::error::AdapterError;
use engram_core::keys::hash64;
use engram_core::limits::Limits;
use engram_core::pipeline::{Input, Options};
use engram_core::policy::Policy;
use engram_core::tape::{JsonLines, events};

use crate::seeds;
use crate::target::Target;

/// The adapter of one harness, with detection among those of its registry before it.
pub struct Adapter {
    pub harness: &'static str,
    pub registry: Registry,
}

/// Inputs may not grow beyond these limits when they are converted.
const LIMITS: Limits = Limits {
    record_bytes: 1 << 20,
    nesting: 96,
};

impl Target for Adapter {
    fn name(&self) -> &'static str {
        self.harness
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        seeds::logs(self.harness)
    }

    fn run(&mut self, input: &[u8]) -> Result<u64, String> {
        let permissive = convert(&self.registry, input, Policy::Permissive);
        let behaviour = hash64(behaviour(&permissive)?);
        let strict = convert(&self.registry, input, Policy::Strict);
        if let Ok(tape) = &strict {
            valid(tape)?;
        }
        // A strict tape is the permissive one, but for the policy that it names.
        match (&permissive, &strict) {
            (Err(error), Ok(_)) => {
                Err(format!("strict gives a tape, permissive the error {error}"))
            }
            _ => Ok(behaviour),
        }
    }
}

/// Converts a log.
pub fn convert(registry: &Registry, input: &[u8], policy: Policy) -> Result<String, AdapterError> {
    let options = Options {
        policy,
        limits: LIMITS,
        ..Options::default()
    };
    let mut tape = Vec::new();
    engram_adapters::ingest_with(
        registry,
        Input::new(input, LIMITS),
        &options,
        &mut JsonLines::new(&mut tape),
    )?;
    Ok(String::from_utf8(tape).expect("a tape is UTF-8"))
}

/// What is new about an input: the kinds of events and their neighbours, or the error.
pub fn behaviour(outcome: &Result<String, AdapterError>) -> Result<Vec<String>, String> {
    let tape = match outcome {
        Err(error) => {
            return Ok(vec![
                error.code.as_str().to_owned(),
                error.expected.clone().unwrap_or_default(),
            ]);
        }
        Ok(tape) => tape,
    };
    valid(tape)?;
    let mut found: Vec<String> = tape
        .lines()
        .map(|line| {
            let words = line.split('"').filter(|word| {
                word.len() < 24
                    && word
                        .bytes()
                        .all(|byte| byte.is_ascii_lowercase() || b"._".contains(&byte))
            });
            words.collect::<Vec<_>>().join(" ")
        })
        .collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// The tape keeps every rule, and can be read as typed events.
fn valid(tape: &str) -> Result<(), String> {
    if let Some(violation) = check(tape).first() {
        return Err(format!("check refuses the tape: {violation:?}"));
    }
    match events(tape).find_map(Result::err) {
        Some(error) => Err(format!("the tape cannot be read: {error}")),
        None => Ok(()),
    }
}
