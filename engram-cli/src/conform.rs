//! `engram conform`: the Adapter Compatibility Kit over a tree of recordings.

use std::fs;
use std::io::{self, Write, stdout};

use engram_adapters::{Registry, conformance};
use engram_conformance::{CHECKS, Check, Options, Recordings, Report, Tier};
use engram_core::error::{AdapterError, ErrorCode};

use crate::args::Conform;
use crate::exit::Exit;
use crate::report::{Reporter, printable};

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
    match certify(args, registry) {
        Err(error) => Ok(report.failure(&error)),
        Ok(certified) => print(args, &certified, report),
    }
}

fn certify(args: &Conform, registry: &Registry) -> Result<Report, AdapterError> {
    if let Some(id) = &args.adapter {
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
        args.adapter.as_deref().is_none_or(|asked| asked == id)
    });
    // What looked at nothing has certified nothing.
    if certified.is_empty() {
        let asked = args.adapter.as_deref().unwrap_or("any adapter");
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
        && let Err(error) = fs::write(path, certified.junit())
    {
        return Ok(report.failure(&AdapterError::from(error).path(path.to_string_lossy())));
    }
    Ok(if certified.passes() {
        Exit::Success
    } else {
        Exit::PartialFailure
    })
}
