//! A tape as exports of documents need it: which events are one response, and which results belong to which call. In memory are the places of
//! events and what links them; their texts are read again when they are needed.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek};

use engram_core::bounds::{LINE_BYTES, over};
use engram_core::event::{Event, EventRecord, Meta};

use crate::text::owned;
use crate::turn::Turns;

/// Small: a late result is read between two calls, and the buffer is filled again for each of them.
const BUFFER_BYTES: usize = 8 << 10;

/// A tape with what its events have to do with each other. Events are named by their index, which is their `seq`.
#[derive(Debug)]
pub struct Session<'t> {
    tape: RefCell<Tape<'t>>,
    /// Where each line begins, and where the last one ends.
    lines: Vec<u64>,
    /// Whose session it is, by its first event.
    pub source: Source,
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
    /// The sub-agent of each event that is one's, where the tape is that of its session.
    pub inside: HashMap<usize, String>,
}

/// Whose session a tape is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    /// The harness.
    pub harness: String,
    /// The session, if the log names it.
    pub session_id: Option<String>,
    /// The sub-agent.
    pub agent_id: Option<String>,
}

/// One line of a tape.
#[derive(Debug)]
pub struct Line(String);

impl Line {
    /// The event.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] if it is not one.
    pub fn record(&self) -> io::Result<EventRecord<'_>> {
        EventRecord::parse(&self.0).map_err(|error| invalid(error.to_string()))
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

/// What a tape is read from, line by line and again.
trait Text: Read + Seek {}
impl<T: Read + Seek> Text for T {}

struct Tape<'t> {
    text: BufReader<Box<dyn Text + 't>>,
    /// The byte that is read next.
    at: u64,
}

impl fmt::Debug for Tape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tape")
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl Tape<'_> {
    /// The line that begins at a byte; `None` at the end.
    fn line_at(&mut self, from: u64) -> io::Result<Option<Line>> {
        // Both are below the size of a file.
        self.text.seek_relative(from as i64 - self.at as i64)?;
        self.at = from;
        let mut bytes = Vec::new();
        let read = (&mut self.text)
            .take(LINE_BYTES + 1)
            .read_until(b'\n', &mut bytes)?;
        self.at += read as u64;
        if read as u64 > LINE_BYTES {
            return Err(over("line_bytes", LINE_BYTES));
        }
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        let line = String::from_utf8(bytes).map_err(|error| invalid(error.to_string()))?;
        Ok((read > 0).then_some(Line(line)))
    }
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
    /// [`ErrorKind::InvalidData`] if a line is not an event, or events are not numbered from 0; those of reading.
    pub fn read(tape: impl Read + Seek + 't) -> io::Result<Session<'t>> {
        let text: Box<dyn Text + 't> = Box::new(tape);
        let mut tape = Tape {
            text: BufReader::with_capacity(BUFFER_BYTES, text),
            at: 0,
        };
        let (mut lines, mut turns, mut rewinds) = (vec![0], Vec::new(), Vec::new());
        let (mut turn, mut grouping, mut source) = (Turns::default(), Grouping::default(), None);
        let mut inside = HashMap::new();
        while let Some(line) = tape.line_at(tape.at)? {
            let index = lines.len() - 1;
            let at_line = |what: String| invalid(format!("line {}: {what}", index + 1));
            let record = line.record().map_err(|error| at_line(error.to_string()))?;
            if record.seq.get() != index as u64 {
                return Err(at_line("`seq` does not count the events".to_owned()));
            }
            let source = source.get_or_insert_with(|| Source {
                harness: record.source.harness.to_owned(),
                session_id: record.source.session_id.map(owned),
                agent_id: record.source.agent_id.map(owned),
            });
            let agent = record.source.agent_id.map(owned);
            let agent = agent.filter(|agent| source.agent_id.as_ref() != Some(agent));
            inside.extend(agent.map(|agent| (index, agent)));
            if let Event::Meta(Meta::Rewind { to, .. }) = &record.event {
                rewinds.push((usize::try_from(to.get()).unwrap_or(usize::MAX), index));
            }
            turns.push(turn.of(&record.as_event_ref()));
            grouping.add(index, &record);
            lines.push(tape.at);
        }
        Ok(Session {
            tape: RefCell::new(tape),
            source: source.unwrap_or_default(),
            units: grouping.units,
            responses: grouping.responses,
            results: grouping.results,
            code: grouping.code,
            permissions: grouping.permissions,
            rewound: rewound(turns.len(), &rewinds),
            turns,
            inside,
            lines,
        })
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.lines.len() - 1
    }

    /// True if there is no event.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The line of an event, read again.
    ///
    /// # Errors
    /// Those of reading; [`ErrorKind::UnexpectedEof`] if there is no such line.
    pub fn line(&self, index: usize) -> io::Result<Line> {
        let missing = || io::Error::from(ErrorKind::UnexpectedEof);
        let from = *self.lines.get(index).ok_or_else(missing)?;
        self.tape.borrow_mut().line_at(from)?.ok_or_else(missing)
    }

    /// Passes all events in their order, each with its line.
    ///
    /// # Errors
    /// Those of reading and of `event`.
    pub fn each(
        &self,
        event: &mut dyn FnMut(usize, &str, &EventRecord<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        (0..self.len()).try_for_each(|index| {
            let line = self.line(index)?;
            event(index, &line.0, &line.record()?)
        })
    }
}

/// Which of so many events rewinds took back. A rewind is the event to which it goes back, and its own place. One that a later rewind took
/// back does not count: the person may go back to the end of a branch that was left.
fn rewound(events: usize, rewinds: &[(usize, usize)]) -> Vec<bool> {
    let mut is_rewound = vec![false; events];
    let mut first = events;
    for (to, at) in rewinds.iter().rev() {
        if *at < first {
            first = to.saturating_add(1).min(*at);
            is_rewound[first..*at].fill(true);
        }
    }
    is_rewound
}

/// Whose events they are: those of different sessions or agents, or of a copy and its original, are never one response.
type Whose = (Option<String>, Option<String>, bool);

/// Finds the responses. Events with a `message_id` are of the response with that id; others are of a run that no result, no input and no
/// usage ends.
#[derive(Default)]
struct Grouping {
    units: Vec<Unit>,
    responses: Vec<Response>,
    results: HashMap<usize, Vec<usize>>,
    code: HashMap<usize, Vec<usize>>,
    permissions: HashMap<usize, Vec<usize>>,
    is_call: Vec<bool>,
    /// Sessions and agents by number.
    whose: HashMap<Whose, usize>,
    by_id: HashMap<(usize, String), usize>,
    /// The response that the next event without an id may belong to.
    run: Option<(usize, usize)>,
    /// The last response of each session or agent: a usage without an id is that of the last one.
    last: HashMap<usize, usize>,
    call_by_id: HashMap<String, usize>,
}

impl Grouping {
    fn add(&mut self, index: usize, record: &EventRecord<'_>) {
        let whose = (
            record.source.session_id.map(owned),
            record.source.agent_id.map(owned),
            record.replay,
        );
        let next = self.whose.len();
        let whose = *self.whose.entry(whose).or_insert(next);
        self.is_call
            .push(matches!(record.event, Event::ToolCall(_)));
        let parent = record
            .parent
            .and_then(|parent| usize::try_from(parent.get()).ok());
        let call = parent.filter(|parent| self.is_call.get(*parent) == Some(&true));
        let (of_calls, call) = match &record.event {
            Event::MsgOut(message) => {
                let id = message.message_id.map(owned);
                return self.response(whose, id).events.push(index);
            }
            Event::ToolCall(call) => {
                if let Some(id) = call.call_id {
                    self.call_by_id.insert(owned(id), index);
                }
                let id = call.message_id.map(owned);
                return self.response(whose, id).events.push(index);
            }
            Event::Meta(Meta::Usage(usage)) => {
                return self.usage(whose, usage.message_id.map(owned), index);
            }
            Event::ToolResult(_) => {
                self.run = None;
                (&mut self.results, call)
            }
            Event::CodeRead(_) | Event::CodeEdit(_) | Event::SpanLink(_) => (&mut self.code, call),
            Event::Meta(Meta::Permission(permission)) => {
                let id = permission.call_id.map(owned);
                let call = id.and_then(|id| self.call_by_id.get(&id).copied());
                (&mut self.permissions, call)
            }
            Event::MsgIn(_) => {
                self.run = None;
                return self.units.push(Unit::Event(index));
            }
            Event::Meta(_) => return self.units.push(Unit::Event(index)),
        };
        match call {
            Some(call) => of_calls.entry(call).or_default().push(index),
            None => self.units.push(Unit::Event(index)),
        }
    }

    /// The response that the next event belongs to.
    fn response(&mut self, whose: usize, id: Option<String>) -> &mut Response {
        let known = match &id {
            Some(id) => self.by_id.get(&(whose, id.clone())).copied(),
            None => self.run.filter(|(of, _)| *of == whose).map(|(_, at)| at),
        };
        let at = known.unwrap_or_else(|| self.begin_response(id.clone()));
        match id {
            Some(id) => {
                self.by_id.insert((whose, id), at);
                self.run = None;
            }
            None => self.run = Some((whose, at)),
        }
        self.last.insert(whose, at);
        &mut self.responses[at]
    }

    /// A usage belongs to the response with its id. One that no response has is that of the response before it, whose own id is not known. Some logs
    /// state it before the response (Codex 0.42 to 0.63): then it begins one.
    fn usage(&mut self, whose: usize, id: Option<String>, index: usize) {
        let named = id
            .as_ref()
            .and_then(|id| self.by_id.get(&(whose, id.clone())).copied());
        let is_open = |at: &usize| {
            let Response {
                events,
                usage,
                message_id,
            } = &self.responses[*at];
            let comes_first = id.is_none() && usage.first() < events.first();
            (id.is_none() || message_id.is_none()) && (usage.is_empty() || !comes_first)
        };
        let before = self.last.get(&whose).copied().filter(is_open);
        self.run = None;
        match named.or(before) {
            Some(at) => {
                let response = &mut self.responses[at];
                response.usage.push(index);
                if let (None, Some(id)) = (&response.message_id, id) {
                    response.message_id = Some(id.clone());
                    self.by_id.insert((whose, id), at);
                }
            }
            // A response of which the log has nothing but its cost, or nothing yet.
            None => {
                let at = self.begin_response(id.clone());
                self.responses[at].usage.push(index);
                self.last.insert(whose, at);
                match id {
                    Some(id) => drop(self.by_id.insert((whose, id), at)),
                    None => self.run = Some((whose, at)),
                }
            }
        }
    }

    fn begin_response(&mut self, message_id: Option<String>) -> usize {
        self.responses.push(Response {
            message_id,
            ..Response::default()
        });
        self.units.push(Unit::Response(self.responses.len() - 1));
        self.responses.len() - 1
    }
}

impl Session<'_> {
    /// The names of all tools that were called, sorted.
    ///
    /// # Errors
    /// Those of reading.
    pub fn tools(&self) -> io::Result<Vec<String>> {
        let mut names = BTreeSet::new();
        self.each(&mut |_, _, record| {
            if let Event::ToolCall(call) = &record.event {
                names.insert(owned(call.tool));
            }
            Ok(())
        })?;
        Ok(names.into_iter().collect())
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
        let session = Session::read(io::Cursor::new(&tape)).unwrap();
        assert_eq!(
            responses(&session),
            [(vec![0, 1, 3], vec![4]), (vec![5], vec![])]
        );
        assert_eq!(session.results[&1], [2]);
    }

    #[test]
    fn without_ids_a_result_an_input_or_a_usage_ends_a_response() {
        let tape = tape(&[
            r#""k":"msg.out","text":"a"}"#,
            r#""k":"tool.call","tool":"t","kind":"other"}"#,
            r#""k":"meta","label":"usage","message_id":"u"}"#,
            r#""k":"msg.out","text":"b"}"#,
            r#""k":"tool.result","parent":1}"#,
            r#""k":"msg.out","text":"c"}"#,
            r#""k":"msg.in","role":"user","by":"person"}"#,
            r#""k":"msg.out","text":"d"}"#,
            r#""k":"meta","label":"usage","tokens":{"input":1}}"#,
        ]);
        let session = Session::read(io::Cursor::new(&tape)).unwrap();
        assert_eq!(
            responses(&session),
            [
                (vec![0, 1], vec![2]),
                (vec![3], vec![]),
                (vec![5], vec![]),
                (vec![7], vec![8])
            ]
        );
    }

    #[test]
    fn a_usage_before_its_response_begins_it() {
        let tape = tape(&[
            r#""k":"meta","label":"usage","tokens":{"input":1}}"#,
            r#""k":"tool.call","tool":"t","kind":"other"}"#,
            r#""k":"tool.result","parent":1}"#,
            r#""k":"meta","label":"usage","tokens":{"input":1}}"#,
            r#""k":"msg.out","text":"b"}"#,
        ]);
        let session = Session::read(io::Cursor::new(&tape)).unwrap();
        assert_eq!(
            responses(&session),
            [(vec![1], vec![0]), (vec![4], vec![3])]
        );
    }

    #[test]
    fn what_a_rewind_took_back_is_known() {
        let mut events = vec![
            r#""k":"msg.out","text":"a"}"#,
            r#""k":"msg.out","text":"b"}"#,
            r#""k":"meta","label":"rewind","to":0}"#,
            r#""k":"msg.out","text":"c"}"#,
        ];
        let of = |events: &[&str]| {
            let tape = tape(events);
            Session::read(io::Cursor::new(&tape)).unwrap().rewound
        };
        assert_eq!(of(&events), [false, true, false, false]);
        // Back to the end of the branch that was left.
        events.extend([
            r#""k":"meta","label":"rewind","to":1}"#,
            r#""k":"msg.out","text":"d"}"#,
        ]);
        assert_eq!(of(&events), [false, false, true, true, false, false]);
    }
}
