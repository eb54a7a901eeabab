//! Commands whose effect on files their text says: `cat > f <<'EOF'`, `echo` and `printf` into a file, `mv`, `cp`, `rm`, and `sed -i` with a
//! plain text; and commands that show a file: `cat f` and `sed -n '1,200p' f`.
//!
//! What a command wrote is compared with the file like any other text, so it may stand beside commands that nobody understands. That a file
//! was moved, removed or changed in its place is believed only where the exit code of the list tells that this command succeeded.

use engram_core::file_path::full_path;

use crate::shell_words::{Simple, Target, Then, Word, commands};

/// What a command did to a file. Paths are as full as the command's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The file has this text.
    Written { path: String, text: String },
    /// The text was added at the end of the file.
    Appended { path: String, text: String },
    /// The file has another name.
    Moved { from: String, to: String },
    /// There is a copy of the file.
    Copied { from: String, to: String },
    /// The file is gone.
    Removed { path: String },
    /// In each line the text was replaced, once or everywhere.
    Replaced {
        path: String,
        old: String,
        new: String,
        every: bool,
    },
    /// The file was changed, and the command alone does not say to what.
    Changed { path: String },
    /// The output of the whole list is the text of the file: from the first of these lines on, up to the last one or the end.
    Shown {
        path: String,
        lines: (usize, Option<usize>),
    },
}

/// Commands after which nobody knows the directory, or whether the next one runs at all.
const LEADING_AWAY: [&str; 7] = ["pushd", "popd", "eval", "source", ".", "exit", "exec"];
/// Longest command that is looked at.
const MAX_BYTES: usize = 1 << 20;

/// The effects that are known of a command that succeeded.
pub fn effects(text: &str, directory: &str) -> Vec<Effect> {
    if text.len() > MAX_BYTES {
        return Vec::new();
    }
    let list = commands(text);
    // `bash -lc '…'`, as some logs have a command.
    if let [only] = list.as_slice()
        && let [Some(shell), Some(option), Some(inner)] = only.words.as_slice()
        && shell.ends_with("sh")
        && matches!(option.as_str(), "-c" | "-lc")
    {
        return effects(inner, directory);
    }
    // The exit code of the list is that of its last command, and of those that are joined to it by `&&`.
    let before = &list[..list.len().saturating_sub(1)];
    let certain = before.iter().rposition(|command| command.then != Then::And);
    let certain = certain.map_or(0, |at| at + 1);
    let mut directory = directory.to_owned();
    let mut all = Vec::new();
    for (at, command) in list.iter().enumerate() {
        match command.words.as_slice() {
            [Some(name), Some(to)] if name == "cd" => {
                directory = full_path(&directory, to).into_owned();
            }
            [Some(name), ..] if name == "cd" || LEADING_AWAY.contains(&name.as_str()) => break,
            words => {
                all.extend(command.effects(&directory, at >= certain));
                // Another command before it, or a sign that is not understood, may have an output too.
                let is_alone = list[..at].iter().all(Simple::is_cd) && at + 1 == list.len();
                if is_alone && !text.contains(['(', ')', '{', '}', '|', '<', '>', '`', '$']) {
                    all.extend(shown(words, &directory));
                }
            }
        }
    }
    all
}

/// What `cat FILE` and `sed -n 'FIRST,LASTp' FILE` show.
fn shown(words: &[Word], directory: &str) -> Option<Effect> {
    let words: Vec<&str> = words.iter().map(Option::as_deref).collect::<Option<_>>()?;
    let (path, lines) = match words.as_slice() {
        ["cat", path] => (path, (1, None)),
        ["sed", "-n", range, path] => {
            let (first, last) = range.strip_suffix('p')?.split_once(',')?;
            (path, (first.parse().ok()?, Some(last.parse().ok()?)))
        }
        _ => return None,
    };
    (!path.starts_with('-') && lines.0 > 0).then(|| Effect::Shown {
        path: full_path(directory, path).into_owned(),
        lines,
    })
}

impl Simple {
    fn is_cd(&self) -> bool {
        matches!(self.words.as_slice(), [Some(name), Some(_)] if name == "cd")
    }

    fn effects(&self, directory: &str, succeeded: bool) -> Vec<Effect> {
        let full = |path: &str| full_path(directory, path).into_owned();
        let words: Option<Vec<&str>> = self.words.iter().map(Option::as_deref).collect();
        if let Some(Target { path, appended }) = &self.target {
            let text = words.as_ref().and_then(|words| self.output(words));
            return match (path, text) {
                (None, _) => Vec::new(),
                (Some(path), None) => vec![Effect::Changed { path: full(path) }],
                (Some(path), Some(text)) if *appended => vec![Effect::Appended {
                    path: full(path),
                    text,
                }],
                (Some(path), Some(text)) => vec![Effect::Written {
                    path: full(path),
                    text,
                }],
            };
        }
        let Some((name, rest)) = words.as_deref().and_then(<[_]>::split_first) else {
            return Vec::new();
        };
        let (name, rest) = match (*name, rest.split_first()) {
            ("git", Some((verb, rest))) if matches!(*verb, "mv" | "rm") => (*verb, rest),
            (name, _) => (name, rest),
        };
        if let ("sed", ["-i", script, files @ ..]) = (name, rest) {
            let files = files.iter().filter(|file| !file.starts_with('-'));
            return files
                .map(|file| substituted(script, full(file), succeeded))
                .collect();
        }
        if !succeeded {
            return Vec::new();
        }
        let is_option = |word: &&&str| matches!(**word, "-f" | "-q" | "-r" | "-rf" | "-fr" | "--");
        let files: Vec<&str> = rest
            .iter()
            .filter(|word| !is_option(word))
            .copied()
            .collect();
        match (name, files.as_slice()) {
            (_, files) if files.iter().any(|file| file.starts_with('-')) => Vec::new(),
            ("rm", files) => files
                .iter()
                .map(|file| Effect::Removed { path: full(file) })
                .collect(),
            // Into a directory the file would keep its name; with the same ending it is a file.
            ("mv", [from, to]) if is_one_ending(from, to) => {
                vec![Effect::Moved {
                    from: full(from),
                    to: full(to),
                }]
            }
            ("cp", [from, to]) if is_one_ending(from, to) => {
                vec![Effect::Copied {
                    from: full(from),
                    to: full(to),
                }]
            }
            _ => Vec::new(),
        }
    }

    /// What the command prints, if it prints to its file alone.
    fn output(&self, words: &[&str]) -> Option<String> {
        match (words, &self.input) {
            _ if self.is_piped => None,
            (["cat"], Some(Word::Some(text))) => Some(text.clone()),
            ([] | [":"] | ["true"], None) => Some(String::new()),
            (["echo", words @ ..], None)
                if !words
                    .iter()
                    .any(|word| word.starts_with('-') || word.contains('\\')) =>
            {
                Some(words.join(" ") + "\n")
            }
            (["printf", format], None) => printed(format),
            _ => None,
        }
    }
}

fn is_one_ending(one: &str, other: &str) -> bool {
    fn ending(path: &str) -> Option<&str> {
        let (_, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
        Some(ending).filter(|ending| !ending.is_empty())
    }
    ending(one).is_some() && ending(one) == ending(other)
}

/// The effect of `sed -i SCRIPT FILE`: known for `s/old/new/` and `s/old/new/g` without a pattern.
fn substituted(script: &str, path: String, succeeded: bool) -> Effect {
    let is_plain = |text: &str| !text.contains(['\\', '.', '*', '[', ']', '^', '$', '&', '\n']);
    let parts: Vec<&str> = script.split('/').collect();
    match parts.as_slice() {
        ["s", old, new, flags @ ("" | "g")]
            if succeeded && !old.is_empty() && is_plain(old) && is_plain(new) =>
        {
            Effect::Replaced {
                path,
                old: (*old).to_owned(),
                new: (*new).to_owned(),
                every: *flags == "g",
            }
        }
        _ => Effect::Changed { path },
    }
}

/// What `printf FORMAT` prints: a text with escapes.
fn printed(format: &str) -> Option<String> {
    let mut text: Vec<u8> = Vec::new();
    let mut rest = format;
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        match first {
            '%' => rest = rest.strip_prefix('%').inspect(|_| text.push(b'%'))?,
            '\\' => rest = escaped(rest, &mut text)?,
            other => text.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    String::from_utf8(text).ok()
}

/// Reads what follows a `\`, and returns the rest.
fn escaped<'t>(rest: &'t str, text: &mut Vec<u8>) -> Option<&'t str> {
    let first = rest.chars().next()?;
    let digits = |text: &str, most: usize, radix: u32| {
        text.chars()
            .take(most)
            .take_while(|c| c.is_digit(radix))
            .count()
    };
    let (skipped, count, radix) = match first {
        'x' => (1, digits(&rest[1..], 2, 16), 16),
        '0'..='7' => (0, digits(rest, 3, 8), 8),
        _ => {
            let known = [
                ('n', b'\n'),
                ('t', b'\t'),
                ('r', b'\r'),
                ('\\', b'\\'),
                ('"', b'"'),
                ('\'', b'\''),
            ];
            text.push(known.iter().find(|(sign, _)| *sign == first)?.1);
            return Some(&rest[1..]);
        }
    };
    let (number, rest) = rest[skipped..].split_at(count);
    text.push(u8::from_str_radix(number, radix).ok()?);
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &str) -> Vec<String> {
        let show = |effect: &Effect| match effect {
            Effect::Written { path, text } => format!("{path} = {text:?}"),
            Effect::Appended { path, text } => format!("{path} + {text:?}"),
            Effect::Moved { from, to } => format!("{from} -> {to}"),
            Effect::Copied { from, to } => format!("{from} => {to}"),
            Effect::Removed { path } => format!("{path} gone"),
            Effect::Replaced { path, old, new, .. } => format!("{path}: {old} to {new}"),
            Effect::Changed { path } => format!("{path} ?"),
            Effect::Shown { path, lines } => format!("{path} {lines:?}"),
        };
        effects(command, "/p").iter().map(show).collect()
    }

    #[test]
    fn texts_that_a_command_writes_are_known() {
        for (command, effect) in [
            (
                "cat > a.py <<'EOF'\nx = $1\ny\nEOF\n",
                "/p/a.py = \"x = $1\\ny\\n\"",
            ),
            ("cat <<EOF >> d/a.py\nx\nEOF", "/p/d/a.py + \"x\\n\""),
            ("echo ok && cat > a <<'E'\nE", "/p/a = \"\""),
            (
                "echo one two > docs/one.txt",
                "/p/docs/one.txt = \"one two\\n\"",
            ),
            (
                "/bin/bash -lc \"printf 'def f():\\n    pass\\n' > a.py\"",
                "/p/a.py = \"def f():\\n    pass\\n\"",
            ),
            ("bash -lc 'printf \"a b\" > a.py'", "/p/a.py = \"a b\""),
            (
                "printf 'caf\\xc3\\xa9 100%%\\n' > a.txt",
                "/p/a.txt = \"café 100%\\n\"",
            ),
            (": > a", "/p/a = \"\""),
        ] {
            assert_eq!(of(command), [effect], "{command}");
        }
    }

    #[test]
    fn files_that_a_command_moves_or_removes_are_known() {
        assert_eq!(
            of("cd src && mv tabs.txt moved.txt && pwd"),
            ["/p/src/tabs.txt -> /p/src/moved.txt"]
        );
        assert_eq!(
            of("rm -rf a.py b.py && cp c.rs d.rs"),
            ["/p/a.py gone", "/p/b.py gone", "/p/c.rs => /p/d.rs"]
        );
        assert_eq!(
            of("sed -i 's/a/b/' a.py && mv b.py c.py"),
            ["/p/a.py: a to b", "/p/b.py -> /p/c.py"]
        );
        assert_eq!(of("git mv a.md b.md 2>/dev/null"), ["/p/a.md -> /p/b.md"]);
    }

    #[test]
    fn a_file_is_shown_by_a_command_that_shows_nothing_else() {
        assert_eq!(of("bash -lc 'cat src/a.py'"), ["/p/src/a.py (1, None)"]);
        assert_eq!(of("cd src && cat a.py"), ["/p/src/a.py (1, None)"]);
        assert_eq!(of("sed -n '5,15p' src/a.py"), ["/p/src/a.py (5, Some(15))"]);
        for command in [
            "cat a b",
            "cat -n a",
            "cat a | head",
            "ls && cat a",
            "cat a; (ls)",
            "cat $A",
            "sed -n '/x/p' a",
            "sed -n 0,3p a",
            "cat a 2>/dev/null",
        ] {
            assert_eq!(of(command), [""; 0], "{command}");
        }
    }

    #[test]
    fn a_text_is_known_beside_commands_that_are_not() {
        assert_eq!(of("echo x > a.txt; false"), ["/p/a.txt = \"x\\n\""]);
        assert_eq!(
            of("sleep 3; python fix.py || echo $x; echo y >> b"),
            ["/p/b + \"y\\n\""]
        );
        assert_eq!(
            of("for i in 1 2; do echo $i; done; echo end > b"),
            ["/p/b = \"end\\n\""]
        );
    }

    #[test]
    fn only_what_the_exit_code_tells_of_moves_or_removes() {
        assert_eq!(of("mv a.py b.py; ls"), [""; 0]);
        assert_eq!(of("mv a.py b.py && ls; ls"), [""; 0]);
        assert_eq!(of("rm a.py || true"), [""; 0]);
        assert_eq!(of("ls; rm a.py && ls"), ["/p/a.py gone"]);
        assert_eq!(of("sed -i 's/a/b/' a.py; ls"), ["/p/a.py ?"]);
    }

    #[test]
    fn what_a_shell_would_replace_or_another_program_does_is_not_known() {
        for command in [
            "mv a.py src",
            "rm *.py",
            "echo x > $HOME/a.txt",
            "cd $X && echo x > a.txt",
            "(cd src && echo x > a.txt)",
            "echo a | tee b.txt",
            "echo 'unfinished > a",
        ] {
            assert_eq!(of(command), [""; 0], "{command}");
        }
        for command in [
            "echo $HOME > a",
            "cat > a <<EOF\n$HOME\nEOF",
            "cat b > a",
            "sed -i 's/a./b/' a",
            "seq 3 > a",
        ] {
            assert_eq!(of(command), ["/p/a ?"], "{command}");
        }
    }
}
