//! A shell text as simple commands: their words, where their output goes, and what stands between them.
//!
//! Nothing is replaced: a word with a variable, a pattern or another command in it is unknown.

/// A word; `None` if a shell would replace something in it.
pub type Word = Option<String>;

/// What stands after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Then {
    /// `&&`: the next command runs only if this one succeeded.
    And,
    /// `;`, a line end, `&`, `||`, `|`, or nothing.
    #[default]
    Other,
}

/// A command.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Simple {
    pub words: Vec<Word>,
    /// The file that its output goes to.
    pub target: Option<Target>,
    /// The text of `<<EOF`.
    pub input: Option<Word>,
    /// What it prints goes to another command.
    pub is_piped: bool,
    pub then: Then,
}

/// `> FILE` and `>> FILE`.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    pub path: Word,
    pub appended: bool,
}

/// The commands of a text, up to the first thing that is not understood: a command in parentheses, a quotation without an end.
pub fn commands(text: &str) -> Vec<Simple> {
    let mut reader = Reader {
        rest: text,
        ..Reader::default()
    };
    while reader.step().is_some() {}
    reader.end(Then::Other);
    reader.all
}

#[derive(Default)]
struct Reader<'t> {
    rest: &'t str,
    now: Simple,
    /// Marks of texts that begin after the line, with the place of their command and whether they are quoted.
    waiting: Vec<(String, usize, bool)>,
    all: Vec<Simple>,
}

impl<'t> Reader<'t> {
    /// Reads one word or sign. `None` at the end.
    fn step(&mut self) -> Option<()> {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        for sign in ["&>>", "&>", "1>>", "1>", ">>", ">", "2>>", "2>"] {
            if self.skip(sign) {
                return self.redirect(sign);
            }
        }
        for (sign, then) in [
            ("&&", Then::And),
            ("||", Then::Other),
            (";", Then::Other),
            ("&", Then::Other),
        ] {
            if self.skip(sign) {
                self.end(then);
                return Some(());
            }
        }
        if self.skip("|") {
            self.now.is_piped = true;
            self.end(Then::Other);
        } else if self.skip("\n") {
            self.end(Then::Other);
            self.texts()?;
        } else if self.skip("<<<") {
            self.now.input = Some(self.word()?);
        } else if self.skip("<<") {
            let (is_quoted, rest) = (self.skip("-"), self.rest.trim_start_matches([' ', '\t']));
            // `<<-` takes tabs away, which is not done here.
            let is_quoted = !is_quoted && rest.starts_with(['\'', '"', '\\']);
            self.rest = rest;
            let mark = self.word()??;
            self.waiting.push((mark, self.all.len(), is_quoted));
        } else if self.skip("<") {
            self.word()?;
            self.now.input = Some(None);
        } else if self.rest.starts_with('#') {
            self.rest = &self.rest[self.rest.find('\n').unwrap_or(self.rest.len())..];
        } else {
            let word = self.word()?;
            self.now.words.push(word);
        }
        Some(())
    }

    fn skip(&mut self, sign: &str) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn end(&mut self, then: Then) {
        let mut now = std::mem::take(&mut self.now);
        now.then = then;
        let is_empty = now.words.is_empty() && now.target.is_none();
        if !is_empty {
            self.all.push(now);
        }
    }

    /// `> FILE`, `2> FILE`, `>&2`.
    fn redirect(&mut self, sign: &str) -> Option<()> {
        if self.skip("&") {
            return self.word().map(drop);
        }
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        let path = self.word()?;
        if !sign.starts_with('2') && path.as_deref() != Some("/dev/null") {
            let appended = sign.ends_with(">>");
            self.now.target = Some(Target { path, appended });
        }
        Some(())
    }

    /// The texts of `<<EOF` that begin with the next line.
    fn texts(&mut self) -> Option<()> {
        for (mark, at, is_quoted) in std::mem::take(&mut self.waiting) {
            let mut length = 0;
            let mut lines = self.rest.split_inclusive('\n');
            let end = lines.find(|line| {
                let is_end = line.trim_end_matches('\n') == mark;
                length += if is_end { 0 } else { line.len() };
                is_end
            })?;
            let text = &self.rest[..length];
            self.rest = &self.rest[length + end.len()..];
            let is_known = is_quoted || !text.contains(['$', '`', '\\']);
            if let Some(command) = self.all.get_mut(at) {
                command.input = Some(is_known.then(|| text.to_owned()));
            }
        }
        Some(())
    }

    /// A word and what a shell makes of its quotes. `None` if there is none, or its end is missing.
    fn word(&mut self) -> Option<Word> {
        let (mut word, mut is_known, start) = (String::new(), true, self.rest.len());
        while let Some(first) = self.rest.chars().next() {
            match first {
                ' ' | '\t' | '\n' | ';' | '>' | '&' | '<' | '|' => break,
                '(' | ')' => return None,
                '\'' => {
                    let (inner, after) = self.rest[1..].split_once('\'')?;
                    word.push_str(inner);
                    self.rest = after;
                    continue;
                }
                '"' => {
                    self.rest = &self.rest[1..];
                    is_known &= self.quoted(&mut word)?;
                    continue;
                }
                '\\' => {
                    let next = self.rest[1..].chars().next()?;
                    word.extend(Some(next).filter(|next| *next != '\n'));
                    self.rest = &self.rest[1 + next.len_utf8()..];
                    continue;
                }
                // `$(…)` may have any word in it.
                '`' => return None,
                '$' if self.rest.starts_with("$(") => return None,
                '$' | '*' | '?' | '[' | '{' | '}' => is_known = false,
                '~' if word.is_empty() => is_known = false,
                _ => {}
            }
            word.push(first);
            self.rest = &self.rest[first.len_utf8()..];
        }
        (self.rest.len() < start).then(|| is_known.then_some(word))
    }

    /// The rest of a text in double quotes. False if something in it would be replaced.
    fn quoted(&mut self, word: &mut String) -> Option<bool> {
        let mut is_known = true;
        loop {
            let first = self.rest.chars().next()?;
            self.rest = &self.rest[first.len_utf8()..];
            match first {
                '"' => return Some(is_known),
                '`' => return None,
                '$' if self.rest.starts_with('(') => return None,
                '$' => is_known = false,
                '\\' => {
                    let next = self.rest.chars().next()?;
                    self.rest = &self.rest[next.len_utf8()..];
                    match next {
                        '\n' => {}
                        '$' | '`' | '"' | '\\' => word.push(next),
                        other => word.extend(['\\', other]),
                    }
                }
                other => word.push(other),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let show = |word: &Word| word.clone().unwrap_or_else(|| "?".to_owned());
        let line = |command: &Simple| {
            let mut parts: Vec<String> = command.words.iter().map(show).collect();
            parts.extend(
                command
                    .input
                    .as_ref()
                    .map(|input| format!("<{}", show(input))),
            );
            let target = command.target.as_ref();
            parts.extend(target.map(|target| format!(">{}", show(&target.path))));
            parts.join(" ") + if command.then == Then::And { " &&" } else { "" }
        };
        commands(text).iter().map(line).collect()
    }

    #[test]
    fn words_are_split_and_quotes_are_read() {
        assert_eq!(of("a 'b c' \"d \\\"e\\n\" f\\ g"), ["a b c d \"e\\n f g"]);
        assert_eq!(of("a $b *.c ~/d \"$e\" '$f'"), ["a ? ? ? ? $f"]);
        assert_eq!(of("a # b\nc"), ["a", "c"]);
    }

    #[test]
    fn commands_are_split_and_output_goes_to_a_file() {
        assert_eq!(
            of("a && b > c; d 2>/dev/null || e >&2"),
            ["a &&", "b >c", "d", "e"]
        );
        assert_eq!(of("a | b >> c 2>&1 & d"), ["a", "b >c", "d"]);
        assert_eq!(
            of("cat > a <<'E' && b\nx $y\nE\nc"),
            ["cat <x $y\n >a &&", "b", "c"]
        );
        assert_eq!(of("cat <<E > a\n$x\nE"), ["cat <? >a"]);
    }

    #[test]
    fn what_is_not_understood_ends_the_list() {
        assert_eq!(of("a; (b; c); d"), ["a"]);
        assert_eq!(of("a; echo $(b; c); d"), ["a", "echo"]);
        assert_eq!(of("a; b 'c"), ["a", "b"]);
        assert_eq!(of("cat > a <<E\nx"), ["cat >a"]);
    }
}
