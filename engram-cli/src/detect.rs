//! `engram detect`: which harness and version wrote a log, and what proves it.

use std::io::{self, Write, stdout};

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::version::{Revision, Support};
use serde::Serialize;

use crate::args::Detect;
use crate::artifact::{Artifact, Way, artifacts};
use crate::exit::{Exit, Tally};
use crate::pool::in_order;
use crate::report::{Reporter, one_line};

#[derive(Serialize)]
struct Finding {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<&'static str>,
    adapter: &'static str,
    harness: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'static str>,
    support: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    evidence: Vec<&'static str>,
}

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Detect, way: &Way, report: &Reporter) -> io::Result<Exit> {
    let mut tally = Tally::default();
    let mut lines = Vec::new();
    let found = artifacts(&args.paths, way.limits).artifacts;
    let examine = |artifact: &Result<Artifact, AdapterError>| artifact.clone().and_then(|artifact| finding(way, &artifact));
    let done = in_order(None, &found, examine, |artifact, finding| match finding {
        Ok(finding) => {
            tally.success();
            lines.push(if args.json { serde_json::to_string(&finding).unwrap_or_default() } else { text(&finding) });
        }
        Err(error) if error.code == ErrorCode::UnknownHarness && artifact.as_ref().is_ok_and(|artifact| !artifact.is_named()) => {}
        Err(error) => tally.failure(report.failure(&error)),
    });
    if let Err(error) = done {
        return Ok(report.failure(&error));
    }
    if tally.is_empty() {
        return Ok(report.no_session(&args.paths));
    }
    let mut out = stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(tally.exit())
}

fn finding(way: &Way, artifact: &Artifact) -> Result<Finding, AdapterError> {
    let opened = way.open(artifact)?;
    let (revision, support) = opened.revision();
    let descriptor = opened.entry.adapter.describe();
    Ok(Finding {
        path: artifact.path().to_string_lossy().into_owned(),
        store: artifact.store(),
        adapter: descriptor.adapter_id,
        harness: descriptor.harness_family,
        schema: known_schema(revision, support),
        support: support.as_str(),
        version: opened.identity.version,
        session_id: opened.identity.session_id,
        agent_id: opened.identity.agent_id,
        evidence: opened.evidence.map(|evidence| evidence.marks).unwrap_or_default(),
    })
}

/// An unknown version is converted by the nearest revision, but that is not what it is.
fn known_schema(revision: Option<&'static Revision>, support: Support) -> Option<&'static str> {
    revision.filter(|_| support != Support::Unknown).map(|revision| revision.schema)
}

fn text(finding: &Finding) -> String {
    let version = finding.version.as_deref().unwrap_or("of unrecorded version");
    let schema = finding.schema.unwrap_or("unknown");
    let store = finding.store.map(|kind| format!(" {kind},")).unwrap_or_default();
    let line = format!(
        "{}:{store} {} {version}, schema {schema}, {}; evidence: {}",
        finding.path,
        finding.harness,
        finding.support,
        finding.evidence.join(", ")
    );
    one_line(&line).into_owned()
}
