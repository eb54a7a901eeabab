//! A whole tape in memory, as exports of documents need it: which events are one response, and which results belong to which call.

use std::collections::{HashMap, HashSet};
use std::io::{self, ErrorKind};

use engram_core::event::{Event, EventRecord, Meta};
use engram_core::tape::events;

use crate::text::owned;
use crate::turn::Turns;

/// The largest tape that is held in memory.
pub const MAX_BYTES: u64 = 2 << 30;

/// A tape with what its events have to do with each other. Events are named by their index, which is their `seq`.
#[derive(Debug)]
pub struct Session<'t> {
    /// All events.
    pub events: Vec<EventRecord<'t>>,
    /// What happened, in order: responses, and all events that belong to none.
    pub units: Vec<Unit>,
    /// The responses of the model.
    pub responses: Vec<Response>,
    /// The results of each call.
    pub results: HashMap<usize, Vec<usize>>,
    /// The reads, edits and links of each call.
    pub code: HashMap<usize, Vec<usize>>,
    /// The decisions about each call.
    pub permissions: HashMap<usize, Vec<usize>>,
    /// The turn of each event.
    pub turns: Vec<Option<u64>>,
    /// The events that a rewind took back.
    pub rewound: Vec<bool>,
}

/// A part of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A response of the model, by its place in [`Session::responses`].
    Response(usize),
    /// An event that belongs to no response and no call.
    Event(usize),
}

/// A response of the model: messages and calls, and what they cost.
#[derive(Debug, Clone, Default)]
pub struct Response {
    /// Its `msg.out` and `tool.call` events.
    pub events: Vec<usize>,
    /// Its `meta usage` events.
    pub usage: Vec<usize>,
    /// The provider's id of it.
    pub message_id: Option<String>,
}

impl Response {
    /// The index of its first event.
    pub fn first(&self) -> usize {
        self.events
            .first()
            .or(self.usage.first())
            .copied()
            .unwrap_or_default()
    }
}

impl<'t> Session<'t> {
    /// Reads a tape, which `engram check` must have accepted.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] if a line is not an event, or events are not numbered from 0.
    pub fn read(tape: &'t str) -> io::Result<Session<'t>> {
        let invalid = |what: String| io::Error::new(ErrorKind::InvalidData, what);
        let events: Result<Vec<EventRecord<'t>>, _> = events(tape).collect();
        let events = events.map_err(|error| invalid(error.to_string()))?;
        if let Some(at) = events
            .iter()
            .enumerate()
            .position(|(index, record)| record.seq.get() != index as u64)
        {
            return Err(invalid(format!(
                "line {}: `seq` does not count the events",
                at + 1
            )));
        }
        let mut turns = Turns::default();
        let turns = events
            .iter()
            .map(|record| turns.of(&record.as_event_ref()))
            .collect();
        let rewound = rewound(&events);
        let mut session = Session {
            events,
            units: Vec::new(),
            responses: Vec::new(),
            results: HashMap::new(),
            code: HashMap::new(),
            permissions: HashMap::new(),
            turns,
            rewound,
        };
        Grouping::default().run(&mut session);
        Ok(session)
    }

    /// The call that an event belongs to, if the tape has it.
    fn call_of(&self, index: usize) -> Option<usize> {
        let call = usize::try_from(self.events[index].parent?.get()).ok()?;
        matches!(self.events.get(call)?.event, Event::ToolCall(_)).then_some(call)
    }
}

/// Which events a rewind took back.
fn rewound(events: &[EventRecord<'_>]) -> Vec<bool> {
    let mut rewound = vec![false; events.len()];
    for (index, record) in events.iter().enumerate() {
        if let Event::Meta(Meta::Rewind { to, .. }) = &record.event {
            let from = usize::try_from(to.get())
                .unwrap_or(usize::MAX)
                .saturating_add(1)
                .min(index);
            rewound[from..index].fill(true);
        }
    }
    rewound
}

/// Whose events they are: those of different sessions or agents, or of a copy and its original, are never one response.
type Whose = (Option<String>, Option<String>, bool);

/// Finds the responses. Events with a `message_id` are of the response with that id; others are of a run that no result, no input and no
/// usage ends.
#[derive(Default)]
struct Grouping {
    by_id: HashMap<(Whose, String), usize>,
    /// The response that the next event without an id may belong to.
    run: Option<(Whose, usize)>,
    /// The last response of each session or agent: a usage without an id is that of the last one.
    last: HashMap<Whose, usize>,
    call_by_id: HashMap<String, usize>,
}

impl Grouping {
    fn run(&mut self, session: &mut Session<'_>) {
        for index in 0..session.events.len() {
            let record = &session.events[index];
            let whose = (
                record.source.session_id.map(owned),
                record.source.agent_id.map(owned),
                record.replay,
            );
            match &record.event {
                Event::MsgOut(message) => {
                    let id = message.message_id.map(owned);
                    self.response(session, whose, id).events.push(index);
                }
                Event::ToolCall(call) => {
                    if let Some(id) = call.call_id {
                        self.call_by_id.insert(owned(id), index);
                    }
                    let id = call.message_id.map(owned);
                    self.response(session, whose, id).events.push(index);
                }
                Event::Meta(Meta::Usage(usage)) => {
                    let id = usage.message_id.map(owned);
                    self.usage(session, whose, id, index);
                }
                Event::ToolResult(_) => {
                    self.run = None;
                    match session.call_of(index) {
                        Some(call) => session.results.entry(call).or_default().push(index),
                        None => session.units.push(Unit::Event(index)),
                    }
                }
                Event::CodeRead(_) | Event::CodeEdit(_) | Event::SpanLink(_) => {
                    match session.call_of(index) {
                        Some(call) => session.code.entry(call).or_default().push(index),
                        None => session.units.push(Unit::Event(index)),
                    }
                }
                Event::Meta(Meta::Permission(permission)) => match permission
                    .call_id
                    .and_then(|id| self.call_by_id.get(&owned(id)))
                {
                    Some(call) => session.permissions.entry(*call).or_default().push(index),
                    None => session.units.push(Unit::Event(index)),
                },
                Event::MsgIn(_) => {
                    self.run = None;
                    session.units.push(Unit::Event(index));
                }
                Event::Meta(_) => session.units.push(Unit::Event(index)),
            }
        }
    }

    /// The response that the next event belongs to.
    fn response<'s>(
        &mut self,
        session: &'s mut Session<'_>,
        whose: Whose,
        id: Option<String>,
    ) -> &'s mut Response {
        let known = match &id {
            Some(id) => self.by_id.get(&(whose.clone(), id.clone())).copied(),
            None => self
                .run
                .as_ref()
                .filter(|(of, _)| *of == whose)
                .map(|(_, at)| *at),
        };
        let at = known.unwrap_or_else(|| session.begin_response(id.clone()));
        match id {
            Some(id) => {
                self.by_id.insert((whose.clone(), id), at);
                self.run = None;
            }
            None => self.run = Some((whose.clone(), at)),
        }
        self.last.insert(whose, at);
        &mut session.responses[at]
    }

    /// A usage belongs to the response with its id. One that no response has is that of the response before it, whose own id is not known.
    fn usage(&mut self, session: &mut Session<'_>, whose: Whose, id: Option<String>, index: usize) {
        let named = id
            .as_ref()
            .and_then(|id| self.by_id.get(&(whose.clone(), id.clone())).copied());
        let is_open = |at: &usize| id.is_none() || session.responses[*at].message_id.is_none();
        let before = self.last.get(&whose).copied().filter(is_open);
        self.run = None;
        match named.or(before) {
            Some(at) => {
                let response = &mut session.responses[at];
                response.usage.push(index);
                if let (None, Some(id)) = (&response.message_id, id) {
                    response.message_id = Some(id.clone());
                    self.by_id.insert((whose, id), at);
                }
            }
            None => match id {
                // A response of which the log has nothing but its cost.
                Some(id) => {
                    let at = session.begin_response(Some(id.clone()));
                    session.responses[at].usage.push(index);
                    self.by_id.insert((whose.clone(), id), at);
                    self.last.insert(whose, at);
                }
                None => session.units.push(Unit::Event(index)),
            },
        }
    }
}

impl Session<'_> {
    fn begin_response(&mut self, message_id: Option<String>) -> usize {
        self.responses.push(Response {
            message_id,
            ..Response::default()
        });
        self.units.push(Unit::Response(self.responses.len() - 1));
        self.responses.len() - 1
    }

    /// The names of all tools that were called, sorted.
    pub fn tools(&self) -> Vec<String> {
        let names: HashSet<String> = self
            .events
            .iter()
            .filter_map(|record| match &record.event {
                Event::ToolCall(call) => Some(owned(call.tool)),
                _ => None,
            })
            .collect();
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tape(rests: &[&str]) -> String {
        let line = |(seq, rest): (usize, &&str)| {
            format!(
                "{{\"seq\":{seq},\"t\":\"2026-01-02T03:04:05Z\",{}\n",
                rest.replacen(',', ",\"source\":{\"harness\":\"toy\"},", 1)
            )
        };
        rests.iter().enumerate().map(line).collect()
    }

    fn responses(session: &Session<'_>) -> Vec<(Vec<usize>, Vec<usize>)> {
        session
            .responses
            .iter()
            .map(|response| (response.events.clone(), response.usage.clone()))
            .collect()
    }

    #[test]
    fn a_response_has_the_events_of_its_id_however_late() {
        let tape = tape(&[
            r#""k":"msg.out","message_id":"m"}"#,
            r#""k":"tool.call","tool":"t","kind":"other","message_id":"m"}"#,
            r#""k":"tool.result","parent":1}"#,
            r#""k":"tool.call","tool":"t","kind":"other","message_id":"m"}"#,
            r#""k":"meta","label":"usage","message_id":"m"}"#,
            r#""k":"msg.out","message_id":"n"}"#,
        ]);
        let session = Session::read(&tape).unwrap();
        assert_eq!(
            responses(&session),
            [(vec![0, 1, 3], vec![4]), (vec![5], vec![])]
        );
        assert_eq!(session.results[&1], [2]);
    }

    #[test]
    fn without_ids_a_result_an_input_or_a_usage_ends_a_response() {
        let tape = tape(&[
            r#""k":"meta","label":"usage","tokens":{"input":1}}"#,
            r#""k":"msg.out","text":"a"}"#,
            r#""k":"tool.call","tool":"t","kind":"other"}"#,
            r#""k":"meta","label":"usage","message_id":"u"}"#,
            r#""k":"msg.out","text":"b"}"#,
            r#""k":"tool.result","parent":2}"#,
            r#""k":"msg.out","text":"c"}"#,
            r#""k":"msg.in","role":"user","by":"person"}"#,
            r#""k":"msg.out","text":"d"}"#,
            r#""k":"meta","label":"usage","tokens":{"input":1}}"#,
        ]);
        let session = Session::read(&tape).unwrap();
        assert_eq!(
            responses(&session),
            [
                (vec![1, 2], vec![3]),
                (vec![4], vec![]),
                (vec![6], vec![]),
                (vec![8], vec![9])
            ]
        );
        assert_eq!(session.units[0], Unit::Event(0));
    }

    #[test]
    fn what_a_rewind_took_back_is_known() {
        let tape = tape(&[
            r#""k":"msg.out","text":"a"}"#,
            r#""k":"msg.out","text":"b"}"#,
            r#""k":"meta","label":"rewind","to":0}"#,
            r#""k":"msg.out","text":"c"}"#,
        ]);
        assert_eq!(
            Session::read(&tape).unwrap().rewound,
            [false, true, false, false]
        );
    }
}
