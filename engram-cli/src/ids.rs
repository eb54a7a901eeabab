//! Ids of sessions that a shell completes: those that have a tape on this machine.

use std::ffi::OsStr;

use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use engram_command::places;
use engram_command::report::one_line;

use crate::tape_dir::Index;

/// Sessions that have a tape, by their ids.
pub fn ids() -> ArgValueCompleter {
    ArgValueCompleter::new(sessions)
}

/// As [`ids`], and files.
pub fn ids_and_files() -> ArgValueCompleter {
    ArgValueCompleter::new(|begin: &OsStr| {
        let mut found = sessions(begin);
        found.extend(PathCompleter::any().complete(begin));
        found
    })
}

fn sessions(begin: &OsStr) -> Vec<CompletionCandidate> {
    let begin = begin.to_string_lossy();
    let index = places::tapes_dir().and_then(|root| Index::load(&root).ok());
    let index = index.unwrap_or_default();
    let overviews = index.entries().filter_map(|entry| entry.overview.as_ref());
    let of_session = |overview: &engram_core::overview::Overview| {
        let id = overview.session_id.as_deref()?;
        let fits = overview.agent_id.is_none() && id.starts_with(&*begin);
        let title = overview
            .title
            .as_deref()
            .map(|title| one_line(title).into_owned());
        fits.then(|| {
            CompletionCandidate::new(one_line(id).into_owned()).help(title.map(Into::into))
        })
    };
    overviews.filter_map(of_session).collect()
}
