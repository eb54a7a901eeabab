//! Where the index is, and what an error of it means for the exit code.

use std::path::PathBuf;

use engram_command::exit::Exit;
use engram_command::places;
use engram_command::report::Reporter;
use engram_index::Error;

use super::args::Place;

/// The directory of the index.
pub fn directory(place: &Place) -> Result<PathBuf, Error> {
    let none = || {
        Error::BadQuery(
            "the environment does not say where your home is; name the index with `--index DIR`"
                .to_owned(),
        )
    };
    place
        .index
        .clone()
        .or_else(places::index_dir)
        .ok_or_else(none)
}

/// Reports an error of the index.
pub fn failed(error: &Error, report: &Reporter) -> Exit {
    report.finding(error.code(), &error.to_string());
    match error {
        Error::NoIndex(_) | Error::NotFound(_) => Exit::NotRecognised,
        Error::OtherSchema { .. } | Error::Foreign { .. } => Exit::OtherIndex,
        Error::Full(_) | Error::Io { .. } => Exit::Io,
        Error::BadQuery(_) => Exit::Usage,
        _ => Exit::PartialFailure,
    }
}
