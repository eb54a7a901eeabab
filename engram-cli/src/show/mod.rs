//! `engram show`: a session as a person reads it, in the terminal, as Markdown, or as a page.

use std::env;
use std::io::{self, IsTerminal, stdout};
use std::path::{Path, PathBuf};

use engram_adapters::Registry;
use engram_adapters::sessions::SessionOptions;
use engram_command::exit::{Exit, Tally};
use engram_command::inputs::with_adapter;
use engram_command::output;
use engram_command::places;
use engram_command::report::{Reporter, shown};
use engram_command::summary::count;
use engram_core::error::AdapterError;
use engram_core::overview::Overview;
use engram_core::prices::Prices;

mod args;
mod arguments;
mod build;
mod calls;
mod diff;
mod find;
mod markdown;
mod nest;
mod numbers;
mod page;
pub mod pager;
mod place;
mod prose;
mod safe;
mod step;
mod terminal;
mod view;
mod window;
mod words;

pub use args::Show;

use self::find::{Family, Refusal, family, log_of, several};
use self::page::{Images, Work};
use self::place::Place;
use self::view::SessionView;
use crate::once::is_session;

/// The width of a view without a terminal, and the greatest width in one.
const WIDTHS: (usize, usize) = (100, 120);

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Show, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let options = SessionOptions::default().with_registry(registry.clone());
    let options = match with_adapter(options, args.adapter.as_deref()) {
        Ok(options) => options,
        Err(error) => return Ok(report.failure(&error)),
    };
    let prices = match args.prices.load() {
        Ok(prices) => prices,
        Err(error) => return Ok(report.failure(&error)),
    };
    if let Some(fault) = args.filter.fault(registry) {
        return Ok(report.usage(&fault));
    }
    let target = args.target.clone().or_else(|| args.tapes.clone());
    let default = || places::tapes_dir().filter(|tapes| tapes.is_dir());
    let Some(target) = target.or_else(default) else {
        return Ok(report.not_found("there are no tapes at the default place; run `engram ingest`, or name a session or a directory of sessions"));
    };
    if let Some((target, seq)) = window::named(&target) {
        return match family(&target, args, &options) {
            Ok(family) => window::run(&family.root, seq, args, &options, report),
            Err(refusal) => Ok(refused(refusal, report)),
        };
    }
    if args.json {
        return Ok(report.usage("`--json` prints a window: name an event, as in `engram show ID#12 --json`; `engram ingest LOG --out -` prints all events"));
    }
    match several(&target, args, &options) {
        Ok(Some((families, directory))) => {
            return Ok(site(
                (&target, families, directory),
                (args, &prices),
                &options,
                report,
            ));
        }
        Ok(None) => {}
        Err(refusal) => return Ok(refused(refusal, report)),
    }
    let family = match family(&target, args, &options) {
        Ok(family) => family,
        Err(refusal) => return Ok(refused(refusal, report)),
    };
    let read = || {
        std::iter::once(&family.root)
            .chain(&family.agents)
            .map(Place::file)
    };
    let written = args.html.as_deref().filter(|file| file.as_os_str() != "-");
    if let Some(file) = written.filter(|file| output::is_input(file, read())) {
        return Ok(report.usage(&output::same_as_input(file)));
    }
    if let Some(directory) = written.filter(|file| names_a_directory(file)) {
        let page = directory.join("session.html");
        return Ok(report.usage(&format!(
            "one session is one page: name a file, as in `--html {}`",
            shown(&page)
        )));
    }
    if let Some(exit) = written.and_then(|file| obstacle(file, report)) {
        return Ok(exit);
    }
    if written.is_none() && output::stdout_is_input(read()) {
        return Ok(report.usage(&output::same_as_input(Path::new("standard output"))));
    }
    match load(&family, &options, !args.keys.no_redact, report) {
        Ok(view) => {
            let images = if args.html.is_some() {
                images(&family, &view, &options, report)
            } else {
                Images::default()
            };
            print(&view, &images, (args, &prices), report)
        }
        Err(error) => Ok(report.failure(&error)),
    }
}

/// True for a directory, and for a path that is written as one.
fn names_a_directory(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with(std::path::is_separator)
}

/// Says why a page is not written there, if so: the directory is missing, or the file has something else.
fn obstacle(file: &Path, report: &Reporter) -> Option<Exit> {
    let directory = file.parent().filter(|it| !it.as_os_str().is_empty());
    if let Some(directory) = directory
        && let Err(error) = std::fs::read_dir(directory)
    {
        let error = AdapterError::from(error).path(directory.to_string_lossy());
        return Some(report.failure(&error));
    }
    page::is_foreign(file).then(|| {
        report.usage(&format!(
            "`{}` is no page of engram and is not replaced: name another file, or remove this one",
            shown(file)
        ))
    })
}

fn refused(refusal: Refusal, report: &Reporter) -> Exit {
    match refusal {
        Refusal::Failed(error) => report.failure(&error),
        Refusal::Several(message) => report.usage(&message),
        Refusal::Nothing(message) => report.not_found(&message),
    }
}

/// The pictures that a session names and its logs have.
fn images(
    family: &Family,
    view: &SessionView,
    options: &SessionOptions,
    report: &Reporter,
) -> Images {
    let (wanted, mut images) = (page::hashes(view), Images::default());
    if wanted.is_empty() {
        return images;
    }
    let mut has_log = false;
    for place in family.agents.iter().chain([&family.root]) {
        let log = match place {
            Place::Tape(tape) => log_of(tape, options),
            log => Some(log.clone()),
        };
        has_log |= log.is_some();
        log.into_iter()
            .for_each(|log| log.images(options, &wanted, &mut images));
    }
    if family.root.is_tape() && images.is_empty() {
        let why = match has_log {
            true => "the log has no picture in a form that a page shows",
            false => {
                "a tape has no pictures, and its log is not there; those of a log are on a page of the log"
            }
        };
        report.note(&format!(
            "{} of session {}: {why}",
            count(wanted.len() as u64, "attachment"),
            view.facts.session_id.as_deref().unwrap_or("without an id")
        ));
    }
    images
}

/// Several sessions as pages in a directory, with an index of them.
fn site(
    (target, families, directory): (&Path, Vec<(String, Family)>, &Path),
    (args, prices): (&Show, &Prices),
    options: &SessionOptions,
    report: &Reporter,
) -> Exit {
    let at = |path: &Path, error: io::Error| AdapterError::from(error).path(path.to_string_lossy());
    if let Err(error) = output::make_directory(directory, true) {
        return report.failure(&at(directory, error));
    }
    let index = directory.join("index.html");
    if let Some(exit) = obstacle(&index, report) {
        return exit;
    }
    let (mut tally, mut entries) = (Tally::default(), Vec::new());
    for (name, family) in families {
        let file = format!("{name}.html");
        let path = directory.join(&file);
        let written = load(&family, options, !args.keys.no_redact, report).and_then(|view| {
            let overview = overview(&view);
            if !is_session(&overview) || !args.filter.wants(&overview) {
                return Ok(None);
            }
            let images = images(&family, &view, options, report);
            let style = page::Style {
                is_full: args.full,
                images: &images,
                prices,
            };
            output::write(&path, |mut out| page::write(&view, style, &mut out))
                .map_err(|error| at(&path, error))?;
            let entry = page::site::Entry::new(file, &view, prices);
            Ok(Some((family.root.path().to_owned(), entry)))
        });
        match written {
            Ok(entry) => {
                tally.success();
                entries.extend(entry);
            }
            Err(error) => tally.failure(report.failure(&error)),
        }
    }
    let (work, redact) = (
        Work::read((target, args), options, prices, &report.muted()),
        !args.keys.no_redact,
    );
    let is_repeated = |path: &Path| work.as_ref().is_some_and(|work| work.is_repeated(path));
    let mut entries: Vec<page::site::Entry> = entries
        .into_iter()
        .map(|(path, mut entry): (PathBuf, page::site::Entry)| {
            if is_repeated(&path) {
                entry.leave_out();
            }
            entry
        })
        .collect();
    entries.sort_by(|one, other| other.last.cmp(&one.last));
    let written = output::write(&index, |mut out| {
        page::site::write(&entries, work.as_ref(), redact, &mut out)
    });
    match written {
        Ok(()) => {
            report.note(&format!(
                "{} in {}",
                count(entries.len() as u64, "page"),
                index.display()
            ));
            tally.exit()
        }
        Err(error) => report.failure(&at(&index, error)),
    }
}

/// What decides whether a session has a page.
fn overview(view: &SessionView) -> Overview {
    let mut overview = Overview::default();
    overview.harness.clone_from(&view.facts.harness);
    overview.project.clone_from(&view.facts.project);
    overview.session_id.clone_from(&view.facts.session_id);
    (overview.start, overview.end) = view.facts.times.clone().unzip();
    (overview.prompts, overview.calls) = (view.totals.prompts, view.totals.calls);
    overview
}

/// The session with its sub-agents. One that cannot be read is left out, with a note.
fn load(
    family: &Family,
    options: &SessionOptions,
    redact: bool,
    report: &Reporter,
) -> Result<SessionView, AdapterError> {
    let root = family.root.load(0, options, redact)?;
    let mut agents = Vec::new();
    for (tape, place) in (1..).zip(&family.agents) {
        match place.load(tape, options, redact) {
            Ok(agent) => agents.push(agent),
            Err(error) => report.note(&format!("warning: a sub-agent is left out: {error}")),
        }
    }
    Ok(nest::nest(root, agents))
}

fn print(
    view: &SessionView,
    images: &Images,
    (args, prices): (&Show, &Prices),
    report: &Reporter,
) -> io::Result<Exit> {
    let page_style = page::Style {
        is_full: args.full,
        images,
        prices,
    };
    let markdown_style = markdown::Style {
        has_tokens: args.tokens,
        prices,
    };
    match &args.html {
        Some(file) if file.as_os_str() != "-" => {
            return Ok(
                match output::write(file, |mut out| page::write(view, page_style, &mut out)) {
                    Ok(()) => Exit::Success,
                    Err(error) => {
                        report.failure(&AdapterError::from(error).path(file.to_string_lossy()))
                    }
                },
            );
        }
        Some(_) => pager::page(false, |mut out| page::write(view, page_style, &mut out))?,
        None if args.markdown => pager::page(false, |mut out| {
            markdown::write(view, markdown_style, &mut out)
        })?,
        None => pager::page(!args.no_pager, |mut out| {
            terminal::write(view, style(args, prices), &mut out)
        })?,
    }
    Ok(Exit::Success)
}

fn style<'p>(args: &Show, prices: &'p Prices) -> terminal::Style<'p> {
    let (without_terminal, greatest) = WIDTHS;
    let is_terminal = stdout().is_terminal();
    let columns = terminal_size::terminal_size()
        .filter(|_| is_terminal)
        .map(|(width, _)| usize::from(width.0));
    let has_colours = is_terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    terminal::Style {
        width: columns.unwrap_or(without_terminal).min(greatest),
        has_colours,
        is_full: args.full,
        has_tokens: args.tokens,
        prices,
    }
}
