//! One open session: which harness wrote it, and its conversion to a tape.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};

use engram_core::adapter::{Evidence, Framing, Identity, SideInfo, StreamAdapter};
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::head::Head;
use engram_core::pipeline::{
    Chosen, Input, Options, Reader, Source, Spool, Summary, convert_chosen,
};
use engram_core::sink::EventSink;
use engram_core::tape::replay;
use engram_core::version::{Revision, Support};

use super::options::SessionOptions;
use crate::open::{self, Content, FirstReading};
use crate::registration::{AdapterForm, Registration};
use crate::registry::Registry;
use crate::shared::remembered::absolute;
use crate::text_only::{self, Converted};

/// Any source of bytes.
pub(super) type BoxedReader = Box<dyn Source + Send>;

/// Takes a copy of the text that is converted.
pub(super) type BoxedCopy = Box<dyn Write + Send>;

/// The text of a session, which is copied while it is read.
type Text = Copied<Content<BoxedReader>>;

/// The adapter that opened a store, and what the rest of the store says about a session.
pub(super) type KnownAdapter = (&'static Registration, SideInfo);

/// A session whose harness is known. Holds the head of the log in memory, or the complete export of a session in a store.
pub struct SessionSource {
    path: PathBuf,
    store: Option<&'static str>,
    registration: &'static Registration,
    evidence: Option<Evidence>,
    identity: Identity,
    content: Prepared,
    options: Options,
}

/// What is left to do.
enum Prepared {
    Records(&'static dyn StreamAdapter, Box<Input<Reader<Text>>>),
    Tape(Box<Converted>),
}

/// Where an open session comes from.
pub(super) struct Origin<'o> {
    /// The path as messages show it.
    pub path: &'o Path,
    /// The file whose neighbours may state more about the session.
    pub side_info_path: Option<&'o Path>,
    pub store: Option<&'static str>,
    pub known: Option<KnownAdapter>,
    /// True if the caller named this session.
    pub is_named: bool,
    pub copy: Option<BoxedCopy>,
}

impl<'o> Origin<'o> {
    fn of_reader(path: &'o Path, copy: Option<BoxedCopy>) -> Self {
        Origin {
            path,
            side_info_path: None,
            store: None,
            known: None,
            is_named: true,
            copy,
        }
    }
}

impl SessionSource {
    /// Opens a session from a reader, which may be compressed. `name` is its path in messages; nothing is read from there.
    ///
    /// # Errors
    /// As [`super::SessionLocation::open`].
    ///
    /// ```
    /// use engram_adapters::sessions::{SessionOptions, SessionSource};
    ///
    /// let error = SessionSource::from_reader(&b"hello\n"[..], "-".as_ref(), &SessionOptions::default()).unwrap_err();
    /// assert_eq!(error.code.as_str(), "unknown_harness");
    /// ```
    pub fn from_reader(
        reader: impl Read + Send + 'static,
        name: &Path,
        options: &SessionOptions,
    ) -> Result<Self, AdapterError> {
        SessionSource::open(
            Box::new(Spool::new(reader)),
            Origin::of_reader(name, None),
            options,
        )
    }

    /// As [`SessionSource::from_reader`], and writes the text to `copy` while it is read. See
    /// [`SessionLocation::open_with_copy`](super::SessionLocation::open_with_copy).
    ///
    /// # Errors
    /// As [`SessionSource::from_reader`].
    pub fn from_reader_with_copy(
        reader: impl Read + Send + 'static,
        copy: impl Write + Send + 'static,
        name: &Path,
        options: &SessionOptions,
    ) -> Result<Self, AdapterError> {
        SessionSource::open(
            Box::new(Spool::new(reader)),
            Origin::of_reader(name, Some(Box::new(copy))),
            options,
        )
    }

    pub(super) fn open(
        reader: BoxedReader,
        origin: Origin<'_>,
        options: &SessionOptions,
    ) -> Result<Self, AdapterError> {
        let path = origin.path;
        Self::opened(reader, origin, options)
            .map_err(|error| error.path(path.to_string_lossy()).under(options.policy))
    }

    fn opened(
        reader: BoxedReader,
        mut origin: Origin<'_>,
        options: &SessionOptions,
    ) -> Result<Self, AdapterError> {
        let mut content = open::rewinding(reader)?;
        if origin.known.is_none() {
            let forms = options
                .registry
                .adapters()
                .filter_map(|registration| registration.store_opener().text_form);
            content = open::text::opened(content, forms, options.limits)?;
        }
        let text = Copied {
            reader: content,
            copy: origin.copy.take(),
            first: FirstReading::default(),
        };
        let mut input = Input::of_source(text, options.limits);
        let known = origin.known.as_ref().map(|(registration, _)| *registration);
        let head = input.head()?;
        let chosen = match known {
            Some(registration) => Ok((registration, registration.probe(&head))),
            None => choose(&head, options, &origin).map_err(|error| match error.code {
                ErrorCode::UnknownHarness if !head.is_blank() => {
                    with_harness_of_place(error, &head, origin.path, options)
                }
                _ => error,
            }),
        };
        let (registration, evidence) = match chosen {
            Ok(chosen) => chosen,
            Err(error) => return SessionSource::unrecognised(input, error, origin, options),
        };
        let Some(adapter) = registration.stream() else {
            return SessionSource::text_only(registration, input, origin, options);
        };
        let identity = adapter.identify(&head);
        let context = match (origin.known, origin.side_info_path) {
            (Some((_, context)), _) => context,
            (None, Some(path)) => registration.side_info(path, &head, &identity),
            (None, None) => SideInfo::default(),
        };
        let identity = context.complete(identity);
        Ok(SessionSource {
            path: origin.path.to_owned(),
            store: origin.store,
            registration,
            evidence,
            identity,
            content: Prepared::Records(adapter, Box::new(input)),
            options: Options {
                policy: options.policy,
                limits: options.limits,
                span_text: options.span_text,
                context,
            },
        })
    }

    /// No streaming adapter recognises the content: adapters that convert complete texts may.
    fn unrecognised(
        mut input: Input<Reader<Text>>,
        error: AdapterError,
        origin: Origin<'_>,
        options: &SessionOptions,
    ) -> Result<Self, AdapterError> {
        // A head that is cut off proves nothing, but the reason is not that it is another kind of file.
        if let Some(reason) = input
            .truncation_reason()
            .filter(|_| error.code == ErrorCode::UnknownHarness)
        {
            return Err(AdapterError::new(ErrorCode::TruncatedInput)
                .expected("the whole artifact")
                .found(reason));
        }
        if options.adapter.is_some() {
            return Err(error);
        }
        let converted = text_only::convert(&options.registry, &mut input, error)?;
        Ok(SessionSource::converted(converted, origin, options))
    }

    /// Converts the whole text by an adapter that somebody named and that cannot read a stream.
    fn text_only(
        registration: &'static Registration,
        mut input: Input<Reader<Text>>,
        origin: Origin<'_>,
        options: &SessionOptions,
    ) -> Result<Self, AdapterError> {
        let AdapterForm::Text(adapter) = registration.form() else {
            return Err(AdapterError::new(ErrorCode::AdapterDefect));
        };
        let converted = text_only::convert_named(registration, adapter, &mut input)?;
        Ok(SessionSource::converted(converted, origin, options))
    }

    fn converted(converted: Converted, origin: Origin<'_>, options: &SessionOptions) -> Self {
        let summary = &converted.summary;
        let identity = Identity {
            version: summary.version.clone(),
            schema: summary.schema,
            session_id: summary.session_id.clone(),
            agent_id: summary.agent_id.clone(),
            ..Identity::default()
        };
        SessionSource {
            path: origin.path.to_owned(),
            store: origin.store,
            registration: converted.registration,
            evidence: None,
            identity,
            content: Prepared::Tape(Box::new(converted)),
            options: Options {
                policy: options.policy,
                limits: options.limits,
                ..Options::default()
            },
        }
    }

    /// The path as messages show it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kind of store that contains it, for people; `None` for a file or a reader.
    pub fn store(&self) -> Option<&'static str> {
        self.store
    }

    /// The adapter that converts it.
    pub fn registration(&self) -> &'static Registration {
        self.registration
    }

    /// The harness that wrote it.
    pub fn harness(&self) -> &'static str {
        let of_adapter = self.registration.descriptor().harness_family;
        self.identity.family.unwrap_or(of_adapter)
    }

    /// The proof that the harness wrote it; `None` if the caller chose the adapter and the content does not prove it.
    pub fn evidence(&self) -> Option<&Evidence> {
        self.evidence.as_ref()
    }

    /// What the head says about version, schema, session and start.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// How the content is divided into records: as lines, if the content does not prove anything else.
    pub fn framing(&self) -> Framing {
        self.evidence
            .as_ref()
            .map_or(Framing::Lines, |evidence| evidence.framing)
    }

    /// The session's id, if the head says it.
    pub fn session_id(&self) -> Option<&str> {
        self.identity.session_id.as_deref()
    }

    /// The session that started this one, if the files around it state one.
    pub fn parent_session_id(&self) -> Option<&str> {
        self.options.context.parent_session_id.as_deref()
    }

    /// The side files that were read so far, and the directories of those that the conversion may read, as absolute paths.
    pub(super) fn beside(&self) -> Vec<PathBuf> {
        let Some(side_files) = &self.options.context.side_files else {
            return Vec::new();
        };
        let read = side_files.files_read().into_iter().map(|file| file.name);
        let directory = self.path.parent().unwrap_or(Path::new(""));
        read.chain(side_files.directories())
            .map(|name| plain(&directory.join(name)))
            .collect()
    }

    /// The revision of its schema, and how well its version is known.
    pub fn revision(&self) -> (Option<&'static Revision>, Support) {
        let (revision, support) = self
            .registration
            .descriptor()
            .matrix
            .identify(&self.identity);
        (
            revision,
            if self.options.context.unknown_schema {
                Support::Unknown
            } else {
                support
            },
        )
    }

    /// Converts the session. [`JsonLines`](engram_core::tape::JsonLines) is the sink that writes a tape; it may contain part of one if
    /// this fails.
    ///
    /// # Errors
    /// Those of the conversion and of the sink, with the session's path.
    pub fn convert(self, sink: &mut dyn EventSink) -> Result<Summary, AdapterError> {
        let framing = self.framing();
        let converted = match self.content {
            Prepared::Records(adapter, input) => {
                let identity = self.identity;
                let chosen = Chosen {
                    adapter,
                    framing,
                    identity,
                };
                convert_chosen(*input, &self.options, sink, |_| Ok(chosen))
            }
            Prepared::Tape(converted) => replay(converted.tape.as_bytes(), sink)
                .map(|()| converted.summary)
                .map_err(AdapterError::from),
        };
        converted.map_err(|error| error.path(self.path.to_string_lossy()))
    }
}

/// An absolute path without `..`, whether it is there or not.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in absolute(path).components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// Copies what is read for the first time.
struct Copied<R> {
    reader: R,
    copy: Option<BoxedCopy>,
    first: FirstReading,
}

impl<R: Read> Read for Copied<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        let before = self.first.advance(read);
        if let Some(copy) = &mut self.copy {
            copy.write_all(&buffer[before..read])?;
        }
        Ok(read)
    }
}

impl<R: Seek> Seek for Copied<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = self.reader.seek(to)?;
        self.first.go_to(position);
        Ok(position)
    }
}

impl<R: Source> Source for Copied<R> {
    fn may_have_changed(&mut self) -> bool {
        self.reader.may_have_changed()
    }
}

impl fmt::Debug for SessionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionSource")
            .field("path", &self.path)
            .field("registration", &self.registration)
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

/// The error for a file that no adapter recognises, with the harness that keeps its sessions in such files. A file of state alone is no
/// session, and its error names no harness.
#[cold]
fn with_harness_of_place(
    mut error: AdapterError,
    head: &Head<'_>,
    path: &Path,
    options: &SessionOptions,
) -> AdapterError {
    let mut adapters = options.registry.adapters().filter(|adapter| {
        options
            .adapter
            .is_none_or(|wanted| wanted.id() == adapter.id())
    });
    let adapter = adapters.find(|adapter| {
        adapter
            .session_files()
            .iter()
            .any(|file| file.matches(path))
    });
    error.harness = adapter
        .filter(|adapter| !adapter.is_state(head))
        .map(|adapter| adapter.descriptor().harness_family);
    error
}

/// The adapter that recognises the content. If the options name an adapter: that one, if it recognises the content or the caller
/// named the file.
fn choose(
    head: &Head<'_>,
    options: &SessionOptions,
    origin: &Origin<'_>,
) -> Result<(&'static Registration, Option<Evidence>), AdapterError> {
    let Some(registration) = options.adapter else {
        let (registration, evidence) = options.registry.detect(head)?;
        return match !origin.is_named && is_copied(registration, origin.path, &options.registry) {
            true => Err(AdapterError::new(ErrorCode::UnknownHarness)),
            false => Ok((registration, Some(evidence))),
        };
    };
    match registration.probe(head) {
        None if !origin.is_named => Err(AdapterError::new(ErrorCode::UnknownHarness)),
        evidence => Ok((registration, evidence)),
    }
}

/// True for a file that each project of a harness has, in the home of another harness: a fork of the first writes such files beside its sessions.
fn is_copied(registration: &Registration, path: &Path, registry: &Registry) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    if !registration.is_project_file(&stem) {
        return false;
    }
    let owner = |name| {
        let mut adapters = registry.adapters();
        adapters.find(|adapter| adapter.homes().iter().any(|home| home.is_own(name)))
    };
    let mut above = path.ancestors().skip(1).filter_map(Path::file_name);
    above
        .find_map(owner)
        .is_some_and(|owner| owner.id() != registration.id())
}

#[cfg(all(test, feature = "gemini", feature = "qwen"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_a_fork_writes_as_well_is_not_of_the_harness() {
        let registry = Registry::builtin();
        let gemini = registry.by_id("gemini").unwrap();
        let is_copied = |path: &str| is_copied(gemini, Path::new(path), &registry);
        assert!(is_copied("/h/.qwen/tmp/0c/logs.json"));
        assert!(!is_copied("/h/.gemini/tmp/0c/logs.json"));
        assert!(!is_copied("/h/.qwen/old/.gemini/tmp/0c/logs.json"));
        assert!(!is_copied("/h/.qwen/session-1.json") && !is_copied("/h/logs.json"));
    }
}
