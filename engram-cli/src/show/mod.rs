//! `engram show`: a session as a person reads it, in the terminal, as Markdown, or as a page.

use std::env;
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
mod html;
mod markdown;
mod nest;
mod pager;
mod place;
mod safe;
mod step;
mod terminal;
mod view;
mod words;

pub use args::Show;

use self::find::{Family, Refusal, family};
use self::place::Place;
use self::view::SessionView;
use crate::exit::Exit;
use crate::inputs::with_adapter;
use crate::output;
use crate::report::Reporter;

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
    let family = match family(args, &options) {
        Ok(family) => family,
        Err(Refusal::Failed(error)) => return Ok(report.failure(&error)),
        Err(Refusal::Several(message) | Refusal::Nothing(message)) => return Ok(report.usage(&message)),
    };
    let read = || std::iter::once(&family.root).chain(&family.agents).map(Place::file);
    let written = args.html.as_deref().filter(|file| file.as_os_str() != "-");
    if let Some(file) = written.filter(|file| output::is_input(file, read())) {
        return Ok(report.usage(&output::same_as_input(file)));
    }
    if written.is_none() && output::stdout_is_input(read()) {
        return Ok(report.usage(&output::same_as_input(Path::new("standard output"))));
    }
    match load(&family, &options, !args.no_redact, report) {
        Ok(view) => print(&view, args, report),
        Err(error) => Ok(report.failure(&error)),
    }
}

/// The session with its sub-agents. One that cannot be read is left out, with a note.
fn load(family: &Family, options: &SessionOptions, redact: bool, report: &Reporter) -> Result<SessionView, AdapterError> {
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

fn print(view: &SessionView, args: &Show, report: &Reporter) -> io::Result<Exit> {
    match &args.html {
        Some(file) if file.as_os_str() != "-" => {
            return Ok(match output::write(file, |mut out| html::write(view, &mut out)) {
                Ok(()) => Exit::Success,
                Err(error) => report.failure(&AdapterError::from(error).path(file.to_string_lossy())),
            });
        }
        Some(_) => pager::page(false, |mut out| html::write(view, &mut out))?,
        None if args.markdown => pager::page(false, |mut out| markdown::write(view, &mut out))?,
        None => pager::page(!args.no_pager, |mut out| terminal::write(view, style(args), &mut out))?,
    }
    Ok(Exit::Success)
}

fn style(args: &Show) -> terminal::Style {
    let (without_terminal, greatest) = WIDTHS;
    let is_terminal = stdout().is_terminal();
    let columns = terminal_size::terminal_size().filter(|_| is_terminal).map(|(width, _)| usize::from(width.0));
    let has_colours = is_terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    terminal::Style { width: columns.unwrap_or(without_terminal).min(greatest), has_colours, is_full: args.full }
}
