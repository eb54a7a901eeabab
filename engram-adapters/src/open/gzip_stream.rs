//! A gzip stream whose errors are those of `std::io`: invalid data or unexpected end.

use std::io::{self, BufReader, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;

use super::bounds::{Counted, Expansion};

/// A gzip stream of any number of members, decompressed as it is read.
pub struct GzipStream<R: Read> {
    decoder: MultiGzDecoder<BufReader<Counted<R>>>,
    expansion: Expansion,
}

impl<R: Read> GzipStream<R> {
    /// A stream that has not been read yet.
    pub(super) fn new(reader: R) -> Self {
        GzipStream {
            decoder: MultiGzDecoder::new(BufReader::new(Counted::new(reader))),
            expansion: Expansion::default(),
        }
    }
}

impl<R: Read> Read for GzipStream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self
            .decoder
            .read(buffer)
            .map_err(|error| match error.kind() {
                ErrorKind::InvalidInput | ErrorKind::InvalidData => io::Error::new(
                    ErrorKind::InvalidData,
                    format!("a corrupt gzip stream ({error})"),
                ),
                ErrorKind::UnexpectedEof => io::Error::new(
                    ErrorKind::UnexpectedEof,
                    format!("a gzip stream that is cut off ({error})"),
                ),
                _ => error,
            })?;
        self.expansion.add(read, self.decoder.get_ref().get_ref())?;
        Ok(read)
    }
}
