//! Compares reads with the files: a `code.read` has the lines of a state that its file really had when it was read.

use engram_core::event::Kind;

use super::spans::{self, Lines};
use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::gaps::split_at_cr;
use crate::ground_truth::{FileState, RealEdit, in_project};
use crate::outcome::Findings;
use crate::subject::Subject;
use crate::tape::Event;

/// The gap of reads of a file without its byte order mark and the bare CR at its end.
const UNMARKED: &str = "read.bom";
/// The gap of reads by a harness that takes a bare CR for a line end.
const BARE_CR: &str = "read.bare_cr";
const MARK: char = '\u{feff}';

/// The calls of the model in their order. A read of another call, or of none, may have been made at any time.
struct Order<'t>(Vec<&'t str>);

impl Order<'_> {
    fn of(&self, id: &str) -> Option<usize> {
        self.0.iter().position(|call| *call == id)
    }

    /// The first and the last call of the turn of an edit.
    fn turn(&self, edit: &RealEdit) -> Option<(usize, usize)> {
        let calls = || edit.call_ids.iter().filter_map(|id| self.of(id));
        Some((calls().min()?, calls().max()?))
    }
}

/// Every `code.read` has the range, the hash and the fingerprints of lines that its file had when it was read.
pub fn of_files(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    let order = Order(
        case.truth
            .calls
            .iter()
            .map(|call| call.id.as_str())
            .collect(),
    );
    for (session, event) in case
        .events(Kind::CodeRead)
        .filter(|(_, event)| event.range("range").is_some())
    {
        let file = in_project(event.text("file").unwrap_or_default());
        let edits: Vec<&RealEdit> = case
            .truth
            .edits
            .iter()
            .filter(|real| real.file == file)
            .collect();
        let states = states_at(
            &order,
            &edits,
            event.text("call_id").and_then(|id| order.of(id)),
        );
        if states.is_empty()
            || states
                .iter()
                .any(|state| matches!(state, FileState::Unknown))
        {
            findings.note("reads of files without a known text");
        } else if states
            .iter()
            .filter_map(|state| state.text())
            .any(|text| is_of(event, text))
        {
            findings.count("reads of known files");
        } else if let Some(gap) = explained(subject, session, event, &states) {
            findings.gap(gap);
        } else {
            findings.fail(
                case.place_of(session, event),
                format!(
                    "range, total_lines, hash or fingerprints match no text that {file} had then"
                ),
            );
        }
    }
}

/// The gap that the adapter declares for what the log leaves out of a text, if the read has the lines of the rest.
fn explained(
    subject: &Subject<'_>,
    session: &ConvertedSession,
    read: &Event,
    states: &[FileState<'_>],
) -> Option<&'static str> {
    let texts = || states.iter().filter_map(|state| state.text());
    let declares = |gap| subject.declares_for(session.schema(), Kind::CodeRead, gap);
    if declares(UNMARKED) && texts().filter_map(unmarked).any(|text| is_of(read, text)) {
        return Some(UNMARKED);
    }
    let mut split = texts().filter_map(split_at_cr);
    (declares(BARE_CR) && split.any(|text| is_of(read, &text))).then_some(BARE_CR)
}

/// A text without the byte order mark at its beginning and the bare CR at its end; none if it has neither.
fn unmarked(text: &str) -> Option<&str> {
    let bare = text.strip_prefix(MARK).unwrap_or(text);
    let bare = bare.strip_suffix('\r').unwrap_or(bare);
    (bare.len() < text.len()).then_some(bare)
}

/// The states that a file may have had when a call read it: what the last turn before it left, and what the next turn found. A turn that the
/// call is a part of counts on both sides. Without the call: every state.
fn states_at<'t>(
    order: &Order<'_>,
    edits: &[&'t RealEdit],
    read: Option<usize>,
) -> Vec<FileState<'t>> {
    let both = |edit: &&'t RealEdit| [edit.state_before(), edit.state_left()];
    let Some(read) = read else {
        return edits.iter().flat_map(both).collect();
    };
    let turns = || {
        edits
            .iter()
            .filter_map(|edit| Some((order.turn(edit)?, edit)))
    };
    let last = turns()
        .filter(|((_, last), _)| *last < read)
        .max_by_key(|((_, last), _)| *last)
        .map(|(_, edit)| edit.state_left());
    let next = turns()
        .filter(|((first, _), _)| *first > read)
        .min_by_key(|((first, _), _)| *first)
        .map(|(_, edit)| edit.state_before());
    let around = turns()
        .filter(|((first, last), _)| (first..=last).contains(&&read))
        .map(|(_, edit)| edit);
    // What changed without a call, or in a turn that is not known, changed at any time.
    let of_nobody = edits.iter().filter(|edit| order.turn(edit).is_none());
    last.into_iter()
        .chain(next)
        .chain(around.chain(of_nobody).flat_map(both))
        .collect()
}

/// True if a text has the lines of a read.
fn is_of(read: &Event, text: &str) -> bool {
    let lines = Lines::new(text);
    read.number("total_lines")
        .is_none_or(|total| total == lines.count())
        && spans::refuted(read, "", Some(&lines)).is_none()
}
