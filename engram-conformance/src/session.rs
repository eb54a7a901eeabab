//! Input sessions of a recording, and how they are opened.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use engram_core::adapter::SideInfo;
use engram_core::bounds;

/// The form in which the harness wrote a session. A recording may contain the same sessions in several forms; each form is
/// checked separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// The harness's own storage: files or a database.
    Stored,
    /// An export that the harness made.
    Exported,
    /// The stream that the harness prints while it runs.
    Streamed,
}

/// One session of a recording, before conversion.
pub struct Session {
    /// Its name, unique in the recording.
    pub name: String,
    /// The file that it was read from.
    pub path: PathBuf,
    /// The bytes that the adapter converts.
    pub bytes: Vec<u8>,
    /// Information from files beside it.
    pub context: SideInfo,
    /// Its form.
    pub form: Form,
    /// True for a session of a store: its bytes are what the opener of the adapter exports.
    pub is_exported_by_opener: bool,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("name", &self.name)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// The same session with other bytes.
    pub(crate) fn with_bytes(&self, bytes: Vec<u8>) -> Session {
        Session {
            name: self.name.clone(),
            path: self.path.clone(),
            bytes,
            context: self.context.clone(),
            form: self.form,
            is_exported_by_opener: self.is_exported_by_opener,
        }
    }
}

/// Opens the sessions of a recording.
pub trait Open: Sync {
    /// Every session of the recording in this directory. Its subdirectory `session/` has the files as the harness wrote them.
    ///
    /// # Errors
    /// A sentence that names the file.
    fn sessions(&self, recording: &Path) -> Result<Vec<Session>, String>;
}

/// Treats every non-empty file below `session/` as one session. Decompresses `.zst`.
#[derive(Debug, Clone, Copy)]
pub struct Files;

impl Open for Files {
    fn sessions(&self, recording: &Path) -> Result<Vec<Session>, String> {
        let (directory, mut sessions) = (recording.join("session"), Vec::new());
        for path in files(&directory) {
            let bytes =
                read_decompressed(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            if !bytes.is_empty() {
                let name = path
                    .strip_prefix(&directory)
                    .unwrap_or(&path)
                    .to_string_lossy()
                    .replace('\\', "/");
                sessions.push(Session {
                    name,
                    path,
                    bytes,
                    context: SideInfo::default(),
                    form: Form::Stored,
                    is_exported_by_opener: false,
                });
            }
        }
        Ok(sessions)
    }
}

/// The content of a file; `.zst` is decompressed.
///
/// # Errors
/// Those of the file system and of the decompressor; `FileTooLarge` for more than `expansion_ratio` of [`bounds`] allows.
pub fn read_decompressed(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = fs::read(path)?;
    if path.extension().is_some_and(|extension| extension == "zst") {
        let most = (bytes.len() as u64).saturating_mul(bounds::EXPANSION_RATIO);
        let text = zstd::Decoder::new(bytes.as_slice())?;
        bounds::read_all(text, most.max(bounds::EXPANSION_FREE))
    } else {
        Ok(bytes)
    }
}

/// Every file below a directory, hidden files too, sorted by path. Empty if the directory cannot be read.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(listing) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in listing.flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        // A link to a directory may lead back to where it is.
        if kind.is_ok_and(|kind| kind.is_dir()) {
            found.extend(files(&path));
        } else if !path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    found
}
