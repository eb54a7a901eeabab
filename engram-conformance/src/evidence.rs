//! What all recordings together prove about an adapter. The checks of claims use it.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::event::Kind;
use serde_json::Value;

use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::members::Sample;
use crate::subject::Subject;

/// What the recordings of one revision prove.
#[derive(Debug, Default, Clone)]
pub struct RevisionEvidence {
    /// Kinds that have events.
    pub kinds: BTreeSet<&'static str>,
    /// Gaps, each with a recording that exhibits it.
    pub gaps: BTreeMap<&'static str, String>,
    /// Versions of the recordings.
    pub versions: BTreeSet<String>,
}

/// What all recordings prove.
#[derive(Debug, Default, Clone)]
pub struct Evidence {
    /// By schema; the key of tapes without a schema is the empty string.
    pub revisions: BTreeMap<String, RevisionEvidence>,
    /// The gaps that each recording exhibits, by the recording's name.
    pub gaps: BTreeMap<String, BTreeSet<&'static str>>,
    /// Omission rules that audits or ledgers used, with the record type. The type is empty for rules of fields.
    pub rules: BTreeSet<(String, String)>,
    /// Rules that ledgers name, each with the place of one such tape.
    pub ledger_rules: BTreeMap<String, String>,
    /// The members of the sessions.
    pub(crate) members: Sample,
    /// Places of tapes whose claims differ from those of their revision.
    pub wrong_claims: Vec<String>,
}

impl Evidence {
    /// What one recording proves.
    pub fn of(subject: &Subject<'_>, case: &Case<'_>) -> Evidence {
        let mut evidence = Evidence::default();
        evidence
            .gaps
            .insert(case.recording.name(), case.gaps.clone());
        evidence.members = Sample::of(subject, case);
        for session in &case.sessions {
            evidence.add_session(subject, case, session);
        }
        evidence
    }

    fn add_session(&mut self, subject: &Subject<'_>, case: &Case<'_>, session: &ConvertedSession) {
        let Some(start) = session.events.first() else {
            return;
        };
        let schema = session.schema().unwrap_or_default().to_owned();
        let name = case.recording.name();
        let revision = self.revisions.entry(schema.clone()).or_default();
        let of_schema = case.gaps_by_schema.get(&schema).into_iter().flatten();
        revision
            .gaps
            .extend(of_schema.map(|gap| (*gap, name.clone())));
        // A session that strict policy refuses proves no claim.
        if session.refusal.is_some() {
            return;
        }
        revision.kinds.extend(
            session
                .events
                .iter()
                .filter_map(|event| event.kind())
                .map(Kind::as_str),
        );
        // A newer release may have continued the session: the version in the log counts, not the directory's.
        let logged = start
            .0
            .pointer("/harness/version")
            .and_then(Value::as_str)
            .unwrap_or_default();
        revision.versions.insert(if logged.is_empty() {
            case.recording.version.clone()
        } else {
            logged.to_owned()
        });
        let claims = subject
            .descriptor
            .matrix
            .schema(&schema)
            .and_then(|revision| serde_json::to_value(revision.coverage).ok());
        if claims.is_some_and(|claims| start.0.get("coverage") != Some(&claims)) {
            self.wrong_claims.push(case.place(session));
        }
        self.add_rules(subject, case, session);
    }

    fn add_rules(&mut self, subject: &Subject<'_>, case: &Case<'_>, session: &ConvertedSession) {
        if let Ok(report) = session.audit(&subject.descriptor) {
            self.rules.extend(
                report
                    .omitted
                    .keys()
                    .chain(report.opaque.keys())
                    .map(|rule| (rule.clone(), String::new())),
            );
        }
        let stop = session.events.last().map(|stop| &stop.0);
        let rows = stop
            .and_then(|stop| stop.pointer("/ledger/omitted"))
            .and_then(Value::as_array);
        for row in rows.into_iter().flatten() {
            let (record, rule) = (
                row["type"].as_str().unwrap_or_default(),
                row["rule"].as_str().unwrap_or_default(),
            );
            self.rules.insert((rule.to_owned(), record.to_owned()));
            self.ledger_rules
                .entry(rule.to_owned())
                .or_insert_with(|| case.place(session));
        }
    }

    /// Adds what other recordings prove.
    pub fn add(&mut self, other: Evidence) {
        for (schema, revision) in other.revisions {
            let sum = self.revisions.entry(schema).or_default();
            sum.kinds.extend(revision.kinds);
            sum.gaps.extend(revision.gaps);
            sum.versions.extend(revision.versions);
        }
        for (name, gaps) in other.gaps {
            self.gaps.entry(name).or_default().extend(gaps);
        }
        self.members.add(other.members);
        self.rules.extend(other.rules);
        self.ledger_rules.extend(other.ledger_rules);
        self.wrong_claims.extend(other.wrong_claims);
    }
}
