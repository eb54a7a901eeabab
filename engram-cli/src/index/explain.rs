//! `engram explain`: which session, prompt and call put these lines here.

use std::collections::BTreeMap;
use std::io::{self, Read};

use engram_adapters::Registry;
use engram_command::exit::Exit;
use engram_command::report::{Reporter, one_line};
use engram_command::summary::count;
use engram_index::{Error, Events, Index, Item, Query, Words};
use serde_json::json;

use super::args::Explain;
use super::ask::{self, Asked, Opened};
use super::commit::{self, Added};
use super::git::{Names, Parents, Repository};
use super::page::{End, Page};
use super::print::{self, Look};
use super::{keys_of, place};

/// Most runs of lines of one edit that are shown.
const MAX_RUNS: usize = 100;
/// Longest text that is read from standard input.
const MAX_TEXT: u64 = 64 << 20;

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Explain, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    match answer(args, registry, report) {
        Ok(printed) => printed.map(|()| Exit::Success),
        Err(error) => Ok(place::failed(&error, report)),
    }
}

fn answer(args: &Explain, registry: &Registry, report: &Reporter) -> Result<io::Result<()>, Error> {
    let Opened { index, mut notes } = ask::open(&args.source, registry, report)?;
    if let Some(revision) = &args.commit {
        return commit(args, &index, revision, notes);
    }
    if let Some(prompt) = &args.prompt {
        let named = prompt
            .rsplit_once('#')
            .and_then(|(tape, seq)| Some((tape, seq.parse().ok()?)));
        let (tape, seq) = named.ok_or_else(|| {
            Error::BadQuery(format!(
                "`{prompt}` is no event of a tape; write `ID#SEQ`, as answers have it"
            ))
        })?;
        let tape = match index.tape_named(tape)? {
            Some(tape) => tape,
            None => std::path::absolute(tape).map_err(|source| Error::Io {
                path: tape.into(),
                source,
            })?,
        };
        let mut query = Query::new("");
        let words = match args.bounds.json {
            true => Words::None,
            false => Words::Prompt,
        };
        (query.limit, query.skip, query.words) = (args.bounds.limit, args.bounds.skip, words);
        query.keys = keys_of(args.bounds.keys);
        let mut events = index.changes(&tape, seq, &query)?;
        // The prompt of all of them; a sub-agent has one of its own.
        events.items.iter_mut().fold(None, |last, event| {
            let from = event.prompt.as_ref().map(|prompt| prompt.from.clone());
            event.prompt.take_if(|_| from == last);
            from
        });
        return Ok(print_events(args, &index, events, notes));
    }
    let (asked, text, at) = match (&args.text, &args.file) {
        (Some(text), _) if text == "-" => (None, read_stdin()?, None),
        (Some(text), _) => (None, text.clone(), None),
        (None, file) => {
            let asked = Asked::new(file.as_deref().unwrap_or_default())?;
            let may_be_gone = match args.history || args.removed {
                true => MayBeGone::Yes,
                false => MayBeGone::No,
            };
            let found = text_of(asked, args.rev.as_deref(), may_be_gone)?;
            (Some(found.asked), found.text, found.at)
        }
    };
    let mut query = match &asked {
        Some(asked) => {
            let repository = asked.repository().ok();
            asked.query(&text, repository.as_ref(), args.rev.as_deref(), &mut notes)
        }
        None => Query::new(&text),
    };
    (query.limit, query.skip, query.at) = (args.bounds.limit, args.bounds.skip, at);
    query.keys = keys_of(args.bounds.keys);
    if let Some((first, _)) = query
        .range
        .filter(|(first, _)| *first > text.lines().count() && !args.removed)
    {
        return Err(Error::BadQuery(format!(
            "the file has {}, so there is no line {first}",
            count(text.lines().count() as u64, "line")
        )));
    }
    if args.history || args.removed || args.like {
        let events = if args.history {
            index.history(&query)?
        } else if args.removed {
            index.removed(&query)?
        } else {
            index.like(&query, args.all)?
        };
        return Ok(print_events(args, &index, events, notes));
    }
    let mut answer = index.explain(&query)?;
    answer.notes.extend(notes);
    for item in &mut answer.items {
        // The bound of the answer must hold for a file of any length.
        if item.lines.len() > MAX_RUNS {
            answer.notes.push(format!(
                "an edit made {} runs of lines; {MAX_RUNS} of them are shown",
                item.lines.len()
            ));
            item.lines.truncate(MAX_RUNS);
        }
    }
    let (mut page, look) = (Page::new(&args.bounds), Look::stdout());
    answer
        .items
        .iter()
        .for_each(|item| page.add(item, || print::item(item, look)));
    page.aside(|| print::mentioned(&answer.mentioned, look));
    let mut more = json!({"lines": answer.lines, "state_known": answer.state_known});
    if !answer.mentioned.is_empty() {
        more["mentioned"] = json!(answer.mentioned);
    }
    Ok(page.end(&End {
        total: answer.total,
        index: index.path(),
        more,
        notes: &answer.notes,
    }))
}

/// A text that is asked about.
pub struct Text {
    /// Its file, by the name that it has in the commit.
    pub asked: Asked,
    /// The text.
    pub text: String,
    /// The time of the commit.
    pub at: Option<i64>,
}

/// Whether a file that is gone can be asked about: it has a history too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MayBeGone {
    Yes,
    No,
}

/// The text of a file, on disk or in a commit. In a commit it may have a name that later commits changed.
pub fn text_of(
    asked: Asked,
    revision: Option<&str>,
    may_be_gone: MayBeGone,
) -> Result<Text, Error> {
    let Some(revision) = revision else {
        let text = match asked.text() {
            Err(Error::NotFound(_)) if may_be_gone == MayBeGone::Yes => String::new(),
            text => text?,
        };
        return Ok(Text {
            asked,
            text,
            at: None,
        });
    };
    let repository = asked.repository()?;
    let at = Some(repository.time(revision)?);
    let path = asked.repo.as_ref().map_or("", |repo| repo.path.as_str());
    let missing = match repository.text(revision, path) {
        Ok(text) => return Ok(Text { asked, text, at }),
        Err(error) => error,
    };
    if let Names::Known(names) = repository.earlier_names("HEAD", path) {
        for name in names {
            if let Ok(text) = repository.text(revision, &name.path) {
                let asked = asked.renamed(&repository.root.join(name.path))?;
                return Ok(Text { asked, text, at });
            }
        }
    }
    Err(missing)
}

fn print_events(
    args: &Explain,
    index: &Index,
    mut events: Events,
    notes: Vec<String>,
) -> io::Result<()> {
    events.notes.extend(notes);
    if events.total == 0 {
        events
            .notes
            .push("the index knows nothing of it".to_owned());
    }
    let (mut page, look) = (Page::new(&args.bounds), Look::stdout());
    events
        .items
        .iter()
        .for_each(|event| page.add(event, || print::event(event, look)));
    page.end(&End {
        total: events.total,
        index: index.path(),
        more: json!({}),
        notes: &events.notes,
    })
}

fn read_stdin() -> Result<String, Error> {
    let mut text = String::new();
    let read = io::stdin().lock().take(MAX_TEXT).read_to_string(&mut text);
    read.map_err(|source| Error::Io {
        path: "-".into(),
        source,
    })?;
    Ok(text)
}

/// The sessions that went into a commit: for each file, the added lines by their calls.
fn commit(
    args: &Explain,
    index: &Index,
    revision: &str,
    mut notes: Vec<String>,
) -> Result<io::Result<()>, Error> {
    let Added {
        files,
        notes: of_commit,
    } = commit::added(
        index,
        &Repository::here()?,
        revision,
        Parents::First,
        (Words::Prompt, keys_of(args.bounds.keys)),
    )?;
    let count_of_files = files.len();
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut found: Vec<(String, Item)> = Vec::new();
    for (path, items) in files {
        for item in items {
            let count: usize = item
                .lines
                .iter()
                .map(|[first, last]| last - first + 1)
                .sum();
            *counts.entry(item.tier.as_str()).or_default() += count;
            found.push((path.clone(), item));
        }
    }
    notes.extend(of_commit);
    let total = found.len();
    let (mut page, look) = (Page::new(&args.bounds), Look::stdout());
    let mut last_path = "";
    for (path, item) in found.iter().skip(args.bounds.skip).take(args.bounds.limit) {
        let mut value = serde_json::to_value(item).unwrap_or_default();
        value["path"] = json!(path);
        let heading = match path == last_path {
            true => String::new(),
            false => format!("{}\n", one_line(path)),
        };
        last_path = path;
        page.add(&value, || heading + &print::item(item, look));
    }
    Ok(page.end(&End {
        total,
        index: index.path(),
        more: json!({"commit": revision, "files": count_of_files, "lines": counts}),
        notes: &notes,
    }))
}
