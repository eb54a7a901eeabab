//! Writes a tape, compressed or not. Errors name the side that failed: the log or the tape.

use std::io::{self, Write};
use std::path::Path;

use engram_adapters::sessions::SessionSource;
use engram_core::error::AdapterError;
use engram_core::pipeline::Summary;
use engram_core::redact::Redacting;
use engram_core::sink::EventSink;
use engram_core::tape::JsonLines;

/// The form of a tape.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Compressed with zstd.
    pub compress: bool,
    /// Without keys and tokens.
    pub redact: bool,
}

fn convert(source: SessionSource, redact: bool, sink: &mut dyn EventSink) -> Result<Summary, AdapterError> {
    if redact { source.convert(&mut Redacting::new(sink)?) } else { source.convert(sink) }
}

/// Converts a session and writes its tape to `file`, which may hold part of a tape if this fails.
///
/// # Errors
/// Those of the conversion, with the session's path; those of writing, with `place`.
pub fn write_tape(source: SessionSource, form: Form, file: &mut dyn Write, place: &Path) -> Result<Summary, AdapterError> {
    let mut sink = Sink { file, failed: false };
    let Form { compress, redact } = form;
    let at_place = |error: io::Error| AdapterError::from(error).path(place.to_string_lossy());
    let converted = if compress {
        let mut encoder = zstd::Encoder::new(&mut sink, zstd::DEFAULT_COMPRESSION_LEVEL).map_err(at_place)?;
        convert(source, redact, &mut JsonLines::new(&mut encoder)).and_then(|summary| encoder.finish().map(|_| summary).map_err(at_place))
    } else {
        convert(source, redact, &mut JsonLines::new(&mut sink))
    };
    converted.map_err(|error| if sink.failed { error.path(place.to_string_lossy()) } else { error })
}

/// Notes that writing failed. The error of the conversion does not show which side failed.
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
