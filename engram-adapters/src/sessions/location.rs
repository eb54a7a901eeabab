//! Where one session is stored: a file, or a session of a store. Cheap to copy and to send to another thread.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::pipeline::Source;
use engram_core::policy::Policy;

use super::discover::Candidate;
use super::options::{OnRead, SessionOptions};
use super::source::{BoxedCopy, BoxedReader, KnownAdapter, Origin, SessionSource};
use super::store_session::StoreSession;
use crate::open::{self, FirstReading};
use crate::registration::Registration;
use crate::session_form::FormPlace;

/// The length of an id in its usual form.
const UUID_BYTES: usize = 36;

/// A file, or a session in a store. [`SessionLocation::open`] finds out which harness wrote it.
#[derive(Clone)]
pub struct SessionLocation {
    place: Place,
}

#[derive(Clone)]
enum Place {
    File(Candidate),
    Store(StoreSession),
}

impl SessionLocation {
    /// The session file at `path`, which counts as named. It is not opened as a store.
    pub fn of_file(path: &Path) -> Self {
        let bytes = path.metadata().map_or(0, |metadata| metadata.len());
        SessionLocation::file(Candidate {
            path: path.to_owned(),
            named: true,
            bytes,
            may_be_store: false,
            unchanged: false,
        })
    }

    pub(super) fn file(candidate: Candidate) -> Self {
        SessionLocation {
            place: Place::File(candidate),
        }
    }

    pub(super) fn stored(session: StoreSession) -> Self {
        SessionLocation {
            place: Place::Store(session),
        }
    }

    /// The path as messages show it. For a session in a store it ends with `#` and the session's id, unless the file has that name.
    pub fn path(&self) -> &Path {
        match &self.place {
            Place::File(candidate) => &candidate.path,
            Place::Store(session) => &session.name,
        }
    }

    /// The file that it is, or the store that contains it.
    pub fn container(&self) -> &Path {
        match &self.place {
            Place::File(candidate) => &candidate.path,
            Place::Store(session) => session.container(),
        }
    }

    /// Its id in the store; `None` for a file.
    pub fn id_in_store(&self) -> Option<&str> {
        match &self.place {
            Place::File(_) => None,
            Place::Store(session) => Some(&session.session.id),
        }
    }

    /// The id of these that it has in a store, or that its file's name ends with or its directory has.
    pub(super) fn id_among<'i>(&self, ids: &BTreeSet<&'i str>) -> Option<&'i str> {
        if ids.is_empty() {
            return None;
        }
        let path = match &self.place {
            Place::Store(session) => return ids.get(&*session.session.id).copied(),
            Place::File(candidate) => &candidate.path,
        };
        let name = path.file_name()?.to_str()?;
        let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
        let directory = path.parent().and_then(Path::file_name);
        // A name may have a time before the id.
        let uuid = stem
            .len()
            .checked_sub(UUID_BYTES)
            .and_then(|at| stem.get(at..));
        let names = [Some(stem), uuid, directory.and_then(OsStr::to_str)];
        names
            .into_iter()
            .flatten()
            .find_map(|name| ids.get(name).copied())
    }

    /// A name for a session of this adapter if its content has no id: the file's stem, behind the name of its directory for a file that
    /// each project has, or the id in the store.
    pub fn fallback_id(&self, registration: &Registration) -> String {
        match &self.place {
            Place::File(candidate) => {
                let path = candidate
                    .path
                    .canonicalize()
                    .unwrap_or_else(|_| candidate.path.clone());
                let name =
                    |name: Option<&OsStr>| name.map(|name| name.to_string_lossy().into_owned());
                let stem = name(candidate.path.file_stem()).unwrap_or_else(|| "session".to_owned());
                let project = name(path.parent().and_then(Path::file_name))
                    .filter(|_| registration.is_project_file(&stem));
                project.map_or_else(|| stem.clone(), |project| format!("{project}-{stem}"))
            }
            Place::Store(session) => session.session.id.clone(),
        }
    }

    /// True if the caller named this file or store; false if it was found in a directory. In a directory, files that are not sessions
    /// are expected.
    pub fn is_named(&self) -> bool {
        match &self.place {
            Place::File(candidate) => candidate.named,
            Place::Store(session) => session.named,
        }
    }

    /// Its size on disk, in bytes; for a session in a store, an equal share of the store's size.
    pub fn bytes(&self) -> u64 {
        match &self.place {
            Place::File(candidate) => candidate.bytes,
            Place::Store(session) => session.bytes,
        }
    }

    /// True for an empty file.
    pub fn is_empty(&self) -> bool {
        matches!(&self.place, Place::File(candidate) if candidate.bytes == 0)
    }

    /// The kind of store, for people; `None` for a file.
    pub fn store(&self) -> Option<&'static str> {
        match &self.place {
            Place::Store(session) => Some(session.kind),
            Place::File(_) => None,
        }
    }

    /// The adapter that opened the store that contains it; `None` for a file.
    pub(super) fn stored_by(&self) -> Option<&'static Registration> {
        match &self.place {
            Place::File(_) => None,
            Place::Store(session) => Some(session.registration),
        }
    }

    /// The place as the forms of a harness see it.
    pub(super) fn form_place(&self) -> FormPlace<'_> {
        match &self.place {
            Place::File(candidate) => FormPlace::File(&candidate.path),
            Place::Store(session) => FormPlace::Stored(session.kind, &session.session),
        }
    }

    /// False if another adapter opened the store that contains it.
    pub(super) fn may_be_of(&self, adapter: &Registration) -> bool {
        match &self.place {
            Place::File(_) => true,
            Place::Store(session) => session.registration.id() == adapter.id(),
        }
    }

    /// Notes that the same location was found again.
    pub(super) fn name_again(&mut self, again: &SessionLocation) {
        match (&mut self.place, &again.place) {
            (Place::File(known), Place::File(again)) => known.named |= again.named,
            (Place::Store(known), Place::Store(again)) => known.named |= again.named,
            _ => {}
        }
    }

    /// Opens the session and finds out which harness wrote it.
    ///
    /// # Errors
    /// `unknown_harness` if it is not a session that an adapter of the options recognises; other errors of detection, of the file
    /// system and of the store. All with the path.
    pub fn open(&self, options: &SessionOptions) -> Result<SessionSource, AdapterError> {
        self.opened(None, options)
    }

    /// As [`SessionLocation::open`], and writes the text that is converted to `copy` while it is read: the file, decompressed, or the
    /// export of a session in a store. The copy is complete when the session is converted.
    ///
    /// A log or a store that is in use changes between two readings. Only the copy is what the tape was made from.
    ///
    /// # Errors
    /// As [`SessionLocation::open`].
    pub fn open_with_copy(
        &self,
        copy: impl Write + Send + 'static,
        options: &SessionOptions,
    ) -> Result<SessionSource, AdapterError> {
        self.opened(Some(Box::new(copy)), options)
    }

    fn opened(
        &self,
        copy: Option<BoxedCopy>,
        options: &SessionOptions,
    ) -> Result<SessionSource, AdapterError> {
        let policy = match &self.place {
            Place::File(_) => options.policy,
            // No policy converts a session that its store cannot export.
            Place::Store(_) => Policy::Permissive,
        };
        let named_path =
            |error: AdapterError| error.path(self.path().to_string_lossy()).under(policy);
        let (reader, known) = self.reader(options).map_err(named_path)?;
        let side_info_path = match &self.place {
            Place::File(candidate) => Some(candidate.path.as_path()),
            Place::Store(_) => None,
        };
        let origin = Origin {
            path: self.path(),
            side_info_path,
            store: self.store(),
            known,
            is_named: self.is_named(),
            copy,
        };
        SessionSource::open(reader, origin, options)
    }

    /// The bytes as stored, and for a session in a store its adapter and what the rest of the store says about it.
    fn reader(
        &self,
        options: &SessionOptions,
    ) -> Result<(BoxedReader, Option<KnownAdapter>), AdapterError> {
        match &self.place {
            Place::File(candidate) => {
                let file = if candidate.named {
                    open::file(&candidate.path)
                } else {
                    open::found(&candidate.path)
                }?;
                Ok((
                    Box::new(Counted {
                        reader: file,
                        on_read: options.on_read.clone(),
                        first: FirstReading::default(),
                    }),
                    None,
                ))
            }
            Place::Store(session) => {
                if options
                    .adapter
                    .is_some_and(|adapter| adapter.id() != session.registration.id())
                {
                    return Err(AdapterError::new(ErrorCode::UnknownHarness).found(session.kind));
                }
                let export = session.export(&options.registry, options.limits)?;
                if let Some(on_read) = &options.on_read {
                    on_read(session.bytes);
                }
                Ok((
                    Box::new(Cursor::new(export.text.into_bytes())),
                    Some((session.registration, export.context)),
                ))
            }
        }
    }
}

impl fmt::Debug for SessionLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SessionLocation")
            .field(&self.path())
            .finish()
    }
}

/// Reports what is read for the first time.
struct Counted<R> {
    reader: R,
    on_read: Option<OnRead>,
    first: FirstReading,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        let before = self.first.advance(read);
        if let Some(on_read) = &self.on_read {
            on_read((read - before) as u64);
        }
        Ok(read)
    }
}

impl<R: Seek> Seek for Counted<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = self.reader.seek(to)?;
        self.first.go_to(position);
        Ok(position)
    }
}

impl<R: Source> Source for Counted<R> {
    fn may_have_changed(&mut self) -> bool {
        self.reader.may_have_changed()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::process::Command;

    use crate::sessions::{SessionFinder, SessionOptions};

    /// A search does not open pipes. This one takes the place of a log after the search has seen the log.
    #[test]
    fn a_pipe_in_the_place_of_a_log_that_was_found_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("1.jsonl");
        fs::write(&path, "{}\n").unwrap();
        let options = SessionOptions::default();
        let mut finder = SessionFinder::new(&options);
        finder.add(directory.path());
        let found = finder.finish().locations.remove(0).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        let error = found.open(&options).expect_err("a pipe is refused");
        assert_eq!(
            (error.code.as_str(), error.path.as_deref()),
            ("io", path.to_str())
        );
        assert!(error.to_string().contains("no regular file"), "{error}");
    }
}
