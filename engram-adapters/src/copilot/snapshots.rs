//! The snapshots beside a log: for each prompt, the files that changed until the next one, with the SHA-256 of each before and after, and the
//! text before (`rewind-file-snapshots/index.json` and `backups/`; 1.0.82 and later). They also have what commands changed.

use std::path::Path;
use std::sync::Arc;

use engram_core::adapter::{Identity, SideFiles, SideInfo};
use engram_core::event::BesideFile;
use engram_core::head::Head;
use engram_core::keys::hash64;
use sha2::{Digest, Sha256};

use crate::shared::neighbours::Neighbours;
use crate::shared::time::{millis, tape_time};
use crate::shared::value::{Field, StructuralIndex, Value, elements, owned, parse, raw_str, text};

/// The directory of the snapshots, from that of the log.
const DIRECTORY: &str = "rewind-file-snapshots";
const INDEX: &str = "rewind-file-snapshots/index.json";
const BACKUPS: &str = "rewind-file-snapshots/backups/";
/// Files with more bytes are not compared.
const MAX_BYTES: usize = 8 << 20;

/// What the files around the log at `path` add.
pub(super) fn side_info(path: &Path, _: &Head<'_>, _: &Identity) -> SideInfo {
    let session = path.parent().and_then(|own| Neighbours::open(own, path));
    SideInfo {
        side_files: session.map(|files| Arc::new(SessionFiles(files)) as Arc<dyn SideFiles>),
        ..SideInfo::default()
    }
}

/// The files in the directory of a session.
struct SessionFiles(Neighbours);

impl SideFiles for SessionFiles {
    fn text(&self, path: &str) -> Option<String> {
        let path = Path::new(path);
        path.starts_with(DIRECTORY).then(|| self.0.text(path))?
    }

    fn files_read(&self) -> Vec<BesideFile> {
        self.0.files_read()
    }

    fn directories(&self) -> Vec<String> {
        vec![self.0.name_from_artifact(Path::new(DIRECTORY))]
    }
}

/// A file at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Image {
    /// There was no file.
    Absent,
    /// It had the content with this SHA-256.
    Content(String),
    /// Something that is not a text: a link, a directory, a file that was too large.
    Other,
}

/// A file that changed after a prompt.
#[derive(Debug, Clone)]
pub(super) struct Changed {
    pub path: String,
    pub before: Image,
    pub after: Image,
}

/// The snapshot of one prompt.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    /// The key of the id of the prompt's record.
    pub prompt: u64,
    /// The words of the prompt (`userMessage`, whole: 1,523 characters recorded).
    pub words: Option<String>,
    /// When it was made, in milliseconds: after the turn.
    pub time: Option<i64>,
    pub files: Vec<Changed>,
}

/// The snapshots of a session.
#[derive(Default)]
pub(super) struct Snapshots {
    files: Option<Arc<dyn SideFiles>>,
    snapshots: Vec<Snapshot>,
}

impl Snapshots {
    /// Reads the index. There may be none.
    pub fn read(files: Option<Arc<dyn SideFiles>>) -> Snapshots {
        let index = files.as_ref().and_then(|files| files.text(INDEX));
        let snapshots = index.and_then(|text| {
            let mut index = StructuralIndex::default();
            Some(
                elements(parse(&text, &mut index).ok()?.member("snapshots"))
                    .map(snapshot)
                    .collect(),
            )
        });
        Snapshots {
            files,
            snapshots: snapshots.unwrap_or_default(),
        }
    }

    /// All of them.
    pub fn all(&self) -> &[Snapshot] {
        &self.snapshots
    }

    /// One of them.
    pub fn get(&self, snapshot: usize) -> Option<&Snapshot> {
        self.snapshots.get(snapshot)
    }

    /// The files of one of them.
    pub fn files(&self, snapshot: usize) -> &[Changed] {
        self.get(snapshot).map_or(&[], |one| &one.files)
    }

    /// The text of a file at a moment, if a backup has it: the harness keeps what a file was before it changed.
    pub fn text(&self, image: &Image) -> Option<String> {
        let Image::Content(hash) = image else {
            return None;
        };
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        let text = is_hash.then(|| self.files.as_ref()?.text(&format!("{BACKUPS}{hash}")))??;
        (text.len() <= MAX_BYTES && is_content(&text, hash)).then_some(text)
    }
}

fn snapshot(value: Value<'_>) -> Snapshot {
    let files = value.member("files").into_iter().flat_map(Value::members);
    Snapshot {
        prompt: hash64(raw_str(value.member("eventId"))),
        words: owned(value.member("userMessage")),
        time: tape_time(value.member("timestamp")).and_then(|time| millis(&time)),
        files: files.filter_map(|(_, file)| changed(file)).collect(),
    }
}

fn changed(file: Value<'_>) -> Option<Changed> {
    Some(Changed {
        path: text(file.member("path"))?.decode_lossy().into_owned(),
        before: image(file.member("preimage")),
        after: image(file.member("postimage")),
    })
}

fn image(field: Field<'_>) -> Image {
    let member = |name| field.and_then(|image| image.member(name));
    match raw_str(member("kind")) {
        "absent" => Image::Absent,
        "content" => Image::Content(raw_str(member("contentHash")).to_owned()),
        _ => Image::Other,
    }
}

/// True if a text has this SHA-256.
pub(super) fn is_content(text: &str, hash: &str) -> bool {
    let digest = Sha256::digest(text.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.eq_ignore_ascii_case(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_counts_only_with_its_own_hash_and_from_its_own_directory() {
        struct Files;
        impl SideFiles for Files {
            fn text(&self, _: &str) -> Option<String> {
                Some("made-by-shell\n".to_owned())
            }
        }
        let snapshots = Snapshots::read(Some(Arc::new(Files)));
        let image = |hash: &str| Image::Content(hash.to_owned());
        let hash = "2b689431a34c3421d7a53668368811f63e69a632a7aaed4c85084f918be54409";
        assert!(snapshots.text(&image(hash)).is_some());
        for other in [&hash.replace('2', "3"), "../../secret", ""] {
            assert_eq!(snapshots.text(&image(other)), None, "{other}");
        }
        assert_eq!(snapshots.text(&Image::Absent), None);
    }
}
