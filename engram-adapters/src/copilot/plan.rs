//! Step 2: which records say again what others say, where the tokens of a response stand, and what happened between two prompts.

use std::collections::BTreeMap;

use engram_core::keys::{KeyMap, PlaceMap, key_map};

use super::notes::{Fact, Note, Notes};
use super::snapshots::Snapshot;

/// What happened after a prompt with a snapshot, until the next prompt.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Turn {
    /// The number of the snapshot.
    pub snapshot: usize,
    /// The changes of files by calls: the file, the record of the change, and the record in which the call begins.
    pub changes: Vec<(u64, usize, Option<usize>)>,
    /// The files that calls of another run changed at the same time.
    pub beside: Vec<u64>,
    /// The commands that name a file, by file.
    pub named: Vec<(u64, usize)>,
}

/// What is decided about the records, by their numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// The counts of a response, by the record behind which they stand.
    pub counts: PlaceMap<usize, Vec<usize>>,
    /// Records with counts that stand behind another record.
    pub placed: PlaceMap<usize, ()>,
    /// Ends of runs whose sums are the only counts of the run. True if they are those of all runs so far.
    pub sums: PlaceMap<usize, bool>,
    /// Beginnings of calls that a response has, with the same arguments.
    pub repeated: PlaceMap<usize, ()>,
    /// Beginnings of calls that a response has, with other arguments.
    pub rewritten: PlaceMap<usize, ()>,
    /// Turns by the record of their prompt.
    pub turns: PlaceMap<usize, Turn>,
    /// The last records of turns, with the record of their prompt.
    pub ends: PlaceMap<usize, usize>,
    /// The snapshots of prompts that a rewind took out of the log, by the record of its notice.
    pub cut: PlaceMap<usize, Vec<usize>>,
    /// The notice that the session is a fork. All before it but the start of the session are copies.
    pub fork: Option<usize>,
}

/// Decides about all records.
pub(super) fn plan(notes: &Notes, snapshots: &[Snapshot]) -> Plan {
    let facts = &notes.facts;
    // A fork of a fork has copied notices, too.
    let fork = facts.iter().rfind(|note| note.fact == Fact::Forked);
    let mut plan = Plan {
        fork: fork.map(|note| note.number),
        ..Plan::default()
    };
    counts(facts, &mut plan);
    sums(facts, &mut plan);
    calls(facts, &mut plan);
    let by_prompt = prompts(facts, snapshots, &mut plan);
    turns(facts, &by_prompt, &mut plan);
    plan
}

/// The counts of a response stand before it in the log, and behind its last part on a tape. Counts without a response stay where they are.
fn counts(facts: &[Note], plan: &mut Plan) {
    let mut last: KeyMap<usize> = key_map();
    for note in facts {
        if let Fact::Answered { response } = note.fact {
            last.insert(response, note.number);
        }
    }
    for note in facts {
        if let Fact::Counted { response } = note.fact
            && let Some(at) = last.get(&response).filter(|at| **at > note.number)
        {
            plan.counts.entry(*at).or_default().push(note.number);
            plan.placed.insert(note.number, ());
        }
    }
}

/// The sums at the end of a run count only if no response of the run has counts of its own.
fn sums(facts: &[Note], plan: &mut Plan) {
    let (mut has_counts, mut of_session) = (false, false);
    for note in facts {
        match note.fact {
            Fact::Began { sums_go_on } => (has_counts, of_session) = (false, sums_go_on),
            Fact::Counted { .. } => has_counts = true,
            Fact::Ended if !has_counts => {
                plan.sums.insert(note.number, of_session);
            }
            _ => {}
        }
    }
}

/// The log has a call twice: in the response, and when it begins.
fn calls(facts: &[Note], plan: &mut Plan) {
    // An id may be there several times.
    let mut asked: KeyMap<Vec<u64>> = key_map();
    for note in facts {
        match note.fact {
            Fact::Asked { call, args } => asked.entry(call).or_default().push(args),
            Fact::Called { call, args } => {
                let open = asked.entry(call).or_default();
                if let Some(same) = open.iter().position(|other| *other == args) {
                    open.remove(same);
                    plan.repeated.insert(note.number, ());
                } else if open.pop().is_some() {
                    plan.rewritten.insert(note.number, ());
                }
            }
            _ => {}
        }
    }
}

/// The snapshots by the record of their prompt. Where ids do not tell prompts apart, the last prompt before the snapshot was made is meant. A
/// prompt that is not in the log was taken out by a rewind. A snapshot that it left says what still holds: one that was restored is removed.
fn prompts(facts: &[Note], snapshots: &[Snapshot], plan: &mut Plan) -> PlaceMap<usize, usize> {
    let (mut named, mut timed, mut rewinds) = (KeyMap::default(), Vec::new(), Vec::new());
    for note in facts {
        match note.fact {
            Fact::Prompted { id, time, .. } => {
                let only = (!named.contains_key(&id)).then_some(note.number);
                named.insert(id, only);
                timed.extend(time.map(|time| (time, note.number)));
            }
            Fact::Rewound { time: Some(time) } => rewinds.push((time, note.number)),
            _ => {}
        }
    }
    let tell_apart = named.values().all(Option::is_some);
    timed.sort_unstable();
    let before = |time: i64| {
        let end = timed.partition_point(|(prompt, _)| *prompt <= time);
        Some(timed.get(end.checked_sub(1)?)?.1)
    };
    let mut found = PlaceMap::default();
    for (at, snapshot) in snapshots.iter().enumerate() {
        if let Some(Some(only)) = named.get(&snapshot.prompt) {
            found.insert(*only, at);
            continue;
        }
        let Some(time) = snapshot.time else {
            continue;
        };
        // A prompt has one snapshot.
        let prompt = before(time).filter(|prompt| !found.contains_key(prompt));
        let rewind = rewinds.iter().find(|(rewind, _)| *rewind >= time);
        match (prompt, rewind) {
            (Some(prompt), rewind) if !tell_apart || rewind.is_none() => {
                found.insert(prompt, at);
            }
            (_, Some((_, notice))) => plan.cut.entry(*notice).or_default().push(at),
            _ => {}
        }
    }
    found
}

/// A turn that goes on: the record of its prompt, and its last record so far.
struct Open {
    prompt: usize,
    last: usize,
    turn: Turn,
}

fn turns(facts: &[Note], snapshots: &PlaceMap<usize, usize>, plan: &mut Plan) {
    let mut now: BTreeMap<usize, Open> = BTreeMap::new();
    let mut done = Vec::new();
    for note in facts {
        let open = now.get_mut(&note.run);
        match note.fact {
            // A prompt that steers has no snapshot of its own (1.0.102: recorded).
            Fact::Prompted { steers, .. } if !steers || snapshots.contains_key(&note.number) => {
                done.extend(now.remove(&note.run).map(|open| (note.run, open)));
                if let Some(snapshot) = snapshots.get(&note.number) {
                    let open = Open {
                        prompt: note.number,
                        last: note.number,
                        turn: Turn {
                            snapshot: *snapshot,
                            ..Turn::default()
                        },
                    };
                    now.insert(note.run, open);
                }
            }
            Fact::Prompted { .. } | Fact::Worked => {
                if let Some(open) = open {
                    open.last = note.number;
                }
            }
            Fact::Changed { path, call } => {
                if let Some(open) = open {
                    open.last = note.number;
                    open.turn.changes.push((path, note.number, call));
                }
            }
            Fact::Named { path } => {
                if let Some(open) = open {
                    open.turn.named.push((path, note.number));
                }
            }
            _ => {}
        }
    }
    done.extend(now);
    for (run, mut open) in done {
        let from = facts.partition_point(|note| note.number < open.prompt);
        let until = facts.partition_point(|note| note.number <= open.last);
        let beside = facts[from..until].iter().filter(|note| note.run != run);
        let changed = beside.filter_map(|note| match note.fact {
            Fact::Changed { path, .. } => Some(path),
            _ => None,
        });
        open.turn.beside = changed.collect();
        plan.ends.insert(open.last, open.prompt);
        plan.turns.insert(open.prompt, open.turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(prompt: u64, time: Option<i64>) -> Snapshot {
        Snapshot {
            prompt,
            words: None,
            time,
            files: Vec::new(),
        }
    }

    fn planned(facts: &[Fact]) -> Plan {
        plan(&notes(facts), &[snapshot(7, None)])
    }

    /// The notes of one run.
    fn notes(facts: &[Fact]) -> Notes {
        let note = |(number, fact): (usize, &Fact)| Note {
            number,
            run: 0,
            fact: *fact,
        };
        Notes::of(facts.iter().enumerate().map(note).collect())
    }

    #[test]
    fn counts_stand_behind_the_last_part_of_their_response() {
        let (counted, answered) = (
            Fact::Counted { response: 1 },
            Fact::Answered { response: 1 },
        );
        let plan = planned(&[counted, answered, Fact::Worked, answered]);
        assert_eq!(plan.counts.get(&3), Some(&vec![0]));
        assert!(plan.placed.contains_key(&0));
        // The request failed.
        assert_eq!(planned(&[counted]).placed.len(), 0);
    }

    #[test]
    fn sums_of_a_run_count_only_without_counts_of_its_responses() {
        let began = |sums_go_on| Fact::Began { sums_go_on };
        let counted = Fact::Counted { response: 1 };
        let facts = [
            began(false),
            Fact::Ended,
            began(true),
            Fact::Ended,
            began(true),
            counted,
            Fact::Ended,
        ];
        let plan = planned(&facts);
        let sums = [1, 3, 6].map(|at| plan.sums.get(&at).copied());
        assert_eq!(sums, [Some(false), Some(true), None]);
    }

    #[test]
    fn a_call_that_a_response_has_begins_once() {
        let (asked, called) = (Fact::Asked { call: 1, args: 2 }, |args| Fact::Called {
            call: 1,
            args,
        });
        let plan = planned(&[asked, called(2), called(2), asked, called(3)]);
        assert!(plan.repeated.contains_key(&1) && !plan.repeated.contains_key(&2));
        assert!(plan.rewritten.contains_key(&4));
    }

    #[test]
    fn a_turn_with_a_snapshot_ends_with_the_last_work_before_the_next_prompt() {
        let changed = Fact::Changed {
            path: 5,
            call: Some(1),
        };
        let prompt = |id, steers| Fact::Prompted {
            id,
            time: None,
            steers,
        };
        let facts = [
            prompt(7, false),
            Fact::Named { path: 6 },
            changed,
            // The person types while the model works: it is the same turn.
            prompt(9, true),
            changed,
            Fact::Worked,
            Fact::Ended,
            prompt(8, false),
            changed,
        ];
        let plan = planned(&facts);
        let turn = &plan.turns[&0];
        assert_eq!((plan.ends.get(&5), plan.turns.len()), (Some(&0), 1));
        assert_eq!(
            (&turn.changes, &turn.named),
            (&vec![(5, 2, Some(1)), (5, 4, Some(1))], &vec![(6, 1)])
        );
    }

    #[test]
    fn a_turn_knows_what_another_run_changed_meanwhile() {
        let prompt = |id| Fact::Prompted {
            id,
            time: None,
            steers: false,
        };
        let changed = |path| Fact::Changed { path, call: None };
        let facts = [
            (0, prompt(7)),
            (1, prompt(8)),
            (1, changed(5)),
            (0, changed(6)),
            (1, changed(9)),
        ];
        let note = |(number, (run, fact))| Note { number, run, fact };
        let notes = Notes::of((0..).zip(facts).map(note).collect());
        let plan = plan(&notes, &[snapshot(7, None)]);
        let turn = &plan.turns[&0];
        assert_eq!(
            (&turn.changes, &turn.beside),
            (&vec![(6, 3, None)], &vec![5])
        );
    }

    #[test]
    fn a_snapshot_whose_id_is_not_of_one_prompt_is_that_of_the_last_prompt_before_it() {
        let prompt = |id, time| Fact::Prompted {
            id,
            time: Some(time),
            steers: false,
        };
        let of = |ids: [u64; 2]| {
            let facts = [prompt(ids[0], 10), prompt(ids[1], 20)];
            let snapshots = [snapshot(7, Some(15)), snapshot(8, Some(25))];
            let found = prompts(&notes(&facts).facts, &snapshots, &mut Plan::default());
            [found.get(&0).copied(), found.get(&1).copied()]
        };
        assert_eq!(of([7, 8]), [Some(0), Some(1)]);
        assert_eq!(of([9, 9]), [Some(0), Some(1)]);
        assert_eq!(of([8, 8]), [Some(0), Some(1)]);
    }

    #[test]
    fn a_snapshot_whose_prompt_is_not_there_is_of_a_turn_that_was_taken_back() {
        let facts = [
            Fact::Prompted {
                id: 1,
                time: Some(10),
                steers: false,
            },
            Fact::Rewound { time: Some(30) },
            Fact::Rewound { time: Some(50) },
        ];
        let snapshots = [snapshot(1, Some(15)), snapshot(7, Some(25))];
        let plan = plan(&notes(&facts), &snapshots);
        assert_eq!(plan.cut.get(&1), Some(&vec![1]));
        assert_eq!((plan.cut.len(), plan.turns[&0].snapshot), (1, 0));
    }
}
