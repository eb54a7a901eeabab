//! Tapes that `engram ingest --index` has written go into the index.

use std::path::Path;

use engram_command::exit::Exit;
use engram_command::report::Reporter;
use engram_index::{Added, Writer};

use super::args;
use super::place::{directory, failed};

/// Takes the tapes of a directory into the index at the default place, after `engram ingest`.
pub fn feed(tapes: &Path, report: &Reporter) -> Exit {
    let place = args::Place { index: None };
    let wait = || report.note("another engram is writing the index; waiting for it");
    let fed = directory(&place).and_then(|directory| {
        let added = Writer::open(&directory, wait)?.add(&[tapes.to_owned()], &mut |_| ())?;
        Ok(tell(&added, &directory, report))
    });
    fed.unwrap_or_else(|error| failed(&error, report))
}

/// Says what was taken in.
pub fn tell(added: &Added, directory: &Path, report: &Reporter) -> Exit {
    added
        .failed
        .iter()
        .for_each(|error| report.finding(error.code(), &error.to_string()));
    let Added {
        new,
        grew,
        superseded,
        known,
        unchanged,
        ..
    } = added;
    let failed = added.failed.len();
    report.note(&format!(
        "indexed     {new} new, {grew} replaced, {} unchanged, {superseded} contained in others, {failed} failed; index {}",
        unchanged + known,
        directory.display()
    ));
    if failed == 0 {
        Exit::Success
    } else {
        Exit::PartialFailure
    }
}
