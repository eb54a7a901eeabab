//! What the commands that answer questions read: each session once, from its tape if that is current, else from its log.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use engram_adapters::sessions::SessionOptions;
use engram_command::filter::Filter;
use engram_command::homes;
use engram_command::inputs::SessionInput;
use engram_command::places;
use engram_command::report::Reporter;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::overview::Overview;
use engram_core::sink::EventSink;
use engram_core::tape::replay;
use serde::Serialize;

use crate::tape_dir::{Entry, Index, Key, Known, Setup, State, is_missing, source_of};
use crate::tapes::{open_tape, tape_error, tapes_among, tapes_in};

/// Whether a session has a tape that is as new as the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TapeState {
    /// It has.
    Current,
    /// Its tape is older than the log, or was made by another version.
    Old,
    /// It has none.
    None,
    /// It has, and its log is gone.
    LogGone,
    /// It is a tape itself.
    Itself,
    /// It has neither a tape nor a log: only what was typed in it is left.
    Lost,
}

/// Something to read.
#[derive(Clone)]
pub enum Item {
    /// A tape that the command line names.
    Tape(PathBuf),
    /// A tape that the index knows.
    Indexed {
        tape: PathBuf,
        entry: Box<Entry>,
        state: TapeState,
    },
    /// A log, or a session of a store.
    Session(SessionInput, TapeState),
}

/// What a command asks for.
pub struct Request<'r> {
    /// The paths on the command line; without any, the homes of all harnesses and the tapes of sessions that are gone.
    pub paths: &'r [PathBuf],
    /// The directory of tapes on the command line.
    pub tapes: Option<&'r Path>,
    /// Which sessions are wanted.
    pub filter: &'r Filter,
    /// Whether the tape of a session may stand for its log.
    pub tapes_count: TapesCount,
}

/// Whether the tape of a session may stand for its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TapesCount {
    /// Where it is current.
    WhereCurrent,
    /// Never: the log is converted as the command line says.
    Never,
}

/// Everything to read, and where it was looked for.
pub struct Reading {
    pub items: Vec<Result<Item, AdapterError>>,
    pub paths: Vec<PathBuf>,
}

/// Whether an item was read, or is not wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    All,
    LeftOut,
}

/// Finds everything to read.
///
/// # Errors
/// If the index of the tapes cannot be read.
pub fn find(
    request: &Request<'_>,
    options: &SessionOptions,
    report: &Reporter,
) -> Result<Reading, AdapterError> {
    if let Some(other) = request.tapes.filter(|tapes| !tapes.is_dir()) {
        let (code, found) = match other.exists() {
            true => (ErrorCode::Io, "a file"),
            false => (ErrorCode::NotFound, "nothing"),
        };
        return Err(AdapterError::new(code)
            .expected("a directory of tapes (`--tapes`)")
            .found(found)
            .path(other.to_string_lossy()));
    }
    let root = request
        .tapes
        .map(Path::to_owned)
        .or_else(places::tapes_dir)
        .filter(|_| request.tapes_count == TapesCount::WhereCurrent);
    let index = root.as_deref().map(Index::load).transpose();
    let at_root = |error| {
        AdapterError::from(error).path(root.as_deref().unwrap_or(Path::new("")).to_string_lossy())
    };
    let index = index.map_err(at_root)?.unwrap_or_default();
    let root = root.unwrap_or_default();
    // Tapes answer where no harness has a home any more.
    let quiet = report.silenced();
    let has_tapes = index.entries().next().is_some() && !report.is_verbose();
    let said = if has_tapes { &quiet } else { report };
    let paths = homes::paths(request.paths, options.registry(), said);
    let (tapes, others) = tapes_among(&paths, current_tapes_in);
    // The options of the conversion do not change what is read.
    let setup = Setup::new(options.registry(), String::new());
    let known = Known {
        index: &index,
        root: &root,
        registry: options.registry(),
        setup: &setup,
        wants: &|session| request.filter.wants(session),
        named: HashSet::new(),
        changed: RefCell::default(),
        found: RefCell::default(),
    };
    let found = known.find(&others, options);
    found.note(report);
    let mut items: Vec<_> = tapes.into_iter().map(|tape| tape.map(Item::Tape)).collect();
    let mut used = HashSet::new();
    let indexed = |entry: &Entry, state: TapeState, used: &mut HashSet<PathBuf>| {
        let tape = root.join(entry.tape.as_ref()?);
        let item = Item::Indexed {
            tape: tape.clone(),
            entry: Box::new(entry.clone()),
            state,
        };
        (tape.is_file() && used.insert(tape)).then_some(Ok(item))
    };
    for source in found.unchanged.iter().filter_map(|path| source_of(path)) {
        let current = index
            .of_source(&source)
            .filter(|entry| entry.state == State::Current);
        items.extend(current.filter_map(|entry| indexed(entry, TapeState::Current, &mut used)));
    }
    let key = |input: &SessionInput| {
        input
            .container()
            .and_then(source_of)
            .map(|source| (source, input.id_in_store()))
    };
    let converted: HashSet<Key> = found.sessions.iter().flatten().filter_map(key).collect();
    if request.paths.is_empty() {
        let others = index
            .entries()
            .filter(|entry| entry.tape.is_some() && !converted.contains(&entry.key()));
        items.extend(others.filter_map(|entry| indexed(entry, state_of(entry, &known), &mut used)));
    }
    items.extend(found.sessions.into_iter().map(|input| {
        let input = input?;
        let has_tape = key(&input)
            .and_then(|key| index.get(&key))
            .is_some_and(|entry| entry.tape.is_some());
        Ok(Item::Session(
            input,
            if has_tape {
                TapeState::Old
            } else {
                TapeState::None
            },
        ))
    }));
    Ok(Reading { items, paths })
}

/// The state of a session that was not found where the command looked.
fn state_of(entry: &Entry, known: &Known<'_>) -> TapeState {
    let source = Path::new(&entry.source);
    match entry.state {
        State::Gone => TapeState::LogGone,
        _ if is_missing(source) => TapeState::LogGone,
        _ if known.is_unchanged(source) => TapeState::Current,
        _ => TapeState::Old,
    }
}

/// The tapes in a directory without those that newer ones of the same sources supersede. Their events are on both.
fn current_tapes_in(directory: &Path) -> Vec<Result<PathBuf, AdapterError>> {
    let index = Index::load(directory).unwrap_or_default();
    let older: HashSet<PathBuf> = index
        .superseded()
        .map(|tape| directory.join(tape))
        .collect();
    tapes_in(directory)
        .into_iter()
        .filter(|tape| tape.as_ref().map_or(true, |tape| !older.contains(tape)))
        .collect()
}

impl Item {
    /// True for a file in a searched directory: it need not be a session.
    pub fn is_found(&self) -> bool {
        matches!(self, Item::Session(input, _) if !input.is_named())
    }

    /// How many bytes of logs must be read.
    pub fn bytes(&self) -> u64 {
        match self {
            Item::Tape(_) | Item::Indexed { .. } => 0,
            Item::Session(input, _) => input.bytes(),
        }
    }

    /// The log or tape.
    pub fn path(&self) -> PathBuf {
        match self {
            Item::Tape(path) => path.clone(),
            Item::Indexed { entry, .. } => {
                let id = entry
                    .session
                    .as_deref()
                    .map(|id| format!("#{id}"))
                    .unwrap_or_default();
                format!("{}{id}", entry.source).into()
            }
            Item::Session(input, _) => input.path().to_owned(),
        }
    }

    /// Whether there is a current tape.
    pub fn state(&self) -> TapeState {
        match self {
            Item::Tape(_) => TapeState::Itself,
            Item::Indexed { state, .. } | Item::Session(_, state) => *state,
        }
    }

    /// What the index knows.
    pub fn overview(&self) -> Option<&Overview> {
        match self {
            Item::Indexed { entry, .. } => entry.overview.as_ref(),
            Item::Tape(_) | Item::Session(..) => None,
        }
    }

    /// Sends the events to `sink`, unless the harness is not wanted.
    ///
    /// # Errors
    /// Those of reading and conversion, with the path.
    pub fn send(
        &self,
        options: &SessionOptions,
        filter: &Filter,
        sink: &mut dyn EventSink,
    ) -> Result<Sent, AdapterError> {
        let tape = match self {
            Item::Tape(tape) | Item::Indexed { tape, .. } => tape,
            Item::Session(input, _) => {
                let at_path = |error: AdapterError| {
                    if error.path.is_some() {
                        error
                    } else {
                        error.path(input.path().to_string_lossy())
                    }
                };
                let source = input.open(options).map_err(at_path)?;
                if !filter.wants_harness(source.harness()) {
                    return Ok(Sent::LeftOut);
                }
                return source.convert(sink).map(|_| Sent::All).map_err(at_path);
            }
        };
        if self
            .overview()
            .is_some_and(|overview| !filter.wants_harness(&overview.harness))
        {
            return Ok(Sent::LeftOut);
        }
        let read = open_tape(tape).and_then(|tape| replay(tape, sink));
        read.map(|()| Sent::All)
            .map_err(|error| tape_error(tape, error))
    }
}
