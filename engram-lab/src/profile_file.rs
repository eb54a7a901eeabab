//! Profiles that a command names: a shipped one by its hash, or a file.

use std::io::Read;
use std::path::{Path, PathBuf};

use engram_command::exit::Exit;
use engram_command::report::Reporter;
use engram_profiles::limits::MAX_PROFILE_BYTES;
use engram_profiles::registry::{self, Shipped};
use engram_profiles::{ProfileError, ProfileHash};

/// The bytes of a profile: of the shipped one with this hash, or this id and the expected hash; or of a file.
///
/// # Errors
/// The exit code of what was reported.
pub fn bytes(which: &str, expect: Option<&str>, report: &Reporter) -> Result<Vec<u8>, Exit> {
    let path = PathBuf::from(which);
    if !path.is_file() {
        return chosen(which, expect)
            .map(|shipped| shipped.canonical.as_bytes().to_vec())
            .map_err(|error| failure(&error, report));
    }
    let bytes = read(&path, report)?;
    let expected: Option<ProfileHash> = expect
        .map(str::parse)
        .transpose()
        .map_err(|error| failure(&error, report))?;
    match expected {
        Some(expected) => registry::checked(&bytes, &expected)
            .map(|_| bytes)
            .map_err(|error| failure(&error, report)),
        None => Ok(bytes),
    }
}

/// The shipped profile with this hash, or with this id and the expected hash.
pub fn chosen(which: &str, expect: Option<&str>) -> Result<&'static Shipped, ProfileError> {
    match expect {
        Some(expect) => registry::by_id(which, &expect.parse()?),
        None => registry::by_hash(&which.parse()?),
    }
}

/// Reads a file that may be a profile.
///
/// # Errors
/// The exit code of what was reported.
pub fn read(path: &Path, report: &Reporter) -> Result<Vec<u8>, Exit> {
    // One byte more than a profile can have is enough to refuse it.
    let read = std::fs::File::open(path).and_then(|file| {
        let mut bytes = Vec::new();
        file.take(MAX_PROFILE_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map(|_| bytes)
    });
    read.map_err(|error| {
        report.finding("io", &format!("{}: {error}", path.display()));
        Exit::Io
    })
}

/// Reports an error of a profile.
pub fn failure(error: &ProfileError, report: &Reporter) -> Exit {
    report.finding(error.fault.code(), &error.place_and_reason());
    Exit::Usage
}
