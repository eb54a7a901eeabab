//! An edit of a file that is not in the log (2.1.101 and later: above 10,000 characters). The patch has its lines, and their text as it
//! is displayed. A line is known exactly if it is inside the new (or old) text, or if its display is not ambiguous.

use std::borrow::Cow;

use engram_core::emit::Pointer;
use engram_core::event::{CodeEdit, EditOp};
use engram_core::steps::Emitter;

use super::patches::{
    PatchLine, Run, Side, displayed, emit_ranges, growth, is_ambiguous, patch_lines, runs_of,
};
use super::result_context::EditTarget;
use crate::shared::spans::{set_after, set_before, set_snippet};
use crate::shared::value::Field;

/// The limit of compared lines while the text is located in the patch.
const MAX_COMPARED: usize = 100_000;

/// Emits the edit: its lines and their hashes, as far as they are known; if no line is, the old and new text as a snippet; if the
/// patch shows another text than the new one, the lines alone.
#[inline(never)]
pub(super) fn emit(
    edit: &EditTarget<'_>,
    (old, new): (&str, &str),
    everywhere: bool,
    patch: Field<'_>,
    out: &mut Emitter,
) {
    let lines: Option<Vec<ShownLine<'_>>> = patch_lines(patch).map(ShownLine::new).collect();
    let Some(lines) =
        lines.filter(|lines| !lines.is_empty() && lines.iter().all(ShownLine::has_numbers))
    else {
        return emit_ranges(edit, None, patch, out);
    };
    let with_line_end = if new.is_empty() && !old.ends_with('\n') {
        Some(format!("{old}\n"))
    } else {
        None
    };
    let variants = with_line_end.iter().map(|old| &**old).chain([old]);
    let located = variants
        .map(|old| Located::find(old, new, everywhere, &lines, growth(patch)))
        .find(|located| *located != Located::Nowhere);
    let located = located.unwrap_or(Located::Nowhere);
    if located == Located::Nowhere {
        return emit_ranges(edit, None, patch, out);
    }
    let pointer = Pointer::At("/toolUseResult/structuredPatch");
    let mut changed = lines.iter().filter(|line| line.at.side != Side::Unchanged);
    let runs = runs_of(lines.iter().map(|line| line.at));
    let events: Vec<CodeEdit<'_>> = runs
        .map(|run| located.event(edit, &run, changed.by_ref().take(run.lines)))
        .collect();
    if events
        .iter()
        .all(|event| event.before_hash.is_none() && event.after_hash.is_none())
    {
        out.emit(snippet(edit, Some(old), Some(new)), "/toolUseResult");
        return;
    }
    for event in events {
        out.emit(event, pointer);
    }
}

/// The old and new text of a call, at unknown lines. `None` for a text with half a surrogate pair, which no file can have.
pub(super) fn snippet<'a>(
    edit: &EditTarget<'a>,
    old: Option<&str>,
    new: Option<&str>,
) -> CodeEdit<'a> {
    let is_new = old == Some("");
    let op = if is_new {
        EditOp::Create
    } else {
        EditOp::Update
    };
    let mut event = CodeEdit {
        snippet: true,
        ..edit.event(op)
    };
    set_snippet(&mut event, old.filter(|_| !is_new), new);
    event
}

/// A line of the patch with its text.
struct ShownLine<'a> {
    at: PatchLine<'a>,
    text: Cow<'a, str>,
}

impl<'a> ShownLine<'a> {
    fn new(at: PatchLine<'a>) -> Option<Self> {
        Some(ShownLine {
            text: at.text()?,
            at,
        })
    }

    fn has_numbers(&self) -> bool {
        self.at.before > 0 && self.at.after > 0
    }
}

/// The lines of the replaced text in the file.
#[derive(PartialEq, Eq)]
enum Located<'t> {
    /// The patch does not show this replacement.
    Nowhere,
    /// The patch fits it, but not at one place.
    Somewhere,
    /// The old and new text begin in this line.
    At {
        line: u64,
        old: Vec<&'t str>,
        new: Vec<&'t str>,
    },
}

impl<'t> Located<'t> {
    fn find(
        old: &'t str,
        new: &'t str,
        everywhere: bool,
        lines: &[ShownLine<'_>],
        grown: Option<i64>,
    ) -> Self {
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old.split('\n').collect(), new.split('\n').collect());
        if everywhere {
            let shows =
                |line: &ShownLine<'_>| line.at.side != Side::Added || line.text.contains(new[0]);
            return if new.len() == 1 && lines.iter().all(shows) {
                Located::Somewhere
            } else {
                Located::Nowhere
            };
        }
        let first_changed = lines.iter().find(|line| line.at.side != Side::Unchanged);
        let (Some(first), true) = (
            first_changed,
            grown == Some(new.len() as i64 - old.len() as i64),
        ) else {
            return Located::Nowhere;
        };
        let mut budget = MAX_COMPARED;
        let lowest = first
            .at
            .before
            .saturating_sub(old.len().max(new.len()) as u64 - 1)
            .max(1);
        let mut places =
            (lowest..=first.at.before).filter(|line| fits(*line, &old, &new, lines, &mut budget));
        let (place, another) = (places.next(), places.next());
        match (place, another) {
            (None, _) if budget > 0 => Located::Nowhere,
            (Some(line), None) if budget > 0 => Located::At { line, old, new },
            _ => Located::Somewhere,
        }
    }

    /// The event of a run of changed lines.
    fn event<'a, 'l>(
        &self,
        edit: &EditTarget<'a>,
        run: &Run,
        lines: impl Iterator<Item = &'l ShownLine<'l>>,
    ) -> CodeEdit<'a> {
        let mut event = CodeEdit {
            before_range: Some(run.before),
            after_range: Some(run.after),
            ..edit.event(EditOp::Update)
        };
        let (removed, added): (Vec<_>, Vec<_>) =
            lines.partition(|line| line.at.side == Side::Removed);
        if let Some(text) = self.exact(&removed, true) {
            set_before(&mut event, &text);
        }
        if let Some(text) = self.exact(&added, false) {
            set_after(&mut event, &text);
        }
        event
    }

    /// The exact text of these lines.
    fn exact(&self, lines: &[&ShownLine<'_>], is_before: bool) -> Option<String> {
        let exact = |shown: &ShownLine<'_>| match self {
            Located::At { line, old, new } => {
                let (number, segments) = if is_before {
                    (shown.at.before, old)
                } else {
                    (shown.at.after, new)
                };
                let index = usize::try_from(number.checked_sub(*line)?).ok()?;
                exact_line(&shown.text, segments, index).map(Cow::into_owned)
            }
            _ => (!is_ambiguous(&shown.text)).then(|| shown.text.to_string()),
        };
        lines
            .iter()
            .map(|line| exact(line))
            .collect::<Option<Vec<String>>>()
            .map(|texts| texts.join("\n"))
    }
}

/// True if the patch is that of a replacement of `old` by `new`, which both begin in this line.
fn fits(
    first: u64,
    old: &[&str],
    new: &[&str],
    lines: &[ShownLine<'_>],
    budget: &mut usize,
) -> bool {
    lines.iter().all(|line| {
        *budget = budget.saturating_sub(1);
        let is_changed = line.at.side != Side::Unchanged;
        *budget > 0
            && (!line.at.is_before() || is_at(line.at.before, first, old, &line.text, is_changed))
            && (!line.at.is_after() || is_at(line.at.after, first, new, &line.text, is_changed))
    })
}

/// True if a displayed line is the one that the text has at this place, or is outside of the text and unchanged.
fn is_at(number: u64, first: u64, segments: &[&str], shown: &str, is_changed: bool) -> bool {
    let Some(index) = number
        .checked_sub(first)
        .and_then(|index| usize::try_from(index).ok())
    else {
        return !is_changed;
    };
    let Some(segment) = segments.get(index) else {
        return !is_changed;
    };
    let whole = displayed(segment);
    match (index == 0, index + 1 == segments.len()) {
        (false, false) => shown == whole,
        (false, true) => shown.starts_with(&*whole),
        (true, false) => shown.ends_with(segment) || shown.ends_with(&*whole),
        (true, true) => shown.contains(segment) || shown.contains(&*whole),
    }
}

/// The line of the file behind a displayed one, which is at this index of the old or new text.
fn exact_line<'l>(shown: &'l str, segments: &[&'l str], index: usize) -> Option<Cow<'l, str>> {
    let segment = *segments.get(index)?;
    let whole = displayed(segment);
    if shown == whole {
        return Some(Cow::Borrowed(segment));
    }
    if index > 0
        && let Some(rest) = shown.strip_prefix(&*whole)
        && (!whole.trim_start().is_empty() || !is_ambiguous(rest))
    {
        return Some(Cow::Owned(format!("{segment}{rest}")));
    }
    (!is_ambiguous(shown)).then_some(Cow::Borrowed(shown))
}
