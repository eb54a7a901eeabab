//! `engram-lab record --live`: the smoke test with a real provider.

use std::io::{self, stdout};

use engram_command::exit::Exit;
use engram_command::output;
use engram_command::report::{Reporter, printable, write_json};
use engram_recorder::episode::suite::Settings;
use engram_recorder::error::RecorderError;
use engram_recorder::isolation::Isolation;
use engram_recorder::live::{self, Live, Smoke};

use super::args::Record;
use crate::verdict::{exit_of, line_of};

/// Runs it, and prints one line for each scenario of each harness.
///
/// # Errors
/// If nothing could be run.
pub fn run(
    args: &Record,
    isolation: &Isolation,
    report: &Reporter,
) -> Result<io::Result<Exit>, RecorderError> {
    let only = match args.what.as_deref() {
        Some(what) => match what.split_once('@') {
            None => return Ok(Ok(report.usage(&format!("`{what}` is not HARNESS@VERSION")))),
            parts => parts,
        },
        None => None,
    };
    let variable = |name: &str| std::env::var(name).ok();
    let live = Live {
        installed: &args.installed,
        scenarios: &args.scenarios,
        out: &args.out,
        isolation,
        open: args.open,
        settings: Settings::of(variable)?,
    };
    let all = live.run(only, variable)?;
    let printed = if args.json {
        write_json(&mut stdout().lock(), &all)
    } else {
        output::print(&all.iter().map(lines).collect::<String>()).map(drop)
    };
    let exit = live::first_failure(&all).map_or(Exit::Success, |outcome| {
        exit_of(outcome.code.unwrap_or("ADAPTER_MISCONFIGURED"))
    });
    Ok(printed.map(|()| exit))
}

fn lines(smoke: &Smoke) -> String {
    let name = printable(&smoke.harness);
    let outcomes = smoke.outcomes.iter();
    outcomes
        .map(|outcome| format!("{name:<22} {}", line_of(outcome)))
        .collect()
}
