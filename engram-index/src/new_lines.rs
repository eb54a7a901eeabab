//! A changed span may have lines that stood there before. Which of its lines are new, the arguments of its call tell.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use rusqlite::Connection;
use serde_json::Value;

use crate::hit::Hit;
use crate::lines::Lines;
use crate::rows::What;
use crate::{names, window};

/// For each line, the step that it was taken back from.
pub type TakenBack = Vec<Option<(i64, i64)>>;

/// Takes back the lines of changed spans that their calls did not write. Without the tape nobody can tell, so all of them.
pub fn keep(
    db: &Connection,
    lines: &Lines<'_>,
    made: &mut [Option<Hit>],
    taken_back: &mut TakenBack,
) -> rusqlite::Result<()> {
    let mut written: HashMap<(i64, i64), Written> = HashMap::new();
    for (at, slot) in made.iter_mut().enumerate() {
        let Some(hit) = slot.as_ref().filter(|hit| may_have_old_lines(hit)) else {
            continue;
        };
        let of_call = match written.entry(hit.step()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let call = window::call(db, hit.tape, hit.call.unwrap_or(hit.seq))?;
                new.insert(
                    call.args()
                        .map(|args| Written::of(&args))
                        .unwrap_or_default(),
                )
            }
        };
        if !of_call.has(lines.run(at, 1)) {
            taken_back[at] = slot.take().map(|hit| hit.step());
        }
    }
    Ok(())
}

/// Spans have no equal lines at their ends, so one line is new, and so is text that replaces nothing.
fn may_have_old_lines(hit: &Hit) -> bool {
    if hit.what != What::Update {
        return false;
    }
    let replaces = hit.before.is_none_or(|(first, last)| last >= first);
    replaces && (hit.is_snippet() || hit.lines.is_none_or(|lines| lines > 1))
}

/// The lines of the arguments of a call.
#[derive(Default)]
struct Written {
    /// Lines of each string.
    strings: Vec<HashSet<String>>,
}

impl Written {
    fn of(args: &Value) -> Written {
        let mut strings = Vec::new();
        names::strings(args, &mut |_, text| {
            strings.push(text.lines().map(str::to_owned).collect())
        });
        Written { strings }
    }

    /// True if the call adds the line: a patch marks it with `+` and does not have it as context too, or just one of the strings has it. An
    /// edit that repeats a line of the old text in the new one has it twice.
    fn has(&self, line: &str) -> bool {
        let (added, context) = (format!("+{line}"), format!(" {line}"));
        let is_context = |string: &HashSet<String>| {
            string.contains(&context) || (line.is_empty() && string.contains(""))
        };
        let in_patch = self
            .strings
            .iter()
            .any(|string| string.contains(&added) && !is_context(string));
        in_patch
            || self
                .strings
                .iter()
                .filter(|string| string.contains(line))
                .count()
                == 1
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_of_the_old_text_are_not_new() {
        let edit = Written::of(
            &json!({"path": "a", "old_string": "def f():\n    return 1", "new_string": "def f():\n    return 2"}),
        );
        assert!(edit.has("    return 2") && !edit.has("def f():") && !edit.has("    other"));
        let patch = Written::of(&json!({"input": "@@\n context\n-old\n+new\n"}));
        assert!(patch.has("new") && !patch.has("context") && !patch.has("old"));
        let twice = Written::of(&json!("@@\n same\n+same\n \n+\n"));
        assert!(!twice.has("same") && !twice.has(""));
    }
}
