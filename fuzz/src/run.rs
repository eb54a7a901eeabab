//! The loop: choose a seed, damage it, run the target, keep what behaves in a new way.

use std::fmt;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::corpus::Corpus;
use crate::targets::Target;

/// An input that takes longer is a fault. Inputs are small.
const SLOW: Duration = Duration::from_secs(10);

/// How long a target runs.
pub struct Bounds {
    pub runs: u64,
    pub time: Duration,
    pub seed: u64,
}

/// What came of a target.
pub struct Report {
    target: &'static str,
    /// The inputs that were run.
    pub runs: u64,
    behaviours: usize,
    time: Duration,
    /// The fault, and the file with its input.
    pub fault: Option<(String, PathBuf)>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report {
            target,
            runs,
            behaviours,
            time,
            fault,
        } = self;
        write!(
            f,
            "{target}: {runs} executions, {behaviours} behaviours, {:.0} s",
            time.as_secs_f64()
        )?;
        match fault {
            Some((what, path)) => write!(f, ", FAULT in {}: {what}", path.display()),
            None => write!(f, ", no fault"),
        }
    }
}

/// Runs a target until its bounds, or until it shows a fault.
pub fn target(target: &mut dyn Target, bounds: &Bounds, faults: &Path) -> Report {
    let start = Instant::now();
    let mut rng = Rng::with_seed(bounds.seed);
    let mut corpus = Corpus::new(target.seeds());
    assert!(!corpus.is_empty(), "{} has no seeds", target.name());
    let mut runs = 0;
    while runs < bounds.runs && start.elapsed() < bounds.time {
        let input = if runs < corpus.seeds() {
            corpus.seed(runs)
        } else {
            target.mutate(&mut corpus, &mut rng)
        };
        runs += 1;
        let outcome = guarded(target, &input);
        match outcome {
            Ok(behaviour) => corpus.keep_if_new(behaviour, input),
            Err(what) => {
                let path = save(faults, target.name(), &input);
                return Report {
                    target: target.name(),
                    runs,
                    behaviours: corpus.behaviours(),
                    time: start.elapsed(),
                    fault: Some((what, path)),
                };
            }
        }
    }
    Report {
        target: target.name(),
        runs,
        behaviours: corpus.behaviours(),
        time: start.elapsed(),
        fault: None,
    }
}

/// Runs one input.
pub fn once(target: &mut dyn Target, path: &Path) -> Report {
    let start = Instant::now();
    let input = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let fault = guarded(target, &input)
        .err()
        .map(|what| (what, path.to_owned()));
    Report {
        target: target.name(),
        runs: 1,
        behaviours: 1,
        time: start.elapsed(),
        fault,
    }
}

/// Runs an input. A panic and a long run are faults.
fn guarded(target: &mut dyn Target, input: &[u8]) -> Result<u64, String> {
    let start = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| target.run(input)));
    let outcome = outcome.unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().cloned();
        Err(format!(
            "panic: {}",
            message
                .or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
                .unwrap_or_default()
        ))
    });
    if start.elapsed() > SLOW {
        return Err(format!("took {:.1} s", start.elapsed().as_secs_f64()));
    }
    outcome
}

fn save(directory: &Path, target: &str, input: &[u8]) -> PathBuf {
    let path = directory.join(format!(
        "{target}-{:016x}",
        engram_core::keys::hash64(input)
    ));
    let written = fs::create_dir_all(directory).and_then(|()| fs::write(&path, input));
    written.unwrap_or_else(|error| eprintln!("{}: {error}", path.display()));
    path
}
