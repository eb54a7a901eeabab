//! Reads of files, by tools and by commands that show a file.

use super::{MAX_SHOWN, Now, Rebuild};
use crate::change::{numbered, without_heading};
use crate::line_key;
use crate::rows::{Kind, SpanRow};
use crate::text_state::{Line, MAX_LINES, State, bounds, line};

/// A read with fewer lines was not cut by the harness.
const MAX_READ: usize = 2000;

impl Rebuild {
    /// A read of a file: its text from the tape, or from the output of the call.
    pub fn read(&mut self, row: &SpanRow, text: Option<&str>, total: Option<u64>) {
        self.flush();
        let Some((range, (first, last))) =
            row.after.and_then(|range| Some((range, bounds(range)?)))
        else {
            return;
        };
        let output = row.call.and_then(|call| self.results.get(&call)).cloned();
        let found = text
            .map(str::to_owned)
            .or_else(|| numbered(&output?, range, row.ah.as_ref()?));
        let Some(text) = found else { return };
        let mut read: Vec<Line> = text
            .split('\n')
            .map(|text| line(text.strip_suffix('\r').unwrap_or(text)))
            .collect();
        if read.len() != last - first {
            return;
        }
        // Without a count of the file's lines, a call that names no part reads all, up to the limit that harnesses have.
        let reads_all = || {
            let arguments = row.call.and_then(|call| self.arguments.get(&call));
            last < MAX_READ && arguments.is_some_and(|arguments| !arguments.is_part)
        };
        let is_whole = first == 0 && total.map_or_else(reads_all, |total| total <= last as u64);
        let state = if is_whole {
            let blank_end = read
                .pop_if(|last| last.text.as_deref() == Some(""))
                .is_some();
            State {
                lines: read,
                whole: true,
                blank_end,
            }
        } else {
            self.with_part(row, first, read)
        };
        self.step(row, Kind::Seen, None, state);
    }

    /// A command showed lines of a file: from the first one on, up to the last one or the end.
    pub fn shown_by_command(
        &mut self,
        row: &SpanRow,
        output: &str,
        (first, last): (usize, Option<usize>),
    ) {
        self.flush();
        let text = without_heading(output);
        if text.is_empty() || text.len() > MAX_SHOWN || first > MAX_LINES {
            return;
        }
        let read: Vec<Line> = line_key::lines(text).map(line).collect();
        // A harness may cut blank lines and the last line end.
        let is_exact = text.ends_with('\n');
        let reaches_end = last.is_none_or(|last| is_exact && read.len() < last);
        let state = match first == 1 && reaches_end {
            true => State {
                lines: read,
                whole: true,
                blank_end: !is_exact,
            },
            false => self.with_part(row, first - 1, read),
        };
        self.step(row, Kind::Seen, None, state);
    }

    /// What is known of a file, with lines that a read showed.
    fn with_part(&mut self, row: &SpanRow, first: usize, read: Vec<Line>) -> State {
        let last = first + read.len();
        let mut state = match &self.file(&row.file).now {
            Now::Known(state) => state.clone(),
            _ => State::default(),
        };
        self.fill(row, &mut state, last);
        let differs =
            |(known, read): (&Line, &Line)| !line_key::is_hole(known.key) && known.key != read.key;
        if state.lines.len() < last || state.lines[first..last].iter().zip(&read).any(differs) {
            // The file is another one now.
            state = State::default();
            self.fill(row, &mut state, last);
        }
        state.lines.splice(first..last, read);
        state
    }

    /// Makes a state that is not whole as long as a range needs.
    pub(super) fn fill(&self, row: &SpanRow, state: &mut State, count: usize) {
        if state.whole {
            return;
        }
        for n in state.lines.len()..count {
            state.lines.push(self.hole(row, n));
        }
    }
}
