//! A zstd stream whose errors are those of `std::io`: invalid data or unexpected end.

use std::io::{self, BufReader, ErrorKind, Read};

use zstd::stream::read::Decoder;

use super::bounds::{Counted, Expansion};

/// The largest window that a frame may ask for, as a power of two: what `zstd` itself accepts by default.
const WINDOW_LOG_MAX: u32 = 27;

/// A zstd stream of any number of frames, decompressed as it is read.
pub struct ZstdStream<R: Read> {
    decoder: Decoder<'static, BufReader<Counted<R>>>,
    expansion: Expansion,
}

impl<R: Read> ZstdStream<R> {
    /// A stream that has not been read yet.
    ///
    /// # Errors
    /// When the decoder cannot be set up.
    pub(super) fn new(reader: R) -> io::Result<Self> {
        let mut decoder = Decoder::new(Counted::new(reader))?;
        decoder.window_log_max(WINDOW_LOG_MAX)?;
        Ok(ZstdStream {
            decoder,
            expansion: Expansion::default(),
        })
    }
}

impl<R: Read> Read for ZstdStream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self
            .decoder
            .read(buffer)
            .map_err(|error| match error.kind() {
                // The decoder gives its own findings no kind.
                ErrorKind::Other => io::Error::new(
                    ErrorKind::InvalidData,
                    format!("a corrupt zstd stream ({error})"),
                ),
                ErrorKind::UnexpectedEof => io::Error::new(
                    ErrorKind::UnexpectedEof,
                    format!("a zstd stream that is cut off ({error})"),
                ),
                _ => error,
            })?;
        self.expansion.add(read, self.decoder.get_ref().get_ref())?;
        Ok(read)
    }
}
