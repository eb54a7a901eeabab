//! Step 2: which counted request is which response, where the tokens of a response stand, and where the session went back.
//!
//! The harness writes a notice about each request that it counts, then the line of the response with the same counts. A notice without such a
//! line is of a request beside the conversation (a summary), and has tokens of its own. The responses of sub-agents are noticed here too, and
//! counted in their own files.

use std::collections::HashSet;

use engram_core::keys::{KeyMap, PlaceMap, key_map};

use super::notes::{Agent, Kind, Note, Notes};

/// What becomes of a notice about a request or a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// It is of the response in this record.
    Response(usize),
    /// It is of a call in this log.
    Call,
    /// A sub-agent made it.
    Agent,
}

/// What is decided, by the numbers of records.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Notices that another line says again; no notice that stands alone.
    pub counted: PlaceMap<usize, Counted>,
    /// Records at whose end the tokens of an earlier response stand: the record that has them.
    pub usages: PlaceMap<usize, usize>,
    /// Responses whose tokens stand at the end of a later record.
    pub later: HashSet<usize>,
    /// Lines that go back: the record that they continue. `None` is the beginning.
    pub back: PlaceMap<usize, Option<usize>>,
}

/// Decides about all lines.
pub(super) fn plan(notes: &Notes) -> Plan {
    let mut plan = Plan {
        counted: counted(notes),
        back: back(&notes.lines),
        ..Plan::default()
    };
    for (response, last) in responses(&notes.lines) {
        plan.usages.insert(last, response);
        plan.later.insert(response);
    }
    plan
}

/// The notices that other lines say again. A response belongs to the latest notice with its counts. A sub-agent whose call is in the log or in a
/// notice has a file of its own; one that the harness started for itself has none.
fn counted(notes: &Notes) -> PlaceMap<usize, Counted> {
    let calls: HashSet<u64> = notes.calls.iter().copied().collect();
    let noticed = notes.lines.iter().filter_map(|note| match note.kind {
        Kind::Called { call, .. } => Some(call),
        _ => None,
    });
    let started: HashSet<u64> = noticed.chain(calls.iter().copied()).collect();
    // Where notices do not name calls, the type tells which sub-agents calls have started.
    let names_calls = |note: &Note| matches!(note.kind, Kind::Called { call, .. } if call != 0);
    let names_calls = notes.lines.iter().any(names_calls);
    let is_started = |agent: Agent| {
        started.contains(&agent.call) || (!names_calls && notes.kinds.contains(&agent.kind))
    };
    let mut counted = PlaceMap::default();
    let mut open: KeyMap<Vec<usize>> = key_map();
    let mut of_agents: HashSet<u64> = HashSet::new();
    for note in &notes.lines {
        match note.kind {
            Kind::Counted {
                prompt,
                agent: Some(agent),
                ..
            } if is_started(agent) => {
                of_agents.insert(prompt);
                counted.insert(note.number, Counted::Agent);
            }
            // The harness started it for itself.
            Kind::Counted { agent: Some(_), .. } => {}
            Kind::Counted { counts, .. } => open.entry(counts).or_default().push(note.number),
            Kind::Response {
                counts: Some(counts),
                ..
            } => {
                if let Some(notice) = open.get_mut(&counts).and_then(Vec::pop) {
                    counted.insert(notice, Counted::Response(note.number));
                }
            }
            Kind::Called { call, .. } if calls.contains(&call) => {
                counted.insert(note.number, Counted::Call);
            }
            Kind::Called { prompt, .. } if of_agents.contains(&prompt) => {
                counted.insert(note.number, Counted::Agent);
            }
            _ => {}
        }
    }
    counted
}

/// The responses of a sub-agent that go on in later lines: the record with the tokens, and the last record.
fn responses(lines: &[Note]) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut response = None;
    for note in lines {
        match note.kind {
            Kind::Response {
                counts: None,
                is_rest: true,
            } => {
                if let Some(first) = response {
                    match found.last_mut().filter(|(known, _)| *known == first) {
                        Some((_, last)) => *last = note.number,
                        None => found.push((first, note.number)),
                    }
                }
            }
            Kind::Response { counts, .. } => response = counts.map(|_| note.number),
            _ => response = None,
        }
    }
    found
}

/// The lines that continue another line than the one before. A title may stand aside: the next line then continues what is before the title.
/// A line whose parent is not in the log says nothing.
fn back(lines: &[Note]) -> PlaceMap<usize, Option<usize>> {
    let mut numbers: KeyMap<usize> = key_map();
    let mut back = PlaceMap::default();
    let mut last: Option<Note> = None;
    let mut titles: Vec<u64> = Vec::new();
    for note in lines {
        let is_next = |last: &Note| last.id == note.parent || titles.contains(&note.parent);
        if let Some(last) = last.filter(|last| !is_next(last)) {
            match note.parent {
                0 => drop(back.insert(note.number, None)),
                parent => {
                    if let Some(to) = numbers.get(&parent).filter(|to| **to != last.number) {
                        back.insert(note.number, Some(*to));
                    }
                }
            }
        }
        numbers.insert(note.id, note.number);
        match (note.kind, last) {
            (Kind::Title, Some(_)) => titles.push(note.id),
            _ => {
                last = Some(*note);
                titles.clear();
            }
        }
    }
    back
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(kinds: &[Kind]) -> Notes {
        let line = |(number, kind): (usize, &Kind)| Note {
            number,
            id: number as u64 + 1,
            parent: number as u64,
            kind: *kind,
        };
        Notes {
            lines: kinds.iter().enumerate().map(line).collect(),
            calls: vec![7],
            kinds: Vec::new(),
        }
    }

    fn notice(counts: u64, prompt: u64, agent: Option<u64>) -> Kind {
        Kind::Counted {
            counts,
            prompt,
            agent: agent.map(|call| Agent { call, kind: 30 }),
        }
    }

    fn response(counts: Option<u64>, is_rest: bool) -> Kind {
        Kind::Response { counts, is_rest }
    }

    #[test]
    fn a_response_has_the_latest_notice_with_its_counts() {
        let plan = plan(&notes(&[
            notice(1, 10, None),
            notice(1, 11, Some(7)),
            notice(1, 12, None),
            response(Some(1), false),
            Kind::Called {
                call: 7,
                prompt: 12,
            },
            Kind::Called {
                call: 8,
                prompt: 11,
            },
            Kind::Called {
                call: 9,
                prompt: 12,
            },
        ]));
        let of = |number| plan.counted.get(&number).copied();
        assert_eq!(of(0), None);
        assert_eq!(of(1), Some(Counted::Agent));
        assert_eq!(of(2), Some(Counted::Response(3)));
        assert_eq!(of(4), Some(Counted::Call));
        assert_eq!(of(5), Some(Counted::Agent));
        assert_eq!(of(6), None);
    }

    #[test]
    fn a_sub_agent_of_the_harness_itself_has_no_file() {
        let plan = plan(&notes(&[notice(1, 10, Some(99)), response(Some(1), false)]));
        assert!(plan.counted.is_empty());
    }

    #[test]
    fn where_notices_name_no_calls_the_type_of_a_sub_agent_tells_that_a_call_started_it() {
        let called = |call| Kind::Called { call, prompt: 10 };
        let counted = |call| {
            let mut notes = notes(&[notice(1, 10, Some(99)), called(call)]);
            notes.kinds = vec![30];
            let plan = plan(&notes);
            [0, 1].map(|number| plan.counted.get(&number).copied())
        };
        assert_eq!(counted(0), [Some(Counted::Agent); 2]);
        assert_eq!(counted(8), [None; 2]);
    }

    #[test]
    fn the_tokens_of_a_sub_agents_response_stand_behind_its_calls() {
        let found = |kinds: &[Kind]| responses(&notes(kinds).lines);
        let (first, rest) = (response(Some(1), false), response(None, true));
        assert_eq!(found(&[first, rest, rest, Kind::Other, first]), [(0, 2)]);
        assert_eq!(found(&[first, Kind::Other, rest]), []);
        assert_eq!(found(&[first, first, rest]), [(1, 2)]);
    }

    fn went_back(lines: &[(u64, u64, Kind)]) -> Vec<(usize, Option<usize>)> {
        let line = |(number, &(id, parent, kind)): (usize, &(u64, u64, Kind))| Note {
            number,
            id,
            parent,
            kind,
        };
        let lines: Vec<Note> = lines.iter().enumerate().map(line).collect();
        let mut back: Vec<_> = back(&lines).into_iter().collect();
        back.sort_unstable();
        back
    }

    #[test]
    fn a_line_that_does_not_continue_the_last_one_goes_back() {
        let other = Kind::Other;
        let (one, two) = ((1, 0, other), (2, 1, other));
        assert_eq!(went_back(&[one, two, (3, 2, other)]), []);
        assert_eq!(went_back(&[one, two, (3, 1, other)]), [(2, Some(0))]);
        assert_eq!(went_back(&[one, two, (3, 0, other)]), [(2, None)]);
        // Its parent is not in the log.
        assert_eq!(went_back(&[one, two, (3, 9, other)]), []);
    }

    #[test]
    fn a_title_may_stand_aside() {
        let (one, title) = ((1, 0, Kind::Other), (2, 1, Kind::Title));
        assert_eq!(went_back(&[one, title, (3, 1, Kind::Other)]), []);
        assert_eq!(went_back(&[one, title, (3, 2, Kind::Other)]), []);
    }
}
