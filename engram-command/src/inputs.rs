//! What the command line names: standard input, or the sessions that the library finds at a path.

use std::borrow::Cow;
use std::io::{Write, stdin};
use std::path::{Path, PathBuf};

use engram_adapters::open::store::{LostRecords, SkippedSession};
use engram_adapters::sessions::{
    FoundSessions, OtherForm, SessionFinder, SessionLocation, SessionOptions, SessionSource,
};
use engram_adapters::{Registration, Registry};
use engram_core::error::{AdapterError, ErrorCode};
use indicatif::ProgressBar;

use crate::conversion::Conversion;
use crate::report::Reporter;
use crate::summary::{count, lost_line, other_form_line};

/// One possible session.
#[derive(Clone)]
pub enum SessionInput {
    /// Standard input.
    Stdin,
    /// A file, or a session in a store.
    At(SessionLocation),
}

impl SessionInput {
    /// The path as messages show it.
    pub fn path(&self) -> &Path {
        match self {
            SessionInput::Stdin => Path::new("-"),
            SessionInput::At(location) => location.path(),
        }
    }

    /// True if the caller named it; false if it was found in a directory.
    pub fn is_named(&self) -> bool {
        match self {
            SessionInput::Stdin => true,
            SessionInput::At(location) => location.is_named(),
        }
    }

    /// The file that it is, or the store that contains it.
    pub fn container(&self) -> Option<&Path> {
        match self {
            SessionInput::Stdin => None,
            SessionInput::At(location) => Some(location.container()),
        }
    }

    /// Its id in the store; `None` for a file.
    pub fn id_in_store(&self) -> Option<String> {
        match self {
            SessionInput::Stdin => None,
            SessionInput::At(location) => location.id_in_store().map(str::to_owned),
        }
    }

    /// Its size on disk, if it has one.
    pub fn bytes(&self) -> u64 {
        match self {
            SessionInput::Stdin => 0,
            SessionInput::At(location) => location.bytes(),
        }
    }

    /// The name of the tape if the content, which this adapter converts, has no session id.
    pub fn fallback_id(&self, registration: &Registration) -> Cow<'static, str> {
        match self {
            SessionInput::Stdin => "stdin".into(),
            SessionInput::At(location) => location.fallback_id(registration).into(),
        }
    }

    /// Opens it and finds out which harness wrote it.
    ///
    /// # Errors
    /// As [`SessionLocation::open`].
    pub fn open(&self, options: &SessionOptions) -> Result<SessionSource, AdapterError> {
        match self {
            SessionInput::Stdin => SessionSource::from_reader(stdin(), self.path(), options),
            SessionInput::At(location) => location.open(options),
        }
    }

    /// As [`SessionInput::open`], and writes the text that is converted to `copy` while it is read.
    ///
    /// # Errors
    /// As [`SessionInput::open`].
    pub fn open_with_copy(
        &self,
        copy: impl Write + Send + 'static,
        options: &SessionOptions,
    ) -> Result<SessionSource, AdapterError> {
        match self {
            SessionInput::Stdin => {
                SessionSource::from_reader_with_copy(stdin(), copy, self.path(), options)
            }
            SessionInput::At(location) => location.open_with_copy(copy, options),
        }
    }
}

/// True for the error of a file that is not a session. If it is where a harness keeps its sessions, it is one that cannot be read.
pub fn is_no_session(error: &AdapterError) -> bool {
    error.code == ErrorCode::UnknownHarness && error.harness.is_none()
}

/// Everything that the command line names.
pub struct Inputs {
    /// Possible sessions, each once, in the order in which they were first found.
    pub sessions: Vec<Result<SessionInput, AdapterError>>,
    /// Sessions in stores that are not converted.
    pub skipped: Vec<SkippedSession>,
    /// Records of stores that no session has.
    pub lost: Vec<LostRecords>,
    /// Links out of the searched directories. They are not followed.
    pub links_out: Vec<PathBuf>,
    /// Other forms of sessions.
    pub other_forms: Vec<OtherForm>,
    /// Files and stores that were not opened, because they have not changed.
    pub unchanged: Vec<PathBuf>,
}

impl Inputs {
    /// Prints what stores have lost, which forms of sessions are skipped, and which are converted beside another one.
    pub fn note(&self, report: &Reporter) {
        self.lost
            .iter()
            .for_each(|lost| report.note(&format!("warning     {}", lost_line(lost))));
        self.other_forms
            .iter()
            .for_each(|other| report.detail(&other_form_line(other)));
        let skipped = self
            .other_forms
            .iter()
            .filter(|other| other.is_skipped)
            .count() as u64;
        if skipped > 0 && !report.is_verbose() {
            let forms = count(skipped, "other form");
            report.note(&format!("skipped     {forms} of sessions that are read in the form that says most (`-v` lists them)"));
        }
    }
}

/// Finds the sessions at these paths; `-` is standard input.
pub fn find(paths: &[PathBuf], options: &SessionOptions) -> Inputs {
    find_with(paths, SessionFinder::new(options), |_| ())
}

/// As [`find`], with a finder. `at_end` may open more with it, when all paths were looked at.
pub fn find_with<'f>(
    paths: &[PathBuf],
    mut finder: SessionFinder<'f>,
    at_end: impl FnOnce(&mut SessionFinder<'f>),
) -> Inputs {
    let mut stdin_at = None;
    for path in paths {
        if path.as_os_str() == "-" {
            stdin_at.get_or_insert(finder.count());
        } else {
            finder.add(path);
        }
    }
    at_end(&mut finder);
    let FoundSessions {
        locations,
        skipped,
        lost,
        other_forms,
        mut links_out,
        unchanged,
        ..
    } = finder.finish();
    links_out.retain(|link| !paths.contains(link));
    let mut sessions: Vec<_> = locations
        .into_iter()
        .map(|location| location.map(SessionInput::At))
        .collect();
    if let Some(index) = stdin_at {
        sessions.insert(index, Ok(SessionInput::Stdin));
    }
    Inputs {
        sessions,
        skipped,
        lost,
        other_forms,
        links_out,
        unchanged,
    }
}

/// The options that the command line asks for.
///
/// # Errors
/// `unknown_adapter`.
pub fn session_options(
    conversion: &Conversion,
    registry: &Registry,
    bar: &ProgressBar,
) -> Result<SessionOptions, AdapterError> {
    let bar = bar.clone();
    let options = SessionOptions::default()
        .with_registry(registry.clone())
        .with_policy(conversion.policy)
        .with_limits(conversion.limits())
        .with_progress(move |bytes| bar.inc(bytes));
    let options = if conversion.every_form {
        options.with_every_form()
    } else {
        options
    };
    with_adapter(options, conversion.adapter.as_deref())
}

/// The options with the adapter of this id, if one is given.
///
/// # Errors
/// `unknown_adapter`.
pub fn with_adapter(
    options: SessionOptions,
    id: Option<&str>,
) -> Result<SessionOptions, AdapterError> {
    match id {
        Some(id) => {
            let adapter = options.registry().by_id(id)?;
            Ok(options.with_adapter(adapter))
        }
        None => Ok(options),
    }
}
