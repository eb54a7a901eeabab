//! The reader and the checker of tapes: any text, never a panic.

use engram_adapters::Registry;
use engram_core::check::check;
use engram_core::keys::hash64;
use engram_core::policy::Policy;
use engram_core::stats::Stats;
use engram_core::tape::{events, replay};

use super::adapter;
use crate::seeds;
use crate::target::Target;

/// Damaged tapes.
pub struct Tapes;

impl Target for Tapes {
    fn name(&self) -> &'static str {
        "tape"
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        let registry = Registry::builtin();
        let harnesses = registry
            .adapters()
            .map(|entry| entry.descriptor().harness_family);
        let logs = harnesses.flat_map(|harness| seeds::logs(harness).into_iter().step_by(40));
        logs.filter_map(|log| adapter::convert(&registry, &log, Policy::Permissive).ok())
            .map(String::into_bytes)
            .collect()
    }

    fn run(&mut self, input: &[u8]) -> Result<u64, String> {
        let _ = replay(input, &mut Stats::default());
        let Ok(tape) = std::str::from_utf8(input) else {
            return Ok(0);
        };
        let mut rules: Vec<String> = check(tape)
            .iter()
            .map(|violation| format!("{:?}", violation.rule))
            .collect();
        rules.sort();
        rules.dedup();
        let readable = events(tape).filter(Result::is_ok).count();
        Ok(hash64((rules, readable.min(8))))
    }
}
