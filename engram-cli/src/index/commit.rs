//! Who made the lines that a commit adds.

use std::io::{self, Write};

use engram_adapters::Registry;
use engram_command::exit::Exit;
use engram_command::report::Reporter;
use engram_export::authorship::{Commit, File, Made};
use engram_index::{Error, Index, Item, Keys, Tier, Words};
use jiff::Timestamp;

use super::args::Source;
use super::ask::{self, Asked, Opened};
use super::git::{Parents, Repository, common};
use super::place;

/// The lines that a commit adds.
pub struct Added {
    /// By file, those of one cause together.
    pub files: Vec<(String, Vec<Item>)>,
    /// What a reader must know: files that are no text, and what was not looked at.
    pub notes: Vec<String>,
}

/// Finds who made the lines that a commit adds.
pub fn added(
    index: &Index,
    repository: &Repository,
    revision: &str,
    parents: Parents,
    (words, keys): (Words, Keys),
) -> Result<Added, Error> {
    let at = repository.time(revision)?;
    let (mut files, mut notes) = (Vec::new(), Vec::new());
    for (path, added) in repository.added_lines(revision, parents)? {
        let Ok(text) = repository.text(revision, &path) else {
            notes.push(format!("{path} is no text"));
            continue;
        };
        let asked = Asked::at(&repository.root.join(&path).to_string_lossy(), None)?;
        let mut query = asked.query(&text, Some(repository), Some(revision), &mut notes);
        query.at = Some(at);
        (query.limit, query.words, query.keys) = (usize::MAX, words, keys);
        let mut items = index.explain(&query)?.items;
        for item in &mut items {
            item.lines = common(&item.lines, &added);
        }
        items.retain(|item| !item.lines.is_empty());
        files.push((path, items));
    }
    Ok(Added { files, notes })
}

/// What became of one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// Its lines are in the export.
    Done,
    /// No line of it has a known call.
    Nothing,
    /// It could not be written, and that was reported.
    Refused,
}

/// Gives each commit of a revision or a range to `write`, with the lines whose call is known, the oldest first.
///
/// # Errors
/// As `write` gives them.
pub fn export(
    revisions: &str,
    source: &Source,
    registry: &Registry,
    report: &Reporter,
    write: &mut dyn FnMut(&Commit, &Repository) -> io::Result<Written>,
) -> io::Result<Exit> {
    let found = (|| {
        let repository = Repository::here()?;
        let commits = repository.commits(revisions)?;
        let Opened { index, notes } = ask::open(source, registry, report)?;
        notes
            .iter()
            .for_each(|note| report.note(&format!("note        {note}")));
        Ok::<_, Error>((repository, commits, index))
    })();
    let (repository, commits, index) = match found {
        Ok(found) => found,
        Err(error) => return Ok(place::failed(&error, report)),
    };
    let (mut done, mut refused) = (0, 0);
    for sha in &commits {
        let commit = match proven(&index, &repository, sha) {
            Ok(commit) => commit,
            Err(error) => return Ok(place::failed(&error, report)),
        };
        match write(&commit, &repository)? {
            Written::Done => done += 1,
            Written::Nothing => {}
            Written::Refused => refused += 1,
        }
    }
    io::stdout().lock().flush()?;
    report.note(&format!(
        "commits     {} of {} have lines whose call is known",
        done + refused,
        commits.len()
    ));
    Ok(if refused == 0 {
        Exit::Success
    } else {
        Exit::PartialFailure
    })
}

/// A commit with the lines that are proven.
fn proven(index: &Index, repository: &Repository, sha: &str) -> Result<Commit, Error> {
    let added = added(
        index,
        repository,
        sha,
        Parents::All,
        (Words::None, Keys::Replaced),
    )?;
    let time = Timestamp::from_second(repository.time(sha)?.div_euclid(1000));
    let file = |(path, items): (String, Vec<Item>)| File {
        path,
        made: items.into_iter().filter_map(made).collect(),
    };
    Ok(Commit {
        sha: sha.to_owned(),
        time: time.map(|time| time.to_string()).unwrap_or_default(),
        files: added.files.into_iter().map(file).collect(),
    })
}

/// Lines that stayed since a call made them; `None` for other ones.
fn made(item: Item) -> Option<Made> {
    let is_proven = matches!(item.tier, Tier::State | Tier::Line | Tier::Moved);
    let call = item.call.filter(|_| is_proven)?;
    let name = call.name();
    let tape = name.rsplit_once('#').map_or(name.as_str(), |(id, _)| id);
    Some(Made {
        lines: item.lines,
        session: call.session.unwrap_or_else(|| tape.to_owned()),
        harness: call.harness,
        model: call.model,
        call: name,
    })
}
