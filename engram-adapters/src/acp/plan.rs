//! Step 2: which pieces are one message, where a call has its arguments and its end, which prompt an answer is of, and what is history of a
//! session that was loaded.

use engram_core::keys::{KeyMap, PlaceMap, hash64, key_map};

use super::format::MessageKind;
use super::notes::{CallNote, Note, What};

/// The lines that say something about a call, by their numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CallPlan {
    /// The first line.
    pub first: usize,
    /// The first line with the last arguments; the first line if there are none.
    pub args: usize,
    /// The line that names the tool.
    pub name: Option<usize>,
    /// The line whose title is the name of the tool: it had a title before it had any arguments.
    pub title: Option<usize>,
    /// The last line with a kind.
    pub kind: Option<usize>,
    /// The last line with a file.
    pub place: Option<usize>,
    /// The last line with changes of files.
    pub diff: Option<usize>,
    /// The line at which the call ended.
    pub end: Option<usize>,
    /// The client cancelled the turn before the call ended.
    pub is_cancelled: bool,
}

/// How a line belongs to a message in pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// The first one, with the numbers of the others.
    First(Vec<usize>),
    /// Another one.
    Later,
}

/// What is decided, by the numbers of the records.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Answers: the request of each.
    pub requests: PlaceMap<usize, usize>,
    /// Requests that begin a session: the answer that names it.
    pub begins: PlaceMap<usize, usize>,
    /// Pieces of messages.
    pub pieces: PlaceMap<usize, Piece>,
    /// The calls.
    pub calls: Vec<CallPlan>,
    /// Lines that say something about a call: its place in `calls`.
    pub call_of: PlaceMap<usize, usize>,
    /// Lines that are history of a session that is loaded.
    pub replays: PlaceMap<usize, ()>,
    /// Usages that are as before.
    pub same_usage: PlaceMap<usize, ()>,
    /// Cancellations of a prompt that was answered: the answer has the end of the turn.
    pub answered_cancels: PlaceMap<usize, ()>,
}

/// Decides about all lines.
pub(super) fn plan(notes: &[Note]) -> Plan {
    let mut plan = Plan::default();
    answers(notes, &mut plan);
    pieces(notes, &mut plan);
    calls(notes, &mut plan);
    usages(notes, &mut plan);
    plan
}

/// The note with this number. Notes are in the order of their numbers.
fn note_at(notes: &[Note], number: usize) -> Option<&Note> {
    let at = notes
        .binary_search_by_key(&number, |note| note.number)
        .ok()?;
    notes.get(at)
}

/// The notes between two others.
fn between(notes: &[Note], after: usize, before: usize) -> &[Note] {
    let first = notes.partition_point(|note| note.number <= after);
    let end = notes.partition_point(|note| note.number < before);
    notes.get(first..end).unwrap_or_default()
}

/// Requests with their answers, and what stands between them.
fn answers(notes: &[Note], plan: &mut Plan) {
    for answer in notes {
        let What::Answer {
            request: Some(request),
            session,
        } = answer.what
        else {
            continue;
        };
        plan.requests.insert(answer.number, request);
        let Some(Note {
            what: What::Request { method, .. },
            session: asked,
            ..
        }) = note_at(notes, request)
        else {
            continue;
        };
        let between = || between(notes, request, answer.number).iter();
        let numbers = |note: &Note| (note.number, ());
        match *method {
            "session/new" | "session/fork" if session != 0 => {
                plan.begins.insert(request, answer.number);
            }
            "session/load" => {
                let of_session = between().filter(|note| note.session == *asked);
                plan.replays.extend(of_session.map(numbers));
            }
            "session/prompt" => {
                let is_cancel = |note: &&Note| note.session == *asked && note.what.is_cancel();
                plan.answered_cancels
                    .extend(between().filter(is_cancel).map(numbers));
            }
            _ => {}
        }
    }
}

/// A message that may go on.
struct Open {
    kind: MessageKind,
    message: u64,
    is_whole: bool,
    numbers: Vec<usize>,
}

/// Pieces of one message: of one session and one kind, with the same id, and nothing of the conversation between them.
fn pieces(notes: &[Note], plan: &mut Plan) {
    let mut open: KeyMap<Open> = key_map();
    let mut close = |open: Option<Open>| {
        if let Some(mut open) = open {
            let others = open.numbers.split_off(1);
            let later = others.iter().map(|number| (*number, Piece::Later));
            plan.pieces.extend(later);
            plan.pieces.insert(open.numbers[0], Piece::First(others));
        }
    };
    for note in notes {
        match note.what {
            What::Chunk {
                kind,
                message,
                is_whole,
            } => {
                let goes_on = open
                    .get_mut(&note.session)
                    .filter(|open| open.kind == kind && open.message == message)
                    .filter(|open| !is_whole && !open.is_whole);
                match goes_on {
                    Some(open) => open.numbers.push(note.number),
                    None => {
                        let numbers = vec![note.number];
                        close(open.insert(
                            note.session,
                            Open {
                                kind,
                                message,
                                is_whole,
                                numbers,
                            },
                        ));
                    }
                }
            }
            What::Call(_) | What::Request { .. } => close(open.remove(&note.session)),
            // Its request names the session.
            What::Answer { request, .. } => {
                let session = request.and_then(|request| note_at(notes, request));
                close(session.and_then(|request| open.remove(&request.session)));
            }
            What::Usage(_) | What::Aside => {}
        }
    }
    open.into_values().for_each(|open| close(Some(open)));
}

/// A call that is known: its place, and the key of its arguments.
type Known = (usize, u64);

/// The calls. An id may come again: an update is of the last call of its id that has not ended, else of the last one.
fn calls(notes: &[Note], plan: &mut Plan) {
    let mut known: KeyMap<Vec<Known>> = key_map();
    let mut cancelled: KeyMap<usize> = key_map();
    for note in notes {
        if note.what.is_cancel() {
            cancelled.insert(note.session, note.number);
        }
        let What::Call(of) = note.what else {
            continue;
        };
        let known = known.entry(hash64((note.session, of.call))).or_default();
        if of.is_new || known.is_empty() {
            known.push((plan.calls.len(), 0));
            plan.calls.push(CallPlan {
                first: note.number,
                args: note.number,
                ..CallPlan::default()
            });
        }
        let is_open = |(at, _): &Known| plan.calls[*at].end.is_none();
        let last = known.iter().rposition(is_open);
        let last = last.unwrap_or(known.len() - 1);
        let (at, args) = &mut known[last];
        plan.call_of.insert(note.number, *at);
        let call = &mut plan.calls[*at];
        take(call, args, &of, note.number);
        let cancel = cancelled.get(&note.session);
        call.is_cancelled |= call.end == Some(note.number) && cancel > Some(&call.first);
    }
    for call in &mut plan.calls {
        // An agent that never says arguments may have them in the title.
        call.title = call.title.filter(|_| call.args != call.first);
    }
}

/// Takes what a line says about a call. What comes behind the end is for the client.
fn take(call: &mut CallPlan, args: &mut u64, of: &CallNote, number: usize) {
    if call.end.is_some() {
        return;
    }
    let last = |is: bool, before: Option<usize>| if is { Some(number) } else { before };
    if of.args != 0 && of.args != *args {
        (*args, call.args) = (of.args, number);
    }
    if number == call.first {
        call.title = last(of.has_title && of.args == 0, None);
    }
    call.name = call.name.or(last(of.has_name, None));
    call.kind = last(of.has_kind, call.kind);
    call.place = last(of.has_place, call.place);
    call.diff = last(of.has_diff, call.diff);
    call.end = last(of.is_end, None);
}

/// Usages that say the same as the one before in their session.
fn usages(notes: &[Note], plan: &mut Plan) {
    let mut last: KeyMap<u64> = key_map();
    for note in notes {
        if let What::Usage(facts) = note.what
            && last.insert(note.session, facts) == Some(facts)
        {
            plan.same_usage.insert(note.number, ());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(list: &[(u64, What)]) -> Vec<Note> {
        let note = |(number, &(session, what))| Note {
            number,
            session,
            what,
        };
        list.iter().enumerate().map(note).collect()
    }

    const fn piece(message: u64) -> What {
        What::Chunk {
            kind: MessageKind::UpdateAgentMessageChunk,
            message,
            is_whole: false,
        }
    }

    #[test]
    fn pieces_are_joined_until_something_else_happens_in_their_session() {
        let call = What::Call(CallNote {
            call: 1,
            ..CallNote::default()
        });
        let list = [
            (1, piece(0)),
            (2, piece(0)),
            (1, What::Usage(1)),
            (1, piece(0)),
            (2, call),
            (1, piece(0)),
            (1, call),
            (1, piece(0)),
            (2, piece(7)),
            (2, piece(8)),
        ];
        let plan = plan(&notes(&list));
        let first = |number: usize| match plan.pieces.get(&number) {
            Some(Piece::First(others)) => Some(others.clone()),
            _ => None,
        };
        assert_eq!(first(0), Some(vec![3, 5]));
        for alone in [1, 7, 8, 9] {
            assert_eq!(first(alone), Some(vec![]), "{alone}");
        }
        assert_eq!(plan.pieces.get(&3), Some(&Piece::Later));
    }

    #[test]
    fn a_call_is_where_its_arguments_are() {
        let of = |args, is_end| {
            What::Call(CallNote {
                call: 1,
                args,
                is_end,
                has_title: true,
                ..CallNote::default()
            })
        };
        // As Kimi Code and Kilo send it: the name first, then the arguments, several times.
        let list = [
            (1, of(0, false)),
            (1, of(5, false)),
            (1, of(5, false)),
            (1, of(0, true)),
        ];
        let plan = plan(&notes(&list));
        let [call] = plan.calls.as_slice() else {
            panic!("{:?}", plan.calls)
        };
        assert_eq!((call.args, call.title, call.end), (1, Some(0), Some(3)));
    }

    #[test]
    fn what_comes_while_a_session_is_loaded_is_history() {
        let load = What::Request {
            method: "session/load",
            id: 3,
        };
        let list = [
            (1, load),
            (1, piece(0)),
            (2, piece(0)),
            (
                0,
                What::Answer {
                    request: Some(0),
                    session: 0,
                },
            ),
            (1, piece(0)),
        ];
        let plan = plan(&notes(&list));
        let mut replays: Vec<_> = plan.replays.keys().copied().collect();
        replays.sort_unstable();
        assert_eq!(replays, [1]);
    }
}
