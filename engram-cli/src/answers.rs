//! Reading for commands that sum over sessions: each session counts once, whether its log or its tape is read.

use std::num::NonZeroUsize;

use engram_adapters::sessions::SessionOptions;
use engram_command::exit::{Exit, Tally};
use engram_command::filter::Filter;
use engram_command::inputs::is_no_session;
use engram_command::pool::in_order;
use engram_command::report::Reporter;
use engram_core::error::AdapterError;
use engram_core::form_facts::FormSink;
use engram_core::overview::OverviewSink;
use engram_core::sink::EventSink;
use engram_core::stats::Stats;

use crate::once::{Counted, Once, is_session};
use crate::reading::{Item, Reading, Sent};

/// What was read, and how that went.
pub struct Answers<T> {
    pub once: Once<T>,
    pub exit: Exit,
    /// Sessions that the filter left out.
    pub filtered: u64,
}

/// Reads everything, with a sink of the command's own for each session.
///
/// # Errors
/// The exit code of what has been reported, if nothing could be read.
pub fn read<T: EventSink + Send>(
    reading: &Reading,
    options: &SessionOptions,
    filter: &Filter,
    jobs: Option<NonZeroUsize>,
    new: impl Fn() -> T + Sync,
    report: &Reporter,
) -> Result<Answers<T>, Exit> {
    let (mut tally, mut once, mut filtered) = (Tally::default(), Once::default(), 0);
    report.start_progress(reading.items.iter().flatten().map(Item::bytes).sum());
    let work = |item: &Result<Item, AdapterError>| {
        item.as_ref()
            .map_err(Clone::clone)
            .and_then(|item| one(item, options, filter, new()))
    };
    let done = in_order(jobs, &reading.items, work, |item, read| match read {
        Ok(counted) => {
            tally.success();
            filtered += u64::from(counted.is_none());
            counted.into_iter().for_each(|counted| once.add(counted));
        }
        Err(error) if is_no_session(&error) && item.as_ref().is_ok_and(Item::is_found) => {}
        Err(error) => tally.failure(report.failure(&error)),
    });
    report.end_progress();
    done.map_err(|error| report.failure(&error))?;
    if tally.is_empty() {
        return Err(report.no_session(&reading.paths));
    }
    if !tally.has_success() {
        return Err(tally.exit());
    }
    Ok(Answers {
        once,
        exit: tally.exit(),
        filtered,
    })
}

/// One session; `None` for one that the filter leaves out.
fn one<T: EventSink>(
    item: &Item,
    options: &SessionOptions,
    filter: &Filter,
    more: T,
) -> Result<Option<Counted<T>>, AdapterError> {
    if item
        .overview()
        .is_some_and(|overview| !filter.wants(overview))
    {
        return Ok(None);
    }
    let mut sinks = (
        (Stats::default(), FormSink::default()),
        (OverviewSink::default(), more),
    );
    if item.send(options, filter, &mut sinks)? == Sent::LeftOut {
        return Ok(None);
    }
    let ((stats, forms), (overview, more)) = sinks;
    let overview = overview.overview();
    let is_wanted = filter.wants(&overview) && is_session(&overview);
    Ok(is_wanted.then(|| Counted {
        path: item.path(),
        stats,
        overview,
        facts: forms.facts(),
        more,
    }))
}
