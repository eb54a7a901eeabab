//! `engram export agent-trace` and `engram export git-notes`: who made the lines of commits.

use std::io::{self, Write, stdout};

use engram_adapters::Registry;
use engram_command::exit::Exit;
use engram_command::report::{Reporter, printable, printable_json};
use engram_export::authorship::git_notes::{Log, NOTES_REF};
use engram_export::authorship::{Commit, agent_trace, git_notes};

use crate::export::{AgentTrace, GitNotes, OfCommits};
use crate::index::git::Repository;
use crate::index::{Written, export};

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(target: OfCommits<'_>, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    match target {
        OfCommits::AgentTrace(args) => agent_trace(args, registry, report),
        OfCommits::GitNotes(args) => git_notes(args, registry, report),
    }
}

/// Prints a record of Agent Trace for each commit.
///
/// # Errors
/// When standard output cannot be written to.
fn agent_trace(args: &AgentTrace, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let mut write = |commit: &Commit, _: &Repository| {
        let Some(record) = agent_trace::record(commit, env!("CARGO_PKG_VERSION")) else {
            return Ok(Written::Nothing);
        };
        writeln!(stdout().lock(), "{}", printable_json(&record))?;
        Ok(Written::Done)
    };
    export(&args.revisions, &args.source, registry, report, &mut write)
}

/// Prints the authorship log of each commit, or makes notes of them.
///
/// # Errors
/// When standard output cannot be written to.
fn git_notes(args: &GitNotes, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let is_range = args.revisions.contains("..");
    let mut write = |commit: &Commit, repository: &Repository| {
        let Log { text, left_out } = git_notes::log(commit);
        for path in left_out {
            report.note(&format!(
                "warning     {path} is left out: the format cannot hold its name"
            ));
        }
        let Some(text) = text else {
            return Ok(Written::Nothing);
        };
        if args.write {
            return Ok(add(&text, commit, repository, report));
        }
        let mut out = stdout().lock();
        if is_range {
            writeln!(out, "commit {}", commit.sha)?;
        }
        writeln!(out, "{}", printable(&text))?;
        Ok(Written::Done)
    };
    export(&args.revisions, &args.source, registry, report, &mut write)
}

/// Makes the note. Another note of the commit stays: the standard allows one for each commit, and the tool of the standard may have written it.
fn add(text: &str, commit: &Commit, repository: &Repository, report: &Reporter) -> Written {
    let added = match repository.note(NOTES_REF, &commit.sha) {
        Ok(Some(note)) if note == text.as_bytes() => Ok(Written::Done),
        Ok(Some(_)) => {
            let sha = &commit.sha;
            let message = format!(
                "{sha} has another note; `git notes --ref={NOTES_REF} remove {sha}` removes it"
            );
            report.finding("note_exists", &message);
            Ok(Written::Refused)
        }
        Ok(None) => repository
            .add_note(NOTES_REF, &commit.sha, text)
            .map(|()| Written::Done),
        Err(error) => Err(error),
    };
    added.unwrap_or_else(|error| {
        report.finding(error.code(), &error.to_string());
        Written::Refused
    })
}
