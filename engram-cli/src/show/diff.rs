//! Changes as the arguments of a call state them. Nothing is looked up elsewhere, and nothing is guessed.

use engram_core::hash::Hash;

use super::view::{Diff, Sign, Whole};

/// Names of the text before and after a change, as they occur together in the arguments of edits.
const PAIRS: [(&str, &str); 6] = [
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("old_str", "new_str"),
    ("oldText", "newText"),
    ("old_text", "new_text"),
    ("old_source", "new_source"),
];

/// Lines of a diff that stay around a change.
const CONTEXT: usize = 3;

/// True if an argument of this name is a part of a change.
pub fn is_side_of_pair(name: &str) -> bool {
    PAIRS.iter().any(|(old, new)| name == *old || name == *new)
}

/// The change that a pair of arguments says. `get` gives the text of an argument.
pub fn of_pair(get: impl Fn(&str) -> Option<String>) -> Option<Diff> {
    let (old, new) = PAIRS
        .iter()
        .find_map(|(old, new)| Some((get(old)?, get(new)?)))?;
    Some(between(&old, &new))
}

/// A new text.
pub fn of_new_text(text: &str) -> Diff {
    Diff {
        is_new_file: true,
        ..between("", text)
    }
}

/// The lines that both texts begin and end with stay, and the lines between them are removed and added.
fn between(old: &str, new: &str) -> Diff {
    let hash = |text: &str| Hash::of_text(text.strip_suffix('\n').unwrap_or(text));
    let (old_hash, new_hash) = (hash(old), hash(new));
    let (old, new): (Vec<&str>, Vec<&str>) = (lines(old), lines(new));
    let first = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let last = old[first..]
        .iter()
        .rev()
        .zip(new[first..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let mut parts = Vec::new();
    push(
        &mut parts,
        Sign::Same,
        &old[first.saturating_sub(CONTEXT)..first],
    );
    push(&mut parts, Sign::Removed, &old[first..old.len() - last]);
    push(&mut parts, Sign::Added, &new[first..new.len() - last]);
    push(
        &mut parts,
        Sign::Same,
        &old[old.len() - last..(old.len() - last + CONTEXT).min(old.len())],
    );
    Diff {
        parts,
        whole: Some(Whole {
            old: old_hash,
            new: new_hash,
            skipped: first.saturating_sub(CONTEXT) as u64,
            lines: (old.len() as u64, new.len() as u64),
        }),
        is_new_file: false,
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

fn push(parts: &mut Vec<(Sign, String)>, sign: Sign, lines: &[&str]) {
    if !lines.is_empty() {
        parts.push((sign, lines.join("\n")));
    }
}

/// The change in a text that is a patch; `None` if it is none.
pub fn of_patch(text: &str) -> Option<Diff> {
    let is_patch = text.lines().any(|line| line.starts_with("*** Begin Patch")) || is_unified(text);
    is_patch.then(|| of_hunks(text))
}

/// The change that lines with signs say.
pub fn of_hunks(text: &str) -> Diff {
    let mut parts: Vec<(Sign, String)> = Vec::new();
    for line in text.lines() {
        let (sign, line) = of_line(line);
        match parts.last_mut() {
            Some((last, lines)) if *last == sign => {
                lines.push('\n');
                lines.push_str(line);
            }
            _ => parts.push((sign, line.to_owned())),
        }
    }
    Diff {
        parts,
        ..Diff::default()
    }
}

fn is_unified(text: &str) -> bool {
    let mut lines = text.lines();
    lines.any(|line| line.starts_with("--- "))
        && lines.next().is_some_and(|line| line.starts_with("+++ "))
        && text.contains("\n@@")
}

fn of_line(line: &str) -> (Sign, &str) {
    if ["+++ ", "--- ", "***", "@@"]
        .iter()
        .any(|header| line.starts_with(header))
    {
        return (Sign::Header, line);
    }
    match (line.strip_prefix('+'), line.strip_prefix('-')) {
        (Some(line), _) => (Sign::Added, line),
        (_, Some(line)) => (Sign::Removed, line),
        _ => (Sign::Same, line.strip_prefix(' ').unwrap_or(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(sign: Sign, lines: &str) -> (Sign, String) {
        (sign, lines.to_owned())
    }

    #[test]
    fn equal_lines_at_both_ends_stay() {
        let diff = between("a\nb\nc\nd\nold\nx", "a\nb\nc\nd\nnew\nnewer\nx");
        assert_eq!(
            diff.parts,
            [
                part(Sign::Same, "b\nc\nd"),
                part(Sign::Removed, "old"),
                part(Sign::Added, "new\nnewer"),
                part(Sign::Same, "x")
            ]
        );
        assert_eq!(
            between("a\na", "a").parts,
            [part(Sign::Same, "a"), part(Sign::Removed, "a")]
        );
        assert_eq!(between("", "a\n").parts, [part(Sign::Added, "a")]);
        assert_eq!(between("a", "a").parts, [part(Sign::Same, "a")]);
    }

    #[test]
    fn a_pair_needs_both_texts() {
        let get = |name: &str| (name == "oldString").then(|| "a".to_owned());
        assert_eq!(of_pair(get), None);
        let get = |name: &str| {
            ["oldString", "newString"]
                .contains(&name)
                .then(|| name.to_owned())
        };
        assert_eq!(
            of_pair(get).unwrap().parts,
            [
                part(Sign::Removed, "oldString"),
                part(Sign::Added, "newString")
            ]
        );
    }

    #[test]
    fn patches_are_recognised_by_their_marks() {
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n same\n-old\n+new\n*** End Patch";
        let signs: Vec<Sign> = of_patch(patch)
            .unwrap()
            .parts
            .iter()
            .map(|(sign, _)| *sign)
            .collect();
        assert_eq!(
            signs,
            [
                Sign::Header,
                Sign::Same,
                Sign::Removed,
                Sign::Added,
                Sign::Header
            ]
        );
        assert!(of_patch("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y").is_some());
        assert_eq!(of_patch("- a list\n+ of things"), None);
        assert_eq!(of_patch("--- a title ---\ntext\n@@"), None);
    }
}
