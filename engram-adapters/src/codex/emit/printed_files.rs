//! The list of changed files that `apply_patch` prints when it has applied a patch.

use std::borrow::Cow;
use std::path::Path;

use engram_core::event::EditOp;
use engram_core::text::Text;
use memchr::memmem;

/// What stands before the list.
pub const SUCCESS: &str = "Success. Updated the following files:";

/// One file of the list.
#[derive(Debug, PartialEq, Eq)]
pub struct PrintedFile {
    /// `Create`, `Update` or `Delete`. A moved file is an update of its new name.
    pub op: EditOp,
    /// The path as the patch has it.
    pub path: String,
}

impl PrintedFile {
    fn of_line(line: &str) -> Option<PrintedFile> {
        let (op, path) = line.split_once(' ')?;
        let op = match op {
            "A" => EditOp::Create,
            "M" => EditOp::Update,
            "D" => EditOp::Delete,
            _ => return None,
        };
        Some(PrintedFile {
            op,
            path: path.to_owned(),
        })
    }

    /// The path without a `./` at its beginning.
    pub fn name(&self) -> &Path {
        Path::new(self.path.strip_prefix("./").unwrap_or(&self.path))
    }

    /// True if it may be the file with this full path.
    pub fn may_be(&self, full_path: &str) -> bool {
        Path::new(full_path).ends_with(self.name())
    }
}

/// The files in the first list of an output: of its text, or of the JSON in its text.
pub fn printed_files(output: &str) -> Vec<PrintedFile> {
    let Some(at) = memmem::find(output.as_bytes(), SUCCESS.as_bytes()) else {
        return Vec::new();
    };
    let rest = &output[at + SUCCESS.len()..];
    let list = if rest.starts_with("\\n") {
        json_string(rest)
    } else {
        Cow::Borrowed(rest)
    };
    list.lines()
        .skip(1)
        .map_while(PrintedFile::of_line)
        .collect()
}

/// The text of a JSON string up to its end.
fn json_string(rest: &str) -> Cow<'_, str> {
    let mut is_escaped = false;
    let end = rest.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    let token = format!("\"{}\"", &rest[..end.unwrap_or_default()]);
    Text::Token(&token).decode_lossy().into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_from_text_and_from_json_in_text() {
        let file = |op, path: &str| PrintedFile {
            op,
            path: path.to_owned(),
        };
        let expected = [file(EditOp::Create, "a b"), file(EditOp::Update, "q\"\\")];
        let plain = format!("Exit code: 0\nOutput:\n{SUCCESS}\nA a b\nM q\"\\\nEOF\nD x\n");
        let wrapped = serde_json::json!({"output": format!("{SUCCESS}\nA a b\nM q\"\\\n"), "metadata": {"exit_code": 0}}).to_string();
        assert_eq!(
            [printed_files(&plain), printed_files(&wrapped)],
            [
                expected,
                [file(EditOp::Create, "a b"), file(EditOp::Update, "q\"\\")]
            ]
        );
        assert!(
            printed_files("Done!").is_empty()
                && printed_files(SUCCESS).is_empty()
                && printed_files(&format!("{SUCCESS}\\n")).is_empty()
        );
    }

    #[test]
    fn a_printed_path_is_the_end_of_the_full_one() {
        let file = |path: &str| PrintedFile {
            op: EditOp::Update,
            path: path.to_owned(),
        };
        assert!(
            file("./d/a").may_be("/p/d/a")
                && file("/p/d/a").may_be("/p/d/a")
                && !file("a").may_be("/p/aa")
        );
    }
}
