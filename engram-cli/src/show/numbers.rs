//! The numbers of the lines of a change, where the log states them: a call has the texts, and an edit has ranges with the hashes of texts. They
//! belong together if the hashes do, so a number is never a guess.

use engram_core::event::Range;
use engram_core::hash::Hash;

use super::view::{Call, Diff, Sign, Span, Spot};

/// The number of the first line of a part, in the old text and in the new one.
pub type Numbers = (Option<u64>, Option<u64>);

/// A part of a diff.
type Part = (Sign, String);

/// The numbers of each part of a change, from the edits that belong to its call. If the call has one change and one edit, they are the same, also where
/// the change begins or ends inside of a line, so that the hashes differ: then as many lines are enough.
pub fn of(diff: &Diff, call: &Call) -> Vec<Numbers> {
    let (parts, spans) = (&diff.parts, &call.spans[..]);
    if diff.is_new_file {
        return forward(parts, (None, Some(1)));
    }
    let only = match spans {
        [span] if call.diffs.len() == 1 => Some(span),
        _ => None,
    };
    let whole = diff.whole.as_ref().and_then(|whole| {
        let is_it = |span: &&Span| is(&span.before, whole.old) && is(&span.after, whole.new);
        let has_lines = |span: &&Span| {
            len(&span.before) == Some(whole.lines.0) && len(&span.after) == Some(whole.lines.1)
        };
        let span = match two(spans.iter().filter(is_it)) {
            (Some(span), None) => span,
            _ => only.filter(has_lines)?,
        };
        let first = |spot: &Spot| Some(spot.range?.first + whole.skipped);
        Some((first(&span.before), first(&span.after)))
    });
    match whole {
        Some(numbers) => forward(parts, numbers),
        None => of_runs(parts, spans, only),
    }
}

/// Each run of removed and added lines has the numbers of the edit with these lines, and the equal lines around it count on.
fn of_runs(parts: &[Part], spans: &[Span], only: Option<&Span>) -> Vec<Numbers> {
    let mut numbers = vec![(None, None); parts.len()];
    let runs = runs(parts);
    for (at, run) in runs.iter().enumerate() {
        let equal = |other: &Run<'_>| {
            (other.file, &other.old, &other.new) == (run.file, &run.old, &run.new)
        };
        let candidates: Vec<&Span> = spans.iter().filter(|span| run.is(span)).collect();
        let candidates = match (only, &runs[..]) {
            (Some(span), [_]) if candidates.is_empty() && run.has_lines_of(span) => vec![span],
            _ => candidates,
        };
        // Equal runs stand in the order of their edits, if there is an edit for each.
        if candidates.len() != runs.iter().filter(|other| equal(other)).count() {
            continue;
        }
        let before = runs[..at].iter().filter(|other| equal(other)).count();
        let span = candidates[before];
        let (old, new) = (first(&span.before), first(&span.after));
        let end = parts[run.parts.1..]
            .iter()
            .take_while(|(sign, _)| *sign == Sign::Same)
            .count()
            + run.parts.1;
        let counted = forward(&parts[run.parts.0..end], (old, new));
        numbers[run.parts.0..end].copy_from_slice(&counted);
        if let Some(same) = run
            .parts
            .0
            .checked_sub(1)
            .filter(|part| parts[*part].0 == Sign::Same)
        {
            let lines = lines(&parts[same].1);
            let back = |number: Option<u64>| number?.checked_sub(lines).filter(|first| *first > 0);
            numbers[same] = (back(old), back(new));
        }
    }
    added_files(parts, &mut numbers);
    numbers
}

/// The lines of a file that a patch adds begin with the first.
fn added_files(parts: &[Part], numbers: &mut [Numbers]) {
    for (at, part) in parts.iter().enumerate() {
        let is_new = at > 0
            && part.0 == Sign::Added
            && parts[at - 1].0 == Sign::Header
            && parts[at - 1]
                .1
                .lines()
                .next_back()
                .is_some_and(|line| line.starts_with("*** Add File: "));
        if is_new {
            numbers[at] = (None, Some(1));
        }
    }
}

/// Counts on from the first part.
fn forward(parts: &[Part], (mut old, mut new): Numbers) -> Vec<Numbers> {
    let mut numbers = Vec::with_capacity(parts.len());
    for (sign, text) in parts {
        let count = lines(text);
        let (has_old, has_new) = match sign {
            Sign::Same => (true, true),
            Sign::Removed => (true, false),
            Sign::Added => (false, true),
            Sign::Header => (false, false),
        };
        numbers.push((old.filter(|_| has_old), new.filter(|_| has_new)));
        old = old.map(|number| number.saturating_add(if has_old { count } else { 0 }));
        new = new.map(|number| number.saturating_add(if has_new { count } else { 0 }));
    }
    numbers
}

/// Removed and added lines without others between them.
struct Run<'d> {
    /// The file that the header before it names.
    file: Option<&'d str>,
    old: Option<&'d str>,
    new: Option<&'d str>,
    /// The first of its parts, and the one after its last.
    parts: (usize, usize),
}

impl Run<'_> {
    /// True if both have as many lines.
    fn has_lines_of(&self, span: &Span) -> bool {
        let count = |text: Option<&str>| Some(text.map_or(0, lines));
        len(&span.before) == count(self.old) && len(&span.after) == count(self.new)
    }

    fn is(&self, span: &Span) -> bool {
        let is_side = |spot: &Spot, text: Option<&str>| match (text, spot.range) {
            (Some(text), Some(_)) => spot.hash == Some(Hash::of_text(text)),
            (None, Some(Range { first, last })) => last < first,
            (_, None) => false,
        };
        let is_file = self.file.is_none_or(|file| span.file.ends_with(file));
        is_file && is_side(&span.before, self.old) && is_side(&span.after, self.new)
    }
}

fn runs(parts: &[Part]) -> Vec<Run<'_>> {
    let (mut runs, mut file): (Vec<Run<'_>>, _) = (Vec::new(), None);
    for (at, (sign, text)) in parts.iter().enumerate() {
        let text = text.as_str();
        match sign {
            Sign::Header => file = text.lines().filter_map(file_of).next_back().or(file),
            Sign::Same => {}
            Sign::Removed | Sign::Added => {
                let is_next = runs.last().is_some_and(|run| {
                    run.parts.1 == at && (*sign == Sign::Added && run.new.is_none())
                });
                if !is_next {
                    runs.push(Run {
                        file,
                        old: None,
                        new: None,
                        parts: (at, at),
                    });
                }
                if let Some(run) = runs.last_mut() {
                    run.parts.1 = at + 1;
                    match sign {
                        Sign::Removed => run.old = Some(text),
                        _ => run.new = Some(text),
                    }
                }
            }
        }
    }
    runs
}

/// The file that a line of a header names.
pub fn file_of(line: &str) -> Option<&str> {
    let names = ["*** Update File: ", "*** Add File: ", "+++ b/", "+++ "];
    names.iter().find_map(|name| line.strip_prefix(name))
}

/// The lines of a span.
fn len(spot: &Spot) -> Option<u64> {
    let Range { first, last } = spot.range?;
    Some(last.saturating_add(1).saturating_sub(first))
}

fn first(spot: &Spot) -> Option<u64> {
    spot.range.map(|range| range.first)
}

fn is(spot: &Spot, hash: Hash) -> bool {
    spot.range.is_some() && spot.hash == Some(hash)
}

/// The first of several, and the second.
fn two<T>(mut several: impl Iterator<Item = T>) -> (Option<T>, Option<T>) {
    (several.next(), several.next())
}

fn lines(text: &str) -> u64 {
    text.split('\n').count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::calls::new_call;
    use crate::show::diff::{of_new_text, of_pair, of_patch};

    /// The numbers of the only change of a call with these edits.
    fn of(diff: &Diff, spans: Vec<Span>) -> Vec<Numbers> {
        let parts = diff.parts.clone();
        let call = Call {
            diffs: vec![Diff { parts, ..*diff }],
            spans,
            ..new_call("Edit".to_owned())
        };
        super::of(diff, &call)
    }

    fn spot(first: u64, last: u64, text: &str) -> Spot {
        Spot {
            range: Some(Range { first, last }),
            hash: Some(Hash::of_text(text)),
        }
    }

    fn span(before: Spot, after: Spot) -> Span {
        Span {
            file: "/p/src/a.rs".to_owned(),
            before,
            after,
        }
    }

    fn pair(old: &str, new: &str) -> Diff {
        of_pair(|name| match name {
            "old_string" => Some(old.to_owned()),
            "new_string" => Some(new.to_owned()),
            _ => None,
        })
        .unwrap()
    }

    #[test]
    fn the_changed_lines_alone_give_numbers_to_those_around_them() {
        let diff = pair("a\nold\nz", "a\nnew\nnewer\nz");
        let spans = vec![span(spot(8, 8, "old"), spot(8, 9, "new\nnewer"))];
        assert_eq!(
            of(&diff, spans),
            [
                (Some(7), Some(7)),
                (Some(8), None),
                (None, Some(8)),
                (Some(9), Some(10))
            ]
        );
    }

    #[test]
    fn the_whole_texts_give_numbers_too() {
        let old = "1\n2\n3\n4\n5\nold";
        let new = "1\n2\n3\n4\n5\nnew";
        let spans = vec![span(spot(11, 16, old), spot(21, 26, new))];
        // Two of the five equal lines are not in the diff.
        assert_eq!(
            of(&pair(old, new), spans),
            [(Some(13), Some(23)), (Some(16), None), (None, Some(26))]
        );
    }

    #[test]
    fn another_text_or_several_places_give_none() {
        let diff = pair("old", "new");
        let none = vec![(None, None); 2];
        let here = || span(spot(8, 8, "old"), spot(8, 8, "new"));
        assert_eq!(
            of(
                &diff,
                vec![span(spot(8, 8, "old"), spot(8, 9, "else\nline"))]
            ),
            none
        );
        assert_eq!(of(&diff, vec![here(), here()]), none);
        assert_eq!(of(&diff, vec![]), none);
        assert_eq!(of(&diff, vec![here()]), [(Some(8), None), (None, Some(8))]);
    }

    #[test]
    fn a_change_inside_of_a_line_has_the_lines_of_the_only_edit() {
        let line = span(spot(4, 4, "say old now"), spot(4, 4, "say new now"));
        assert_eq!(
            of(&pair("old", "new"), vec![line]),
            [(Some(4), None), (None, Some(4))]
        );
    }

    #[test]
    fn equal_changes_of_a_patch_are_in_the_order_of_their_edits() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n c\n@@\n-x\n+y\n*** Add File: b\n+1\n+2\n*** End Patch";
        let diff = of_patch(patch).unwrap();
        let spans = vec![
            span(spot(3, 3, "x"), spot(3, 3, "y")),
            span(spot(9, 9, "x"), spot(9, 9, "y")),
        ];
        let numbers = of(&diff, spans);
        assert_eq!(
            numbers[1..4],
            [(Some(3), None), (None, Some(3)), (Some(4), Some(4))]
        );
        assert_eq!(numbers[5..7], [(Some(9), None), (None, Some(9))]);
        assert_eq!(numbers[8], (None, Some(1)));
    }

    #[test]
    fn a_new_file_begins_with_its_first_line() {
        assert_eq!(of(&of_new_text("a\nb"), vec![]), [(None, Some(1))]);
    }
}
