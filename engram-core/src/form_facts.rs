//! What two forms of one session must have in common, so that one of them can be skipped or is not counted.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::io;

use serde::{Deserialize, Serialize};

use crate::event::{Author, Event, EventRef, Meta};
use crate::keys::hash64;
use crate::sink::EventSink;
use crate::text::{Text, canonical_json};
use crate::tool_kind::ToolKind;

/// Whose events they are: those of a session, or of a sub-agent of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// The harness.
    pub harness: String,
    /// The id of the session.
    pub session_id: String,
    /// The id of the sub-agent.
    pub agent_id: Option<String>,
}

/// The prompts, calls and results of a session in one form. Texts of answers are not compared: forms divide and join them differently, and
/// transcripts have notes that stores leave out.
///
/// They can be kept as JSON, for the same version of this program, without the identity.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormFacts {
    #[serde(skip)]
    identity: Identity,
    /// The schema of the log.
    schema: String,
    /// How often each prompt occurs, by a hash of its words.
    prompts: BTreeMap<u32, u64>,
    sums: Sums,
    /// What a copy in the same schema has, too, and another capture of the session has not: its responses and calls, by a hash of their ids
    /// and words, and how often each is there.
    responses: BTreeMap<u32, u64>,
    /// Calls of kind `think`. An agent may show a notice of its own to its client as one, of which its log knows nothing.
    thoughts: u64,
    /// Its responses state what they cost.
    has_usage: bool,
    /// The log has the working directory of the session.
    has_directory: bool,
    /// Events with a time of their own.
    dated: u64,
    /// The call that started the sub-agent. A printed stream knows the sub-agent by it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    started_by: Option<String>,
    /// Other sessions and sub-agents of which it has events: a printed stream has those of all agents, a log of hooks those of all sessions.
    others: BTreeSet<(String, Option<String>)>,
}

/// What is compared by its amount.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Facts that were kept, of the session that they are of.
    #[must_use]
    pub fn with_identity(self, identity: Identity) -> FormFacts {
        FormFacts { identity, ..self }
    }

    /// Whose session it is. Only facts of the same identity can repeat each other.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whose session it is, and the other name of a sub-agent: the call that started it.
    pub fn names(&self) -> impl Iterator<Item = Identity> + use<> {
        let by_call = self.started_by.clone().map(|call| Identity {
            agent_id: Some(call),
            ..self.identity.clone()
        });
        let by_call = by_call.filter(|_| self.identity.agent_id.is_some());
        std::iter::once(self.identity.clone()).chain(by_call)
    }

    /// The number of prompts, whether responses state what they cost, and the number of calls.
    pub fn size(&self) -> (u64, bool, u64) {
        let prompts = self.prompts.values().sum();
        (prompts, self.has_usage, self.sums.calls)
    }

    /// True if the log is in the same schema.
    pub fn has_schema_of(&self, other: &FormFacts) -> bool {
        self.schema == other.schema
    }

    /// Whether the log has a working directory, and how many events have a time of their own.
    pub fn place_and_time(&self) -> (bool, u64) {
        (self.has_directory, self.dated)
    }

    /// True if it is the same session, with each prompt of the other form at least as often, and no fewer calls and results. Other sessions and
    /// sub-agents of the other form must be in this one, or `is_elsewhere`. Two inputs in the same schema must have the same responses, too:
    /// captures of two runs of a session may have the same prompts.
    pub fn contain(
        &self,
        other: &FormFacts,
        is_elsewhere: impl Fn(&str, Option<&str>) -> bool,
    ) -> bool {
        self.sums.cover(other.sums) && self.has_prompts_of(other, is_elsewhere)
    }

    /// True if it has as many prompts, calls and results as a log of the same session that something between the harness and its client wrote.
    /// Such a log has the prompts in other words: what came with them is not in their text.
    pub fn has_as_much(&self, relayed: &FormFacts) -> bool {
        let calls = Sums {
            calls: self.sums.calls + relayed.thoughts,
            results: self.sums.results + relayed.thoughts,
        };
        self.identity.session_id == relayed.identity.session_id
            && self.size().0 >= relayed.size().0
            && calls.cover(relayed.sums)
    }

    /// True if a sum over sessions takes this form alone: it contains the other one, or it states what the same prompts cost, and the other
    /// one, which may have more calls, does not.
    pub fn count_for(
        &self,
        other: &FormFacts,
        is_elsewhere: impl Fn(&str, Option<&str>) -> bool,
    ) -> bool {
        let alone_has_usage = self.has_usage && !other.has_usage;
        (alone_has_usage || self.sums.cover(other.sums)) && self.has_prompts_of(other, is_elsewhere)
    }

    fn has_prompts_of(
        &self,
        other: &FormFacts,
        is_elsewhere: impl Fn(&str, Option<&str>) -> bool,
    ) -> bool {
        let mut others = other.others.iter();
        let has_others = others.all(|of| {
            let (session, agent) = of;
            self.others.contains(of) || is_elsewhere(session, agent.as_deref())
        });
        let has_responses = self.schema != other.schema || has(&self.responses, &other.responses);
        self.identity == other.identity
            && has_others
            && has(&self.prompts, &other.prompts)
            && has_responses
    }
}

/// True if each of the other facts is there at least as often.
fn has(facts: &BTreeMap<u32, u64>, others: &BTreeMap<u32, u64>) -> bool {
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
        Some(self.known).filter(|known| !known.identity.session_id.is_empty())
    }

    fn note_response(&mut self, response: u32) {
        *self.known.responses.entry(response).or_default() += 1;
    }

    /// The other session, or sub-agent of a session, that an event is of.
    fn other(&self, record: &EventRef<'_>) -> Option<(String, Option<String>)> {
        let own = &self.known.identity;
        let session = record.source.session_id.map(|id| id.decode_lossy());
        let session = session.as_deref().unwrap_or(&own.session_id);
        let agent = record.source.agent_id.map(|id| id.decode_lossy());
        let is_other = session != own.session_id
            || agent.is_some() && agent.as_deref() != own.agent_id.as_deref();
        is_other.then(|| (session.to_owned(), agent.map(|id| id.into_owned())))
    }
}

/// A short hash: an index keeps those of every session.
fn hash32(fact: impl Hash) -> u32 {
    hash64(fact) as u32
}

/// The time that the record of an event states itself.
fn own_time<'r>(record: &EventRef<'r>) -> Option<&'r str> {
    record.t_basis.is_none().then_some(record.t)
}

impl EventSink for FormSink {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        let owned = |text: Text<'_>| text.decode_lossy().into_owned();
        let is_start = matches!(record.event, Event::Meta(Meta::TapeStart(_)));
        if let Some(other) = self.other(record).filter(|_| !is_start && !record.replay) {
            if let Event::MsgIn(_) | Event::ToolCall(_) | Event::ToolResult(_) = record.event {
                self.known.others.insert(other);
            }
            return Ok(());
        }
        self.known.dated += u64::from(!record.replay && own_time(record).is_some());
        match record.event {
            Event::Meta(Meta::Session(session)) => {
                self.known.has_directory |= session.cwd.is_some();
                if let Some(call) = session.parent_call_id {
                    self.known.started_by = Some(owned(call));
                }
            }
            Event::Meta(Meta::TapeStart(start)) => {
                self.known.schema = start.harness.schema.unwrap_or_default().to_owned();
                self.known.identity = Identity {
                    harness: start.harness.family.to_owned(),
                    session_id: record.source.session_id.map(owned).unwrap_or_default(),
                    agent_id: record.source.agent_id.map(owned),
                };
            }
            _ if record.replay => {}
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
                    .entry(hash32(text.split_whitespace().collect::<Vec<_>>()))
                    .or_default() += 1;
            }
            Event::MsgOut(message) => {
                let words = message.text.map(owned);
                // An answer may have grown after a copy was made, but its id has not changed.
                self.note_response(match message.message_id {
                    Some(id) => hash32(("answer", owned(id))),
                    None => hash32(("answer", words, own_time(record))),
                });
            }
            Event::Meta(Meta::Usage(usage)) => {
                self.known.has_usage = true;
                if usage.message_id.is_none() {
                    self.note_response(hash32(("usage", usage.tokens)));
                }
            }
            Event::ToolCall(call) => {
                self.known.sums.calls += 1;
                self.known.thoughts += u64::from(call.kind == ToolKind::Think);
                // A store and an export of it may have other white space.
                let args = call.args.map(canonical_json);
                self.note_response(hash32(("call", call.call_id.map(owned), args)));
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
    use crate::repeats::{Rank, repeated};
    use crate::stats::Stats;

    fn facts(session: &str, prompts: &[(u32, u64)], calls: u64) -> FormFacts {
        FormFacts {
            identity: Identity {
                harness: "toy".to_owned(),
                session_id: session.to_owned(),
                agent_id: None,
            },
            schema: "toy/1".to_owned(),
            responses: BTreeMap::new(),
            prompts: prompts.iter().copied().collect(),
            sums: Sums {
                calls,
                results: calls,
            },
            has_usage: false,
            has_directory: false,
            dated: 0,
            thoughts: 0,
            started_by: None,
            others: BTreeSet::new(),
        }
    }

    #[test]
    fn a_notice_of_an_agent_to_its_client_is_no_call_of_its_log() {
        let own = facts("a", &[(1, 1), (2, 1)], 3);
        let mut relayed = facts("a", &[(1, 1), (3, 1)], 4);
        assert!(!own.has_as_much(&relayed), "a call more");
        relayed.thoughts = 1;
        assert!(own.has_as_much(&relayed));
        assert!(!own.has_as_much(&facts("a", &[(1, 3)], 3)), "a prompt more");
    }

    #[test]
    fn a_form_repeats_another_one_if_it_has_nothing_more() {
        let used = facts("a", &[(1, 2), (2, 1)], 3);
        let contains = |other: &FormFacts| used.contain(other, |_, _| false);
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
        printed
            .others
            .insert(("a".to_owned(), Some("b".to_owned())));
        assert!(!contains(&printed), "another agent");
        assert!(used.contain(&printed, |session, agent| session == "a"
            && agent == Some("b")));
    }

    #[test]
    fn a_capture_may_name_a_sub_agent_by_the_call_that_started_it() {
        let own = facts("a", &[(1, 1)], 2);
        let mut capture = facts("a", &[], 2);
        capture.schema = "printed".to_owned();
        capture
            .others
            .insert(("a".to_owned(), Some("call".to_owned())));
        let agent = |started_by: &str| FormFacts {
            started_by: Some(started_by.to_owned()),
            identity: Identity {
                agent_id: Some("b".to_owned()),
                ..own.identity.clone()
            },
            ..FormFacts::default()
        };
        let repeats = |agent: FormFacts| {
            let forms = [&own, &capture, &agent];
            let all = forms.iter().flat_map(|form| form.names()).collect();
            let forms = forms.into_iter().enumerate();
            let rank = |_, form: &_| Rank::of(form, &Stats::default());
            repeated(forms, rank, &all)
        };
        assert_eq!(repeats(agent("call")), BTreeMap::from([(1, 0)]));
        assert_eq!(repeats(agent("other")), BTreeMap::new());
    }

    #[test]
    fn a_form_with_usage_counts_for_one_that_has_more_calls_but_no_usage() {
        let hooks = facts("a", &[(1, 1)], 4);
        let store = FormFacts {
            has_usage: true,
            ..facts("a", &[(1, 1)], 3)
        };
        assert!(store.count_for(&hooks, |_, _| false) && !store.contain(&hooks, |_, _| false));
        assert!(store.size() > hooks.size());
        let longer = facts("a", &[(1, 1), (2, 1)], 4);
        assert!(!store.count_for(&longer, |_, _| false), "another prompt");
        assert!(longer.count_for(&store, |_, _| false) && longer.size() > store.size());
    }

    #[test]
    fn captures_of_two_runs_with_the_same_prompts_do_not_repeat_each_other() {
        let run = |response: u32| FormFacts {
            responses: BTreeMap::from([(response, 1)]),
            ..facts("a", &[(1, 1)], 1)
        };
        let (one, mut other) = (run(1), run(2));
        assert!(one.contain(&run(1), |_, _| false) && !one.contain(&other, |_, _| false));
        // Another form has other words for the same.
        other.schema = "toy/2".to_owned();
        assert!(one.contain(&other, |_, _| false));
    }
}
