//! What stands at the root of a document: who acted, sums, and the facts of the tape.

use std::collections::BTreeMap;
use std::io;

use engram_core::event::*;
use serde_json::{Map, Value, json};

use super::document::{Agent, Document, FinalMetrics, Head, Step, Version};
use super::rules::{CONTEXT, FINGERPRINTS, ORIGIN, SESSION_CHANGE, UNRECOGNIZED};
use crate::fields::fields;
use crate::losses::{Losses, SURROGATE, UNKNOWN_LABEL};
use crate::scratch::Piece;
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
    pub(super) fn of(name: &str, session: &Session<'_>, losses: &mut Losses) -> io::Result<Root> {
        let source = &session.source;
        let mut root = Root {
            trajectory_id: name.to_owned(),
            harness: source.harness.clone(),
            session_id: source.session_id.clone(),
            ..Root::default()
        };
        if let Some(id) = &root.session_id {
            let agent = source.agent_id.as_deref();
            let agent = agent.map(|agent| format!(".{agent}")).unwrap_or_default();
            root.trajectory_id = format!("{}/{id}{agent}", root.harness);
        }
        let mut facts = Map::new();
        let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
        let mut revisions = Vec::new();
        let mut fork_of = None;
        let mut is_lossy = false;
        session.each(&mut |_, line, record| {
            is_lossy |= has_surrogate(line);
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
                    fork_of = fork_of.take().or_else(|| stated.fork_of.map(owned));
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
            Ok(())
        })?;
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
        Ok(root)
    }

    fn put(&mut self, key: &str, value: Value) {
        if value.as_object().is_none_or(|object| !object.is_empty())
            && value.as_array().is_none_or(|array| !array.is_empty())
        {
            self.engram.insert(key.to_owned(), value);
        }
    }

    /// The document, with its steps.
    pub(super) fn document(
        self,
        version: Version,
        steps: Piece,
        sums: Sums,
        embedded: Vec<Document>,
    ) -> io::Result<Document> {
        let mut metrics = sums.metrics;
        embedded
            .iter()
            .for_each(|child| add_cost(&mut metrics.total_cost_usd, child.total_cost_usd));
        // A total of the session and the costs of its responses are never added.
        metrics.total_cost_usd = self.stated_total.or(metrics.total_cost_usd);
        let head = Head {
            schema_version: version.as_str(),
            session_id: self.session_id,
            trajectory_id: self.trajectory_id.clone(),
            agent: Agent {
                name: self.harness,
                version: self.version.unwrap_or_else(|| "unknown".to_owned()),
                model_name: self.model.or(sums.model),
            },
        };
        let mut head = serde_json::to_string(&head)?;
        head.pop();
        let (totals, extra) = (
            serde_json::to_string(&metrics)?,
            json!({ "engram": self.engram }),
        );
        let mut pieces = vec![
            Piece::Text(head + ",\"steps\":["),
            steps,
            Piece::Text(format!("],\"final_metrics\":{totals},\"extra\":{extra}")),
        ];
        let text = |text: &str| Piece::Text(text.to_owned());
        for (number, child) in embedded.into_iter().enumerate() {
            let before = if number == 0 {
                ",\"subagent_trajectories\":["
            } else {
                ","
            };
            pieces.push(text(before));
            pieces.extend(child.pieces);
        }
        pieces.push(text(if pieces.len() > 3 { "]}" } else { "}" }));
        Ok(Document {
            trajectory_id: self.trajectory_id,
            total_cost_usd: metrics.total_cost_usd,
            pieces,
        })
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

/// Sums over steps, and the first model.
#[derive(Debug, Default)]
pub(super) struct Sums {
    metrics: FinalMetrics,
    model: Option<String>,
}

impl Sums {
    pub(super) fn is_empty(&self) -> bool {
        self.metrics.total_steps == 0
    }

    /// Adds a step. What is copied was counted in its own session.
    pub(super) fn add(&mut self, step: &Step) {
        self.metrics.total_steps += 1;
        self.model = self.model.take().or_else(|| step.model_name.clone());
        let add = |sum: &mut Option<u64>, count: Option<u64>| {
            if let Some(count) = count {
                *sum = Some(sum.unwrap_or_default().saturating_add(count));
            }
        };
        if let (Some(of_step), None) = (&step.metrics, step.is_copied_context) {
            let sums = &mut self.metrics;
            add(&mut sums.total_prompt_tokens, of_step.prompt_tokens);
            add(&mut sums.total_completion_tokens, of_step.completion_tokens);
            add(&mut sums.total_cached_tokens, of_step.cached_tokens);
            add_cost(&mut sums.total_cost_usd, of_step.cost_usd);
        }
    }
}

pub(super) fn add_cost(sum: &mut Option<f64>, cost: Option<f64>) {
    if let Some(cost) = cost {
        *sum = Some(sum.unwrap_or_default() + cost);
    }
}

/// True if a text of the event has half a surrogate pair.
fn has_surrogate(line: &str) -> bool {
    matches!(
        engram_core::text::replace_lone_surrogates(line),
        std::borrow::Cow::Owned(_)
    )
}
