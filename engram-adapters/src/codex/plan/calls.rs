//! Which records are about one call, and which of them gives its result.
//!
//! A call has a response item, an output for the model, and mostly an end for the screen (an event or item), before or behind the output. Both
//! become one result. A call of a script (code mode) has only its end.

use engram_core::keys::KeyMap;

use crate::codex::notes::{CallNote, Kind, Notes, Role};

/// What becomes of a record about a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallFate {
    /// The call, by its place in `calls`. `None` if no record makes it.
    pub call: Option<u32>,
    /// Of an output: the end before it. Of an end: the output that its result stands in, by note.
    pub other: Option<u32>,
    pub is: Is,
    /// Of an output: an end lists the changes of the patch.
    pub is_listed: bool,
}

/// What a record is among those of its call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Is {
    /// A call or an output.
    #[default]
    Plain,
    /// The only record that makes the call.
    New,
    /// An end whose result stands in the output behind it.
    Before,
    /// An end that gives the result: no output follows.
    Result,
    /// An end behind the output that has its text.
    Told,
    /// An end behind an output with another text.
    Further,
}

/// One call.
struct Call {
    /// The place of the record that makes it.
    by: u32,
    /// The name of its tool, by place.
    tool: u32,
    progress: Progress,
    /// The key of the text of its output.
    output: u64,
    /// The types of the records for the screen that are about it, one bit each.
    shown: u64,
    is_listed: bool,
    /// The end that waits for the output: its place.
    end: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Called,
    Running,
    Ended,
}

/// By record about a call: what becomes of it.
pub fn calls(notes: &Notes, repeats: &[bool]) -> Vec<CallFate> {
    let mut reader = Reader {
        fates: vec![CallFate::default(); notes.calls.len()],
        calls: Vec::new(),
        by_id: KeyMap::default(),
        notes_of: vec![0; notes.calls.len()],
    };
    for (number, note) in notes.notes.iter().enumerate() {
        if matches!(note.kind, Kind::Call | Kind::SearchEvent)
            && !repeats.get(number).is_some_and(|is| *is)
        {
            reader.notes_of[note.at as usize] = number as u32;
            reader.read(note.at, &notes.calls[note.at as usize]);
        }
    }
    reader.fates
}

struct Reader {
    fates: Vec<CallFate>,
    calls: Vec<Call>,
    by_id: KeyMap<Vec<usize>>,
    /// By place: the note.
    notes_of: Vec<u32>,
}

impl Reader {
    fn read(&mut self, at: u32, note: &CallNote) {
        let fate = match note.role {
            Role::Call => {
                self.open(at, note, Progress::Called);
                CallFate {
                    call: Some(at),
                    ..CallFate::default()
                }
            }
            Role::Output { runs_on } => self.output(note, runs_on, at),
            Role::End(kind) => self.end(at, note, kind),
            Role::Screen(kind) => {
                self.shown_call(at, note, (kind, Some(note.tool)), Progress::Ended)
            }
            Role::Request(kind) => self.shown_call(at, note, (kind, None), Progress::Called),
            Role::About => {
                let call = self
                    .by_id
                    .get(&note.id)
                    .and_then(|ids| ids.last())
                    .map(|call| self.calls[*call].by);
                CallFate {
                    call,
                    is: if call.is_some() { Is::Told } else { Is::New },
                    ..CallFate::default()
                }
            }
        };
        self.fates[at as usize] = fate;
    }

    fn open(&mut self, at: u32, note: &CallNote, progress: Progress) -> usize {
        self.calls.push(Call {
            by: at,
            tool: note.tool,
            progress,
            output: 0,
            shown: 0,
            is_listed: false,
            end: None,
        });
        if note.id != 0 {
            self.by_id
                .entry(note.id)
                .or_default()
                .push(self.calls.len() - 1);
        }
        self.calls.len() - 1
    }

    /// What becomes of a record for the screen that has a type and, if only calls of one tool have such a record, that tool.
    fn shown_call(
        &mut self,
        at: u32,
        note: &CallNote,
        (kind, tool): (u8, Option<u32>),
        progress: Progress,
    ) -> CallFate {
        match self.shown(note.id, kind, tool) {
            Some(call) => CallFate {
                call: Some(self.calls[call].by),
                is: Is::Told,
                ..CallFate::default()
            },
            None => self.new_call(at, note, kind, progress),
        }
    }

    /// A call that only this record makes.
    fn new_call(&mut self, at: u32, note: &CallNote, kind: u8, progress: Progress) -> CallFate {
        let call = self.open(at, note, progress);
        self.calls[call].shown = 1 << kind;
        CallFate {
            call: Some(at),
            is: Is::New,
            ..CallFate::default()
        }
    }

    /// The call that an output is of: the latest without a last output, else the latest.
    fn output(&mut self, note: &CallNote, runs_on: bool, at: u32) -> CallFate {
        let Some(ids) = self.by_id.get(&note.id) else {
            return CallFate::default();
        };
        let call = ids
            .iter()
            .rev()
            .find(|call| self.calls[**call].progress != Progress::Ended)
            .or(ids.last());
        let Some(call) = call.and_then(|call| self.calls.get_mut(*call)) else {
            return CallFate::default();
        };
        call.progress = if runs_on {
            Progress::Running
        } else {
            Progress::Ended
        };
        call.output = note.text;
        let end = call.end.take();
        if let Some(end) = end {
            self.fates[end as usize] = CallFate {
                is: Is::Before,
                other: Some(self.notes_of[at as usize]),
                ..self.fates[end as usize]
            };
        }
        CallFate {
            call: Some(call.by),
            other: end.map(|end| self.notes_of[end as usize]),
            is: Is::Plain,
            is_listed: call.is_listed,
        }
    }

    /// The call that a record for the screen is about: the latest without a last output, else the latest. An id may be used again: each call
    /// has one record of a type.
    fn shown(&mut self, id: u64, kind: u8, tool: Option<u32>) -> Option<usize> {
        let ids = self.by_id.get(&id)?;
        let fits = |call: &&usize| {
            self.calls[**call].shown & (1 << kind) == 0
                && tool.is_none_or(|tool| self.calls[**call].tool == tool)
        };
        let is_open = |call: &&usize| self.calls[**call].progress != Progress::Ended;
        let call = *ids
            .iter()
            .rev()
            .filter(fits)
            .find(is_open)
            .or_else(|| ids.iter().rev().find(fits))?;
        self.calls[call].shown |= 1 << kind;
        Some(call)
    }

    fn end(&mut self, at: u32, note: &CallNote, kind: u8) -> CallFate {
        let Some(place) = self.shown(note.id, kind, None) else {
            return CallFate {
                is_listed: note.is_patch,
                ..self.new_call(at, note, kind, Progress::Ended)
            };
        };
        let call = &mut self.calls[place];
        call.is_listed |= note.is_patch;
        let is = match call.progress {
            // Until its output comes, it is the result.
            Progress::Called if call.end.is_none() => {
                call.end = Some(at);
                Is::Result
            }
            Progress::Called | Progress::Running => {
                call.progress = Progress::Ended;
                Is::Result
            }
            Progress::Ended if note.text == 0 || note.text == call.output => Is::Told,
            Progress::Ended => Is::Further,
        };
        CallFate {
            call: Some(call.by),
            is,
            ..CallFate::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codex::notes::Note;

    fn fates(calls: &[(u64, Role, u64)]) -> Vec<(Is, Option<u32>, Option<u32>)> {
        fates_of_tools(calls, &[])
    }

    /// With the tools of the first calls.
    fn fates_of_tools(
        calls: &[(u64, Role, u64)],
        tools: &[u32],
    ) -> Vec<(Is, Option<u32>, Option<u32>)> {
        let call = |(id, role, text): &(u64, Role, u64)| CallNote {
            id: *id,
            number: 0,
            command: 0,
            role: *role,
            tool: 0,
            text: *text,
            has_more: false,
            is_patch: false,
            exit: u32::MAX,
        };
        let note = |at: usize| Note {
            kind: Kind::Call,
            at: at as u32,
            ..Note::default()
        };
        let mut notes = Notes {
            notes: (0..calls.len()).map(note).collect(),
            calls: calls.iter().map(call).collect(),
            ..Notes::default()
        };
        for (call, tool) in notes.calls.iter_mut().zip(tools) {
            call.tool = *tool;
        }
        super::calls(&notes, &[])
            .iter()
            .map(|fate| (fate.is, fate.call, fate.other))
            .collect()
    }

    const CALL: Role = Role::Call;
    const OUTPUT: Role = Role::Output { runs_on: false };
    const END: Role = Role::End(1);

    #[test]
    fn an_end_and_an_output_are_one_result() {
        let of_both = [
            (Is::Plain, Some(0), None),
            (Is::Before, Some(0), Some(2)),
            (Is::Plain, Some(0), Some(1)),
        ];
        assert_eq!(fates(&[(1, CALL, 0), (1, END, 7), (1, OUTPUT, 8)]), of_both);
        assert_eq!(fates(&[(1, CALL, 0), (1, END, 7)])[1].0, Is::Result);
        assert_eq!(
            fates(&[(1, CALL, 0), (1, OUTPUT, 7), (1, END, 7)])[2].0,
            Is::Told
        );
        assert_eq!(
            fates(&[(1, CALL, 0), (1, OUTPUT, 7), (1, END, 8)])[2].0,
            Is::Further
        );
        assert_eq!(
            fates(&[
                (1, CALL, 0),
                (1, Role::Output { runs_on: true }, 7),
                (1, END, 8)
            ])[2]
                .0,
            Is::Result
        );
    }

    #[test]
    fn a_call_that_only_its_end_says_is_new_and_so_is_another_with_its_id() {
        let fates = fates(&[
            (1, END, 7),
            (1, END, 8),
            (2, Role::Screen(2), 0),
            (1, Role::About, 0),
            (3, Role::About, 0),
        ]);
        assert_eq!(
            fates.iter().map(|fate| fate.0).collect::<Vec<_>>(),
            [Is::New, Is::New, Is::New, Is::Told, Is::New]
        );
    }

    #[test]
    fn an_image_with_the_id_of_a_call_of_another_tool_is_a_call_of_its_own() {
        let records = [
            (1, CALL, 0),
            (1, OUTPUT, 7),
            (1, Role::Screen(2), 0),
            (1, Role::Screen(3), 0),
        ];
        let of = |tools| {
            fates_of_tools(&records, tools)
                .iter()
                .map(|fate| fate.1)
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&[5, 5, 6, 6]), [0, 0, 2, 2].map(Some));
        assert_eq!(of(&[6, 6, 6, 6]), [0, 0, 0, 0].map(Some));
    }

    #[test]
    fn open_calls_with_one_id_have_results_of_their_own() {
        let fates = fates(&[
            (1, CALL, 0),
            (1, CALL, 0),
            (1, END, 7),
            (1, END, 8),
            (1, OUTPUT, 7),
            (1, OUTPUT, 8),
        ]);
        assert_eq!(
            fates.iter().map(|fate| fate.1).collect::<Vec<_>>(),
            [0, 1, 1, 0, 1, 0].map(Some)
        );
        assert_eq!((fates[4].2, fates[5].2), (Some(2), Some(3)));
    }
}
