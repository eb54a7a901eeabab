//! What stands at the root of a document: who acted, sums, and the facts of the tape.

use std::collections::BTreeMap;

use engram_core::event::*;
use serde_json::{Map, Value, json};

use super::document::{Agent, FinalMetrics, Step, Trajectory};
use super::{CONTEXT, FINGERPRINTS, ORIGIN, SESSION_CHANGE, UNRECOGNIZED, Version};
use crate::fields::fields;
use crate::losses::{Losses, SURROGATE, UNKNOWN_LABEL};
use crate::session::Session;
use crate::text::owned;

/// The root on its way.
#[derive(Debug, Default)]
pub(super) struct Root {
    session_id: Option<String>,
    trajectory_id: String,
    harness: String,
    version: Option<String>,
    model: Option<String>,
    engram: Map<String, Value>,
    /// The largest cost that the log states for the session so far: with its sub-agents.
    stated_total: Option<f64>,
}

impl Root {
    pub(super) fn of(name: &str, session: &Session<'_>, losses: &mut Losses) -> Root {
        let mut root = Root {
            trajectory_id: name.to_owned(),
            ..Root::default()
        };
        if let Some(first) = session.events.first() {
            root.harness = first.source.harness.to_owned();
            root.session_id = first.source.session_id.map(owned);
            if let Some(id) = &root.session_id {
                let agent = first
                    .source
                    .agent_id
                    .map(|agent| format!(".{}", owned(agent)))
                    .unwrap_or_default();
                root.trajectory_id = format!("{}/{id}{agent}", root.harness);
            }
        }
        let mut facts = Map::new();
        let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
        let mut revisions = Vec::new();
        let mut fork_of = None;
        let mut is_lossy = false;
        for record in &session.events {
            is_lossy |= has_surrogate(record);
            losses.count_many(&ORIGIN, u64::from(!record.origin.is_empty()));
            match &record.event {
                Event::Meta(Meta::TapeStart(start)) => {
                    root.version = start.harness.version.map(owned);
                    for key in [
                        "adapter",
                        "harness",
                        "schema",
                        "support",
                        "coverage",
                        "degraded",
                        "policy",
                        "redaction",
                    ] {
                        if let Some(value) = fields(record).remove(key) {
                            root.engram.insert(key.to_owned(), value);
                        }
                    }
                }
                Event::Meta(Meta::TapeStop(stop)) => {
                    root.engram
                        .insert("complete".to_owned(), stop.complete.into());
                    for key in ["ledger", "input", "counts"] {
                        if let Some(value) = fields(record).remove(key) {
                            root.engram.insert(key.to_owned(), value);
                        }
                    }
                }
                Event::Meta(Meta::Session(stated)) if !record.replay => {
                    root.model = root.model.take().or_else(|| stated.model.map(owned));
                    fork_of = fork_of.or_else(|| stated.fork_of.map(owned));
                    let total = stated.cost_total_usd;
                    let total = total.and_then(|total| total.as_str().parse::<f64>().ok());
                    root.stated_total = root.stated_total.into_iter().chain(total).reduce(f64::max);
                    first_facts(&mut facts, fields(record), losses);
                }
                Event::Meta(Meta::Revision(_)) => revisions.push(Value::Object(fields(record))),
                Event::Meta(Meta::Unrecognized(_)) => {
                    *counts.entry("unrecognized").or_default() += 1;
                    losses.count(&UNRECOGNIZED);
                }
                Event::Meta(Meta::Context(context)) if context.text.is_none() => {
                    *counts.entry("context").or_default() += 1;
                    losses.count(&CONTEXT);
                }
                Event::Meta(Meta::Other(_)) => losses.count(&UNKNOWN_LABEL),
                Event::CodeRead(read) => {
                    losses.count_many(&FINGERPRINTS, u64::from(!read.anchor_hashes.is_empty()))
                }
                Event::CodeEdit(edit) => {
                    losses.count_many(
                        &FINGERPRINTS,
                        u64::from(
                            !edit.before_anchor_hashes.is_empty()
                                || !edit.after_anchor_hashes.is_empty(),
                        ),
                    );
                }
                _ => {}
            }
        }
        if is_lossy {
            losses.count(&SURROGATE);
            root.engram.insert("lossy".to_owned(), true.into());
        }
        root.put("session", Value::Object(facts));
        root.put("revisions", Value::Array(revisions));
        root.put("not_exported", json!(counts));
        if let Some(fork_of) = fork_of {
            root.engram.insert("fork_of".to_owned(), fork_of.into());
        }
        root
    }

    fn put(&mut self, key: &str, value: Value) {
        if value.as_object().is_none_or(|object| !object.is_empty())
            && value.as_array().is_none_or(|array| !array.is_empty())
        {
            self.engram.insert(key.to_owned(), value);
        }
    }

    /// What responses cost that no step stands for.
    pub(super) fn early_usage(&mut self, usage: Vec<Value>) {
        self.put("usage", Value::Array(usage));
    }

    pub(super) fn document(
        self,
        version: Version,
        steps: Vec<Step>,
        embedded: Vec<Trajectory>,
    ) -> Trajectory {
        let sums = sums(&steps, &embedded);
        let model = self
            .model
            .or_else(|| steps.iter().find_map(|step| step.model_name.clone()));
        Trajectory {
            schema_version: version.as_str(),
            session_id: self.session_id,
            trajectory_id: self.trajectory_id,
            agent: Agent {
                name: self.harness,
                version: self.version.unwrap_or_else(|| "unknown".to_owned()),
                model_name: model,
            },
            final_metrics: FinalMetrics {
                // A total of the session and the costs of its responses are never added.
                total_cost_usd: self.stated_total.or(sums.total_cost_usd),
                ..sums
            },
            steps,
            extra: json!({ "engram": self.engram }),
            subagent_trajectories: embedded,
        }
    }
}

/// Keeps the first value of each fact, and counts the others.
fn first_facts(facts: &mut Map<String, Value>, stated: Map<String, Value>, losses: &mut Losses) {
    for (key, value) in stated {
        match facts.get(&key) {
            _ if key == "label" || key == "cost_total_usd" => {}
            Some(known) if *known != value && key != "model" => losses.count(&SESSION_CHANGE),
            Some(_) => {}
            None => {
                facts.insert(key, value);
            }
        }
    }
}

fn sums(steps: &[Step], embedded: &[Trajectory]) -> FinalMetrics {
    let mut sums = FinalMetrics {
        total_steps: steps.len() as u64,
        ..FinalMetrics::default()
    };
    let add = |sum: &mut Option<u64>, count: Option<u64>| {
        if let Some(count) = count {
            *sum = Some(sum.unwrap_or_default().saturating_add(count));
        }
    };
    for metrics in steps
        .iter()
        .filter(|step| step.is_copied_context.is_none())
        .filter_map(|step| step.metrics.as_ref())
    {
        add(&mut sums.total_prompt_tokens, metrics.prompt_tokens);
        add(&mut sums.total_completion_tokens, metrics.completion_tokens);
        add(&mut sums.total_cached_tokens, metrics.cached_tokens);
        add_cost(&mut sums.total_cost_usd, metrics.cost_usd);
    }
    embedded
        .iter()
        .for_each(|child| add_cost(&mut sums.total_cost_usd, child.final_metrics.total_cost_usd));
    sums
}

pub(super) fn add_cost(sum: &mut Option<f64>, cost: Option<f64>) {
    if let Some(cost) = cost {
        *sum = Some(sum.unwrap_or_default() + cost);
    }
}

/// True if a text of the event has half a surrogate pair.
fn has_surrogate(record: &EventRecord<'_>) -> bool {
    let line = record.to_line();
    matches!(
        engram_core::text::replace_lone_surrogates(&line),
        std::borrow::Cow::Owned(_)
    )
}
