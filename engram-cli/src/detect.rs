//! `engram detect`: identifies the harness and version of logs, with the evidence.

use std::io::{self, Write, stdout};

use engram_adapters::Registry;
use engram_adapters::sessions::SessionOptions;
use engram_command::exit::{Exit, Tally};
use engram_command::inputs::{SessionInput, find, is_no_session};
use engram_command::pool::in_order;
use engram_command::report::{Reporter, one_line, printable_json};
use engram_core::error::AdapterError;
use engram_core::version::{Revision, Support};
use serde::Serialize;

use crate::args::Detect;

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
pub fn run(args: &Detect, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let mut tally = Tally::default();
    let mut lines = Vec::new();
    let options = SessionOptions::default()
        .with_registry(registry.clone())
        .with_every_form();
    let found = find(&args.paths, &options).sessions;
    let examine = |input: &Result<SessionInput, AdapterError>| {
        input.clone().and_then(|input| finding(&options, &input))
    };
    let done = in_order(None, &found, examine, |input, finding| match finding {
        Ok(finding) => {
            tally.success();
            let json = || {
                printable_json(&serde_json::to_string(&finding).unwrap_or_default()).into_owned()
            };
            lines.push(if args.json { json() } else { text(&finding) });
        }
        Err(error)
            if is_no_session(&error) && input.as_ref().is_ok_and(|input| !input.is_named()) => {}
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

fn finding(options: &SessionOptions, input: &SessionInput) -> Result<Finding, AdapterError> {
    let source = input.open(options)?;
    let (revision, support) = source.revision();
    let (descriptor, identity) = (
        source.registration().descriptor(),
        source.identity().clone(),
    );
    Ok(Finding {
        path: input.path().to_string_lossy().into_owned(),
        store: source.store(),
        adapter: descriptor.adapter_id,
        harness: source.harness(),
        schema: known_schema(revision, support),
        support: support.as_str(),
        version: identity.version,
        session_id: identity.session_id,
        agent_id: identity.agent_id,
        evidence: source
            .evidence()
            .map(|evidence| evidence.marks.clone())
            .unwrap_or_default(),
    })
}

/// Other versions are converted like the nearest revision, but their schema is not known.
fn known_schema(revision: Option<&'static Revision>, support: Support) -> Option<&'static str> {
    revision
        .filter(|_| support.degradation().is_none())
        .map(|revision| revision.schema)
}

fn text(finding: &Finding) -> String {
    let version = finding
        .version
        .as_deref()
        .unwrap_or("of unrecorded version");
    let schema = finding.schema.unwrap_or("unknown");
    let store = finding
        .store
        .map(|kind| format!(" {kind},"))
        .unwrap_or_default();
    let line = format!(
        "{}:{store} {} {version}, schema {schema}, {}; evidence: {}",
        finding.path,
        finding.harness,
        finding.support,
        finding.evidence.join(", ")
    );
    one_line(&line).into_owned()
}
