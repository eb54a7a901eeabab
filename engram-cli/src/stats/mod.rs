//! `engram stats`: counts over logs, stores and tapes.

use std::collections::BTreeMap;
use std::io::{self, Write, stdout};

use engram_adapters::Registry;
use engram_core::policy::Policy;
use engram_core::stats::{Counts, Partial, Stats, TokenCounts};

mod by;

pub use by::By;

use self::by::{Parts, sum};
use crate::answers;
use crate::args;
use crate::conversion::Conversion;
use crate::exit::Exit;
use crate::inputs::session_options;
use crate::keys::Keys;
use crate::reading::{self, Request, TapesCount};
use crate::report::{Reporter, one_line};
use crate::summary::count;
use crate::table;

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &args::Stats, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let options = match session_options(&args.conversion, registry, report.bar()) {
        Ok(options) => options,
        Err(error) => return Ok(report.failure(&error)),
    };
    if let Some(fault) = args.filter.fault(registry) {
        return Ok(report.usage(&fault));
    }
    let request = Request {
        paths: &args.paths,
        tapes: args.tapes.as_deref(),
        filter: &args.filter,
        tapes_count: tapes_count(args),
    };
    let reading = match reading::find(&request, &options, report) {
        Ok(reading) => reading,
        Err(error) => return Ok(report.failure(&error)),
    };
    let read = answers::read(
        &reading,
        &options,
        &args.filter,
        args.conversion.jobs,
        || Parts::new(args.by),
        report,
    );
    let answers = match read {
        Ok(answers) => answers,
        Err(exit) => return Ok(exit),
    };
    let sessions = if args.conversion.every_form {
        answers.once.all()
    } else {
        answers.once.each_once(report)
    };
    if sessions.is_empty() && answers.filtered > 0 {
        report.note(&format!(
            "none of {} fits the filters",
            count(answers.filtered, "session")
        ));
    }
    let mut total = Stats::default();
    sessions
        .iter()
        .for_each(|session| total.add(&session.stats));
    let total = total.counts();
    let mut out = stdout().lock();
    match args.by {
        Some(by) => by::print(
            by,
            &by::groups(by, sessions, &args.filter),
            &total,
            (args.output, args.keys),
            &mut out,
        )?,
        None if args.output.json => table::write_lines([&total], args.keys, &mut out)?,
        None if args.output.csv => by::print(
            By::Harness,
            &by::groups(By::Harness, sessions, &args.filter),
            &total,
            (args.output, args.keys),
            &mut out,
        )?,
        None => print(&total, args.keys, &mut out)?,
    }
    out.flush()?;
    Ok(answers.exit)
}

/// Tapes do not stand for logs that are to be converted in another way, or where the command line names what to read.
fn tapes_count(args: &args::Stats) -> TapesCount {
    let Conversion {
        policy,
        adapter,
        every_form,
        ..
    } = &args.conversion;
    let is_usual = *policy == Policy::Permissive && adapter.is_none() && !every_form;
    if is_usual && args.paths.is_empty() {
        TapesCount::WhereCurrent
    } else {
        TapesCount::Never
    }
}

fn print(counts: &Counts, keys: Keys, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{:<14}{:>10}", "sessions", counts.sessions)?;
    writeln!(out, "{:<14}{:>10}", "sub-agents", counts.sub_agents)?;
    writeln!(out, "{:<14}{:>10}", "prompts", counts.prompts)?;
    writeln!(out, "{:<14}{:>10}", "answers", counts.answers)?;
    writeln!(out, "{:<14}{:>10}", "files edited", counts.files_edited)?;
    writeln!(out, "\n{:<14}{:>10}  by status", "calls", "number")?;
    for (kind, statuses) in &counts.calls {
        let calls: u64 = statuses.values().sum();
        writeln!(out, "{kind:<14}{calls:>10}  {}", numbers(statuses))?;
    }
    let edits: u64 = counts.edits.values().sum();
    writeln!(
        out,
        "\n{:<14}{edits:>10}  {}",
        "edits",
        numbers(&counts.edits)
    )?;
    writeln!(
        out,
        "\n{:>12} {:>12} {:>12} {:>12} {:>12} {:>10}  model",
        "input", "output", "cache read", "cache write", "reasoning", "USD"
    )?;
    for (model, tokens) in &counts.tokens {
        let TokenCounts {
            input,
            output,
            cache_read,
            cache_write,
            reasoning,
            cost_usd,
            partial,
            ..
        } = tokens;
        let [input, output, cache_read, cache_write, reasoning] = [
            (input, partial.input),
            (output, partial.output),
            (cache_read, partial.cache_read),
            (cache_write, partial.cache_write),
            (reasoning, partial.reasoning),
        ]
        .map(|(count, is_partial)| {
            sum(
                count
                    .filter(|count| *count > 0 || !is_partial)
                    .map(|count| count.to_string()),
                is_partial,
            )
        });
        let cost = sum(cost_usd.map(|cost| format!("{cost:.4}")), partial.cost_usd);
        writeln!(
            out,
            "{input:>12} {output:>12} {cache_read:>12} {cache_write:>12} {reasoning:>12} {cost:>10}  {}",
            one_line(&keys.clean(model))
        )?;
    }
    if counts
        .tokens
        .values()
        .any(|tokens| tokens.partial != Partial::default())
    {
        writeln!(out, "\n+: some responses do not state it")?;
    }
    Ok(())
}

/// `3 error, 5 ok`.
fn numbers(counts: &BTreeMap<&'static str, u64>) -> String {
    let named: Vec<String> = counts
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    named.join(", ")
}
