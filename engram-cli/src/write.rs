//! Writes a tape, compressed or not. Errors name the side that failed: the log or the tape.

use std::io::{self, Write};
use std::path::Path;

use engram_adapters::sessions::SessionSource;
use engram_core::error::AdapterError;
use engram_core::hash::StreamHasher;
use engram_core::overview::{Overview, OverviewSink};
use engram_core::pipeline::Summary;
use engram_core::redact::Redacting;
use engram_core::sink::EventSink;
use engram_core::tape::JsonLines;

use crate::unicode::{Lines, Unicode};

/// The form of a tape.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Compressed with zstd.
    pub compress: bool,
    /// Without keys and tokens.
    pub redact: bool,
    /// What becomes of half a surrogate pair.
    pub unicode: Unicode,
}

/// A tape that was written.
pub struct Written {
    /// What the conversion reports.
    pub summary: Summary,
    /// What the tape is about.
    pub overview: Overview,
    /// The hash of the file.
    pub hash: String,
    /// The size of the file.
    pub bytes: u64,
}

/// Converts a session and writes its tape to `file`, which may contain part of a tape if this fails.
///
/// # Errors
/// Those of the conversion, with the session's path; those of writing, with `place`.
pub fn write_tape(
    source: SessionSource,
    form: Form,
    file: &mut dyn Write,
    place: &Path,
) -> Result<Written, AdapterError> {
    let mut sink = Sink {
        file,
        failed: false,
        hasher: StreamHasher::default(),
    };
    let mut overview = OverviewSink::default();
    let at_place = |error: io::Error| AdapterError::from(error).path(place.to_string_lossy());
    let converted = if form.compress {
        let mut encoder =
            zstd::Encoder::new(&mut sink, zstd::DEFAULT_COMPRESSION_LEVEL).map_err(at_place)?;
        let converted = convert(
            source,
            form.redact,
            &mut (
                JsonLines::new(Lines::new(&mut encoder, form.unicode)),
                &mut overview,
            ),
        );
        converted.and_then(|summary| encoder.finish().map(|_| summary).map_err(at_place))
    } else {
        convert(
            source,
            form.redact,
            &mut (
                JsonLines::new(Lines::new(&mut sink, form.unicode)),
                &mut overview,
            ),
        )
    };
    let summary = converted.map_err(|error| {
        if sink.failed {
            error.path(place.to_string_lossy())
        } else {
            error
        }
    })?;
    let (hash, bytes) = sink.hasher.finish();
    Ok(Written {
        summary,
        overview: overview.overview(),
        hash: hash.to_string(),
        bytes,
    })
}

fn convert(
    source: SessionSource,
    redact: bool,
    sink: &mut dyn EventSink,
) -> Result<Summary, AdapterError> {
    if redact {
        source.convert(&mut Redacting::new(sink)?)
    } else {
        source.convert(sink)
    }
}

/// Hashes what is written, and notes that writing failed. The error of the conversion does not show which side failed.
struct Sink<'f> {
    file: &'f mut dyn Write,
    failed: bool,
    hasher: StreamHasher,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes).inspect_err(|_| self.failed = true)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().inspect_err(|_| self.failed = true)
    }
}
