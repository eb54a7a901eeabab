//! The names of `cap_std` in a build that reads no files beside an artifact (without the feature `side-files`): no directory can be opened.
#![allow(dead_code, reason = "nothing of this is ever made")]

use std::ffi::OsString;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::time::SystemTime;

/// Whoever asks for a directory by its path.
pub(crate) struct Ambient;

pub(crate) fn ambient_authority() -> Ambient {
    Ambient
}

/// A directory.
#[derive(Debug)]
pub struct Dir(());

/// A file.
#[derive(Debug)]
pub struct File(());

/// An entry of a directory.
pub(crate) struct Entry(());

/// What a system says of a file.
pub(crate) struct Metadata(());

/// When a file was changed.
pub(crate) struct Modified(());

/// How a file is opened.
pub(crate) struct OpenOptions;

fn unsupported<T>() -> io::Result<T> {
    Err(ErrorKind::Unsupported.into())
}

impl Dir {
    pub(crate) fn open_ambient_dir(_: impl AsRef<Path>, _: Ambient) -> io::Result<Dir> {
        unsupported()
    }

    pub(crate) fn metadata(&self, _: impl AsRef<Path>) -> io::Result<Metadata> {
        unsupported()
    }

    pub(crate) fn read_dir(
        &self,
        _: impl AsRef<Path>,
    ) -> io::Result<std::iter::Empty<io::Result<Entry>>> {
        unsupported()
    }

    pub(crate) fn open_with(&self, _: impl AsRef<Path>, _: &OpenOptions) -> io::Result<File> {
        unsupported()
    }
}

impl Entry {
    pub(crate) fn file_name(&self) -> OsString {
        OsString::new()
    }
}

impl File {
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        unsupported()
    }
}

impl Read for File {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        unsupported()
    }
}

impl Metadata {
    pub(crate) fn is_file(&self) -> bool {
        false
    }

    pub(crate) fn is_dir(&self) -> bool {
        false
    }

    pub(crate) fn len(&self) -> u64 {
        0
    }

    pub(crate) fn modified(&self) -> io::Result<Modified> {
        unsupported()
    }
}

impl Modified {
    pub(crate) fn into_std(self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

impl OpenOptions {
    pub(crate) fn new() -> OpenOptions {
        OpenOptions
    }

    pub(crate) fn read(&mut self, _: bool) {}
}
