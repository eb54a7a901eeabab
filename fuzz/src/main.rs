//! Feeds damaged input to the converter, without an end or for a given time, and stops at the first fault.
//!
//! Runs on stable Rust, in one process. An input that makes a target behave in a new way becomes a seed for further ones.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use engram_adapters::Registry;
use engram_fuzz::{run, targets};

/// Feeds damaged input to the converter.
#[derive(Parser)]
struct Args {
    /// The targets; all of them by default
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Inputs per target
    #[arg(long, default_value_t = 20_000)]
    runs: u64,
    /// The most seconds per target
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// The seed of all random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where an input that shows a fault is written
    #[arg(long, default_value = "fuzz/faults")]
    faults: PathBuf,
    /// Run this one input instead
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let mut targets = targets::all(&Registry::builtin());
    let unknown: Vec<&String> = args
        .targets
        .iter()
        .filter(|name| targets.iter().all(|target| target.name() != **name))
        .collect();
    if !unknown.is_empty() {
        eprintln!("unknown targets: {unknown:?}");
        return ExitCode::from(2);
    }
    targets.retain(|target| {
        args.targets.is_empty() || args.targets.iter().any(|name| target.name() == name)
    });
    let mut has_fault = false;
    for target in &mut targets {
        let bounds = run::Bounds {
            runs: args.runs,
            time: Duration::from_secs(args.seconds),
            seed: args.seed,
        };
        let report = match &args.input {
            Some(path) => run::once(target.as_mut(), path),
            None => run::target(target.as_mut(), &bounds, &args.faults),
        };
        println!("{report}");
        has_fault |= report.fault.is_some();
    }
    if has_fault {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
