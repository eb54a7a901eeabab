//! What a caller may tell the kit beyond the three methods of the contract. The more is offered, the more is checked.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use engram_core::adapter::{SideInfo, StreamAdapter};
use engram_core::tool_kind::ToolKind;

use crate::check::Tier;
use crate::gaps::GapRow;
use crate::recordings::files;

/// What is to be checked, and what is known of the adapter.
#[derive(Clone, Copy, Default)]
pub struct Options<'o> {
    /// Checks of this tier only.
    pub tier: Option<Tier>,
    /// The check of this id only.
    pub check: Option<&'o str>,
    /// Leave out the check of this id. Shows what the check is for: a defect that it alone finds passes then.
    pub without: Option<&'o str>,
    /// What is known of the adapter.
    pub offered: Offered<'o>,
}

/// The kind of a tool by its name; none for a name that the adapter does not know.
pub type ToolKinds<'o> = dyn Fn(&str) -> Option<ToolKind> + Sync + 'o;

/// What an adapter offers beyond [`engram_core::adapter::HarnessAdapter`].
#[derive(Clone, Copy)]
pub struct Offered<'o> {
    /// The streaming form: both policies, chunks, detection and the files around an artifact are checked with it.
    pub stream: Option<&'o dyn StreamAdapter>,
    /// The kind of a tool by its name, as the adapter's table has it.
    pub tools: Option<&'o ToolKinds<'o>>,
    /// How the sessions of a recording are opened.
    pub open: &'o dyn Open,
    /// What it means that a recording shows a gap, for gap codes that [`crate::gaps::ROWS`] does not have.
    pub gaps: &'o [GapRow],
    /// A session's text as a version that no harness has would write it, where replacing the recorded version does not do.
    pub unheard_of: Option<fn(&str) -> Option<String>>,
    /// Omission rules of which there is no recording, and which tests of the adapter's own prove.
    pub proven_elsewhere: &'o [&'o str],
}

impl Default for Offered<'_> {
    fn default() -> Self {
        Offered { stream: None, tools: None, open: &Files, gaps: &[], unheard_of: None, proven_elsewhere: &[] }
    }
}

/// In which of a harness's own forms a session lies. A recording may hold the same sessions in several; each is judged by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// As the harness keeps it: files, or a store.
    Kept,
    /// As the harness exports it.
    Exported,
    /// As the harness prints it while it runs.
    Printed,
}

/// One session of a recording.
pub struct Session {
    /// Its name inside the recording.
    pub name: String,
    /// The file that it was read from.
    pub path: PathBuf,
    /// The text that the adapter converts.
    pub bytes: Vec<u8>,
    /// What the files around it say.
    pub context: SideInfo,
    /// The form that it is in.
    pub form: Form,
}

/// How the sessions of a recording are opened.
pub trait Open: Sync {
    /// Every session of the recording in this folder. Its `session/` holds the files as the harness laid them out.
    ///
    /// # Errors
    /// A sentence that names the file.
    fn sessions(&self, recording: &Path) -> Result<Vec<Session>, String>;
}

/// Every file below `session/` that is not empty is a session; `.zst` is decompressed.
#[derive(Debug, Clone, Copy)]
pub struct Files;

impl Open for Files {
    fn sessions(&self, recording: &Path) -> Result<Vec<Session>, String> {
        let (session, mut found) = (recording.join("session"), Vec::new());
        for path in files(&session) {
            let bytes = text_of(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            if !bytes.is_empty() {
                let name = path.strip_prefix(&session).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                found.push(Session { name, path, bytes, context: SideInfo::default(), form: Form::Kept });
            }
        }
        Ok(found)
    }
}

/// What a file holds, decompressed.
///
/// # Errors
/// As the file system or the decompressor gives them.
pub fn text_of(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = fs::read(path)?;
    if path.extension().is_some_and(|end| end == "zst") { zstd::decode_all(bytes.as_slice()) } else { Ok(bytes) }
}
