//! Which answers, reasonings, plans and marks an earlier record has: Codex writes most facts twice, as an item for the model and as an event
//! for the screen. Either may come first: the order differs between versions.

use std::collections::HashSet;

use engram_core::keys::{KeyMap, KeySet, hash64};

use super::calls::{CallFate, Is};
use crate::codex::notes::{AgentText, Kind, Note, Notes, Side};

/// The decisions about all texts of the agent, and about marks.
#[derive(Debug, Default)]
pub struct Twins {
    /// By text: no other record has it.
    pub is_new: Vec<bool>,
    /// The notes of plans, last answers, searches and marks that an earlier record has.
    pub told: HashSet<u32>,
}

/// Decides about all texts of the agent, and about marks.
pub fn twins(notes: &Notes, repeats: &[bool], calls: &[CallFate]) -> Twins {
    let read = || {
        let notes = notes.notes.iter().enumerate();
        notes.filter(|(at, _)| !repeats.get(*at).is_some_and(|is| *is))
    };
    let mut reader = Reader::new(notes, read().map(|(_, note)| note));
    for (at, note) in read() {
        let is_new_search = note.kind == Kind::SearchEvent
            && calls
                .get(note.at as usize)
                .is_some_and(|call| call.is != Is::Told);
        if reader.is_told(notes, note) {
            reader.twins.told.insert(at as u32);
        }
        reader.follows_search = is_new_search;
    }
    reader.twins
}

/// What was said so far.
#[derive(Debug, Default)]
struct Reader {
    twins: Twins,
    /// How often the model (above zero) or the screen (below) is ahead with a text.
    ahead: KeyMap<i32>,
    answers: KeySet,
    /// The plans in answers.
    plans: KeySet,
    /// How often the model has a text beside a plan. The screen has it without the plan, mostly before.
    beside_plans: KeyMap<u32>,
    /// Compactions whose mark has not been read.
    unmarked: u64,
    /// The record before is a web search for the screen.
    follows_search: bool,
}

impl Reader {
    /// An answer with a plan stands where the model has it, as a whole. So what the screen has of it is known before.
    fn new<'n>(notes: &Notes, read: impl Iterator<Item = &'n Note>) -> Reader {
        let mut reader = Reader {
            twins: Twins {
                is_new: vec![true; notes.texts.len()],
                ..Twins::default()
            },
            ..Reader::default()
        };
        for note in read.filter(|note| note.kind == Kind::Answer(Side::Model)) {
            let texts = &notes.texts[note.at as usize..(note.at + note.count) as usize];
            for text in texts.iter().filter(|text| text.plan != 0) {
                reader.plans.insert(text.plan);
                if text.has_more {
                    *reader.beside_plans.entry(text.text).or_default() += 1;
                }
            }
        }
        reader
    }

    /// True if an earlier record has what this one says. Texts of the agent have decisions of their own.
    fn is_told(&mut self, notes: &Notes, note: &Note) -> bool {
        match note.kind {
            Kind::Answer(side) => {
                self.texts(notes, note, |reader, text| reader.is_new_answer(side, text))
            }
            Kind::Reasoning(side) => self.texts(notes, note, |reader, text| {
                reader.is_ahead_or_new(side, ("reasoning", text.text))
            }),
            Kind::Plan => return self.plans.contains(&note.fact),
            Kind::AnswerAgain => return note.fact == 0 || !self.answers.insert(note.fact),
            Kind::Compaction => self.unmarked += 1,
            Kind::CompactionMark => {
                let is_marked = self.unmarked > 0;
                self.unmarked -= u64::from(is_marked);
                return is_marked;
            }
            Kind::SearchItem => return self.follows_search,
            _ => {}
        }
        false
    }

    fn texts(
        &mut self,
        notes: &Notes,
        note: &Note,
        is_new: impl Fn(&mut Self, &AgentText) -> bool,
    ) {
        for at in note.at..note.at + note.count {
            self.twins.is_new[at as usize] = is_new(self, &notes.texts[at as usize]);
        }
    }

    fn is_new_answer(&mut self, side: Side, text: &AgentText) -> bool {
        self.answers.insert(text.whole);
        if text.plan != 0 {
            return self.is_ahead_or_new(side, ("answer", text.whole));
        }
        let beside_plan = self
            .beside_plans
            .get_mut(&text.text)
            .filter(|count| side == Side::Screen && **count > 0);
        match beside_plan {
            Some(count) => {
                *count -= 1;
                false
            }
            None => self.is_ahead_or_new(side, ("answer", text.text)),
        }
    }

    /// Records a fact. False if it repeats one of the other side.
    fn is_ahead_or_new(&mut self, side: Side, fact: (&str, u64)) -> bool {
        let step = if side == Side::Model { 1 } else { -1 };
        let ahead = self.ahead.entry(hash64(fact)).or_default();
        let is_new = *ahead * step >= 0;
        *ahead += step;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(texts: &[AgentText], notes: &[(Kind, u64)]) -> (Vec<bool>, Vec<u32>) {
        let mut next = 0;
        let mut note = |(kind, fact): &(Kind, u64)| {
            let count = u32::from(matches!(kind, Kind::Answer(_) | Kind::Reasoning(_)));
            next += count;
            Note {
                kind: *kind,
                fact: *fact,
                at: next.saturating_sub(1),
                count,
                ..Note::default()
            }
        };
        let notes = Notes {
            notes: notes.iter().map(&mut note).collect(),
            texts: texts.to_vec(),
            ..Notes::default()
        };
        let twins = twins(&notes, &[], &[]);
        let mut told: Vec<u32> = twins.told.into_iter().collect();
        told.sort_unstable();
        (twins.is_new, told)
    }

    fn text(text: u64) -> AgentText {
        AgentText {
            whole: text,
            text,
            plan: 0,
            has_more: true,
        }
    }

    #[test]
    fn either_side_may_come_first_and_each_pair_is_one_fact() {
        let (model, screen) = (
            (Kind::Answer(Side::Model), 0),
            (Kind::Answer(Side::Screen), 0),
        );
        let (is_new, _) = told(
            &[text(1); 6],
            &[model, screen, screen, screen, model, model],
        );
        assert_eq!(is_new, [true, false, true, true, false, false]);
        let (is_new, _) = told(&[text(1); 2], &[model, (Kind::Reasoning(Side::Screen), 0)]);
        assert_eq!(is_new, [true, true]);
    }

    #[test]
    fn a_last_answer_a_plan_and_a_mark_stand_once() {
        let answer = (Kind::Answer(Side::Model), 0);
        let lines = [
            answer,
            (Kind::AnswerAgain, 1),
            (Kind::AnswerAgain, 2),
            (Kind::AnswerAgain, 0),
        ];
        assert_eq!(told(&[text(1)], &lines).1, [1, 3]);
        let planned = AgentText {
            whole: 5,
            text: 6,
            plan: 7,
            has_more: false,
        };
        let plan = (Kind::Plan, 7);
        assert_eq!(told(&[planned], &[plan, answer]), (vec![true], vec![0]));
        assert_eq!(told(&[planned], &[answer, plan]), (vec![true], vec![1]));
        assert_eq!(told(&[], &[plan]), (vec![], vec![]));
        let with_words = AgentText {
            has_more: true,
            ..planned
        };
        let screen = (Kind::Answer(Side::Screen), 0);
        let texts = [text(6), with_words, text(6)];
        assert_eq!(
            told(&texts, &[plan, screen, answer, screen]),
            (vec![false, true, true], vec![0])
        );
        let marks = [
            (Kind::CompactionMark, 0),
            (Kind::Compaction, 0),
            (Kind::CompactionMark, 0),
        ];
        assert_eq!(told(&[], &marks).1, [2]);
    }
}
