//! `engram-lab conform`: the Adapter Compatibility Kit over a tree of recordings.

use std::io::{self, Write, stdout};

use engram_adapters::{Registry, conformance};
use engram_command::exit::Exit;
use engram_command::output;
use engram_command::report::{Reporter, printable};
use engram_conformance::{CHECKS, Check, Options, Recordings, Report, Tier};
use engram_core::error::{AdapterError, ErrorCode};

use crate::args::Conform;
#[cfg(unix)]
use crate::profile;

/// Names the adapters, where the command line names none.
const ADAPTERS: &str = "ACK_ADAPTERS";

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Conform, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    if let Some(id) = args
        .check
        .as_deref()
        .filter(|id| Check::named(id).is_none())
    {
        let ids: Vec<&str> = CHECKS.iter().map(|check| check.id).collect();
        return Ok(report.usage(&format!(
            "no check is called `{id}`; there are {}",
            ids.join(", ")
        )));
    }
    if args.tier == Some(TIER_4) {
        return tier4(args, report);
    }
    match certify(args, registry) {
        Err(error) => Ok(report.failure(&error)),
        Ok(certified) => print(args, &certified, report),
    }
}

/// The tier that runs harnesses.
const TIER_4: u8 = 4;

#[cfg(unix)]
fn tier4(args: &Conform, report: &Reporter) -> io::Result<Exit> {
    let conform = profile::Conform::of_kit(args.json);
    profile::run(
        &profile::Profile {
            action: profile::Action::Conform(conform),
        },
        report,
    )
}

#[cfg(not(unix))]
fn tier4(_: &Conform, report: &Reporter) -> io::Result<Exit> {
    Ok(report.usage("tier 4 runs harnesses, which this build cannot"))
}

/// The ids of the adapters that are asked for; none for all.
fn asked_for(args: &Conform) -> Vec<String> {
    let named = std::env::var(ADAPTERS).unwrap_or_default();
    let named = named.split(',').map(str::trim).filter(|id| !id.is_empty());
    let named = named.map(str::to_owned);
    args.adapter
        .clone()
        .map_or_else(|| named.collect(), |id| vec![id])
}

fn certify(args: &Conform, registry: &Registry) -> Result<Report, AdapterError> {
    let ids = asked_for(args);
    for id in &ids {
        registry.by_id(id)?;
    }
    let bad = |what: &str| {
        let mut error = AdapterError::new(ErrorCode::BadRecordings);
        error.found = Some(what.to_owned());
        error
    };
    let recordings =
        Recordings::load_all(&args.recordings).map_err(|error| bad(&error.to_string()))?;
    let options = Options {
        tier: args.tier.and_then(Tier::from_number),
        check: args.check.as_deref(),
        ..Options::default()
    };
    let certified = conformance::run(registry, &recordings, &options, |id| {
        ids.is_empty() || ids.iter().any(|asked| asked == id)
    });
    // What looked at nothing has certified nothing.
    if certified.is_empty() {
        let asked = match ids.is_empty() {
            true => "any adapter".to_owned(),
            false => ids.join(", "),
        };
        let trees: Vec<String> = args
            .recordings
            .iter()
            .map(|tree| tree.display().to_string())
            .collect();
        return Err(bad(&format!(
            "{} has no recordings for {asked}",
            trees.join(", ")
        )));
    }
    Ok(certified)
}

fn print(args: &Conform, certified: &Report, report: &Reporter) -> io::Result<Exit> {
    let mut out = stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, certified)?;
        out.write_all(b"\n")?;
    } else {
        for line in certified.to_string().lines() {
            writeln!(out, "{}", printable(line))?;
        }
    }
    out.flush()?;
    if let Some(path) = &args.junit
        && let Err(error) = output::write(path, |out| out.write_all(certified.junit().as_bytes()))
    {
        return Ok(report.failure(&AdapterError::from(error).path(path.to_string_lossy())));
    }
    Ok(if certified.passes() {
        Exit::Success
    } else {
        Exit::PartialFailure
    })
}
