//! One artifact: where it comes from, whose it is, and its way to a tape.

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write, stdin};
use std::path::{Path, PathBuf};

use engram_adapters::open::{self, Candidate, Content};
use engram_adapters::{Entry, by_id, detect};
use engram_core::adapter::{Context, Evidence, Identity};
use engram_core::drive::{Input, Options, Summary, convert};
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::head::Head;
use engram_core::limits::Limits;
use engram_core::policy::Policy;
use engram_core::version::{Revision, Support};
use indicatif::ProgressBar;

use crate::args::Conversion;

/// Where an artifact comes from.
#[derive(Debug, Clone)]
pub enum Artifact {
    /// Standard input.
    Stdin,
    /// A file.
    File(Candidate),
}

impl Artifact {
    /// The path, as errors name it.
    pub fn path(&self) -> &Path {
        match self {
            Artifact::Stdin => Path::new("-"),
            Artifact::File(candidate) => &candidate.path,
        }
    }

    /// True when the caller asked for this very artifact.
    pub fn is_named(&self) -> bool {
        match self {
            Artifact::Stdin => true,
            Artifact::File(candidate) => candidate.named,
        }
    }

    /// Its size on disk, where it has one.
    pub fn bytes(&self) -> u64 {
        match self {
            Artifact::Stdin => 0,
            Artifact::File(candidate) => candidate.bytes,
        }
    }
}

/// The artifacts at these paths, each once however often it is reached, in the order in which it is first reached.
pub fn artifacts(paths: &[PathBuf]) -> Vec<Result<Artifact, AdapterError>> {
    let mut found: Vec<Result<Artifact, AdapterError>> = Vec::new();
    let mut places: HashMap<PathBuf, usize> = HashMap::new();
    for path in paths {
        if path.as_os_str() == "-" {
            if places.insert(path.clone(), found.len()).is_none() {
                found.push(Ok(Artifact::Stdin));
            }
            continue;
        }
        for candidate in open::discover(path) {
            let real = candidate.as_ref().ok().and_then(|candidate| fs::canonicalize(&candidate.path).ok());
            match (real.as_ref().and_then(|real| places.get(real)).and_then(|place| found.get_mut(*place)), candidate) {
                (Some(Ok(Artifact::File(known))), Ok(again)) => known.named |= again.named,
                (_, candidate) => {
                    places.extend(real.map(|real| (real, found.len())));
                    found.push(candidate.map(Artifact::File));
                }
            }
        }
    }
    found
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
        let limits = Limits { record_bytes: conversion.max_record_bytes, ..Limits::default() };
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
        self.opened(artifact).map_err(|error| error.path(artifact.path().to_string_lossy()))
    }

    fn opened(&self, artifact: &Artifact) -> Result<Opened, AdapterError> {
        let reader: Box<dyn Read + Send> = match artifact {
            Artifact::Stdin => Box::new(stdin()),
            Artifact::File(candidate) => Box::new(self.bar.wrap_read(open::file(&candidate.path)?)),
        };
        let mut input = Input::new(open::content(reader)?, self.limits);
        let head = input.head()?;
        let (entry, evidence) = match self.choose(&head, artifact.is_named()) {
            Err(error) if error.code == ErrorCode::UnknownHarness => return Err(cut_off(&input).unwrap_or(error)),
            chosen => chosen?,
        };
        let context = match artifact {
            Artifact::Stdin => Context::default(),
            Artifact::File(candidate) => (entry.surroundings)(&candidate.path, &head),
        };
        let identity = entry.adapter.identify(&head);
        Ok(Opened { path: artifact.path().to_owned(), entry, evidence, identity, input, context })
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

/// What is cut off in its head shows nothing, but that is not because it is no log.
fn cut_off<R: Read>(input: &Input<R>) -> Option<AdapterError> {
    input.cut_off().map(|reason| AdapterError::new(ErrorCode::TruncatedInput).expected("the whole artifact").found(reason))
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
    input: Input<Content<Box<dyn Read + Send>>>,
    context: Context,
}

impl Opened {
    /// The revision of its schema, and how well its version is known.
    pub fn revision(&self) -> (Option<&'static Revision>, Support) {
        self.entry.adapter.describe().matrix.identify(&self.identity)
    }

    /// Converts it. The sink may hold part of a tape when this fails.
    ///
    /// # Errors
    /// Those of the conversion, with the artifact's path.
    pub fn convert(self, way: &Way, sink: &mut dyn Write) -> Result<Summary, AdapterError> {
        let options = Options { policy: way.policy, limits: way.limits, context: self.context };
        convert(self.entry.adapter, self.input, &options, sink).map_err(|error| error.path(self.path.to_string_lossy()))
    }
}
