//! One artifact: where it comes from, whose it is, and its way to a tape.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{Cursor, Read, Write, stdin};
use std::path::{Path, PathBuf};

use engram_adapters::open::store::{LeftAside, StoredSession};
use engram_adapters::open::{self, Candidate, Content};
use engram_adapters::{Entry, by_id, detect};
use engram_core::adapter::{Evidence, Framing, Identity, SideInfo};
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::head::Head;
use engram_core::limits::Limits;
use engram_core::pipeline::{Input, Options, Reader, Summary, convert_chosen};
use engram_core::policy::Policy;
use engram_core::tape::JsonLines;
use engram_core::version::{Revision, Support};
use indicatif::ProgressBar;

use crate::args::Conversion;
use crate::stored::{self, Stored};

/// Where an artifact comes from.
#[derive(Clone)]
pub enum Artifact {
    /// Standard input.
    Stdin,
    /// A file.
    File(Candidate),
    /// A session of a store.
    Stored(Stored),
}

impl Artifact {
    /// The path, as messages name it.
    pub fn path(&self) -> &Path {
        match self {
            Artifact::Stdin => Path::new("-"),
            Artifact::File(candidate) => &candidate.path,
            Artifact::Stored(stored) => &stored.name,
        }
    }

    /// True when the caller asked for this very artifact.
    pub fn is_named(&self) -> bool {
        match self {
            Artifact::Stdin => true,
            Artifact::File(candidate) => candidate.named,
            Artifact::Stored(stored) => stored.named,
        }
    }

    /// Its size on disk, where it has one.
    pub fn bytes(&self) -> u64 {
        match self {
            Artifact::Stdin => 0,
            Artifact::File(candidate) => candidate.bytes,
            Artifact::Stored(stored) => stored.bytes,
        }
    }

    /// True for a file in which there is nothing.
    pub fn is_empty(&self) -> bool {
        matches!(self, Artifact::File(candidate) if candidate.bytes == 0)
    }

    /// The kind of store that it lies in, for people.
    pub fn store(&self) -> Option<&'static str> {
        match self {
            Artifact::Stored(stored) => Some(stored.kind),
            Artifact::Stdin | Artifact::File(_) => None,
        }
    }
}

/// What is to be converted.
#[derive(Default)]
pub struct Found {
    /// The artifacts, each once however often it is reached, in the order in which it is first reached.
    pub artifacts: Vec<Result<Artifact, AdapterError>>,
    /// Sessions of stores that are not converted: those that another copy of the session stands for.
    pub left_aside: Vec<LeftAside>,
    /// Where each artifact stands in the list, by its file and its id in that.
    places: HashMap<Place, usize>,
    stores: HashSet<PathBuf>,
}

/// A file, and the id of a session in it where it is a store.
type Place = (PathBuf, Option<String>);

/// The artifacts at these paths.
pub fn artifacts(paths: &[PathBuf], limits: Limits) -> Found {
    let mut found = Found::default();
    for path in paths {
        if path.as_os_str() == "-" {
            found.add(Some((path.clone(), None)), Artifact::Stdin);
            continue;
        }
        for candidate in open::discover(path) {
            match candidate {
                Ok(candidate) => found.add_candidate(candidate, limits),
                Err(error) => found.artifacts.push(Err(error)),
            }
        }
    }
    found
}

impl Found {
    fn add_candidate(&mut self, candidate: Candidate, limits: Limits) {
        let real = fs::canonicalize(&candidate.path).ok();
        let sessions = if candidate.may_be_store { stored::sessions(&candidate, limits) } else { Ok(None) };
        match sessions {
            Ok(Some(store)) => {
                for stored in store.sessions {
                    self.add(place(&stored.session), Artifact::Stored(stored));
                }
                // A store that is reached twice leaves the same sessions aside.
                if real.is_none_or(|real| self.stores.insert(real)) {
                    self.left_aside.extend(store.left_aside);
                }
            }
            Ok(None) => self.add(real.map(|real| (real, None)), Artifact::File(candidate)),
            Err(error) => self.artifacts.push(Err(error)),
        }
    }

    fn add(&mut self, place: Option<Place>, artifact: Artifact) {
        let known = place.as_ref().and_then(|place| self.places.get(place)).and_then(|place| self.artifacts.get_mut(*place));
        match (known, artifact) {
            (Some(Ok(Artifact::File(known))), Artifact::File(again)) => known.named |= again.named,
            (Some(Ok(Artifact::Stored(known))), Artifact::Stored(again)) => known.named |= again.named,
            (Some(Ok(Artifact::Stdin)), Artifact::Stdin) => {}
            (_, artifact) => {
                self.places.extend(place.map(|place| (place, self.artifacts.len())));
                self.artifacts.push(Ok(artifact));
            }
        }
    }
}

fn place(session: &StoredSession) -> Option<Place> {
    fs::canonicalize(&session.path).ok().map(|real| (real, Some(session.id.clone())))
}

/// How artifacts are opened and converted.
#[derive(Clone)]
pub struct Way {
    /// The adapter to use, if the caller named one.
    pub adapter: Option<&'static Entry>,
    /// What to do about the unknown.
    pub policy: Policy,
    /// Bounds.
    pub limits: Limits,
    /// Shows how far it is.
    pub bar: ProgressBar,
}

impl Way {
    /// The way that the command line asks for.
    ///
    /// # Errors
    /// `unknown_adapter`.
    pub fn new(conversion: &Conversion, bar: &ProgressBar) -> Result<Self, AdapterError> {
        let limits = conversion.limits();
        let adapter = conversion.adapter.as_deref().map(by_id).transpose()?;
        Ok(Way { adapter, policy: conversion.policy, limits, bar: bar.clone() })
    }

    /// The way for looking only.
    pub fn of_detection() -> Self {
        Way { adapter: None, policy: Policy::default(), limits: Limits::default(), bar: ProgressBar::hidden() }
    }

    /// Opens an artifact and finds out whose it is.
    ///
    /// # Errors
    /// Those of detection and of the file system, with the path.
    pub fn open(&self, artifact: &Artifact) -> Result<Opened, AdapterError> {
        self.opened(artifact).map_err(|error| error.path(artifact.path().to_string_lossy()).under(self.policy))
    }

    fn opened(&self, artifact: &Artifact) -> Result<Opened, AdapterError> {
        let source = self.source(artifact)?;
        let mut input = Input::new(source.content, self.limits);
        let head = input.head()?;
        let (entry, evidence) = match source.known {
            Some((entry, _)) => (entry, entry.adapter.probe(&head)),
            None => match self.choose(&head, artifact.is_named()) {
                Err(error) if error.code == ErrorCode::UnknownHarness => return Err(cut_off(input.truncation_reason()).unwrap_or(error)),
                chosen => chosen?,
            },
        };
        let context = match (source.known, artifact) {
            (Some((_, context)), _) => context,
            (None, Artifact::File(candidate)) => (entry.surroundings)(&candidate.path, &head),
            (None, _) => SideInfo::default(),
        };
        let identity = entry.adapter.identify(&head);
        Ok(Opened { path: artifact.path().to_owned(), entry, evidence, identity, input, context })
    }

    /// The text of an artifact: a file's own, or what a session of a store is exported into.
    ///
    /// # Errors
    /// Those of the file system and of the store.
    pub fn source(&self, artifact: &Artifact) -> Result<Source, AdapterError> {
        let (reader, known): (Box<dyn Read + Send>, _) = match artifact {
            Artifact::Stdin => (Box::new(stdin()), None),
            Artifact::File(candidate) => (Box::new(self.bar.wrap_read(open::file(&candidate.path)?)), None),
            Artifact::Stored(stored) => {
                let entry = by_id(stored.adapter_id)?;
                if self.adapter.is_some_and(|adapter| !std::ptr::eq(adapter, entry)) {
                    return Err(AdapterError::new(ErrorCode::UnknownHarness).found(stored.kind));
                }
                let export = stored.export()?;
                self.bar.inc(stored.bytes);
                (Box::new(Cursor::new(export.text.into_bytes())), Some((entry, export.context)))
            }
        };
        Ok(Source { content: open::content(reader)?, known })
    }

    /// The adapter that the content shows; or the one that was named, if the content shows it or the caller insists on the file.
    fn choose(&self, head: &Head<'_>, insists: bool) -> Result<(&'static Entry, Option<Evidence>), AdapterError> {
        let Some(entry) = self.adapter else {
            return detect(head).map(|(entry, evidence)| (entry, Some(evidence)));
        };
        match entry.adapter.probe(head) {
            None if !insists => Err(AdapterError::new(ErrorCode::UnknownHarness)),
            evidence => Ok((entry, evidence)),
        }
    }
}

/// The text of an artifact.
pub struct Source {
    /// Its bytes.
    pub content: Content<Box<dyn Read + Send>>,
    /// For a session of a store: the adapter that its opener names, and what the rest of the store says of it.
    known: Option<(&'static Entry, SideInfo)>,
}

/// What is cut off in its head shows nothing, but that is not because it is no log.
fn cut_off(reason: Option<&str>) -> Option<AdapterError> {
    reason.map(|reason| AdapterError::new(ErrorCode::TruncatedInput).expected("the whole artifact").found(reason))
}

/// An artifact whose harness is known.
pub struct Opened {
    path: PathBuf,
    /// Its adapter.
    pub entry: &'static Entry,
    /// What proves that it is the adapter's; none when the caller insisted.
    pub evidence: Option<Evidence>,
    /// What the head says.
    pub identity: Identity,
    input: Input<Reader<Content<Box<dyn Read + Send>>>>,
    context: SideInfo,
}

impl Opened {
    /// The revision of its schema, and how well its version is known.
    pub fn revision(&self) -> (Option<&'static Revision>, Support) {
        let (revision, support) = self.entry.adapter.describe().matrix.identify(&self.identity);
        (revision, if self.context.unknown_schema { Support::Unknown } else { support })
    }

    /// Converts it. The sink may hold part of a tape when this fails.
    ///
    /// # Errors
    /// Those of the conversion, with the artifact's path.
    pub fn convert(self, way: &Way, sink: &mut dyn Write) -> Result<Summary, AdapterError> {
        let options = Options { policy: way.policy, limits: way.limits, context: self.context };
        let framing = self.evidence.map_or(Framing::Lines, |evidence| evidence.framing);
        convert_chosen(self.input, &options, &mut JsonLines::new(sink), |_| Ok((self.entry.adapter, framing)))
            .map_err(|error| error.path(self.path.to_string_lossy()))
    }
}
