//! A short run of every fuzz target, always with the same inputs. `fuzz/` has the long run. And: a harness that is registered is in every list.

use std::time::Duration;

use engram_adapters::homes::{Base, HomeDirectory, Surroundings, System, homes};
use engram_adapters::{Registration, Registry, tables};
use engram_core::adapter::{AdapterId, HarnessAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::error::{AdapterError, ErrorCode};
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

/// A harness that nobody knows.
struct Toy;

impl HarnessAdapter for Toy {
    fn id(&self) -> AdapterId {
        AdapterId("toy")
    }

    fn convert_to_tape_jsonl(&self, _: &str) -> Result<String, AdapterError> {
        Err(AdapterError::new(ErrorCode::UnknownHarness))
    }

    fn descriptor(&self) -> AdapterDescriptor {
        AdapterDescriptor {
            adapter_id: "toy",
            harness_family: "toy",
            ..Registry::builtin().by_id("gemini").unwrap().descriptor()
        }
    }
}

static TOY: Registration =
    Registration::text_only(&Toy).with_homes(&[HomeDirectory::new(Base::Home, ".toy")]);

#[test]
fn a_registered_harness_is_in_every_list() {
    let variable = |name: &str| (name == "HOME").then(|| "/home/dev".into());
    let surroundings = Surroundings {
        system: System::Linux,
        variable: &variable,
    };
    let lists = |registry: &Registry| {
        [
            registry.by_id("toy").is_ok(),
            homes(registry, &surroundings)
                .iter()
                .any(|home| home.harness == "toy" && home.path.ends_with(".toy")),
            tables::support(registry).markdown().contains("toy"),
            tables::adapters(registry).markdown().contains("toy"),
            all(registry).iter().any(|target| target.name() == "toy"),
        ]
    };
    assert_eq!(lists(&Registry::builtin().with(&TOY)), [true; 5]);
    assert_eq!(lists(&Registry::builtin()), [false; 5]);
}
