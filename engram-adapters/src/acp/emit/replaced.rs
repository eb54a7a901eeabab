//! A text that a call puts in the place of another one, and what that makes of a file.

use crate::shared::spans::Rewrite;
use crate::shared::value::{Value, elements, integer, is_true, owned};

/// What a call replaces.
#[derive(Debug, PartialEq, Eq)]
pub struct Replaced {
    old: String,
    new: String,
    /// All places with the old text.
    is_everywhere: bool,
}

/// What an object says that is replaced, by the names of Kimi Code, Qwen Code and the arguments of Claude Code, or by those of Kilo, OpenCode and what
/// the tools of Claude Code return.
pub fn replaced(of: Value<'_>) -> Option<Replaced> {
    let text = |names: [&str; 2]| names.into_iter().find_map(|name| owned(of.member(name)));
    let everywhere = of.member("replace_all").or(of.member("replaceAll"));
    Some(Replaced {
        old: text(["old_string", "oldString"])?,
        new: text(["new_string", "newString"])?,
        is_everywhere: is_true(everywhere),
    })
}

/// How many more lines a file has after a change, as the patch beside it says.
pub fn growth(response: Value<'_>) -> Option<i64> {
    let mut hunks = elements(Some(response.member("structuredPatch")?));
    hunks.try_fold(0i64, |grown, hunk| {
        let lines = |name| integer(hunk.member(name));
        grown.checked_add(lines("newLines")?.checked_sub(lines("oldLines")?)?)
    })
}

impl Replaced {
    /// The text with the new text in its place. `None` if the old text is not there.
    pub fn applied<'b>(&self, before: &'b str) -> Option<Rewrite<'b>> {
        let mut rewrite = Rewrite::new(before);
        let is_done = rewrite.replace(&self.old, &self.new, self.is_everywhere);
        is_done.then_some(rewrite)
    }

    /// What Claude Code replaces, if it is certain. A deletion takes the line end behind it, unless its text has it: the patch shows whether it did.
    pub fn settled(self, before: &str, grown: Option<i64>) -> Option<Replaced> {
        let is_certain = match before.matches(&*self.old).count() {
            _ if self.old.is_empty() => false,
            0 => false,
            1 => true,
            _ => self.is_everywhere,
        };
        if !is_certain {
            return None;
        }
        if !self.new.is_empty() || self.old.ends_with('\n') {
            return Some(self);
        }
        let grown = grown?;
        let with_end = Replaced {
            old: format!("{}\n", self.old),
            new: String::new(),
            is_everywhere: self.is_everywhere,
        };
        [with_end, self].into_iter().find(|replaced| {
            let rewrite = replaced.applied(before);
            rewrite.is_some_and(|rewrite| rewrite.growth() == grown)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(old: &str, new: &str) -> Replaced {
        Replaced {
            old: old.to_owned(),
            new: new.to_owned(),
            is_everywhere: false,
        }
    }

    fn after(replaced: Replaced, before: &str, grown: Option<i64>) -> Option<String> {
        let settled = replaced.settled(before, grown)?;
        Some(settled.applied(before)?.into_after())
    }

    #[test]
    fn the_patch_shows_whether_a_deletion_took_a_line_end() {
        assert_eq!(
            after(of("b", ""), "a\nb\nc\n", Some(-1)).as_deref(),
            Some("a\nc\n")
        );
        assert_eq!(
            after(of("b", ""), "a\nb\nc\n", Some(0)).as_deref(),
            Some("a\n\nc\n")
        );
        assert_eq!(after(of("b", ""), "a\nb\nc\n", None), None);
        assert_eq!(after(of("b\n", ""), "a\nb\n", None).as_deref(), Some("a\n"));
    }

    #[test]
    fn one_of_several_places_is_not_certain() {
        assert_eq!(after(of("a", "b"), "a a", None), None);
        assert_eq!(after(of("", "b"), "a", None), None);
        let everywhere = Replaced {
            is_everywhere: true,
            ..of("a", "b")
        };
        assert_eq!(after(everywhere, "a a", None).as_deref(), Some("b b"));
    }
}
