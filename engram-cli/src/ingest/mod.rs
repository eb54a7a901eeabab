//! `engram ingest`: converts one session to standard output, or all of them to files.

mod convert;
#[cfg(all(test, unix))]
mod fault_tests;
mod pass;
mod run;
mod run_summary;
mod single;
mod totals;
mod unread;
mod verdict;
mod watch;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engram_adapters::Registry;
use engram_adapters::sessions::{SessionOptions, store_at_root};
use engram_command::exit::Exit;
use engram_command::homes;
use engram_command::inputs::{find, session_options};
use engram_command::output;
use engram_command::places;
use engram_command::report::Reporter;

use crate::args::Ingest;
use crate::tape_dir::Index;
use crate::units::Chosen;

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Ingest, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let Some(units) = &args.units else {
        return run_paths(args, registry, report);
    };
    match Chosen::read(units, args.shard) {
        Err(error) => Ok(report.failure(&error)),
        Ok(chosen) if chosen.paths().is_empty() => {
            report.note("no unit falls to this part");
            Ok(Exit::Success)
        }
        Ok(chosen) => run_paths(
            &Ingest {
                paths: chosen.paths(),
                chosen: Some(Arc::new(chosen)),
                ..args.clone()
            },
            registry,
            report,
        ),
    }
}

fn run_paths(args: &Ingest, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let options = match session_options(&args.conversion, registry, report.bar()) {
        Ok(options) if args.span_text => options.with_span_text(),
        Ok(options) => options,
        Err(error) => return Ok(report.failure(&error)),
    };
    if let Some(fault) = args.filter.fault(registry) {
        return Ok(report.usage(&fault));
    }
    let report = &report.redacting(args.redact);
    let named = args.paths.iter().map(PathBuf::as_path);
    if let Some(summary) = args
        .summary
        .as_deref()
        .filter(|summary| output::is_input(summary, named))
    {
        return Ok(report.usage(&output::same_as_input(summary)));
    }
    let is_stdout = args.out.as_deref() == Some(Path::new("-"));
    let out = args.out.clone().filter(|_| !is_stdout);
    if is_stdout && (args.to.is_some() || args.units.is_some()) {
        return Ok(
            report.usage("`--to` and `--units` write files: name a directory with `--out DIR`")
        );
    }
    match &out.or_else(|| default_out(args).filter(|_| !is_stdout)) {
        None => to_stdout(args, &options, report),
        Some(out) => {
            if let Some(fault) = mixed(args, out) {
                return Ok(report.usage(&fault));
            }
            let paths = homes::paths(&args.paths, registry, report);
            if let Some(to) = args.to {
                // Tapes that nobody reads but the next run.
                let compressed = Ingest {
                    zstd: true,
                    ..args.clone()
                };
                return crate::export::ingest(to, args, out, report, |tapes, report| {
                    let done = run::once(&compressed, tapes, &paths, &options, report, None);
                    (done.exit, done.output)
                });
            }
            if args.watch {
                watch::run(args, out, &paths, &options, report)
            } else {
                Ok(run::run(args, out, &paths, &options, report))
            }
        }
    }
}

/// Converts what is new in the homes, for a command that asks and prints nothing about it.
pub fn convert_homes(
    args: &Ingest,
    out: &Path,
    paths: &[PathBuf],
    options: SessionOptions,
    report: &Reporter,
) {
    let options = match args.span_text {
        true => options.with_span_text(),
        false => options,
    };
    run::once(args, out, paths, &options, report, Some(HashSet::new()));
}

/// What is wrong with the form of the tapes, if the directory has tapes of another form: every session would be there twice.
fn mixed(args: &Ingest, out: &Path) -> Option<String> {
    let forms = Index::load(out).ok()?.tape_forms();
    let place = out.display();
    let (has_other, advice) = match args.zstd {
        true => (
            forms.has_plain,
            "has tapes that are not compressed; go on without `--zstd`",
        ),
        false => (forms.has_zstd, "has compressed tapes; go on with `--zstd`"),
    };
    has_other.then(|| {
        format!("{place} {advice}, or use another directory, so that no session counts twice")
    })
}

/// The default directory, for a run over all homes, and for tapes that the index is to have.
fn default_out(args: &Ingest) -> Option<PathBuf> {
    (args.index || args.paths.is_empty())
        .then(places::tapes_dir)
        .flatten()
}

fn to_stdout(args: &Ingest, options: &SessionOptions, report: &Reporter) -> io::Result<Exit> {
    if args.paths.is_empty() {
        return Ok(report.usage(
            "without a path, the sessions of all harnesses are converted, which needs a directory: name it with `--out DIR`",
        ));
    }
    if args.watch || args.again {
        return Ok(report.usage(
            "`--watch` and `--again` are about a directory of tapes; name it with `--out DIR`",
        ));
    }
    if !args.filter.is_empty() {
        return Ok(report.usage("filters choose among several sessions, which need `--out DIR`"));
    }
    // The root directory of a store is itself what the caller named, not a directory to search.
    let is_searched =
        |path: &PathBuf| path.is_dir() && store_at_root(options.registry(), path).is_none();
    let needs_directory = || {
        Ok(report.usage(
            "several sessions, or a directory, need a directory for their tapes: name it with `--out DIR`",
        ))
    };
    if args.paths.iter().any(is_searched) {
        return needs_directory();
    }
    let found = find(&args.paths, options);
    match &found.sessions[..] {
        [Ok(input)] => {
            report.start_progress(input.bytes());
            single::to_stdout(args, options, input, &found.skipped, &found.lost, report)
        }
        [Err(error)] => Ok(report.failure(error)),
        _ => needs_directory(),
    }
}
