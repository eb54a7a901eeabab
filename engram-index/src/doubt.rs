//! Corrects the answer "no call made this line" where a call made an equal line in this file.

use std::collections::HashSet;

use engram_core::hash::Hash;
use rusqlite::Connection;

use crate::answer::Why;
use crate::files::{self, Files};
use crate::line::Line;
use crate::line_key::{self, Key, letters};
use crate::origin::Origin;
use crate::replay::Replay;
use crate::rows::{Digest, digest};

impl Replay {
    /// Of a line that a call made in this file, nobody can say that no session left it.
    pub fn doubt(&self, text: &[Key], answers: &mut [Line]) {
        let states = self.states.iter().chain(&self.pieces);
        let lines = states.flat_map(|state| state.lines.iter().zip(state.origins.iter()));
        let made: HashSet<Key> = lines
            .filter(|(key, origin)| letters(**key) > 0 && matches!(origin, Origin::Made(_)))
            .map(|(key, _)| *key)
            .collect();
        for (key, answer) in text.iter().zip(answers) {
            if is_doubtful(answer) && made.contains(key) {
                answer.why = Some(Why::Unclear);
            }
        }
    }
}

/// True for the answers `nobody` and `no_text`. If a call made an equal line, `unclear` is the better answer.
const fn is_doubtful(answer: &Line) -> bool {
    matches!(answer.why, Some(Why::Nobody | Why::NoText))
}

/// Of a line with the hash of a line that a call left in this file, nobody can say that no session left it either.
pub fn by_hash(
    db: &Connection,
    files: &Files,
    text: &str,
    answers: &mut [Line],
) -> rusqlite::Result<()> {
    if !answers.iter().any(is_doubtful) {
        return Ok(());
    }
    let sql = format!(
        "SELECT DISTINCT ah FROM span WHERE file IN ({}) AND what BETWEEN 1 AND 6 AND a0 = a1 AND ah IS NOT NULL",
        files::list(files)
    );
    let left: HashSet<Digest> = db
        .prepare(&sql)?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for (line, answer) in line_key::lines(text).zip(answers) {
        let is_left = || !line.trim().is_empty() && left.contains(&digest(&Hash::of_text(line)));
        if is_doubtful(answer) && is_left() {
            answer.why = Some(Why::Unclear);
        }
    }
    Ok(())
}
