//! One run over many sessions: finds what has changed, converts it in parallel, and writes down what became of it.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engram_adapters::open::discard_abandoned_copies;
use engram_adapters::sessions::{OtherForm, SessionLocation, SessionOptions};
use engram_command::exit::{Exit, Output};
use engram_command::inputs::{Inputs, SessionInput, find};
use engram_command::interrupt;
use engram_command::message::{is_full, kind_of};
use engram_command::output;
use engram_command::pool::in_order;
use engram_command::report::Reporter;
use engram_core::error::AdapterError;

use super::convert::{Before, Outcome, Work, convert};
use super::pass::{Pass, Setting};
use super::run_summary::RunSummary;
use super::totals::Totals;
use super::unread::Unread;
use crate::args::Ingest;
use crate::tape_dir::{Index, Key, Known, OutDir, Setup, State, container, source_of};
use crate::unicode::Unicode;

/// The word of the options for tapes without keys and tokens.
const REDACTED: &str = "redacted";

/// What is left of a run.
pub struct Done {
    /// The exit code.
    pub exit: Exit,
    /// What was reported as an error.
    pub errors: HashSet<String>,
    /// Whether all tapes could be written.
    pub output: Output,
}

impl Done {
    /// A run that has not begun.
    fn refused(exit: Exit) -> Done {
        Done {
            exit,
            errors: HashSet::new(),
            output: Output::Short,
        }
    }
}

/// Converts all sessions at these paths.
pub fn run(
    args: &Ingest,
    out: &Path,
    paths: &[PathBuf],
    options: &SessionOptions,
    report: &Reporter,
) -> Exit {
    once(args, out, paths, options, report, None).exit
}

/// As [`run`]. With the errors of an earlier run it prints little, and not the same errors again.
pub fn once(
    args: &Ingest,
    out: &Path,
    paths: &[PathBuf],
    options: &SessionOptions,
    report: &Reporter,
    earlier: Option<HashSet<String>>,
) -> Done {
    if paths.is_empty() {
        let exit = report.no_session(paths);
        let exit = RunSummary::new(&Totals::default(), exit, &[])
            .write(args.summary.as_deref(), report)
            .unwrap_or(exit);
        return Done::refused(exit);
    }
    discard_abandoned_copies();
    let early = report.clone();
    interrupt::at_end(move || {
        early.note("interrupted while looking for sessions; nothing was changed")
    });
    let at_out = |error: std::io::Error| AdapterError::from(error).path(out.to_string_lossy());
    let wait = || report.note("another engram is writing to this directory; waiting for it");
    let opened = OutDir::open(out, wait)
        .and_then(|directory| Index::load(directory.root()).map(|index| (directory, index)));
    let opened = opened.and_then(|(directory, mut index)| {
        index.recover(directory.root()).map(|()| (directory, index))
    });
    let (directory, index) = match opened.map_err(at_out) {
        Ok(opened) => opened,
        Err(error) => {
            return Done::refused(report.failure(&error));
        }
    };
    let setup = Setup::new(options.registry(), options_of(args));
    if !args.redact && !args.no_redact && index.has_made_with(REDACTED) {
        let message = "the tapes in this directory are redacted: give `--redact` again, or `--no-redact` to write them whole";
        return Done::refused(report.usage(message));
    }
    let (inputs, changed) = found(args, paths, options, &index, directory.root(), &setup);
    if let Some(summary) = args
        .summary
        .as_deref()
        .filter(|summary| output::is_input(summary, read_files(&inputs)))
    {
        return Done::refused(report.usage(&output::same_as_input(summary)));
    }
    let unread = Unread::new(&inputs, &index, paths, options);
    let (mut work, mut other_forms) = (Vec::new(), forms_of(&inputs.other_forms, &index, &changed));
    for session in work_of(inputs.sessions, &index, &changed) {
        match form_of_unread(&session, &index, &unread) {
            Some(used) => other_forms.push((session, Some(used))),
            None => work.push(session),
        }
    }
    let is_first = earlier.is_none();
    let setting = Setting {
        args: args.clone(),
        registry: options.registry().clone(),
        report: report.clone(),
        setup,
        changed,
        unread,
        old_errors: earlier.unwrap_or_default(),
        searched: paths.iter().filter_map(|path| source_of(path)).collect(),
        is_full: Arc::default(),
    };
    let is_full = Arc::clone(&setting.is_full);
    let directory = Arc::new(directory);
    let pass = Arc::new(Mutex::new(Pass::new(
        setting,
        Arc::clone(&directory),
        index,
    )));
    let interrupted = Arc::clone(&pass);
    interrupt::at_end(move || {
        // A run that keeps its state may be about to end. If not, the index says what is unfinished, and the next run does it.
        let Some(mut pass) = interrupt::soon(&interrupted) else {
            return;
        };
        pass.interrupted();
        // The run must not go on while the command ends.
        std::mem::forget(pass);
    });
    inputs
        .unchanged
        .iter()
        .filter_map(|path| source_of(path))
        .for_each(|source| held(&pass).unchanged(&source));
    if is_first {
        report.start_progress(bytes_of(&work));
    }
    let done = in_order(
        args.conversion.jobs,
        &work,
        |work| {
            if is_full.load(Ordering::Relaxed) {
                return Outcome::Stopped;
            }
            let outcome = convert(args, options, work, &directory);
            if matches!(&outcome, Outcome::Failed(error) if has_no_room(error, directory.root())) {
                is_full.store(true, Ordering::Relaxed);
            }
            outcome
        },
        |work, outcome| held(&pass).take(work, outcome),
    );
    report.end_progress();
    let mut pass = held(&pass);
    other_forms
        .iter()
        .for_each(|(work, used)| pass.other_form(work, used.clone()));
    pass.lost(&inputs.lost);
    let exit = match done {
        Err(error) => report.failure(&error),
        Ok(()) if is_first => pass.end(
            &inputs.skipped,
            &inputs.other_forms,
            &inputs.links_out,
            paths,
        ),
        Ok(()) => pass.end_quietly(),
    };
    interrupt::at_end(|| ());
    let exit = if args.index {
        exit.max(crate::index::feed::feed(directory.root(), report))
    } else {
        exit
    };
    Done {
        exit,
        errors: pass.errors().clone(),
        output: pass.output(),
    }
}

/// The files that are read, and those that have not changed.
fn read_files(inputs: &Inputs) -> impl Iterator<Item = &Path> {
    inputs
        .sessions
        .iter()
        .flatten()
        .filter_map(SessionInput::container)
        .chain(inputs.unchanged.iter().map(PathBuf::as_path))
}

/// True if a tape could not be written because the disk is full.
fn has_no_room(error: &AdapterError, root: &Path) -> bool {
    kind_of(error).is_some_and(is_full)
        && error
            .path
            .as_deref()
            .is_some_and(|path| Path::new(path).starts_with(root))
}

fn held(pass: &Mutex<Pass>) -> MutexGuard<'_, Pass> {
    pass.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The options that decide about a tape.
fn options_of(args: &Ingest) -> String {
    let conversion = &args.conversion;
    let adapter = conversion.adapter.as_deref().unwrap_or("detected");
    let form = if args.zstd { "zstd" } else { "plain" };
    let words = if args.redact { REDACTED } else { "whole" };
    let forms = if conversion.every_form {
        " every-form"
    } else {
        ""
    };
    let unicode = if args.unicode == Unicode::Replace {
        " unicode-replaced"
    } else {
        ""
    };
    let spans = if args.span_text { " span-text" } else { "" };
    format!(
        "{} {} {adapter} {form} {words}{forms}{unicode}{spans}",
        conversion.policy.as_str(),
        conversion.max_record_bytes
    )
}

type Changed = BTreeMap<String, engram_adapters::sessions::Stamp>;

/// The sessions to convert, and the states of their sources before they were opened.
fn found(
    args: &Ingest,
    paths: &[PathBuf],
    options: &SessionOptions,
    index: &Index,
    root: &Path,
    setup: &Setup,
) -> (Inputs, Changed) {
    let known = Known {
        index,
        root,
        registry: options.registry(),
        setup,
        wants: &|session| args.filter.wants(session),
        named: args
            .paths
            .iter()
            .filter_map(|path| source_of(path))
            .collect(),
        changed: RefCell::default(),
        found: RefCell::default(),
    };
    let inputs = if args.again {
        find(paths, options)
    } else {
        known.find(paths, options)
    };
    let changed = if args.again {
        states(&inputs, options)
    } else {
        known.changed.into_inner()
    };
    (inputs, changed)
}

/// The states of all sources, when every one is read.
fn states(inputs: &Inputs, options: &SessionOptions) -> Changed {
    let others = inputs
        .other_forms
        .iter()
        .map(|other| other.location.container());
    let containers = inputs
        .sessions
        .iter()
        .flatten()
        .filter_map(SessionInput::container)
        .chain(others);
    containers
        .filter_map(|path| {
            Some((
                source_of(path)?,
                engram_adapters::sessions::Stamp::of(options.registry(), path, &[]).ok()?,
            ))
        })
        .collect()
}

/// The forms that are not converted, and the sources of those that are.
fn forms_of(forms: &[OtherForm], index: &Index, changed: &Changed) -> Vec<(Work, Option<Key>)> {
    let skipped = forms.iter().filter(|form| form.is_skipped);
    let key = |location: &SessionLocation| {
        Some((
            source_of(location.container())?,
            location.id_in_store().map(str::to_owned),
        ))
    };
    let inputs = skipped
        .clone()
        .map(|form| Ok(SessionInput::At(form.location.clone())))
        .collect();
    work_of(inputs, index, changed)
        .into_iter()
        .zip(skipped.map(|form| key(&form.used)))
        .collect()
}

/// A session may have two forms, of which only one is converted. For the skipped form: the source of the converted form, if that source
/// cannot be read now and has a tape. `None` if the skipped form has changed since the two forms were compared. Its side files are not
/// compared, since the unreadable source may be one of them.
fn form_of_unread(work: &Work, index: &Index, unread: &Unread) -> Option<Key> {
    let entry = index.get(work.key.as_ref()?)?;
    let now = work.stamp.as_ref()?;
    let is_same = entry.state == State::OtherForm
        && (entry.stamp.size, &entry.stamp.modified) == (now.size, &now.modified);
    let used = entry.form_of.clone().filter(|_| is_same)?;
    (unread.why(&used.0).is_some() && index.get(&used)?.tape.is_some()).then_some(used)
}

fn work_of(
    sessions: Vec<Result<SessionInput, AdapterError>>,
    index: &Index,
    changed: &Changed,
) -> Vec<Work> {
    let one = |input: Result<SessionInput, AdapterError>| {
        let key = match &input {
            Ok(input) => input
                .container()
                .and_then(source_of)
                .map(|source| (source, input.id_in_store())),
            Err(error) => error
                .path
                .as_deref()
                .and_then(|path| container(changed, Path::new(path)))
                .map(|source| (source, None)),
        };
        let stamp = key.as_ref().and_then(|key| changed.get(&key.0)).cloned();
        let old = key
            .as_ref()
            .and_then(|key| index.get(key))
            .filter(|entry| entry.tape.is_some());
        let text = old
            .and_then(|entry| entry.overview.as_ref())
            .map(|overview| (overview.input_bytes, overview.input_hash.clone()));
        Work {
            input,
            key,
            stamp,
            before: Before { text },
        }
    };
    sessions.into_iter().map(one).collect()
}

/// The bytes of all sessions that are to be read.
fn bytes_of(work: &[Work]) -> u64 {
    work.iter()
        .flat_map(|work| &work.input)
        .map(SessionInput::bytes)
        .sum()
}
