//! `engram stats`: counts over logs, stores and tapes.

use std::collections::BTreeMap;
use std::io::{self, Write, stdout};

use engram_adapters::Registry;
use engram_command::conversion::Conversion;
use engram_command::exit::Exit;
use engram_command::inputs::session_options;
use engram_command::keys::Keys;
use engram_command::report::Reporter;
use engram_command::table::{self, Column, Fit, Look, Screen, number, text};
use engram_core::policy::Policy;
use engram_core::prices::Prices;
use engram_core::stats::{Cost, Costs, Partial, Stats};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

mod by;

use by::name_tokens;
pub use by::{By, Division, Group, Parts, UNKNOWN, all_tokens, calls, groups};

use crate::answers;
use crate::args;
use crate::money;
use crate::once::none_fits;
use crate::reading::{self, Request, TapesCount};

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
    let division = Division {
        by: args.by.clone(),
        zone: args.tz.clone().unwrap_or(TimeZone::UTC),
    };
    if let Some(fault) = division.fault() {
        return Ok(report.usage(fault));
    }
    let prices = match args.prices.load() {
        Ok(prices) => prices,
        Err(error) => return Ok(report.failure(&error)),
    };
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
        || Parts::new(&division),
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
        report.note(&none_fits(answers.filtered));
        if !args.output.json && !args.output.csv {
            return Ok(answers.exit);
        }
    }
    let mut total = Stats::default();
    sessions
        .iter()
        .for_each(|session| total.add(&session.stats));
    let sum = Group {
        values: vec!["total".to_owned()],
        counts: total.counts(),
        cost: total.costs().cost(&prices),
    };
    let mut out = stdout().lock();
    let is_one = division.by.is_empty();
    if is_one && args.output.json {
        let json = as_json(&sum, total.costs(), &prices)?;
        table::write_lines([json], args.keys, &mut out)?;
    } else if is_one && !args.output.csv {
        print(&sum, total.costs(), &prices, (args.keys, report), &mut out)?;
    } else {
        let division = match is_one {
            true => Division {
                by: vec![By::Harness],
                ..division
            },
            false => division,
        };
        let sessions = sessions.into_iter();
        let sessions = sessions.map(|it| (it.overview, it.more.into_groups(it.stats)));
        let groups = groups(&division, sessions.collect(), &total, &args.filter, &prices);
        let form = (args.output, args.keys);
        by::print(&division, &groups, &sum, form, report, &mut out)?;
    }
    out.flush()?;
    Ok(answers.exit)
}

/// Tapes do not stand for logs that are to be converted in another way, or where the command line names what to read.
fn tapes_count(args: &args::Stats) -> TapesCount {
    let Conversion {
        policy, adapter, ..
    } = &args.conversion;
    let is_usual = *policy == Policy::Permissive && adapter.is_none();
    if is_usual && args.paths.is_empty() {
        TapesCount::WhereCurrent
    } else {
        TapesCount::Never
    }
}

/// The counts and costs as JSON. The cost of a model stands beside its tokens.
fn as_json(sum: &Group, costs: &Costs, prices: &Prices) -> io::Result<Value> {
    let Value::Object(mut all) = serde_json::to_value(&sum.counts)? else {
        return Ok(json!({}));
    };
    name_tokens(&mut all, &sum.counts)?;
    let of_models = costs.by_model(prices);
    let models = all.get_mut("by_model").and_then(Value::as_object_mut);
    for (model, tokens) in models.into_iter().flatten() {
        if let (Some(tokens), Some(cost)) = (tokens.as_object_mut(), of_models.get(model)) {
            money::put(tokens, cost);
        }
    }
    money::put(&mut all, &sum.cost);
    Ok(Value::Object(all))
}

fn print(
    sum: &Group,
    costs: &Costs,
    prices: &Prices,
    (keys, report): (Keys, &Reporter),
    out: &mut dyn Write,
) -> io::Result<()> {
    let counts = &sum.counts;
    writeln!(out, "{:<14}{:>10}", "sessions", counts.sessions)?;
    writeln!(out, "{:<14}{:>10}", "sub-agents", counts.sub_agents)?;
    writeln!(out, "{:<14}{:>10}", "prompts", counts.prompts)?;
    writeln!(out, "{:<14}{:>10}", "answers", counts.answers)?;
    writeln!(out, "{:<14}{:>10}", "files edited", counts.files_edited)?;
    if sum.cost.usd.is_some() {
        writeln!(out, "{:<14}{:>10}", "USD", money::cell(&sum.cost))?;
    }
    writeln!(out, "\n{:<14}{:>10}  by status", "calls", "number")?;
    for (kind, statuses) in &counts.calls {
        let calls: u64 = statuses.values().sum();
        writeln!(out, "{kind:<14}{calls:>10}  {}", numbers(statuses))?;
    }
    let edits: u64 = counts.edits.values().sum();
    writeln!(
        out,
        "\n{:<14}{edits:>10}  {}\n",
        "edits",
        numbers(&counts.edits)
    )?;
    print_models(sum, &costs.by_model(prices), keys, out)?;
    out.flush()?;
    let has_more = counts
        .tokens
        .values()
        .any(|tokens| tokens.partial != Partial::default());
    money::legend(std::iter::once(&sum.cost), has_more, keys, report);
    Ok(())
}

const MODELS: [Column; 7] = [
    text("model").look(Look::Name).fit(Fit::Start(20)),
    number("input"),
    number("cache read").drops(2),
    number("cache write").drops(3),
    number("output"),
    number("reasoning").drops(4),
    number("USD"),
];

/// A row for each model, and their sum.
fn print_models(
    sum: &Group,
    costs: &BTreeMap<String, Cost>,
    keys: Keys,
    out: &mut dyn Write,
) -> io::Result<()> {
    let unknown = Cost::default();
    let models = sum.counts.tokens.iter().map(|(model, tokens)| {
        let cost = costs.get(model).unwrap_or(&unknown);
        (model.as_str(), *tokens, cost)
    });
    let total = ("total", all_tokens(&sum.counts), &sum.cost);
    let is_sum = sum.counts.tokens.len() > 1;
    let rows = models
        .chain(is_sum.then_some(total))
        .map(|(model, tokens, cost)| {
            let partial = &tokens.partial;
            let numbers = [
                (tokens.input, partial.input),
                (tokens.cache_read, partial.cache_read),
                (tokens.cache_write, partial.cache_write),
                (tokens.output, partial.output),
                (tokens.reasoning, partial.reasoning),
            ];
            let numbers = numbers.map(|(count, is_partial)| {
                let known = count.filter(|count| *count > 0 || !is_partial);
                by::sum(known.map(|count| count.to_string()), is_partial)
            });
            let name = std::iter::once(model.to_owned());
            name.chain(numbers).chain([money::cell(cost)]).collect()
        });
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        return Ok(());
    }
    table::write(&MODELS, &rows, Screen::stdout().with_keys(keys), out)
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
