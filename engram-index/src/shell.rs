//! Commands whose whole effect on files their text says: `cat > f <<'EOF'`, `echo` and `printf` into a file, `mv`, `cp`, `rm`; and
//! `sed -i`, of which they say only which files it changed.
//!
//! A list of commands counts only if each of them is one of these, or changes no file. Anything else (a variable, a pattern, a pipe, another program)
//! makes the list one whose effect nobody knows.

use engram_core::file_path::full_path;

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
    /// The file was changed, and the command alone does not say to what.
    Changed { path: String },
}

/// Commands that change no file.
const HARMLESS: [&str; 9] = [
    "cat", "echo", "false", "head", "ls", "printf", "pwd", "sleep", "true",
];
/// Longest command that is looked at.
const MAX_BYTES: usize = 1 << 20;

/// The effects of a command that succeeded; none if nobody knows all of them.
pub fn effects(command: &str, directory: &str) -> Vec<Effect> {
    if command.len() > MAX_BYTES {
        return Vec::new();
    }
    let Some(list) = commands(command) else {
        return Vec::new();
    };
    // `bash -lc '…'`, as some logs have a command.
    if let [
        Simple {
            words,
            target: None,
            ..
        },
    ] = list.as_slice()
        && let [shell, option, inner] = words.as_slice()
        && shell.ends_with("sh")
        && matches!(option.as_str(), "-c" | "-lc")
    {
        return effects(inner, directory);
    }
    let mut directory = directory.to_owned();
    let mut all = Vec::new();
    let count = list.len();
    for (at, command) in list.into_iter().enumerate() {
        if let [name, to] = command.words.as_slice()
            && name == "cd"
        {
            directory = full_path(&directory, to).into_owned();
            continue;
        }
        match command.effects(&directory) {
            // Only the last command of a list says by its exit code that it succeeded, and those before it by `&&`.
            Some(found) if found.is_empty() || command.and_then || at + 1 == count => {
                all.extend(found)
            }
            _ => return Vec::new(),
        }
    }
    all
}

/// A command with its words, and where its output goes.
#[derive(Debug, Default)]
struct Simple {
    words: Vec<String>,
    /// The file, and whether the output is appended.
    target: Option<(String, bool)>,
    /// The text of `<<EOF`.
    input: Option<String>,
    /// The next command runs only if this one succeeded.
    and_then: bool,
}

impl Simple {
    /// `None` if nobody knows them.
    fn effects(&self, directory: &str) -> Option<Vec<Effect>> {
        let full = |path: &str| full_path(directory, path).into_owned();
        let (name, rest) = self.words.split_first()?;
        let (name, rest) = match (name.as_str(), rest.split_first()) {
            ("git", Some((verb, rest))) if verb == "mv" || verb == "rm" => (verb.as_str(), rest),
            (name, _) => (name, rest),
        };
        if let Some((path, appended)) = &self.target {
            let text = self.output(name, rest)?;
            let path = full(path);
            return Some(vec![match appended {
                true => Effect::Appended { path, text },
                false => Effect::Written { path, text },
            }]);
        }
        if let ("sed", [option, script, files @ ..]) = (name, rest)
            && option == "-i"
            && !script.starts_with('-')
            && files.iter().all(|file| !file.starts_with('-'))
        {
            return Some(
                files
                    .iter()
                    .map(|file| Effect::Changed { path: full(file) })
                    .collect(),
            );
        }
        let files: Vec<&str> = rest
            .iter()
            .map(String::as_str)
            .filter(|word| !matches!(*word, "-f" | "-q" | "--"))
            .collect();
        if files.iter().any(|file| file.starts_with('-')) && !HARMLESS.contains(&name) {
            return None;
        }
        match (name, files.as_slice()) {
            ("rm", files) if !files.is_empty() => Some(
                files
                    .iter()
                    .map(|file| Effect::Removed { path: full(file) })
                    .collect(),
            ),
            // Into a directory the file would keep its name; with the same ending it is a file.
            ("mv" | "cp", [from, to]) if ending(from).is_some() && ending(from) == ending(to) => {
                let (from, to) = (full(from), full(to));
                Some(vec![match name {
                    "mv" => Effect::Moved { from, to },
                    _ => Effect::Copied { from, to },
                }])
            }
            ("mkdir", _) => Some(Vec::new()),
            _ => HARMLESS.contains(&name).then(Vec::new),
        }
    }

    /// What the command prints.
    fn output(&self, name: &str, words: &[String]) -> Option<String> {
        match (name, words, &self.input) {
            ("cat", [], Some(text)) => Some(text.clone()),
            ("echo", words, None)
                if !words
                    .iter()
                    .any(|word| word.starts_with('-') || word.contains('\\')) =>
            {
                Some(words.join(" ") + "\n")
            }
            ("printf", [format], None) if !format.contains('%') => {
                let text = format.replace("\\n", "\n").replace("\\t", "\t");
                (!text.contains('\\')).then_some(text)
            }
            _ => None,
        }
    }
}

fn ending(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    name.rsplit_once('.')
        .map(|(_, ending)| ending)
        .filter(|ending| !ending.is_empty())
}

/// The commands of a list; `None` if it has something that is not understood.
fn commands(text: &str) -> Option<Vec<Simple>> {
    let mut all = Vec::new();
    let mut now = Simple::default();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if let Some(after) = rest.strip_prefix("&&") {
            now.and_then = true;
            all.push(std::mem::take(&mut now));
            rest = after;
        } else if let Some(after) = rest.strip_prefix([';', '\n']) {
            if !now.words.is_empty() {
                all.push(std::mem::take(&mut now));
            }
            rest = after;
        } else if let Some(after) = rest.strip_prefix("<<") {
            let (mark, after) = word(after.trim_start_matches([' ', '\t']))?;
            let is_quoted = rest[2..].trim_start().starts_with(['\'', '"']);
            let (line, body) = after.split_once('\n')?;
            let end = format!("\n{mark}");
            let whole = format!("\n{body}");
            let at = whole
                .match_indices(&end)
                .find(|(at, _)| matches!(whole.as_bytes().get(at + end.len()), None | Some(b'\n')))?
                .0;
            let input = &whole[1..=at.max(1) - usize::from(at == 0)];
            let input = if at == 0 { "" } else { input };
            if !is_quoted && input.contains(['$', '`', '\\']) {
                return None;
            }
            now.input = Some(input.to_owned());
            // What stands on the line of the mark belongs to the command.
            let behind = &whole[at + end.len()..];
            let line = line.trim();
            if let Some(target) = line.strip_prefix('>') {
                now.target = Some(target_of(target)?);
            } else if !line.is_empty() {
                return None;
            }
            let more = commands(behind)?;
            all.push(now);
            all.extend(more);
            return Some(all);
        } else if let Some(after) = rest.strip_prefix('>') {
            let is_append = after.starts_with('>');
            let (path, after) = word(after.trim_start_matches('>').trim_start_matches(' '))?;
            now.target = Some((path, is_append));
            rest = after;
        } else if rest.is_empty() {
            if !now.words.is_empty() {
                all.push(now);
            }
            return Some(all);
        } else {
            let (found, after) = word(rest)?;
            now.words.push(found);
            rest = after;
        }
    }
}

fn target_of(text: &str) -> Option<(String, bool)> {
    let is_append = text.starts_with('>');
    let (path, rest) = word(text.trim_start_matches('>').trim())?;
    rest.trim().is_empty().then_some((path, is_append))
}

/// A word without anything that a shell would replace, and what stands behind it.
fn word(text: &str) -> Option<(String, &str)> {
    let (mut word, mut rest, mut has_any) = (String::new(), text, false);
    while let Some(first) = rest.chars().next() {
        match first {
            ' ' | '\t' | '\n' | ';' | '>' | '&' | '<' => break,
            '\'' => {
                let (inner, after) = rest[1..].split_once('\'')?;
                word.push_str(inner);
                rest = after;
            }
            '"' => {
                let (inner, after) = rest[1..].split_once('"')?;
                if inner.contains(['$', '`', '\\', '!']) {
                    return None;
                }
                word.push_str(inner);
                rest = after;
            }
            '$' | '`' | '\\' | '*' | '?' | '[' | ']' | '(' | ')' | '{' | '}' | '~' | '|' | '#'
            | '!' => return None,
            other => {
                word.push(other);
                rest = &rest[other.len_utf8()..];
            }
        }
        has_any = true;
    }
    has_any.then_some((word, rest))
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
            Effect::Changed { path } => format!("{path} ?"),
        };
        effects(command, "/p").iter().map(show).collect()
    }

    #[test]
    fn texts_that_a_command_writes_are_known() {
        assert_eq!(
            of("cat > a.py <<'EOF'\nx = $1\ny\nEOF\n"),
            ["/p/a.py = \"x = $1\\ny\\n\""]
        );
        assert_eq!(of("cat <<EOF >> d/a.py\nx\nEOF"), ["/p/d/a.py + \"x\\n\""]);
        assert_eq!(of("echo ok && cat > a <<'E'\nE"), ["/p/a = \"\""]);
        assert_eq!(
            of("echo one two > docs/one.txt"),
            ["/p/docs/one.txt = \"one two\\n\""]
        );
        assert_eq!(
            of("/bin/bash -lc \"printf 'def f():\\n    pass\\n' > a.py\""),
            [""; 0]
        );
        assert_eq!(
            of("bash -lc 'printf \"a b\" > a.py'"),
            ["/p/a.py = \"a b\""]
        );
        assert_eq!(
            of("printf 'by bash\\n' > a.txt"),
            ["/p/a.txt = \"by bash\\n\""]
        );
    }

    #[test]
    fn files_that_a_command_moves_or_removes_are_known() {
        assert_eq!(
            of("cd src && mv tabs.txt moved.txt && pwd"),
            ["/p/src/tabs.txt -> /p/src/moved.txt"]
        );
        assert_eq!(
            of("rm -f a.py b.py && cp c.rs d.rs"),
            ["/p/a.py gone", "/p/b.py gone", "/p/c.rs => /p/d.rs"]
        );
        assert_eq!(
            of("sed -i 's/a/b/' a.py && mv b.py c.py"),
            ["/p/a.py ?", "/p/b.py -> /p/c.py"]
        );
        assert_eq!(of("git mv a.md b.md"), ["/p/a.md -> /p/b.md"]);
    }

    #[test]
    fn what_a_shell_would_replace_or_another_program_does_is_not_known() {
        for command in [
            "sed -i -e 's/a/b/' a.py && mv a.py b.py",
            "python fix.py && mv a.py b.py",
            "mv a.py src",
            "rm *.py",
            "rm -r src",
            "echo $HOME > a.txt",
            "cat > a <<EOF\n$HOME\nEOF",
            "echo x > a.txt; false",
            "cat a.txt > b.txt",
            "echo a | tee b.txt",
            "echo 'unfinished > a",
            "mv a.py b.py; ls",
        ] {
            assert_eq!(of(command), [""; 0], "{command}");
        }
    }
}
