//! `engram index`, and the commands that ask an index: `explain`, `blame`, `grep`, `query`.

pub mod args;
mod ask;
mod blame;
mod commit;
mod explain;
pub mod feed;
mod fresh;
pub mod git;
mod page;
mod place;
mod print;
mod query;
mod search;

use std::io;
use std::path::{Path, PathBuf};

use engram_command::exit::Exit;
use engram_command::keys::Keys;
use engram_command::places;
use engram_command::report::{Reporter, write_json};
use engram_index::{Error, Index, Writer, rebuild};

use self::args::{IndexArgs, What};
pub use self::blame::run as blame;
pub use self::commit::{Written, export};
pub use self::explain::run as explain;
use self::feed::tell;
pub use self::query::run as query;
pub use self::search::grep;

/// Runs `engram index`.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &IndexArgs, report: &Reporter) -> io::Result<Exit> {
    let directory = match place::directory(&args.place) {
        Ok(directory) => directory,
        Err(error) => return Ok(place::failed(&error, report)),
    };
    let wait = || report.note("another engram is writing the index; waiting for it");
    let done = match &args.what {
        What::Add { paths } => tapes(paths).and_then(|paths| {
            let added = Writer::open(&directory, wait)?.add(&paths, &mut |tape| {
                report.detail(&format!("reading     {}", tape.display()))
            })?;
            Ok(tell(&added, &directory, report))
        }),
        What::Rebuild { text, paths } => {
            rebuild(&directory, paths, *text, wait).map(|added| tell(&added, &directory, report))
        }
        What::Forget { tape } => open(&directory)
            .and_then(|()| Writer::open(&directory, wait)?.forget(tape))
            .map(|count| {
                report.note(&format!(
                    "forgotten   {count} {}",
                    if count == 1 { "tape" } else { "tapes" }
                ));
                Exit::Success
            }),
        What::Status { json } => return status(&directory, *json, report),
        What::Verify { tapes } => Index::open(&directory)
            .and_then(|index| index.verify(*tapes))
            .map(|verified| {
                verified
                    .faults
                    .iter()
                    .for_each(|fault| report.finding("index_untrue", fault));
                report.note(&format!(
                    "compared    {} tapes, {} absent, {} faults",
                    verified.compared,
                    verified.absent,
                    verified.faults.len()
                ));
                if verified.faults.is_empty() {
                    Exit::Success
                } else {
                    Exit::PartialFailure
                }
            }),
    };
    Ok(done.unwrap_or_else(|error| place::failed(&error, report)))
}

/// An index that is there is opened; none is made.
fn open(directory: &Path) -> Result<(), Error> {
    Index::open(directory).map(drop)
}

fn tapes(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    if !paths.is_empty() {
        return Ok(paths.to_vec());
    }
    let tapes = places::tapes_dir().filter(|tapes| tapes.is_dir());
    let none = || {
        Error::NotFound("there are no tapes at the default place; run `engram ingest`, or name a directory of tapes".to_owned())
    };
    tapes.map(|tapes| vec![tapes]).ok_or_else(none)
}

fn status(directory: &Path, json: bool, report: &Reporter) -> io::Result<Exit> {
    let status = match Index::open(directory).and_then(|index| index.status()) {
        Ok(status) => status,
        Err(error) => return Ok(place::failed(&error, report)),
    };
    let mut out = io::stdout().lock();
    if json {
        write_json(&mut out, &status)?;
        return Ok(Exit::Success);
    }
    use io::Write;
    let share = if status.tape_bytes > 0 {
        status.bytes as f64 * 100.0 / status.tape_bytes as f64
    } else {
        0.0
    };
    writeln!(
        out,
        "index       {} (schema {})",
        status.index.display(),
        status.schema
    )?;
    writeln!(
        out,
        "size        {} bytes, {share:.1} % of the tapes",
        status.bytes
    )?;
    writeln!(
        out,
        "tapes       {} ({} bytes), {} contained in others, {} absent",
        status.tapes, status.tape_bytes, status.superseded, status.absent
    )?;
    writeln!(out, "invalid     {} files", status.invalid)?;
    writeln!(out, "calls       {}", status.calls)?;
    writeln!(out, "spans       {}", status.spans)?;
    Ok(Exit::Success)
}

/// Whether the index shows keys and tokens in its answers.
fn keys_of(keys: Keys) -> engram_index::Keys {
    if keys.no_redact {
        engram_index::Keys::Shown
    } else {
        engram_index::Keys::Replaced
    }
}
