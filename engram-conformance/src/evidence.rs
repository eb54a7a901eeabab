//! What all recordings together show of an adapter, for the checks of its claims.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::event::Kind;
use serde_json::Value;

use crate::scene::{Scene, Side};

/// What the recordings of one revision show.
#[derive(Debug, Default, Clone)]
pub struct Shown {
    /// Kinds of which there are events.
    pub kinds: BTreeSet<&'static str>,
    /// Gaps, each with a recording that shows it.
    pub gaps: BTreeMap<&'static str, String>,
    /// Versions of the recordings.
    pub versions: BTreeSet<String>,
}

/// What all recordings show.
#[derive(Debug, Default, Clone)]
pub struct Evidence {
    /// By schema; the empty name stands for tapes that name none.
    pub revisions: BTreeMap<String, Shown>,
    /// The gaps of each recording, by its name.
    pub gaps: BTreeMap<String, BTreeSet<&'static str>>,
    /// Rules that the audits or the ledgers used, with the record type; empty for rules of fields.
    pub rules: BTreeSet<(String, String)>,
    /// Rules that ledgers name, with a place.
    pub ledger_rules: BTreeMap<String, String>,
    /// Tapes whose claim is not that of their revision, each with its place.
    pub disagreeing: Vec<String>,
}

impl Evidence {
    /// What one recording shows.
    pub fn of(scene: &Scene<'_>) -> Evidence {
        let mut evidence = Evidence::default();
        evidence.gaps.insert(scene.recording.name(), scene.gaps.clone());
        for side in &scene.sides {
            evidence.take(scene, side);
        }
        evidence
    }

    fn take(&mut self, scene: &Scene<'_>, side: &Side) {
        let Some(start) = side.events.first() else { return };
        let schema = start.0.pointer("/harness/schema").and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = scene.recording.name();
        let shown = self.revisions.entry(schema.clone()).or_default();
        shown.kinds.extend(side.events.iter().filter_map(|event| event.kind()).map(Kind::as_str));
        shown.gaps.extend(scene.gaps.iter().map(|gap| (*gap, name.clone())));
        // A session that a newer release went on with is of the release that it says.
        let recorded = start.0.pointer("/harness/version").and_then(Value::as_str).unwrap_or_default();
        shown.versions.insert(if recorded.is_empty() { scene.recording.version.clone() } else { recorded.to_owned() });
        let claimed = scene.subject.descriptor.matrix.schema(&schema).and_then(|revision| serde_json::to_value(revision.coverage).ok());
        if claimed.is_some_and(|claimed| start.0.get("coverage") != Some(&claimed)) {
            self.disagreeing.push(scene.place(side));
        }
        self.take_rules(scene, side);
    }

    fn take_rules(&mut self, scene: &Scene<'_>, side: &Side) {
        if let Ok(report) = side.audit(&scene.subject.descriptor) {
            self.rules.extend(report.omitted.keys().chain(report.opaque.keys()).map(|rule| (rule.clone(), String::new())));
        }
        let stop = side.events.last().map(|stop| &stop.0);
        let rows = stop.and_then(|stop| stop.pointer("/ledger/omitted")).and_then(Value::as_array);
        for row in rows.into_iter().flatten() {
            let (record, rule) = (row["type"].as_str().unwrap_or_default(), row["rule"].as_str().unwrap_or_default());
            self.rules.insert((rule.to_owned(), record.to_owned()));
            self.ledger_rules.entry(rule.to_owned()).or_insert_with(|| scene.place(side));
        }
    }

    /// Adds what other recordings show.
    pub fn add(&mut self, other: Evidence) {
        for (schema, shown) in other.revisions {
            let sum = self.revisions.entry(schema).or_default();
            sum.kinds.extend(shown.kinds);
            sum.gaps.extend(shown.gaps);
            sum.versions.extend(shown.versions);
        }
        for (name, gaps) in other.gaps {
            self.gaps.entry(name).or_default().extend(gaps);
        }
        self.rules.extend(other.rules);
        self.ledger_rules.extend(other.ledger_rules);
        self.disagreeing.extend(other.disagreeing);
    }
}
