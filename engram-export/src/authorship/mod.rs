//! Who made the lines of a commit, in the formats of others: [`agent_trace`] and [`git_notes`].
//!
//! Both hold lines with a known call alone. What the index calls `older` or `unknown` is in neither: no line is called a person's.

pub mod agent_trace;
pub mod git_notes;

/// A commit, with the lines that it adds and whose call is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commit {
    /// Its hash, 40 or 64 hexadecimal digits.
    pub sha: String,
    /// When it was made: RFC 3339, UTC.
    pub time: String,
    /// The files, in the order of their names.
    pub files: Vec<File>,
}

/// A file of a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct File {
    /// Its path below the root of the repository, with `/` between its parts.
    pub path: String,
    /// The calls that made lines of it.
    pub made: Vec<Made>,
}

/// A call, and the lines that it made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Made {
    /// Lines of the file in the commit, from 1, both ends included, in ascending order.
    pub lines: Vec<[usize; 2]>,
    /// The harness.
    pub harness: String,
    /// The id of the session; that of the tape where the log names no session.
    pub session: String,
    /// The model, if the log names it.
    pub model: Option<String>,
    /// `ID#SEQ`: the name of the tape, and the event of the call on it. `engram show` opens it.
    pub call: String,
}

/// Ranges as one ascending list: those that touch are one.
fn merged(ranges: impl IntoIterator<Item = [usize; 2]>) -> Vec<[usize; 2]> {
    let mut ranges: Vec<[usize; 2]> = ranges.into_iter().collect();
    ranges.sort_unstable();
    let mut merged: Vec<[usize; 2]> = Vec::new();
    for [first, last] in ranges {
        match merged.last_mut() {
            Some(run) if first <= run[1] + 1 => run[1] = run[1].max(last),
            _ => merged.push([first, last]),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_are_one() {
        assert_eq!(merged([[7, 9], [1, 2], [3, 3], [8, 12]]), [[1, 3], [7, 12]]);
        assert_eq!(merged([[1, 1], [3, 3]]), [[1, 1], [3, 3]]);
    }
}
