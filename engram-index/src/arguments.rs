//! What the arguments of a call say about the text of a file: a whole text, strings that replace each other, a patch.
//!
//! A tape has the arguments as the harness logged them. Only member names that calls of several harnesses share are read, and what follows from
//! them is compared with the hashes of the tape wherever it has some.

use serde_json::Value;

use crate::rows::Digest;
use crate::text_state::is_hash;

/// Members with the whole text of a file.
const CONTENT: [&str; 3] = ["content", "contents", "file_text"];
/// Members with the string that is replaced, and the one that replaces it.
const OLD: [&str; 3] = ["old_string", "oldString", "old_str"];
const NEW: [&str; 3] = ["new_string", "newString", "new_str"];
/// Members that say that every occurrence is replaced.
const EVERY: [&str; 3] = ["replace_all", "replaceAll", "allow_multiple"];

/// What a call was asked to do to a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The whole text.
    pub content: Option<String>,
    /// Strings that replace each other, in order.
    pub replaced: Vec<Replaced>,
    /// Every string.
    pub strings: Vec<String>,
    /// Files of a patch.
    pub patches: Vec<Patch>,
    /// The command, if it is one string or a list that ends with one.
    pub command: Option<String>,
    /// The directory of the command.
    pub directory: Option<String>,
    /// True if a number says which part of a file is read.
    pub is_part: bool,
}

/// Longest string whose runs of lines are looked at.
const MAX_LINES_OF_STRING: usize = 2000;

/// The lines of a range that stand together in one of these strings and have this hash.
fn run_of<'s>(
    mut strings: impl Iterator<Item = &'s String>,
    (first, last): (i64, i64),
    hash: &Digest,
) -> Option<String> {
    let count = usize::try_from(last - first + 1).ok().filter(|n| *n > 0)?;
    strings.find_map(|text| {
        let lines: Vec<&str> = text.lines().take(MAX_LINES_OF_STRING).collect();
        let mut runs = lines.windows(count).map(|run| run.join("\n"));
        runs.find(|run| is_hash(run, hash))
    })
}

/// A string and what it becomes.
#[derive(Debug, PartialEq, Eq)]
pub struct Replaced {
    pub old: String,
    pub new: String,
    /// Everywhere, or once.
    pub every: bool,
}

/// A change of one file in a patch.
#[derive(Debug, PartialEq, Eq)]
pub struct Patch {
    /// The path as the patch has it.
    pub path: String,
    /// True if the file is new and this is its text.
    pub is_new: bool,
    /// Runs of lines: removed (`-`), added (`+`) and context (` `).
    pub hunks: Vec<Vec<(char, String)>>,
}

impl Arguments {
    /// The lines of a range with this hash, of a new string: a change may be smaller than the string.
    pub fn run_of_new(&self, range: (i64, i64), hash: &Digest) -> Option<String> {
        run_of(
            self.replaced.iter().map(|strings| &strings.new),
            range,
            hash,
        )
    }

    /// The same of an old string.
    pub fn run_of_old(&self, range: (i64, i64), hash: &Digest) -> Option<String> {
        run_of(
            self.replaced.iter().map(|strings| &strings.old),
            range,
            hash,
        )
    }

    /// Reads the arguments of a call. Arguments that are a bare string are its command or patch.
    pub fn of(args: &Value) -> Arguments {
        let mut found = Arguments::default();
        let edits = args.get("edits").and_then(Value::as_array);
        let of_args = edits.map_or(std::slice::from_ref(args), Vec::as_slice);
        found.replaced = of_args.iter().filter_map(replaced).collect();
        if found.replaced.is_empty() {
            found.content = member(args, &CONTENT).map(str::to_owned);
        }
        found.command = ["command", "cmd"]
            .iter()
            .find_map(|name| command(args.get(name)?));
        let directory = ["workdir", "cwd", "dir_path", "directory"];
        found.directory = member(args, &directory).map(str::to_owned);
        let numbers = args.as_object().into_iter().flatten();
        found.is_part = numbers
            .into_iter()
            .any(|(_, value)| value.as_i64().is_some_and(|number| number > 1));
        crate::names::strings(args, &mut |_, text| {
            found.strings.push(text.to_owned());
            if found.patches.is_empty() && text.contains("*** Begin Patch") {
                found.patches = envelope(text);
            }
        });
        if let Some(files) = args.as_object() {
            found.patches.extend(
                files
                    .iter()
                    .filter_map(|(path, change)| unified(path, change)),
            );
        }
        found
    }

    /// The part of the patch for a file.
    pub fn patch_of(&self, file: &str) -> Option<&Patch> {
        self.patches.iter().find(|patch| {
            let path = patch.path.trim_start_matches("./");
            file == path
                || file
                    .strip_suffix(path)
                    .is_some_and(|rest| rest.ends_with('/'))
        })
    }
}

fn member<'v>(value: &'v Value, names: &[&str]) -> Option<&'v str> {
    names.iter().find_map(|name| value.get(name)?.as_str())
}

fn replaced(edit: &Value) -> Option<Replaced> {
    let every = EVERY
        .iter()
        .any(|name| edit.get(name) == Some(&Value::Bool(true)));
    let several = edit
        .get("expected_replacements")
        .and_then(Value::as_u64)
        .is_some_and(|count| count > 1);
    Some(Replaced {
        old: member(edit, &OLD)?.replace("\r\n", "\n"),
        new: member(edit, &NEW)?.replace("\r\n", "\n"),
        every: every || several,
    })
}

/// `"ls"`, and `["bash", "-lc", "ls"]`.
fn command(value: &Value) -> Option<String> {
    match value {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => match words.as_slice() {
            [shell, option, command]
                if shell.as_str()?.ends_with("sh") && option.as_str()?.ends_with('c') =>
            {
                command.as_str().map(str::to_owned)
            }
            _ => None,
        },
        _ => None,
    }
}

/// The files of a patch between `*** Begin Patch` and `*** End Patch`.
fn envelope(text: &str) -> Vec<Patch> {
    let mut patches: Vec<Patch> = Vec::new();
    let body = text
        .split_once("*** Begin Patch")
        .map_or(text, |(_, body)| body);
    for line in body
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
    {
        let named = ["*** Add File: ", "*** Update File: ", "*** Delete File: "]
            .iter()
            .find_map(|head| Some((*head, line.strip_prefix(head)?)));
        if named.is_some() || line.starts_with("*** End Patch") {
            patches.last_mut().into_iter().for_each(without_last_blanks);
        }
        if let Some((head, path)) = named {
            patches.push(Patch {
                path: path.trim().to_owned(),
                is_new: head.contains("Add"),
                hunks: vec![Vec::new()],
            });
            continue;
        }
        if line.starts_with("*** End Patch") {
            break;
        }
        let Some(patch) = patches.last_mut().filter(|_| !line.starts_with("*** ")) else {
            continue;
        };
        take_line(&mut patch.hunks, line);
    }
    patches
}

/// A member `PATH: {"unified_diff": …}` or `PATH: {"content": …}`, as logs of applied patches have it.
fn unified(path: &str, change: &Value) -> Option<Patch> {
    let change = change.as_object()?;
    let of = |name: &str| {
        let inner = change.values().find_map(|value| value.get(name)?.as_str());
        change.get(name).and_then(Value::as_str).or(inner)
    };
    let is_add =
        change.contains_key("add") || change.get("type").and_then(Value::as_str) == Some("add");
    let mut hunks = vec![Vec::new()];
    if let Some(diff) = of("unified_diff") {
        let lines = diff.strip_suffix('\n').unwrap_or(diff).split('\n');
        lines
            .filter(|line| !line.starts_with("\\ "))
            .for_each(|line| take_line(&mut hunks, line.strip_suffix('\r').unwrap_or(line)));
        return Some(Patch {
            path: path.to_owned(),
            is_new: false,
            hunks,
        });
    }
    let content = of("content").filter(|_| is_add)?;
    hunks[0] = crate::line_key::lines(content)
        .map(|line| ('+', line.to_owned()))
        .collect();
    Some(Patch {
        path: path.to_owned(),
        is_new: true,
        hunks,
    })
}

/// An empty line before the next file is no context.
fn without_last_blanks(patch: &mut Patch) {
    if let Some(hunk) = patch.hunks.last_mut() {
        while hunk
            .last()
            .is_some_and(|(sign, line)| *sign == ' ' && line.is_empty())
        {
            hunk.pop();
        }
    }
}

fn take_line(hunks: &mut Vec<Vec<(char, String)>>, line: &str) {
    if line.starts_with("@@") {
        hunks.push(Vec::new());
        return;
    }
    let Some(hunk) = hunks.last_mut() else { return };
    match line.chars().next() {
        Some(sign @ ('+' | '-' | ' ')) => hunk.push((sign, line[1..].to_owned())),
        None => hunk.push((' ', String::new())),
        _ => {}
    }
}

/// The lines of a hunk before and after.
pub fn sides(hunk: &[(char, String)]) -> (Vec<&str>, Vec<&str>) {
    let side = |gone: char| {
        let lines = hunk.iter().filter(move |(sign, _)| *sign != gone);
        lines.map(|(_, line)| line.as_str()).collect()
    };
    (side('+'), side('-'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strings_texts_and_commands_are_found_under_their_names() {
        let edit = Arguments::of(
            &json!({"path": "a", "edits": [{"old_string": "a", "new_string": "b", "replace_all": true}]}),
        );
        assert!(edit.replaced[0].every && edit.content.is_none());
        let write = Arguments::of(&json!({"filePath": "a", "content": "x\n"}));
        assert_eq!(write.content.as_deref(), Some("x\n"));
        let run = Arguments::of(&json!({"command": ["bash", "-lc", "rm a"], "workdir": "/p"}));
        assert_eq!(
            (run.command.as_deref(), run.directory.as_deref()),
            (Some("rm a"), Some("/p"))
        );
    }

    #[test]
    fn patches_have_files_and_hunks() {
        let patch = Arguments::of(&json!(
            "*** Begin Patch\n*** Update File: src/a.py\n@@ def f\n x\n-y\n+z\n\n*** Add File: b\n+n\n*** End Patch\n"
        ));
        let of_a = patch.patch_of("/p/src/a.py").unwrap();
        assert_eq!(sides(&of_a.hunks[1]), (vec!["x", "y"], vec!["x", "z"]));
        assert!(patch.patch_of("/p/b").unwrap().is_new && patch.patch_of("/p/sub").is_none());
        let diff = Arguments::of(
            &json!({"/p/a": {"update": {"unified_diff": "@@ -1,1 +1,1 @@\n-a\n+b\n"}}}),
        );
        assert_eq!(
            sides(&diff.patch_of("/p/a").unwrap().hunks[1]),
            (vec!["a"], vec!["b"])
        );
    }
}
