//! What two forms of one session must have in common, so that one of them can be skipped or is not counted.

use std::collections::{BTreeSet, HashMap};
use std::io;

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::event::{Author, Event, EventRef, Meta};
use engram_core::keys::hash64;
use engram_core::sink::EventSink;
use engram_core::text::{Text, canonical_json};

use super::location::SessionLocation;
use super::options::SessionOptions;

/// The prompts, calls and results of a session in one form. Texts of answers are not compared: forms divide and join them differently, and
/// transcripts have notes that stores leave out.
#[derive(Debug, Default)]
pub struct FormFacts {
    harness: String,
    session_id: String,
    agent_id: Option<String>,
    /// The schema of the log.
    schema: String,
    /// How often each prompt occurs, by a hash of its words.
    prompts: HashMap<u64, u64>,
    sums: Sums,
    /// What a copy in the same schema has, too, and another capture of the session has not: its responses and calls, by a hash of their ids
    /// and words, and how often each is there.
    responses: HashMap<u64, u64>,
    /// Sub-agents of which it has events: a printed stream has those of all agents, a log only its own.
    agents: BTreeSet<String>,
}

/// What is compared by its amount.
#[derive(Debug, Default, Clone, Copy)]
struct Sums {
    calls: u64,
    results: u64,
}

impl Sums {
    fn cover(self, other: Sums) -> bool {
        self.calls >= other.calls && self.results >= other.results
    }
}

impl FormFacts {
    /// Converts a session and keeps what is compared.
    ///
    /// # Errors
    /// Those of opening and converting it; `unknown_harness` if it has no id.
    pub(super) fn of(
        location: &SessionLocation,
        options: &SessionOptions,
    ) -> Result<FormFacts, AdapterError> {
        let options = SessionOptions {
            on_read: None,
            ..options.clone()
        };
        let mut sink = FormSink::default();
        location.open(&options)?.convert(&mut sink)?;
        sink.facts()
            .ok_or_else(|| AdapterError::new(ErrorCode::UnknownHarness))
    }

    /// Harness, session and sub-agent. Only facts of the same identity can repeat each other.
    pub fn identity(&self) -> (&str, &str, Option<&str>) {
        (&self.harness, &self.session_id, self.agent_id.as_deref())
    }

    /// The number of prompts and of calls.
    pub fn size(&self) -> (u64, u64) {
        (self.prompts.values().sum(), self.sums.calls)
    }

    /// True if it is the same session, with each prompt of the other form at least as often, and no fewer calls and results. Sub-agents of
    /// the other form must be in this one, or `is_elsewhere`. Two inputs in the same schema must have the same responses, too: captures of two
    /// runs of a session may have the same prompts.
    pub fn contain(&self, other: &FormFacts, is_elsewhere: impl Fn(&str) -> bool) -> bool {
        let has_agents = other
            .agents
            .iter()
            .all(|agent| self.agents.contains(agent) || is_elsewhere(agent));
        let is_same = self.identity() == other.identity() && has_agents;
        let has_responses = self.schema != other.schema || has(&self.responses, &other.responses);
        is_same
            && self.sums.cover(other.sums)
            && has(&self.prompts, &other.prompts)
            && has_responses
    }
}

/// True if each of the other facts is there at least as often.
fn has(facts: &HashMap<u64, u64>, others: &HashMap<u64, u64>) -> bool {
    others
        .iter()
        .all(|(fact, times)| facts.get(fact).is_some_and(|known| known >= times))
}

/// Collects the facts of one conversion or tape.
#[derive(Debug, Default)]
pub struct FormSink {
    known: FormFacts,
}

impl FormSink {
    /// The facts; `None` if the session has no id.
    pub fn facts(self) -> Option<FormFacts> {
        Some(self.known).filter(|known| !known.session_id.is_empty())
    }

    fn note_response(&mut self, response: u64) {
        *self.known.responses.entry(response).or_default() += 1;
    }

    /// True for an event of a sub-agent in the form of its session.
    fn is_of_other_agent(&self, record: &EventRef<'_>) -> bool {
        record
            .source
            .agent_id
            .is_some_and(|agent| Some(&*agent.decode_lossy()) != self.known.agent_id.as_deref())
    }
}

/// The time that the record of an event states itself.
fn own_time<'r>(record: &EventRef<'r>) -> Option<&'r str> {
    record.t_basis.is_none().then_some(record.t)
}

impl EventSink for FormSink {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        let owned = |text: Text<'_>| text.decode_lossy().into_owned();
        match record.event {
            Event::Meta(Meta::TapeStart(start)) => {
                self.known.harness = start.harness.family.to_owned();
                self.known.schema = start.harness.schema.unwrap_or_default().to_owned();
                self.known.session_id = record.source.session_id.map(owned).unwrap_or_default();
                self.known.agent_id = record.source.agent_id.map(owned);
            }
            _ if record.replay => {}
            Event::MsgIn(_) | Event::ToolCall(_) | Event::ToolResult(_)
                if self.is_of_other_agent(record) =>
            {
                self.known.agents.extend(record.source.agent_id.map(owned));
            }
            Event::MsgIn(message) if message.by == Author::Person => {
                let text = message
                    .text
                    .as_ref()
                    .map(|text| text.decode_lossy())
                    .unwrap_or_default();
                // Forms differ in the white space around and between the lines of a prompt.
                *self
                    .known
                    .prompts
                    .entry(hash64(text.split_whitespace().collect::<Vec<_>>()))
                    .or_default() += 1;
            }
            Event::MsgOut(_) | Event::Meta(Meta::Usage(_)) if self.is_of_other_agent(record) => {}
            Event::MsgOut(message) => {
                let words = message.text.map(owned);
                // An answer may have grown after a copy was made, but its id has not changed.
                self.note_response(match message.message_id {
                    Some(id) => hash64(("answer", owned(id))),
                    None => hash64(("answer", words, own_time(record))),
                });
            }
            Event::Meta(Meta::Usage(usage)) if usage.message_id.is_none() => {
                self.note_response(hash64(("usage", usage.tokens)));
            }
            Event::ToolCall(call) => {
                self.known.sums.calls += 1;
                // A store and an export of it may have other white space.
                let args = call.args.map(canonical_json);
                self.note_response(hash64(("call", call.call_id.map(owned), args)));
            }
            Event::ToolResult(_) => self.known.sums.results += 1,
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(session: &str, prompts: &[(u64, u64)], calls: u64) -> FormFacts {
        FormFacts {
            harness: "toy".to_owned(),
            session_id: session.to_owned(),
            agent_id: None,
            schema: "toy/1".to_owned(),
            responses: HashMap::new(),
            prompts: prompts.iter().copied().collect(),
            sums: Sums {
                calls,
                results: calls,
            },
            agents: BTreeSet::new(),
        }
    }

    #[test]
    fn a_form_repeats_another_one_if_it_has_nothing_more() {
        let used = facts("a", &[(1, 2), (2, 1)], 3);
        let contains = |other: &FormFacts| used.contain(other, |_| false);
        assert!(
            contains(&facts("a", &[(1, 2)], 3)) && contains(&facts("a", &[], 0)) && contains(&used)
        );
        assert!(!contains(&facts("b", &[(1, 1)], 1)), "another session");
        assert!(!contains(&facts("a", &[(3, 1)], 1)), "another prompt");
        assert!(!contains(&facts("a", &[(1, 3)], 1)), "the prompt once more");
        assert!(!contains(&facts("a", &[(1, 1)], 4)), "a call more");
        let mut other = facts("a", &[(1, 1)], 1);
        other.sums.results = 4;
        assert!(!contains(&other), "a result more");
        let mut printed = facts("a", &[], 1);
        printed.agents.insert("b".to_owned());
        assert!(!contains(&printed), "another agent");
        assert!(used.contain(&printed, |agent| agent == "b"));
    }

    #[test]
    fn captures_of_two_runs_with_the_same_prompts_do_not_repeat_each_other() {
        let run = |response: u64| FormFacts {
            responses: HashMap::from([(response, 1)]),
            ..facts("a", &[(1, 1)], 1)
        };
        let (one, mut other) = (run(1), run(2));
        assert!(one.contain(&run(1), |_| false) && !one.contain(&other, |_| false));
        // Another form has other words for the same.
        other.schema = "toy/2".to_owned();
        assert!(one.contain(&other, |_| false));
    }
}
