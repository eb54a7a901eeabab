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
    /// A line that is no question has arguments.
    has_args: bool,
    /// The question with arguments, which are those of the call if no other line has any (Qwen Code).
    asked: Option<usize>,
    /// It was never shown: an agent may only ask about a call of a sub-agent (Kimi Code).
    pub is_only_asked: bool,
    /// The last line that names the tool: a call of a tool that calls another one is of the other one in the end (Qwen Code).
    pub name: Option<usize>,
    /// The line whose title is the name of the tool: it had a title before it had any arguments.
    pub title: Option<usize>,
    /// The last line with a kind.
    pub kind: Option<usize>,
    /// The last line with a file.
    pub place: Option<usize>,
    /// The last line with changes of files.
    pub diff: Option<usize>,
    /// The last line with what the tool returned to the program.
    pub response: Option<usize>,
    /// The line at which the call ended.
    pub end: Option<usize>,
    /// The client cancelled the turn before the call ended.
    pub is_cancelled: bool,
    /// The first line that says anything of it: a question, if the agent asks before it shows the call (Kilo).
    begun: usize,
    /// The key of its session and its file; 0 if it has no file.
    file: u64,
    /// What the client did with the file for the call.
    pub by_client: ByClient,
}

/// What the client did with the file of a call: requests with their answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ByClient {
    /// The last read before the write.
    pub read: Option<(usize, usize)>,
    /// The write. `None` if there are several: they may belong to calls of other names.
    pub write: Option<(usize, usize)>,
    writes: u32,
}

/// The requests of an agent for the text of a file, and to write it.
const READ: &str = "fs/read_text_file";
const WRITE: &str = "fs/write_text_file";

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
    /// Answers to requests to write a file that no call shows: a sub-agent may have made it.
    pub writes: PlaceMap<usize, ()>,
    /// Cancellations of a prompt that was answered: the answer has the end of the turn.
    pub answered_cancels: PlaceMap<usize, ()>,
}

impl Plan {
    /// The call about which a line says something.
    pub fn call_at(&self, number: usize) -> Option<&CallPlan> {
        self.calls.get(*self.call_of.get(&number)?)
    }
}

/// Decides about all lines.
pub(super) fn plan(notes: &[Note]) -> Plan {
    let mut plan = Plan::default();
    answers(notes, &mut plan);
    pieces(notes, &mut plan);
    calls(notes, &mut plan);
    files(notes, &mut plan);
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
                // What the fork has of the other session (Kilo 7.7.9).
                let is_fork = *method == "session/fork";
                let of_session = between().filter(|note| is_fork && note.session == session);
                plan.replays.extend(of_session.map(numbers));
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

/// A call that is known.
struct Known {
    /// Its place.
    at: usize,
    /// The key of its arguments.
    args: u64,
    /// No line but questions said anything of it: an agent may ask before it shows the call (Kilo).
    is_only_asked: bool,
}

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
        let begins = CallPlan {
            first: note.number,
            begun: note.number,
            args: note.number,
            ..CallPlan::default()
        };
        let asked = known.last_mut().filter(|last| last.is_only_asked);
        if let Some(last) = asked.filter(|_| !of.is_question) {
            last.is_only_asked = false;
            let call = &mut plan.calls[last.at];
            (call.first, call.args) = (note.number, note.number);
        } else if of.is_new || known.is_empty() {
            known.push(Known {
                at: plan.calls.len(),
                args: 0,
                is_only_asked: of.is_question,
            });
            plan.calls.push(begins);
        }
        let is_open = |known: &Known| plan.calls[known.at].end.is_none();
        let last = known.iter().rposition(is_open);
        let last = last.unwrap_or(known.len() - 1);
        let Known { at, args, .. } = &mut known[last];
        plan.call_of.insert(note.number, *at);
        let call = &mut plan.calls[*at];
        take(call, args, &of, note.number);
        if let Some(file) = [of.diff, of.place].into_iter().find(|file| *file != 0) {
            call.file = hash64((note.session, file));
        }
        let cancel = cancelled.get(&note.session);
        call.is_cancelled |= call.end == Some(note.number) && cancel > Some(&call.first);
    }
    for call in known.into_values().flatten() {
        plan.calls[call.at].is_only_asked = call.is_only_asked;
    }
    for call in &mut plan.calls {
        if let Some(asked) = call.asked.filter(|_| !call.has_args) {
            call.args = asked;
        }
        // An agent that never says arguments may have them in the title.
        call.title = call
            .title
            .filter(|_| call.args != call.first || call.is_only_asked);
    }
}

/// Takes what a line says about a call. What comes behind the end is for the client.
fn take(call: &mut CallPlan, args: &mut u64, of: &CallNote, number: usize) {
    if call.end.is_some() {
        return;
    }
    let last = |is: bool, before: Option<usize>| if is { Some(number) } else { before };
    match of.is_question {
        true => call.asked = last(of.args != 0, call.asked),
        false if of.args != 0 && of.args != *args => {
            (*args, call.args, call.has_args) = (of.args, number, true);
        }
        false => {}
    }
    if number == call.first {
        call.title = last(of.has_title && of.args == 0, None);
    }
    call.name = last(of.has_name, call.name);
    call.kind = last(of.has_kind, call.kind);
    call.place = last(of.place != 0, call.place);
    call.diff = last(of.diff != 0, call.diff);
    call.response = last(of.has_response, call.response);
    call.end = last(of.is_end, None);
}

/// Files that the client read and wrote for the agent. A write while no call of the file was running is an edit of its own.
fn files(notes: &[Note], plan: &mut Plan) {
    let mut calls: KeyMap<Vec<usize>> = key_map();
    for (at, call) in plan
        .calls
        .iter()
        .enumerate()
        .filter(|(_, call)| call.file != 0)
    {
        calls.entry(call.file).or_default().push(at);
    }
    let requests = plan
        .requests
        .iter()
        .map(|(answer, request)| (*request, *answer));
    let mut requests: Vec<(usize, usize)> = requests.collect();
    requests.sort_unstable();
    for (request, answer) in requests {
        let Some(Note { what, session, .. }) = note_at(notes, request) else {
            continue;
        };
        let What::Request { method, path, .. } = *what else {
            continue;
        };
        let of_file = calls.get(&hash64((*session, path)));
        // Calls of one file follow each other.
        let last = of_file.and_then(|calls| {
            let begun = calls.partition_point(|call| plan.calls[*call].begun < answer);
            calls.get(begun.checked_sub(1)?)
        });
        let call = last.map(|call| &mut plan.calls[*call]);
        let call = call.filter(|call| call.end.is_none_or(|end| end > request));
        match (method, call) {
            (WRITE, None) => drop(plan.writes.insert(answer, ())),
            (WRITE, Some(call)) => {
                call.by_client.writes += 1;
                call.by_client.write =
                    Some((request, answer)).filter(|_| call.by_client.writes == 1);
            }
            (READ, Some(call)) if call.by_client.writes == 0 => {
                call.by_client.read = Some((request, answer));
            }
            _ => {}
        }
    }
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
    fn a_question_gives_arguments_only_to_a_call_without_any() {
        let of = |args, is_question, is_new| {
            What::Call(CallNote {
                call: 1,
                args,
                is_question,
                is_new,
                ..CallNote::default()
            })
        };
        let [question, shown] = [of(7, true, false), of(5, false, true)];
        // Copilot CLI: the call, then the question with other arguments. Kilo: the question first, then the call with and without arguments.
        let copilot = plan(&notes(&[(1, shown), (1, question)]));
        let kilo = [question, of(0, false, true), of(5, false, false)];
        let kilo = plan(&notes(&kilo.map(|what| (1, what))));
        let qwen = plan(&notes(&[(1, of(0, false, true)), (1, question)]));
        for (plan, args) in [(copilot, 0), (kilo, 2), (qwen, 1)] {
            let [call] = plan.calls.as_slice() else {
                panic!("{:?}", plan.calls)
            };
            assert_eq!(call.args, args);
        }
    }

    #[test]
    fn what_comes_while_a_session_is_loaded_is_history() {
        let load = What::Request {
            method: "session/load",
            id: 3,
            path: 0,
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
