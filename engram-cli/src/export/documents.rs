//! Tapes as documents: read whole, one at a time, with what links them.

use std::io::{self, Read};

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::redact::Redacting;
use engram_core::tape::{JsonLines, replay};
use engram_export::links::{Links, Parent, parents, shorter};
use engram_export::session::MAX_BYTES;

use super::args::Common;
use super::inputs::{TapeFile, check, tapes};
use crate::exit::Tally;
use crate::report::{Reporter, shown};
use crate::tapes::open_tape;

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
    /// The tapes at these paths that follow the format; of several tapes of one session the longest. Others are reported.
    pub fn read(common: &Common, report: &Reporter, tally: &mut Tally) -> Documents {
        let (mut good, mut links) = (Vec::new(), Vec::new());
        for tape in tapes(&common.tapes(), report, tally) {
            match check(&tape).and_then(|()| links_of(&tape)) {
                Ok(of_tape) => {
                    good.push(tape);
                    links.push(of_tape);
                }
                Err(error) => tally.failure(report.failure(&error)),
            }
        }
        let shorter = shorter(&links);
        let mut kept = (Vec::new(), Vec::new());
        for ((tape, links), is_shorter) in good.into_iter().zip(links).zip(shorter) {
            if is_shorter {
                report.note(&format!(
                    "skipped     {}: another tape of its session is longer",
                    shown(&tape.path)
                ));
            } else {
                kept.0.push(tape);
                kept.1.push(links);
            }
        }
        let (tapes, links) = kept;
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

    /// The text of a tape, with keys and tokens or without.
    ///
    /// # Errors
    /// If it cannot be read, or is too large to be held in memory.
    pub fn text(&self, tape: usize, redact: bool) -> Result<String, AdapterError> {
        let path = &self.tapes[tape].path;
        let at = |error: io::Error| AdapterError::from(error).path(path.to_string_lossy());
        let mut text = String::new();
        let reader = open_tape(path).map_err(at)?;
        if redact {
            let mut redacted = Vec::new();
            Redacting::new(JsonLines::new(&mut redacted))
                .and_then(|mut sink| replay(reader.take(MAX_BYTES + 1), &mut sink))
                .map_err(at)?;
            text = String::from_utf8(redacted).map_err(|error| at(io::Error::other(error)))?;
        } else {
            reader
                .take(MAX_BYTES + 1)
                .read_to_string(&mut text)
                .map_err(at)?;
        }
        if text.len() as u64 > MAX_BYTES {
            let error = AdapterError::new(ErrorCode::LimitExceeded)
                .expected("a tape of at most 2 GiB")
                .found("a larger one");
            return Err(error.path(path.to_string_lossy()));
        }
        Ok(text)
    }
}

fn links_of(tape: &TapeFile) -> Result<Links, AdapterError> {
    let mut links = Links::default();
    let replayed = open_tape(&tape.path).and_then(|reader| replay(reader, &mut links));
    replayed.map_err(|error| AdapterError::from(error).path(tape.path.to_string_lossy()))?;
    Ok(links)
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
