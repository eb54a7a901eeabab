//! The `engram-lab` command, over the adapters of this repository.

use std::process::ExitCode;

use engram_adapters::Registry;

fn main() -> ExitCode {
    engram_lab::run(Registry::builtin())
}
