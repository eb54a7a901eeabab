//! Runs a command: errors of the command line, interrupts, and the exit code.

use std::io;
use std::mem::ManuallyDrop;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use engram_adapters::Registry;
use engram_core::error::AdapterError;

use crate::exit::Exit;
use crate::program::Program;
use crate::report::{ErrorFormat, Reporter};
use crate::{complete, help, interrupt};

/// Runs a command with the arguments of this process, over these adapters, and returns its exit code.
///
/// It takes over the process: it hears interrupts, and writes to standard output and standard error.
pub fn run<P: Program>(registry: Registry) -> ExitCode {
    complete::answer(&registry, help::command::<P>);
    // The process ends with it. Freeing its thousands of texts takes as long as reading the command line.
    let mut command = ManuallyDrop::new(help::command::<P>());
    let line = command
        .try_get_matches_from_mut(std::env::args_os())
        .and_then(|matches| P::from_arg_matches(&matches));
    let exit = match line {
        Ok(line) => dispatch(&line, &registry),
        Err(error) => refused::<P>(&error),
    };
    exit.into()
}

fn dispatch<P: Program>(line: &P, registry: &Registry) -> Exit {
    let how = line.reporting();
    let report = Reporter::new(how.error_format, how.quiet, how.verbose);
    if line.hears_interrupts() {
        interrupt::listen();
    }
    interrupt::outlive_file_limit();
    line.run(registry, &report)
        .unwrap_or_else(|error| output_failed(error, &report))
}

/// It is not a failure if the reader closes the pipe.
fn output_failed(error: io::Error, report: &Reporter) -> Exit {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Exit::Success;
    }
    report.failure(&AdapterError::from(error).path("standard output"))
}

/// Help and version are not errors. A usage error uses the requested error format.
fn refused<P: Program>(error: &clap::Error) -> Exit {
    let is_answer = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    let words: Vec<_> = std::env::args_os().collect();
    let json = words.iter().any(|word| word == "--error-format=json")
        || words
            .windows(2)
            .any(|pair| pair == ["--error-format", "json"]);
    let more = unknown_name(error).and_then(|name| P::about_unknown(&name));
    if (json || more.is_some()) && !is_answer {
        let format = if json {
            ErrorFormat::Json
        } else {
            ErrorFormat::Text
        };
        let text = more.unwrap_or_else(|| error.render().to_string());
        Reporter::new(format, true, false)
            .usage(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
    } else {
        // The reader may have closed the pipe.
        let _ = error.print();
    }
    if is_answer {
        Exit::Success
    } else {
        Exit::Usage
    }
}

/// The name that is no subcommand, if that is the error.
fn unknown_name(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) => Some(name.clone()),
        _ => None,
    }
}
