//! The hash of a file's bytes.

use std::io::{self, Read};
use std::path::Path;

use engram_adapters::open;
use engram_core::hash::StreamHasher;

/// Hash and size of a file.
///
/// # Errors
/// As the file system gives them.
pub fn hash_of(path: &Path) -> io::Result<(String, u64)> {
    let (mut file, mut hasher, mut buffer) = (
        open::regular(path)?,
        StreamHasher::default(),
        vec![0; 256 << 10],
    );
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => hasher.update(&buffer[..read]),
        }
    }
    let (hash, bytes) = hasher.finish();
    Ok((hash.to_string(), bytes))
}
