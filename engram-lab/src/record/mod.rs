//! `engram-lab record`: runs an installed harness against a scripted model, and keeps its log beside what really happened.

use std::ffi::OsString;
use std::io::{self, Write, stdout};

use engram_command::exit::Exit;
use engram_command::report::{Reporter, printable, write_json};
use engram_recorder::error::{Fault, RecorderError};
use engram_recorder::harness;
use engram_recorder::isolation::{self, Isolation};
use engram_recorder::matrix::Version;
use engram_recorder::record::{Job, Recorded};
use engram_recorder::scenario::Scenario;
use engram_recorder::{inside, judge};
use serde_json::json;

use crate::profile_file;

mod args;
mod live;
pub mod matrix;
pub mod shape;
mod sweep;

pub use self::args::Record;
use self::args::{chosen, set_of};

/// The word for the newest published version.
const LATEST: &str = "latest";

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Record, report: &Reporter) -> io::Result<Exit> {
    if let Some(plan) = &args.inside {
        return Ok(
            inside::run_file(plan).map_or_else(|error| failure(&error, report), |()| Exit::Success)
        );
    }
    match record(args, report) {
        Ok(exit) => exit,
        Err(error) => Ok(failure(&error, report)),
    }
}

/// Reports an error of the recorder.
pub fn failure(error: &RecorderError, report: &Reporter) -> Exit {
    report.finding(error.fault.code(), &error.what);
    exit_of(error.fault)
}

fn exit_of(fault: Fault) -> Exit {
    match fault {
        Fault::BadScenario | Fault::UnknownScenario | Fault::UnknownHarness => Exit::Usage,
        Fault::HarnessNotFound | Fault::Misconfigured => Exit::Misconfigured,
        Fault::Violation => Exit::Violation,
        Fault::Io => Exit::Io,
    }
}

fn record(args: &Record, report: &Reporter) -> Result<io::Result<Exit>, RecorderError> {
    if let Some(which) = &args.sweep.sweep {
        return sweep::run(args, which, &isolation(args.open, report, INSIDE), report);
    }
    if args.live {
        return live::run(args, &isolation(args.open, report, INSIDE), report);
    }
    let what = args.what.as_deref().unwrap_or_default();
    let Some((family, version)) = what.split_once('@') else {
        return Ok(Ok(report.usage(&format!("`{what}` is not HARNESS@VERSION"))));
    };
    let harness = harness::named(family)?;
    let number = number(args, family, version, report)?;
    let version = &number.to_string();
    let all = Scenario::read_all(&args.scenarios)?;
    let chosen = if args.scenario.is_empty() {
        set_of(&all, args.wide, family)?
    } else {
        chosen(&all, &args.scenario, family)?
    };
    let named = match &args.profile {
        None => None,
        Some(which) => match profile_file::bytes(which, args.expect.as_deref(), report) {
            Ok(bytes) => Some(bytes),
            Err(exit) => return Ok(Ok(exit)),
        },
    };
    let isolation = isolation(args.open, report, INSIDE);
    let installed = args.installed.join(family).join(version);
    let (mut recorded, mut refused) = (Vec::new(), Vec::new());
    for scenario in chosen {
        let job = Job {
            harness,
            version: &number,
            installed: &installed,
            scenario,
            scenarios: &args.scenarios,
            out: &args.out,
            isolation: &isolation,
            provider: None,
            named: named.as_deref(),
        };
        match job.record() {
            Ok(done) => {
                if recorded.is_empty() {
                    warn_of_version(&done, version, report);
                }
                report.note(&line(&scenario.id, &done));

                recorded.push(done);
            }
            // What cannot do the first one is not tried further.
            Err(error) if recorded.is_empty() => return Err(error),
            Err(error) => {
                report.note(&format!(
                    "{}: not recorded: {}",
                    scenario.id,
                    printable(&error.what)
                ));
                refused.push(scenario.id.as_str());
            }
        }
    }
    let judged = judge::version(&args.out, family, version)?;
    let print = |out: &mut dyn Write| -> io::Result<()> {
        if args.json {
            return write_json(
                out,
                &json!({"harness": family, "version": version, "recorded": recorded, "not_recorded": refused, "judged": judged}),
            );
        }
        for (check, examples) in &judged.failing {
            writeln!(out, "FAIL {check}")?;
            for (place, what) in examples {
                writeln!(out, "  {}: {}", printable(place), printable(what))?;
            }
        }
        let shows: Vec<&str> = judged.shows.keys().map(String::as_str).collect();
        if let Some(other) = &judged.as_version {
            writeln!(
                out,
                "{family}@{version} has no row of its own and was judged as {other}"
            )?;
        }
        writeln!(
            out,
            "{family}@{version}: {} sessions, {} checks hold, {} fail; shows {}",
            judged.sessions,
            judged.held,
            judged.failing.len(),
            shows.join(" ")
        )
    };
    let exit = if judged.failing.is_empty() && refused.is_empty() {
        Exit::Success
    } else {
        Exit::PartialFailure
    };
    Ok(print(&mut stdout().lock()).map(|()| exit))
}

/// The version that is meant: one by its number, or the newest published one, which is installed if it is not there.
fn number(
    args: &Record,
    family: &str,
    version: &str,
    report: &Reporter,
) -> Result<Version, RecorderError> {
    if version != LATEST {
        let wrong = |error| format!("{version}: {error}");
        return version
            .parse()
            .map_err(|error| RecorderError::new(Fault::UnknownHarness, wrong(error)));
    }
    let found = args.installer().latest(family, |version, error| {
        let why = printable(&error.what);
        report.note(&format!("{family}@{version} cannot be installed: {why}"));
    })?;
    report.note(&format!("{family}@{LATEST} is {found}"));
    Ok(found)
}

/// What the command calls itself with, inside of private mounts.
const INSIDE: &[&str] = &["record", "--inside"];

/// Private mounts, where they can be had. `inside`: with what the command calls itself there.
pub fn isolation(open: bool, report: &Reporter, inside: &[&str]) -> Isolation {
    if open {
        return Isolation::None;
    }
    if let Some(why) = isolation::refusal() {
        report.note(&format!(
            "warning: no private mounts here, so egress is unknown: {why}"
        ));
        return Isolation::None;
    }
    match std::env::current_exe() {
        Ok(exe) => Isolation::Private(
            [exe.into_os_string()]
                .into_iter()
                .chain(inside.iter().map(OsString::from))
                .collect(),
        ),
        Err(_) => Isolation::None,
    }
}

/// Says that the profile is for other versions: its environment is used for every one.
fn warn_of_version(recorded: &Recorded, version: &str, report: &Reporter) {
    let profile = &recorded.receipt["profile"];
    if profile["is_for_this_version"] == false {
        let (id, versions) = (&profile["id"], &profile["versions"]);
        report.note(&format!(
            "warning: the profile {id} is for {versions}, not for {version}"
        ));
    }
}

fn line(id: &str, recorded: &Recorded) -> String {
    let runs = recorded
        .done
        .runs
        .iter()
        .map(|run| match (&run.skipped, &run.end) {
            (Some(why), _) => format!("skipped ({why})"),
            (None, Some(end)) => format!("{end:?} after {} ms", run.milliseconds),
            (None, None) => "no end".to_owned(),
        });
    let skipped = recorded.done.truth.skipped_steps.len();
    let steps = if skipped == 0 {
        String::new()
    } else {
        format!("; {skipped} ops without a tool")
    };
    format!(
        "{id}: {}; {} calls{steps}",
        runs.collect::<Vec<_>>().join(", "),
        recorded.done.truth.calls.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_lists_every_code_with_its_exit_code() {
        let document = include_str!("../../../docs/errors.md");
        let row = |fault: Fault| format!("| {} | `{}` |", exit_of(fault) as u8, fault.code());
        for fault in Fault::ALL {
            assert!(document.contains(&row(fault)), "{}", row(fault));
        }
    }
}
