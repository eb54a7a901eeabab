//! Tapes as documents: one at a time, with what links them.

use std::io::{self, Seek};

use engram_command::exit::Tally;
use engram_command::report::Reporter;
use engram_core::error::AdapterError;
use engram_core::form_facts::FormSink;
use engram_core::overview::OverviewSink;
use engram_core::redact::Redacting;
use engram_core::stats::Stats;
use engram_core::tape::{JsonLines, replay};
use engram_export::links::{Links, Parent, parents};
use engram_export::session::Session;
use tempfile::SpooledTempFile;

use super::args::Common;
use super::inputs::{TapeFile, check, tapes};
use crate::once::{Counted, Once};
use crate::tapes::{open_tape, tape_error};

/// A text is kept in memory up to this size, then in a temporary file.
const SPOOL_BYTES: usize = 8 << 20;
/// Sub-agents of sub-agents, so deep at most. Deeper ones have documents of their own.
const MAX_DEPTH: usize = 32;

/// The tapes of an export.
pub struct Documents {
    /// The tapes, in the order of their names.
    pub tapes: Vec<TapeFile>,
    /// What each belongs to, if that is among them.
    pub parents: Vec<Option<Parent>>,
    /// What belongs to each.
    pub children: Vec<Vec<usize>>,
}

impl Documents {
    /// The tapes at these paths that follow the format, each session once as in every sum. Others are reported.
    pub fn read(common: &Common, report: &Reporter, tally: &mut Tally) -> Documents {
        let mut once = Once::default();
        for tape in tapes(&common.tapes(), report, tally) {
            match check(&tape).and_then(|()| counted(tape)) {
                Ok(counted) => once.add(counted),
                Err(error) => tally.failure(report.failure(&error)),
            }
        }
        let once = once.each_once(report).into_iter();
        let (tapes, links): (Vec<TapeFile>, Vec<Links>) = once.map(|tape| tape.more).unzip();
        let mut parents = parents(&links);
        (0..parents.len())
            .filter(|tape| depth(&parents, *tape) > MAX_DEPTH)
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|tape| parents[tape] = None);
        let mut children = vec![Vec::new(); tapes.len()];
        for (tape, parent) in parents.iter().enumerate() {
            if let Some(parent) = parent {
                children[parent.tape].push(tape);
            }
        }
        Documents {
            tapes,
            parents,
            children,
        }
    }

    /// The tapes that belong to no other.
    pub fn roots(&self) -> impl Iterator<Item = usize> {
        (0..self.tapes.len()).filter(|tape| self.parents[*tape].is_none())
    }

    /// A tape with all that belong to it, parents first.
    pub fn family(&self, root: usize) -> Vec<usize> {
        let mut family = vec![root];
        let mut at = 0;
        while let Some(tape) = family.get(at) {
            family.extend(&self.children[*tape]);
            at += 1;
        }
        family
    }

    /// The session of a tape, with keys and tokens or without. Its text is kept until the session is dropped: in memory, or in a temporary
    /// file, so that a tape that changes meanwhile is exported as it was.
    ///
    /// # Errors
    /// If it cannot be read or kept.
    pub fn session(&self, tape: usize, redact: bool) -> io::Result<Session<'static>> {
        let mut kept = SpooledTempFile::new(SPOOL_BYTES);
        let mut reader = open_tape(&self.tapes[tape].path)?;
        if redact {
            replay(reader, &mut Redacting::new(JsonLines::new(&mut kept))?)?;
        } else {
            io::copy(&mut reader, &mut kept)?;
        }
        kept.rewind()?;
        Session::read(kept)
    }

    /// What went wrong with a tape.
    pub fn error(&self, tape: usize, error: io::Error) -> AdapterError {
        tape_error(&self.tapes[tape].path, error)
    }
}

/// What decides whether a tape is exported, and what links it to others.
fn counted(tape: TapeFile) -> Result<Counted<(TapeFile, Links)>, AdapterError> {
    let mut sinks = (
        (Stats::default(), FormSink::default()),
        (OverviewSink::default(), Links::default()),
    );
    let replayed = open_tape(&tape.path).and_then(|reader| replay(reader, &mut sinks));
    replayed.map_err(|error| tape_error(&tape.path, error))?;
    let ((stats, forms), (overview, links)) = sinks;
    Ok(Counted {
        path: tape.path.clone(),
        stats,
        overview: overview.overview(),
        facts: forms.facts(),
        more: (tape, links),
    })
}

fn depth(parents: &[Option<Parent>], tape: usize) -> usize {
    let (mut depth, mut at) = (0, tape);
    while let Some(parent) = &parents[at]
        && depth <= MAX_DEPTH
    {
        depth += 1;
        at = parent.tape;
    }
    depth
}
