//! `engram show`: a session as a person reads it, in the terminal, as Markdown, or as a page.

use std::env;
use std::fs;
use std::io::{self, IsTerminal, stdout};
use std::path::Path;

use engram_adapters::Registry;
use engram_adapters::sessions::SessionOptions;
use engram_core::error::AdapterError;

mod args;
mod arguments;
mod build;
mod calls;
mod diff;
mod find;
mod markdown;
mod nest;
mod page;
pub mod pager;
mod place;
mod safe;
mod step;
mod terminal;
mod view;
mod window;
mod words;

pub use args::Show;

use self::find::{Family, Refusal, family, several};
use self::page::Images;
use self::place::Place;
use self::view::SessionView;
use crate::exit::{Exit, Tally};
use crate::inputs::with_adapter;
use crate::output;
use crate::report::Reporter;
use crate::summary::count;

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
    if let Some((target, seq)) = window::named(&args.target) {
        return match family(&target, args, &options) {
            Ok(family) => window::run(&family.root, seq, args, &options, report),
            Err(refusal) => Ok(refused(refusal, report)),
        };
    }
    if args.json {
        return Ok(report.usage("`--json` prints a window: name an event, as in `engram show ID#12 --json`; `engram ingest LOG --out -` prints all events"));
    }
    match several(args, &options) {
        Ok(Some((families, directory))) => {
            return Ok(site(families, directory, args, &options, report));
        }
        Ok(None) => {}
        Err(refusal) => return Ok(refused(refusal, report)),
    }
    let family = match family(&args.target, args, &options) {
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
            print(&view, &images, args, report)
        }
        Err(error) => Ok(report.failure(&error)),
    }
}

fn refused(refusal: Refusal, report: &Reporter) -> Exit {
    match refusal {
        Refusal::Failed(error) => report.failure(&error),
        Refusal::Several(message) | Refusal::Nothing(message) => report.usage(&message),
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
    if !wanted.is_empty() {
        family
            .agents
            .iter()
            .chain([&family.root])
            .for_each(|place| place.images(options, &wanted, &mut images));
        if family.root.is_tape() {
            report.note(&format!(
                "{} of this session: a tape has no pictures; those of its log are on a page of the log",
                count(wanted.len() as u64, "attachment")
            ));
        }
    }
    images
}

/// Several sessions as pages in a directory, with an index of them.
fn site(
    families: Vec<(String, Family)>,
    directory: &Path,
    args: &Show,
    options: &SessionOptions,
    report: &Reporter,
) -> Exit {
    let at = |path: &Path, error: io::Error| AdapterError::from(error).path(path.to_string_lossy());
    if let Err(error) = fs::create_dir_all(directory) {
        return report.failure(&at(directory, error));
    }
    let (mut tally, mut entries) = (Tally::default(), Vec::new());
    for (name, family) in families {
        let file = format!("{name}.html");
        let path = directory.join(&file);
        let written = load(&family, options, !args.keys.no_redact, report).and_then(|view| {
            let images = images(&family, &view, options, report);
            let style = page::Style {
                is_full: args.full,
                images: &images,
            };
            output::write(&path, |mut out| page::write(&view, style, &mut out))
                .map_err(|error| at(&path, error))?;
            Ok(page::site::Entry::new(file, &view))
        });
        match written {
            Ok(entry) => {
                tally.success();
                entries.push(entry);
            }
            Err(error) => tally.failure(report.failure(&error)),
        }
    }
    entries.sort_by(|one, other| other.last.cmp(&one.last));
    let index = directory.join("index.html");
    match output::write(&index, |mut out| page::site::write(&entries, &mut out)) {
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

/// The session with its sub-agents. One that cannot be read is left out, with a note.
fn load(
    family: &Family,
    options: &SessionOptions,
    redact: bool,
    report: &Reporter,
) -> Result<SessionView, AdapterError> {
    let root = family.root.load(options, redact)?;
    let mut agents = Vec::new();
    for place in &family.agents {
        match place.load(options, redact) {
            Ok(agent) => agents.push(agent),
            Err(error) => report.note(&format!("warning: a sub-agent is left out: {error}")),
        }
    }
    Ok(nest::nest(root, agents))
}

fn print(view: &SessionView, images: &Images, args: &Show, report: &Reporter) -> io::Result<Exit> {
    let page_style = page::Style {
        is_full: args.full,
        images,
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
        None if args.markdown => pager::page(false, |mut out| markdown::write(view, &mut out))?,
        None => pager::page(!args.no_pager, |mut out| {
            terminal::write(view, style(args), &mut out)
        })?,
    }
    Ok(Exit::Success)
}

fn style(args: &Show) -> terminal::Style {
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
    }
}
