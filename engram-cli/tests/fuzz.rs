//! A short run of every fuzz target, always with the same inputs. `fuzz/` has the long run.

use std::time::Duration;

use engram_adapters::Registry;
use engram_fuzz::Corpus;
use engram_fuzz::run::{self, Bounds};
use engram_fuzz::targets::{Target, all};

/// Inputs per target.
const RUNS: u64 = 800;

fn bounds() -> Bounds {
    Bounds {
        runs: RUNS,
        time: Duration::from_secs(120),
        seed: 1,
    }
}

#[test]
fn no_target_shows_a_fault() {
    let faults = tempfile::tempdir().unwrap();
    let mut targets = all(&Registry::builtin());
    assert!(targets.len() >= 8, "{} targets", targets.len());
    for target in &mut targets {
        let report = run::target(target.as_mut(), &bounds(), faults.path());
        assert!(report.fault.is_none() && report.runs > 20, "{report}");
    }
}

/// Panics when an input was damaged.
struct Broken;

impl Target for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        vec![b"{\"type\":\"seed\"}\n".to_vec()]
    }

    fn mutate(&self, _: &mut Corpus, _: &mut fastrand::Rng) -> Vec<u8> {
        b"damaged".to_vec()
    }

    fn run(&mut self, input: &[u8]) -> Result<u64, String> {
        assert_ne!(input, b"damaged");
        Ok(1)
    }
}

#[test]
fn a_panic_is_a_fault_and_its_input_is_kept() {
    let faults = tempfile::tempdir().unwrap();
    let report = run::target(&mut Broken, &bounds(), faults.path());
    let (what, input) = report.fault.expect("a fault");
    assert!(what.starts_with("panic: "), "{what}");
    assert_eq!(std::fs::read(input).unwrap(), b"damaged");
}
