//! The arguments of a call as a person reads them: one telling line, the change that is asked for, and the rest by name.

use engram_core::tape::Members;
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;
use serde_json::value::RawValue;

use super::diff;
use super::view::Diff;

/// Names of arguments that show what a call does, the most useful first.
const TELLING: [&str; 20] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "targetFile",
    "pattern",
    "query",
    "searchTerm",
    "globPattern",
    "url",
    "path",
    "dir_path",
    "skill",
    "description",
    "title",
    "objective",
    "prompt",
    "message",
];

/// Names of the argument with the new content of a file.
const CONTENTS: [&str; 4] = ["content", "contents", "file_text", "new_source"];

/// The longest argument that is shown only on the line of its call, in bytes.
const LINE_BYTES: usize = 160;

/// Arguments in the form of a [`Call`](super::view::Call).
#[derive(Debug, Default)]
pub struct Arguments {
    pub summary: Option<String>,
    pub named: Vec<(String, String)>,
    pub diffs: Vec<Diff>,
}

impl Arguments {
    /// Reads the JSON of `args`.
    pub fn read(args: Option<&str>, kind: ToolKind) -> Arguments {
        let mut arguments = Arguments::default();
        let Some(args) = args else { return arguments };
        match Members::of(args) {
            Ok(members) => arguments.add_members(&members, kind),
            Err(_) => match patch_in(args) {
                Some(patch) => arguments.diffs.push(patch),
                // A script, or a command and its arguments.
                None => arguments.summarize("input", of_json(args)),
            },
        }
        arguments
    }

    fn add_members(&mut self, members: &Members<'_>, kind: ToolKind) {
        if let Some(changes) = changes_by_file(members) {
            let files: Vec<&str> = members.0.iter().map(|(file, _)| *file).collect();
            self.summarize("files", files.join(", "));
            self.diffs.extend(changes);
            return;
        }
        let text = |name: &str| {
            members
                .text(name)
                .map(|text| text.decode_lossy().into_owned())
        };
        self.diffs.extend(diff::of_pair(text));
        let has_pair = !self.diffs.is_empty();
        let telling = TELLING.into_iter().find(|name| members.get(name).is_some());
        for (name, value) in &members.0 {
            // A flag that is off says nothing about a change.
            if has_pair && (diff::is_side_of_pair(name) || matches!(*value, "false" | "null")) {
                continue;
            }
            if kind == ToolKind::Write && CONTENTS.contains(name) && value.starts_with('"') {
                self.diffs.push(diff::of_new_text(&of_json(value)));
                continue;
            }
            let changes = changes_in_list(value);
            if !changes.is_empty() {
                self.diffs.extend(changes);
                continue;
            }
            if let Some(patch) = patch_in(value) {
                self.diffs.push(patch);
            } else if telling == Some(*name) {
                self.summarize(name, of_json(value));
            } else {
                self.named.push(((*name).to_owned(), of_json(value)));
            }
        }
    }

    /// The line of the call. What does not fit there is listed, too.
    fn summarize(&mut self, name: &str, value: String) {
        let fits = value.len() <= LINE_BYTES && !value.trim_end().contains('\n');
        if !fits {
            self.named.push((name.to_owned(), value.clone()));
        }
        let first = value
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default();
        let end = first.floor_char_boundary(LINE_BYTES);
        self.summary = Some(if fits {
            value
        } else {
            format!("{} …", &first[..end])
        });
    }
}

/// The change in a text that is a patch, or in a list of texts, such as a command and its arguments, with a patch.
fn patch_in(value: &str) -> Option<Diff> {
    if let Some(text) = Text::of_str(value) {
        return diff::of_patch(&text.decode_lossy());
    }
    let items: Vec<&RawValue> = serde_json::from_str(value).ok()?;
    items
        .into_iter()
        .filter_map(Text::of)
        .find_map(|text| diff::of_patch(&text.decode_lossy()))
}

/// The changes in a list of changes.
fn changes_in_list(value: &str) -> Vec<Diff> {
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(value) else {
        return Vec::new();
    };
    let changes: Vec<Diff> = items.iter().filter_map(|item| change(item)).collect();
    if changes.len() == items.len() {
        changes
    } else {
        Vec::new()
    }
}

/// The changes by the files that they are of, as Codex has them: what kind each is, with a new text or a patch. Of a file that is removed
/// there is nothing to show.
fn changes_by_file(members: &Members<'_>) -> Option<Vec<Diff>> {
    let mut changes = Vec::new();
    for (_, change) in &members.0 {
        let change = Members::of(change).ok()?;
        let text = |name: &str| Some(change.text(name)?.decode_lossy().into_owned());
        match text("type")?.as_str() {
            "add" => changes.push(diff::of_new_text(&text("content")?)),
            "update" => changes.push(diff::of_hunks(&text("unified_diff")?)),
            "delete" => {}
            _ => return None,
        }
    }
    (!members.0.is_empty()).then_some(changes)
}

fn change(item: &RawValue) -> Option<Diff> {
    let members = Members::of(item.get()).ok()?;
    diff::of_pair(|name| {
        members
            .text(name)
            .map(|text| text.decode_lossy().into_owned())
    })
}

/// A string as its text, a list of strings as one line, anything else as JSON.
fn of_json(json: &str) -> String {
    if let Some(text) = Text::of_str(json) {
        return text.decode_lossy().into_owned();
    }
    match serde_json::from_str::<Vec<&RawValue>>(json) {
        Ok(items) if !items.is_empty() && items.iter().all(|item| item.get().starts_with('"')) => {
            let texts: Vec<String> = items.iter().map(|item| of_json(item.get())).collect();
            texts.join(" ")
        }
        _ => json.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &str, kind: ToolKind) -> Arguments {
        Arguments::read(Some(args), kind)
    }

    #[test]
    fn the_most_telling_argument_is_the_line_of_the_call() {
        let bash = read(
            r#"{"description":"list","command":"ls -l\n","timeout":5}"#,
            ToolKind::Execute,
        );
        assert_eq!(bash.summary.as_deref(), Some("ls -l\n"));
        assert_eq!(
            bash.named,
            [
                ("description".to_owned(), "list".to_owned()),
                ("timeout".to_owned(), "5".to_owned())
            ]
        );
        let shell = read(r#"{"command":["bash","-lc","ls"]}"#, ToolKind::Execute);
        assert_eq!(shell.summary.as_deref(), Some("bash -lc ls"));
    }

    #[test]
    fn a_long_argument_is_shortened_on_the_line_and_listed_completely() {
        let bash = read(r#"{"command":"cat > f <<X\nline\nX"}"#, ToolKind::Execute);
        assert_eq!(bash.summary.as_deref(), Some("cat > f <<X …"));
        assert_eq!(bash.named[0].1, "cat > f <<X\nline\nX");
    }

    #[test]
    fn changes_are_diffs_and_not_arguments() {
        let edit = read(
            r#"{"file_path":"f","old_string":"a","new_string":"b","replace_all":false}"#,
            ToolKind::Edit,
        );
        assert_eq!((edit.summary.as_deref(), edit.diffs.len()), (Some("f"), 1));
        assert_eq!(edit.named, []);
        let all = read(
            r#"{"file_path":"f","old_string":"a","new_string":"b","replace_all":true}"#,
            ToolKind::Edit,
        );
        assert_eq!(all.named, [("replace_all".to_owned(), "true".to_owned())]);
        let several = read(
            r#"{"path":"f","edits":[{"oldText":"a","newText":"b"},{"oldText":"c","newText":"d"}]}"#,
            ToolKind::Edit,
        );
        assert_eq!((several.diffs.len(), several.named.len()), (2, 0));
        let write = read(r#"{"path":"f","content":"x\ny"}"#, ToolKind::Write);
        assert_eq!((write.diffs.len(), write.named.len()), (1, 0));
        let patch = read(
            r#"{"command":["apply_patch","*** Begin Patch\n+x\n*** End Patch"]}"#,
            ToolKind::Execute,
        );
        assert_eq!(patch.diffs.len(), 1);
        let by_file = read(
            r#"{"/p/a":{"type":"add","content":"x"},"/p/b":{"type":"update","unified_diff":"@@ -1 +1 @@\n-x\n+y\n"},"/p/c":{"type":"delete"}}"#,
            ToolKind::Edit,
        );
        assert_eq!(
            (by_file.summary.as_deref(), by_file.diffs.len()),
            (Some("/p/a, /p/b, /p/c"), 2)
        );
    }

    #[test]
    fn arguments_without_names_are_the_line_of_the_call() {
        for (args, line) in [
            (r#"["/bin/bash","-lc","ls"]"#, "/bin/bash -lc ls"),
            (r#""const r = 1;\ntext(r);\n""#, "const r = 1; …"),
        ] {
            assert_eq!(read(args, ToolKind::Execute).summary.as_deref(), Some(line));
        }
    }

    #[test]
    fn unusual_json_is_shown_as_it_is() {
        assert_eq!(
            read("[1,2]", ToolKind::Other).summary.as_deref(),
            Some("[1,2]")
        );
        assert_eq!(
            read(r#"{"\u0061":1}"#, ToolKind::Other).summary.as_deref(),
            Some(r#"{"\u0061":1}"#)
        );
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        assert_eq!(read(&deep, ToolKind::Other).named[0].1, deep);
    }
}
