//! The text of a member table as a tree of lines.

use std::borrow::Cow;

/// Why a text is not a member table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("member table, line {line}: {problem}")]
pub struct MemberTableError {
    /// The 1-based line.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

impl MemberTableError {
    pub(super) fn new(line: usize, problem: impl Into<String>) -> Self {
        MemberTableError {
            line,
            problem: problem.into(),
        }
    }
}

/// One line, and the lines below it that are indented deeper.
#[derive(Debug, Clone)]
pub(super) struct Line<'t> {
    pub number: usize,
    pub words: Vec<Word<'t>>,
    pub children: Vec<Line<'t>>,
}

/// One word of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word<'t> {
    pub text: Cow<'t, str>,
    /// True if it is written as a JSON string, and so is never a keyword.
    pub quoted: bool,
    /// True if `?` follows a quoted word.
    pub optional: bool,
}

impl Line<'_> {
    /// The first word, if it is not quoted.
    pub fn keyword(&self) -> &str {
        self.words
            .first()
            .filter(|word| !word.quoted)
            .map_or("", |word| &word.text)
    }

    pub fn error(&self, problem: impl Into<String>) -> MemberTableError {
        MemberTableError::new(self.number, problem)
    }
}

/// The maximum depth of a table.
const MAX_DEPTH: usize = 64;

/// Divides a text into lines by their indentation.
pub(super) fn parse(text: &str) -> Result<Vec<Line<'_>>, MemberTableError> {
    // The open lines, outermost first; the first collects the result.
    let mut open = vec![Line {
        number: 0,
        words: Vec::new(),
        children: Vec::new(),
    }];
    for (number, line) in (1..).zip(text.lines()) {
        let content = line.trim_start_matches(' ');
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let indent = line.len() - content.len();
        let depth = indent / 2 + 1;
        if indent % 2 != 0 || depth > open.len() || depth > MAX_DEPTH {
            return Err(MemberTableError::new(
                number,
                "the indentation is not two spaces per level",
            ));
        }
        close(&mut open, depth);
        open.push(Line {
            number,
            words: words(content, number)?,
            children: Vec::new(),
        });
    }
    close(&mut open, 1);
    Ok(open.pop().map(|root| root.children).unwrap_or_default())
}

/// Adds the open lines from `depth` on to the lines that contain them.
fn close(open: &mut Vec<Line<'_>>, depth: usize) {
    while open.len() > depth {
        let Some(line) = open.pop() else { return };
        if let Some(outer) = open.last_mut() {
            outer.children.push(line);
        }
    }
}

fn words(content: &str, number: usize) -> Result<Vec<Word<'_>>, MemberTableError> {
    // A row seldom has more words than these.
    let (mut words, mut rest) = (Vec::with_capacity(6), content.trim_end());
    while !rest.is_empty() {
        let (word, after) = if rest.starts_with('"') {
            quoted_word(rest, number)?
        } else {
            plain_word(rest)
        };
        words.push(word);
        rest = after.trim_start_matches(' ');
    }
    Ok(words)
}

fn plain_word(rest: &str) -> (Word<'_>, &str) {
    // For a few bytes, a search for a `char` costs more than the rest of the line.
    let end = rest.bytes().position(|byte| byte == b' ');
    let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
    (
        Word {
            text: Cow::Borrowed(word),
            quoted: false,
            optional: false,
        },
        after,
    )
}

fn quoted_word(rest: &str, number: usize) -> Result<(Word<'_>, &str), MemberTableError> {
    let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    let text = strings
        .next()
        .and_then(Result::ok)
        .ok_or_else(|| MemberTableError::new(number, "the string has no end"))?;
    let after = &rest[strings.byte_offset()..];
    let optional = after.starts_with('?');
    let after = after.strip_prefix('?').unwrap_or(after);
    Ok((
        Word {
            text: Cow::Owned(text),
            quoted: true,
            optional,
        },
        after,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_nested_by_indentation() {
        let lines =
            parse("# comment\nrecord a\n  b string tape\n    \"c d\"? any\n\n  e bool\nrecord f\n")
                .unwrap();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].children.len(), 2);
        let inner = &lines[0].children[0].children[0];
        assert_eq!(
            (
                inner.number,
                &*inner.words[0].text,
                inner.words[0].quoted,
                inner.words[0].optional
            ),
            (4, "c d", true, true)
        );
    }

    #[test]
    fn wrong_indentation_and_open_strings_are_errors() {
        for (text, line) in [
            ("record a\n   b any", 2),
            ("  record a", 1),
            ("record a\n    b any", 2),
            ("record a\n  \"b any", 2),
        ] {
            assert_eq!(parse(text).unwrap_err().line, line, "{text}");
        }
    }
}
