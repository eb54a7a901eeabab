//! Writing a tape: compressed or not, with errors that say on which side it failed.

use std::io::{self, Write};
use std::path::Path;

use engram_core::error::AdapterError;
use engram_core::pipeline::Summary;

use crate::artifact::{Opened, Way};

/// Converts an artifact and writes its tape to `file`, which may hold part of a tape when this fails.
///
/// # Errors
/// Those of the conversion, with the artifact's path; those of writing, with `place`.
pub fn write_tape(opened: Opened, way: &Way, compress: bool, file: &mut dyn Write, place: &Path) -> Result<Summary, AdapterError> {
    let mut sink = Sink { file, failed: false };
    let at_place = |error: io::Error| AdapterError::from(error).path(place.to_string_lossy());
    let converted = if compress {
        let mut encoder = zstd::Encoder::new(&mut sink, zstd::DEFAULT_COMPRESSION_LEVEL).map_err(at_place)?;
        opened.convert(way, &mut encoder).and_then(|summary| encoder.finish().map(|_| summary).map_err(at_place))
    } else {
        opened.convert(way, &mut sink)
    };
    converted.map_err(|error| if sink.failed { error.path(place.to_string_lossy()) } else { error })
}

/// Remembers that writing failed: the conversion's error alone does not say on which side.
struct Sink<'f> {
    file: &'f mut dyn Write,
    failed: bool,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).inspect_err(|_| self.failed = true)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().inspect_err(|_| self.failed = true)
    }
}
