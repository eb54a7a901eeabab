//! Builds a view from the events of a tape, whether they come from a tape or from the conversion of a log.

use std::collections::HashMap;
use std::io;

use engram_core::event::*;
use engram_core::sink::EventSink;
use engram_core::stats::Stats;

use super::calls::new_call;
use super::step::{Step, What};
use super::view::*;

/// A sink that builds the view of one tape.
#[derive(Debug, Default)]
pub struct Builder {
    /// The tape's own session first, then its sub-agents in the order of their first events.
    threads: Vec<Thread>,
    by_agent: HashMap<Option<String>, usize>,
    /// The thread and the item of each call.
    calls: HashMap<Seq, (usize, usize)>,
    /// What the tape says about costs, as `engram stats` counts it.
    stats: Stats,
    /// Which tape of its family it is.
    tape: usize,
}

/// The events of one agent.
#[derive(Debug, Default)]
struct Thread {
    view: SessionView,
    /// The call that its first event names.
    started_by: Option<Seq>,
    /// It has an event that does not repeat the history of another session.
    is_own: bool,
}

impl Builder {
    /// A builder for this tape of a family.
    pub fn of_tape(tape: usize) -> Builder {
        Builder {
            tape,
            ..Builder::default()
        }
    }

    /// The finished view, with the sub-agents of this tape at their calls.
    pub fn finish(mut self) -> SessionView {
        let depths = self.depths();
        while self.threads.len() > 1 {
            let Some(thread) = self.threads.pop() else {
                break;
            };
            let mut agent = thread.view;
            agent.is_copy = !thread.is_own;
            let (depth, above) = depths[self.threads.len()];
            let place = self
                .place(thread.started_by, self.threads.len())
                .filter(|_| depth <= DEEPEST);
            let (of, item) = place.map_or(
                (if depth > DEEPEST { above } else { 0 }, None),
                |(of, item)| (of, Some(item)),
            );
            let items = &mut self.threads[of].view.items;
            match item.map(|item| &mut items[item].body) {
                Some(Body::Call(call)) => call.agents.insert(0, agent),
                _ => push_agent(items, agent),
            }
        }
        let mut view = self.threads.pop().unwrap_or_default().view;
        view.facts.models.retain(|model| !model.is_empty());
        view.costs = self.stats.costs().clone();
        view
    }

    /// The thread and the item of the call that started a thread, if it is an earlier one.
    fn place(&self, started_by: Option<Seq>, own: usize) -> Option<(usize, usize)> {
        self.calls
            .get(&started_by?)
            .copied()
            .filter(|(of, _)| *of < own)
    }

    /// For each thread: how many threads are above it, and under which thread the threads below it are shown. That is the thread itself, or,
    /// if it is too deep, its deepest ancestor that is not.
    fn depths(&self) -> Vec<(usize, usize)> {
        let mut depths: Vec<(usize, usize)> = Vec::with_capacity(self.threads.len());
        for (own, thread) in self.threads.iter().enumerate() {
            let (depth, above) = match self.place(thread.started_by, own) {
                Some((of, _)) => (depths[of].0 + 1, depths[of].1),
                None => (usize::from(own > 0), 0),
            };
            depths.push((depth, if depth < DEEPEST { own } else { above }));
        }
        depths
    }

    fn thread(&mut self, agent_id: &Option<String>, parent: Option<Seq>) -> usize {
        if let Some(thread) = self.by_agent.get(agent_id) {
            return *thread;
        }
        let mut view = SessionView {
            is_complete: true,
            tape: self.tape,
            ..SessionView::default()
        };
        if let Some(own) = self.threads.first() {
            view.facts = Facts {
                harness: own.view.facts.harness.clone(),
                agent_id: agent_id.clone(),
                ..Facts::default()
            };
        }
        self.threads.push(Thread {
            view,
            started_by: parent,
            is_own: false,
        });
        self.by_agent
            .insert(agent_id.clone(), self.threads.len() - 1);
        self.threads.len() - 1
    }

    fn apply(&mut self, step: Step) {
        let Step {
            seq,
            time,
            parent,
            is_replay,
            session_id,
            agent_id,
            what,
        } = step;
        let first = self.threads.is_empty();
        let mut thread = self.thread(&agent_id, parent);
        self.threads[thread].is_own |= !is_replay;
        if first {
            // An event without an agent belongs to the tape's own session, too.
            self.by_agent.insert(None, 0);
        }
        let parent = parent.and_then(|call| self.calls.get(&call)).copied();
        if let (Some((of, _)), true) = (
            parent,
            matches!(what, What::Result(..) | What::Effect { .. }),
        ) {
            thread = of;
        }
        let view = &mut self.threads[thread].view;
        note_facts(&mut view.facts, &time, session_id, agent_id);
        match what {
            What::Facts(facts) => facts.apply(&mut view.facts),
            What::Stop {
                is_complete,
                redacted,
            } => {
                view.is_complete = is_complete;
                view.facts.redacted = redacted;
            }
            What::Rewind { to, files } => {
                view.items
                    .iter_mut()
                    .filter(|item| item.seq > to)
                    .for_each(|item| item.is_rewound = true);
                let title = if files {
                    "went back to an earlier point, with files restored"
                } else {
                    "went back to an earlier point"
                };
                let notice = Notice {
                    kind: NoticeKind::Turn,
                    title: title.to_owned(),
                    text: None,
                };
                view.items.push(Item {
                    seq: seq.get(),
                    also: Vec::new(),
                    time,
                    is_replay,
                    is_rewound: false,
                    body: Body::Notice(notice),
                });
            }
            What::Effect { text, edited } => {
                if let Some(span) = edited.as_ref().filter(|_| !is_replay) {
                    view.totals.edits += 1;
                    *view.files.entry(span.file.clone()).or_default() += 1;
                }
                add_effect(view, parent, (text, edited), (seq, time, is_replay));
            }
            What::Result(result, tool) => {
                view.totals.failed_calls += u64::from(result.is_failure() && !is_replay);
                view.totals.denied_calls += u64::from(result.is_denied() && !is_replay);
                add_result(view, parent, *result, tool, (seq, time, is_replay));
            }
            What::Body(mut body) => {
                leave_out_repeated(&mut body, &view.items);
                count(&mut view.totals, &body, is_replay);
                if matches!(body, Body::Call(_)) {
                    self.calls.insert(seq, (thread, view.items.len()));
                }
                view.items.push(Item {
                    seq: seq.get(),
                    also: Vec::new(),
                    time,
                    is_replay,
                    is_rewound: false,
                    body,
                });
            }
        }
    }
}

fn note_facts(
    facts: &mut Facts,
    time: &Option<String>,
    session_id: Option<String>,
    agent_id: Option<String>,
) {
    if facts.session_id.is_none() {
        facts.session_id = session_id;
    }
    if facts.agent_id.is_none() {
        facts.agent_id = agent_id;
    }
    if let Some(time) = time {
        let (_, last) = facts
            .times
            .get_or_insert_with(|| (time.clone(), time.clone()));
        last.clone_from(time);
    }
}

/// A notice whose text is what the call before it returned, such as the reason of a denial, has no text of its own.
fn leave_out_repeated(body: &mut Body, before: &[Item]) {
    let Body::Notice(notice) = body else { return };
    let last = before.iter().rev().find_map(|item| match &item.body {
        Body::Call(call) => Some(call.result.as_ref()),
        _ => None,
    });
    if let Some(result) = last.flatten() {
        notice.text.take_if(|text| returned(result, text));
    }
}

/// True if a call returned this text.
fn returned(result: &CallResult, text: &str) -> bool {
    [&result.stdout, &result.stderr]
        .into_iter()
        .flatten()
        .any(|returned| returned.trim() == text.trim())
}

fn count(totals: &mut Totals, body: &Body, is_replay: bool) {
    if is_replay {
        return;
    }
    match body {
        Body::Message(message) => totals.prompts += u64::from(message.who == Who::Person),
        Body::Call(_) => totals.calls += 1,
        Body::Usage(tokens, _) => totals.tokens.add(*tokens),
        Body::Notice(_) | Body::Agent(_) => {}
    }
}

fn add_effect(
    view: &mut SessionView,
    call: Option<(usize, usize)>,
    (text, span): (String, Option<Span>),
    (seq, time, is_replay): (Seq, Option<String>, bool),
) {
    match call.and_then(|(_, item)| as_call(&mut view.items[item])) {
        Some((call, also)) => {
            also.push(seq.get());
            call.effects.push(text);
            call.spans.extend(span);
        }
        None => {
            let notice = Notice {
                kind: NoticeKind::Detail,
                title: text,
                text: None,
            };
            view.items.push(Item {
                seq: seq.get(),
                also: Vec::new(),
                time,
                is_replay,
                is_rewound: false,
                body: Body::Notice(notice),
            });
        }
    }
}

/// A call, and the numbers of the events that belong to it.
fn as_call(item: &mut Item) -> Option<(&mut Call, &mut Vec<u64>)> {
    match &mut item.body {
        Body::Call(call) => Some((call, &mut item.also)),
        _ => None,
    }
}

/// Adds a result to its call. A second result of a call, or one whose call is not on the tape, is shown alone.
fn add_result(
    view: &mut SessionView,
    call: Option<(usize, usize)>,
    result: CallResult,
    tool: Option<String>,
    (seq, time, is_replay): (Seq, Option<String>, bool),
) {
    if let Some((_, at)) = call
        && let (before, after) = view.items.split_at_mut(at + 1)
        && let Some((call, also)) = as_call(&mut before[at])
        && call.result.is_none()
    {
        also.push(seq.get());
        let result = &*call.result.insert(result);
        // A log may have the reason of a denial before the result.
        for item in after {
            if let Body::Notice(notice) = &mut item.body {
                notice.text.take_if(|text| returned(result, text));
            }
        }
        return;
    }
    let tool = tool.unwrap_or_else(|| "result".to_owned());
    let call = Call {
        result: Some(result),
        ..new_call(tool)
    };
    view.items.push(Item {
        seq: seq.get(),
        also: Vec::new(),
        time,
        is_replay,
        is_rewound: false,
        body: Body::Call(Box::new(call)),
    });
}

impl EventSink for Builder {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        if let Some(step) = Step::of(record) {
            self.apply(step);
        }
        self.stats.event(record)
    }
}
