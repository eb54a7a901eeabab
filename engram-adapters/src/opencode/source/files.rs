//! Session files: the global `storage` directory (1.0.0 to 1.1.65) and the directory of each project (0.1.174 to 0.5.29).

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use engram_core::adapter::ParentCall;
use engram_core::error::AdapterError;
use engram_core::limits::Limits;

use super::export_writer::ExportWriter;
use super::parent_call::{ParentCalls, call_in_part, side_info_of};
use crate::open::store::Export;
use crate::shared::neighbours::{Neighbours, is_below};
use crate::shared::value::{StructuralIndex, Value, integer, parse, text};

/// The most bytes of a session's own record that are read to find out when it was changed.
const MAX_INFO_BYTES: u64 = 16 << 20;

/// The directory layout of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// `storage/{session/<project>,message/<session>,part/<message>}`.
    Global,
    /// `project/<project>/storage/session/{info,message/<session>,part/<session>/<message>}`.
    Project,
}

/// The directory of a store, and what is known of all of its sessions.
#[derive(Debug)]
struct Directory {
    files: Neighbours,
    /// The ids of the sessions that have messages.
    with_messages: OnceLock<BTreeSet<String>>,
    parent_calls: Mutex<ParentCalls>,
}

/// One session's files.
#[derive(Debug, Clone)]
pub(super) struct SessionFiles {
    pub layout: Layout,
    /// The session's id: its file name. Paths are built from file names only, never from file contents.
    pub id: String,
    /// The file of the session's own record.
    pub info: PathBuf,
    /// The same file, from the directory of the store.
    own: PathBuf,
    /// The directory of the store. Nothing outside of it is read.
    store: Arc<Directory>,
    /// When the session was last changed, in milliseconds since the epoch.
    updated: i64,
}

/// A directory of a store, and why it cannot be read.
pub(super) type Unreadable = (PathBuf, io::Error);

/// The directory of the stores of all projects.
pub(super) const PROJECTS: &str = "project";

impl Layout {
    /// All layouts, newest first.
    pub const ALL: [Layout; 2] = [Layout::Global, Layout::Project];

    /// The stores of this layout under a data directory, without links that lead out of it.
    pub fn stores(self, root: &Path) -> Vec<PathBuf> {
        let stores = match self {
            Layout::Global => vec![root.join("storage")],
            Layout::Project => entries_below(root, &root.join(PROJECTS))
                .into_iter()
                .map(|project| project.join("storage/session"))
                .collect(),
        };
        let (own, messages) = match self {
            Layout::Global => ("session", "message"),
            Layout::Project => ("info", "message"),
        };
        stores
            .into_iter()
            .filter(|store| {
                is_below(root, store)
                    && [own, messages]
                        .iter()
                        .all(|name| may_be_directory(&store.join(name)))
            })
            .collect()
    }

    /// The sessions of all stores of this layout, by id, and the directories that cannot be read. Of several sessions with one id, the
    /// last changed is first.
    pub fn sessions(self, root: &Path) -> (Vec<SessionFiles>, Vec<Unreadable>) {
        let (mut sessions, mut unreadable) = (Vec::new(), Vec::new());
        for store in self.stores(root) {
            match self.sessions_of(&store, &mut unreadable) {
                Ok(found) => sessions.extend(found),
                Err(error) => unreadable.push((store, error)),
            }
        }
        sessions.sort_by(|one, other| {
            (&one.id, other.updated, &one.info).cmp(&(&other.id, one.updated, &other.info))
        });
        (sessions, unreadable)
    }

    fn sessions_of(
        self,
        store: &Path,
        unreadable: &mut Vec<Unreadable>,
    ) -> io::Result<Vec<SessionFiles>> {
        let own = match self {
            Layout::Global => Path::new("session"),
            Layout::Project => Path::new("info"),
        };
        // Why it cannot be opened.
        let Some(files) = Neighbours::open(store, &store.join(own)) else {
            return fs::read_dir(store).map(|_| Vec::new());
        };
        let directory = Arc::new(Directory {
            files,
            with_messages: OnceLock::new(),
            parent_calls: Mutex::default(),
        });
        let files = &directory.files;
        let directories = match self {
            Layout::Global => files
                .record_names(own)?
                .into_iter()
                .map(|project| own.join(project))
                .collect(),
            Layout::Project => vec![own.to_owned()],
        };
        let session = |(id, own): (String, PathBuf)| {
            let record = files
                .bytes(&own, MAX_INFO_BYTES)
                .ok()
                .and_then(|record| String::from_utf8(record).ok());
            let updated = record
                .and_then(|record| updated(&record))
                .unwrap_or(i64::MIN);
            SessionFiles {
                layout: self,
                id,
                info: store.join(&own),
                own,
                store: directory.clone(),
                updated,
            }
        };
        let mut sessions = Vec::new();
        for own in &directories {
            match records(files, own) {
                Ok(found) => sessions.extend(found.into_iter().map(session)),
                Err(error) => unreadable.push((store.join(own), error)),
            }
        }
        Ok(sessions)
    }
}

impl SessionFiles {
    /// The session as an export.
    pub fn export(&self, limits: Limits) -> Result<Export, AdapterError> {
        let info = self.read(&self.own, limits)?;
        let mut export = ExportWriter::new(limits, &info, &self.id);
        let (mut message_ids, mut index) = (Vec::new(), StructuralIndex::default());
        for (id, path) in records(&self.store.files, &Path::new("message").join(&self.id))? {
            let message = self.read(&path, limits)?;
            let split = split_parts(&message, &mut index);
            let record = split
                .as_ref()
                .map_or(&*message, |split| split.info.as_bytes());
            export.message(record, [("id", &id), ("sessionID", &self.id)])?;
            for part in split.iter().flat_map(|split| &split.parts) {
                export.part(part.as_bytes(), &[])?;
            }
            self.add_parts(&id, limits, &mut export)?;
            message_ids.push(id);
        }
        self.parts_without_message(&message_ids, limits, &mut export)?;
        let context = side_info_of(self.parent_calls(&info, limits)?);
        Ok(Export {
            text: export.finish(),
            context,
        })
    }

    /// Reads a file of the store. If the file is larger than the limit of a record, the export fails.
    fn read(&self, path: &Path, limits: Limits) -> Result<Vec<u8>, AdapterError> {
        Ok(self
            .store
            .files
            .bytes(path, limits.record_bytes.saturating_add(1))?)
    }

    /// The directory with the parts of a message.
    fn parts_of(&self, session: &str, message: &str) -> PathBuf {
        let parts = Path::new("part");
        match self.layout {
            Layout::Global => parts.join(message),
            Layout::Project => parts.join(session).join(message),
        }
    }

    fn add_parts(
        &self,
        message: &str,
        limits: Limits,
        export: &mut ExportWriter,
    ) -> Result<(), AdapterError> {
        for (id, path) in records(&self.store.files, &self.parts_of(&self.id, message))? {
            export.part(
                &self.read(&path, limits)?,
                &[("id", &id), ("sessionID", &self.id), ("messageID", message)],
            )?;
        }
        Ok(())
    }

    /// Adds parts whose message is missing, under a message with nothing but its id, which the adapter then reports as malformed.
    /// In the global layout they cannot be assigned to a session.
    fn parts_without_message(
        &self,
        message_ids: &[String],
        limits: Limits,
        export: &mut ExportWriter,
    ) -> Result<(), AdapterError> {
        if self.layout == Layout::Global {
            return Ok(());
        }
        let parts = Path::new("part").join(&self.id);
        for message in self.store.files.record_names(&parts)? {
            if message_ids.binary_search(&message).is_err()
                && !records(&self.store.files, &parts.join(&message))?.is_empty()
            {
                export.message(b"{}", [("id", &message), ("sessionID", &self.id)])?;
                self.add_parts(&message, limits, export)?;
            }
        }
        Ok(())
    }

    /// The calls of the parent session that gave this one its prompts (1.0.98 and later).
    fn parent_calls(&self, info: &[u8], limits: Limits) -> Result<Vec<ParentCall>, AdapterError> {
        let Some(parent) = parent_id(info) else {
            return Ok(Vec::new());
        };
        // The id is compared with directory names, never used as a path.
        let messages = Path::new("message");
        let with_messages = self.store.with_messages.get_or_init(|| {
            self.store
                .files
                .record_names(messages)
                .unwrap_or_default()
                .into_iter()
                .collect()
        });
        let Some(parent) = with_messages.get(&parent) else {
            return Ok(Vec::new());
        };
        let mut known = self
            .store
            .parent_calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        known.of(parent, &self.id, |calls| {
            // A session has its own records without those of its parent.
            let in_directory =
                |directory: &Path| records(&self.store.files, directory).unwrap_or_default();
            let messages = in_directory(&messages.join(parent)).into_iter();
            let parts =
                messages.flat_map(|(message, _)| in_directory(&self.parts_of(parent, &message)));
            let texts = parts
                .filter_map(|(_, path)| String::from_utf8(self.read(&path, limits).ok()?).ok());
            texts
                .into_iter()
                .try_for_each(|part| calls.add(call_in_part(&part)))
        })
    }
}

/// The id of a session's parent, by its own record.
fn parent_id(info: &[u8]) -> Option<String> {
    let mut index = StructuralIndex::default();
    let info = parse(std::str::from_utf8(info).ok()?, &mut index).ok()?;
    Some(text(info.member("parentID"))?.decode().ok()?.into_owned())
}

/// When a session was last changed, by its own record.
fn updated(info: &str) -> Option<i64> {
    let mut index = StructuralIndex::default();
    integer(
        parse(info, &mut index)
            .ok()?
            .member("time")?
            .member("updated"),
    )
}

/// A message of 0.1.174, split into its own record and its parts.
struct MessageWithParts<'a> {
    info: String,
    parts: Vec<&'a str>,
}

/// Splits a message that contains its parts.
fn split_parts<'a>(
    message: &'a [u8],
    index: &'a mut StructuralIndex,
) -> Option<MessageWithParts<'a>> {
    let message = parse(std::str::from_utf8(message).ok()?, index).ok()?;
    let parts = message.member("parts").filter(|parts| parts.is_array())?;
    let fields = message
        .members()
        .filter(|(name, _)| *name != "parts")
        .map(|(name, value)| format!("\"{name}\":{}", value.raw()));
    let info = format!("{{{}}}", fields.collect::<Vec<_>>().join(","));
    Some(MessageWithParts {
        info,
        parts: parts.elements().map(Value::raw).collect(),
    })
}

/// The entries of a directory inside of `root`, without links that lead out of it.
fn entries_below(root: &Path, directory: &Path) -> Vec<PathBuf> {
    let entries = if is_below(root, directory) {
        entries(directory)
    } else {
        Vec::new()
    };
    entries
        .into_iter()
        .map(|(_, path)| path)
        .filter(|path| is_below(root, path))
        .collect()
}

/// The entries of a directory, by name. None if it cannot be read: stores of other versions lack some directories.
pub(super) fn entries(directory: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut named: Vec<_> = entries
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .collect();
    named.sort();
    named
}

/// The records in a directory of a store, by id.
fn records(store: &Neighbours, directory: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let id = |name: String| {
        Some((
            name.strip_suffix(".json")?.to_owned(),
            directory.join(&name),
        ))
    };
    let mut records: Vec<_> = store
        .record_names(directory)?
        .into_iter()
        .filter_map(id)
        .collect();
    records.sort();
    Ok(records)
}

/// True also for what cannot be looked at: reading it then says why.
fn may_be_directory(path: &Path) -> bool {
    path.metadata().map_or_else(
        |error| error.kind() == io::ErrorKind::PermissionDenied,
        |found| found.is_dir(),
    )
}
