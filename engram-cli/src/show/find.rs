//! Finds the session that the command line names, and the places of its sub-agents.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use engram_adapters::sessions::SessionOptions;
use engram_command::inputs::find;
use engram_command::places;
use engram_core::error::{AdapterError, ErrorCode};

use super::args::Show;
use super::place::{Peek, Place};
use super::words::first_line;
use crate::tape_dir::{Entry, Index, tape_stem};
use crate::tapes::{is_tape, tapes_in};

/// Files beside a log or tape that are looked at for sub-agents.
const MAX_NEIGHBOURS: usize = 2000;

/// An index is in the directory of a tape or above it, by so many at most.
const INDEX_ABOVE: usize = 3;

/// Sessions that a message lists.
const LISTED: usize = 20;

/// Why there is nothing to show.
pub enum Refusal {
    Failed(AdapterError),
    /// Several sessions fit.
    Several(String),
    /// No session fits.
    Nothing(String),
}

/// A session, and the places of its sub-agents.
pub struct Family {
    pub root: Place,
    pub agents: Vec<Place>,
}

/// A place, and whose session it is.
#[derive(Clone)]
struct Known {
    place: Place,
    peek: Peek,
}

/// Finds what the arguments name as their target.
///
/// # Errors
/// If it is no session, or several are.
pub fn family(target: &PathBuf, args: &Show, options: &SessionOptions) -> Result<Family, Refusal> {
    if target.as_os_str() == "-" {
        return Ok(Family {
            root: Place::Stdin,
            agents: Vec::new(),
        });
    }
    if is_tape(target) {
        let tape = with_neighbours(Place::Tape(target.clone()), tapes_beside(target), options);
        return of_session(tape, args, options);
    }
    if !target.exists() {
        let prefix = target.to_string_lossy();
        let directory = args
            .tapes
            .clone()
            .or_else(places::tapes_dir)
            .unwrap_or_default();
        let found = chosen(
            known(tapes(&directory)?, options),
            Some(&prefix),
            "give more of the id",
        )?;
        return found.ok_or_else(|| {
            Refusal::Nothing(format!(
                "there is no file `{prefix}`, and {}",
                none_in(&directory, &prefix)
            ))
        });
    }
    let tapes = if target.is_dir() {
        tapes(target)?
    } else {
        Vec::new()
    };
    let places = if tapes.is_empty() {
        sessions(std::slice::from_ref(target), options)?
    } else {
        tapes
    };
    match &places[..] {
        [only] if target.is_file() => {
            let log = with_neighbours(only.clone(), sessions_beside(target, options), options);
            of_session(log, args, options)
        }
        _ => {
            let prefix = args.session.as_deref();
            let no_session = || {
                AdapterError::new(ErrorCode::UnknownHarness)
                    .expected("a session")
                    .path(target.to_string_lossy())
            };
            chosen(
                known(places, options),
                prefix,
                "choose one with `--session ID`",
            )?
            .ok_or_else(|| match prefix {
                Some(prefix) => Refusal::Nothing(none_in(target, prefix)),
                None => Refusal::Failed(no_session()),
            })
        }
    }
}

/// The session of a file, if it is the one that `--session` names.
fn of_session(family: Family, args: &Show, options: &SessionOptions) -> Result<Family, Refusal> {
    let Some(prefix) = args.session.as_deref() else {
        return Ok(family);
    };
    let id = family.root.peek(options).and_then(|peek| peek.session_id);
    match id.is_some_and(|id| id.starts_with(prefix)) {
        true => Ok(family),
        false => Err(Refusal::Nothing(none_in(family.root.path(), prefix))),
    }
}

/// Sessions with the names of their pages, and the directory for the pages.
pub type Pages<'a> = (Vec<(String, Family)>, &'a Path);

/// All sessions of a directory with the names of their pages, and the directory for the pages; `None` if one session is asked for.
///
/// # Errors
/// If there is no session.
pub fn several<'a>(
    target: &PathBuf,
    args: &'a Show,
    options: &SessionOptions,
) -> Result<Option<Pages<'a>>, Refusal> {
    let Some(pages) = args.html.as_deref() else {
        return Ok(None);
    };
    let is_page = pages.as_os_str() == "-"
        || pages.is_file()
        || pages.extension().is_some_and(|ending| ending == "html");
    if is_page || !target.is_dir() || args.session.is_some() {
        return Ok(None);
    }
    let found = tapes(target)?;
    let places = if found.is_empty() {
        sessions(std::slice::from_ref(target), options)?
    } else {
        found
    };
    let mut known = known(places, options);
    let ids: HashSet<String> = known
        .iter()
        .filter_map(|known| known.peek.session_id.clone())
        .collect();
    let is_agent = |peek: &Peek| {
        let is_own = peek.agent_id.is_none() || peek.agent_id == peek.session_id;
        !is_own
            || (peek.agent_id.is_some()
                && peek
                    .parent_session_id
                    .as_ref()
                    .is_some_and(|parent| ids.contains(parent)))
    };
    let (agents, mut roots): (Vec<Known>, Vec<Known>) =
        known.drain(..).partition(|known| is_agent(&known.peek));
    // In the order of the names of tapes: `ID.tape.jsonl` is before `ID-2.tape.jsonl`.
    roots.sort_by_cached_key(|known| {
        let name = known.place.path().to_string_lossy().into_owned();
        name.split(".tape.jsonl").next().map(str::to_owned)
    });
    if roots.is_empty() {
        let error = AdapterError::new(ErrorCode::UnknownHarness)
            .expected("a session")
            .path(target.to_string_lossy());
        return Err(Refusal::Failed(error));
    }
    let mut names: HashMap<String, u64> = HashMap::new();
    let family = |Known { place, peek }: Known| {
        let fallback = place
            .path()
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let stem = tape_stem(peek.session_id.as_deref().unwrap_or(&fallback), None);
        let times = names.entry(stem.to_lowercase()).or_insert(0);
        *times += 1;
        let name = if *times > 1 {
            format!("{stem}-{times}")
        } else {
            stem
        };
        let agents = agents_of(&peek, agents.clone());
        (
            name,
            Family {
                root: place,
                agents,
            },
        )
    };
    Ok(Some((roots.into_iter().map(family).collect(), pages)))
}

/// The log that a tape was made from, if the index of its directory names it and it is still there.
pub fn log_of(tape: &Path, options: &SessionOptions) -> Option<Place> {
    let tape = std::path::absolute(tape).ok()?;
    let entry_in = |root: &Path| {
        let index = Index::load(root).ok()?;
        let mut entries = index.entries();
        let is_it = |entry: &&Entry| {
            entry
                .tape
                .as_ref()
                .is_some_and(|name| root.join(name) == tape)
        };
        entries.find(is_it).cloned()
    };
    let entry = tape
        .ancestors()
        .skip(1)
        .take(INDEX_ABOVE)
        .find_map(entry_in)?;
    let found = find(&[PathBuf::from(&entry.source)], options);
    let log = found
        .sessions
        .into_iter()
        .flatten()
        .find(|input| input.id_in_store() == entry.session)?;
    Some(Place::Session(log))
}

fn none_in(directory: &Path, prefix: &str) -> String {
    format!(
        "no session in `{}` has an id that begins with `{prefix}`; `engram list` lists them",
        directory.display()
    )
}

fn tapes(directory: &Path) -> Result<Vec<Place>, Refusal> {
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    tapes_in(directory)
        .into_iter()
        .map(|tape| tape.map(Place::Tape).map_err(Refusal::Failed))
        .collect()
}

fn sessions(paths: &[PathBuf], options: &SessionOptions) -> Result<Vec<Place>, Refusal> {
    find(paths, options)
        .sessions
        .into_iter()
        .map(|input| input.map(Place::Session).map_err(Refusal::Failed))
        .collect()
}

/// The tapes in the directory of a tape.
fn tapes_beside(tape: &Path) -> Vec<Place> {
    files_beside(tape)
        .into_iter()
        .filter(|path| is_tape(path))
        .map(Place::Tape)
        .collect()
}

/// The sessions in the directory of a log, and in the directory beside it that has its name.
fn sessions_beside(log: &Path, options: &SessionOptions) -> Vec<Place> {
    let mut paths = files_beside(log);
    paths.retain(|path| {
        path.extension()
            .is_some_and(|ending| ending == "jsonl" || ending == "json")
    });
    let own_directory = log.with_extension("");
    if own_directory.is_dir() {
        paths.push(own_directory);
    }
    // What cannot be opened is not a sub-agent.
    find(&paths, options)
        .sessions
        .into_iter()
        .flatten()
        .map(Place::Session)
        .collect()
}

fn files_beside(path: &Path) -> Vec<PathBuf> {
    let directory = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|file| file.is_file() && !is_same(file, path))
        .collect();
    files.sort();
    files.truncate(MAX_NEIGHBOURS);
    files
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.file_name() == other.file_name()
}

fn known(places: Vec<Place>, options: &SessionOptions) -> Vec<Known> {
    places
        .into_iter()
        .filter_map(|place| place.peek(options).map(|peek| Known { place, peek }))
        .collect()
}

fn with_neighbours(root: Place, neighbours: Vec<Place>, options: &SessionOptions) -> Family {
    let Some(peek) = root.peek(options) else {
        return Family {
            root,
            agents: Vec::new(),
        };
    };
    let agents = agents_of(&peek, known(neighbours, options));
    Family { root, agents }
}

/// The one session among several that is no sub-agent, or whose id begins with `prefix`.
fn chosen(
    mut known: Vec<Known>,
    prefix: Option<&str>,
    advice: &str,
) -> Result<Option<Family>, Refusal> {
    let ids: HashSet<String> = known
        .iter()
        .filter_map(|known| known.peek.session_id.clone())
        .collect();
    let fits = |known: &Known| {
        let Peek {
            session_id,
            agent_id,
            parent_session_id,
            ..
        } = &known.peek;
        match prefix {
            Some(prefix) => {
                (agent_id.is_none() || agent_id == session_id)
                    && session_id.as_ref().is_some_and(|id| id.starts_with(prefix))
            }
            None => {
                agent_id.is_none()
                    && parent_session_id
                        .as_ref()
                        .is_none_or(|parent| !ids.contains(parent))
            }
        }
    };
    let fitting: Vec<usize> = (0..known.len())
        .filter(|index| fits(&known[*index]))
        .collect();
    let exact =
        |index: &&usize| prefix.is_some() && known[**index].peek.session_id.as_deref() == prefix;
    let fitting: Vec<usize> = match fitting.iter().any(|index| exact(&index)) {
        true => fitting.iter().filter(exact).copied().collect(),
        false => fitting,
    };
    let sessions: HashSet<&Option<String>> = fitting
        .iter()
        .map(|index| &known[*index].peek.session_id)
        .collect();
    if sessions.len() > 1 || (fitting.len() > 1 && sessions.contains(&None)) {
        return Err(Refusal::Several(listing(
            fitting.iter().map(|index| &known[*index]),
            advice,
        )));
    }
    // A session that was converted more than once, while it grew, has several tapes; a capture of what it printed has no prompt.
    let Some(root) = fitting.into_iter().max_by_key(|index| {
        (
            known[*index].peek.prompt.is_some(),
            known[*index].place.bytes(),
        )
    }) else {
        return Ok(None);
    };
    let Known { place: root, peek } = known.swap_remove(root);
    Ok(Some(Family {
        root,
        agents: agents_of(&peek, known),
    }))
}

/// The newest of the sessions that fit, each with its title or first prompt.
fn listing<'k>(known: impl Iterator<Item = &'k Known>, advice: &str) -> String {
    let mut known: Vec<&Known> = known.collect();
    known.sort_by(|one, other| other.peek.start.cmp(&one.peek.start));
    let mut ids = HashSet::new();
    known.retain(|known| known.peek.session_id.is_none() || ids.insert(&known.peek.session_id));
    let line = |known: &&Known| {
        let Peek {
            session_id,
            title,
            prompt,
            start,
            ..
        } = &known.peek;
        let title = title.as_deref().or(prompt.as_deref()).unwrap_or_default();
        let title = first_line(title).unwrap_or_default();
        let start = if start.is_empty() { "-" } else { start };
        let id = session_id
            .clone()
            .unwrap_or_else(|| known.place.path().to_string_lossy().into_owned());
        format!("\n  {id}  {start}  {title}").trim_end().to_owned()
    };
    let more = known.len().saturating_sub(LISTED);
    let more = if more > 0 {
        format!("\n  and {more} more")
    } else {
        String::new()
    };
    format!(
        "several sessions fit, {advice}:{}{more}",
        known.iter().take(LISTED).map(line).collect::<String>()
    )
}

/// The sub-agents of a session, and theirs.
fn agents_of(root: &Peek, mut others: Vec<Known>) -> Vec<Place> {
    let mut family: HashSet<String> = root.session_id.iter().cloned().collect();
    let mut found: HashMap<(Option<String>, Option<String>), Place> = HashMap::new();
    let mut order = Vec::new();
    loop {
        let is_in = |known: &Known| {
            let Peek {
                session_id,
                agent_id,
                parent_session_id,
                ..
            } = &known.peek;
            let has_id = |id: &Option<String>| id.as_ref().is_some_and(|id| family.contains(id));
            let is_root = *session_id == root.session_id && *agent_id == root.agent_id;
            !is_root && (has_id(parent_session_id) || (agent_id.is_some() && has_id(session_id)))
        };
        let (members, rest): (Vec<Known>, Vec<Known>) = others.into_iter().partition(is_in);
        others = rest;
        if members.is_empty() {
            return order
                .into_iter()
                .filter_map(|key| found.remove(&key))
                .collect();
        }
        for Known { place, peek } in members {
            family.extend(peek.session_id.clone());
            let key = (peek.session_id, peek.agent_id);
            match found.get(&key) {
                Some(there) if there.bytes() >= place.bytes() => {}
                Some(_) => drop(found.insert(key, place)),
                None => {
                    order.push(key.clone());
                    found.insert(key, place);
                }
            }
        }
    }
}
