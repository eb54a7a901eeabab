//! What really happened in a recording, known independently of the log: the content of `truth.json`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

pub mod match_without_ids;
pub mod records;

/// The project directory of every recording.
const PROJECT: &str = "/home/dev/proj/";

/// Scenarios in which a hook or a formatter changes files behind the calls of the model: what the ground truth found after a turn is not
/// what its calls wrote.
const FORMATTED: &[&str] = &[
    "g_hooks",
    "hooks_format",
    "m_plugin",
    "n_hooks",
    "o_edits-fmt",
    "x_formatter",
    "x_hooks",
];
/// Of longer results the ground truth has only so many characters.
const RESULT_CHARS: usize = 2000;

/// A file's path relative to the project's root, as the ground truth names it.
pub fn in_project(file: &str) -> Cow<'_, str> {
    let path = file
        .strip_prefix(PROJECT)
        .unwrap_or(file)
        .trim_start_matches("./");
    if !path.contains("/../") {
        return Cow::Borrowed(path);
    }
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match names.last() {
            Some(last) if name == ".." && *last != ".." => drop(names.pop()),
            _ => names.push(name),
        }
    }
    Cow::Owned(names.join("/"))
}

/// True if a path, as [`in_project`] returns it, is that of a file outside of the project, of which the ground truth knows nothing.
pub fn is_outside_project(path: &str) -> bool {
    path.starts_with('/') || path.starts_with("../")
}

/// True if hooks or formatters change files in recordings of this scenario.
pub fn is_formatted(scenario: &str) -> bool {
    FORMATTED.contains(&scenario)
}

/// What really happened in one recording.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Truth {
    /// The user's prompts.
    pub prompts: Vec<String>,
    /// The calls that the model made.
    pub calls: Vec<Call>,
    /// The results that the harness returned to the model.
    pub results: Vec<RealResult>,
    /// The files that changed.
    pub edits: Vec<RealEdit>,
    /// What the model server counted.
    pub usage: Vec<RealUsage>,
}

/// What the model server counted for one response, or for all responses of a conversation.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct RealUsage {
    /// The id of the response.
    pub message_id: Option<String>,
    /// The model that was asked.
    pub model: Option<String>,
    /// The conversation, if these are the sums of all its responses.
    pub conversation: Option<String>,
    /// True if the response never ended.
    pub cut_off: bool,
    /// Input tokens without those that came from or went to the cache.
    pub input: Option<u64>,
    /// Input tokens from the cache.
    #[serde(alias = "cacheReadTokens")]
    pub cache_read: Option<u64>,
    /// Input tokens that went to the cache.
    #[serde(alias = "cacheWriteTokens")]
    pub cache_write: Option<u64>,
    /// Output tokens, with those of reasoning.
    #[serde(alias = "outputTokens")]
    pub output: Option<u64>,
    /// The output tokens of reasoning.
    pub reasoning: Option<u64>,
}

impl RealUsage {
    /// False if both models are known and they differ.
    pub(crate) fn may_be_of(&self, model: Option<&str>) -> bool {
        let real = self.model.as_deref();
        real.zip(model).is_none_or(|(real, model)| real == model)
    }
}

/// A tool call as the model server sent it.
#[derive(Debug, Clone, Deserialize)]
pub struct Call {
    /// Its id; empty if the log gives the call no id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub args: Value,
    /// The agent that made it; `main` or `None` for the main session.
    #[serde(default)]
    pub thread: Option<String>,
}

impl Call {
    /// True if the log gives the call an id.
    pub fn has_id(&self) -> bool {
        !self.id.is_empty()
    }

    /// True for a call of the main session, false for a sub-agent's.
    pub fn is_main(&self) -> bool {
        self.thread.as_deref().is_none_or(|thread| thread == "main")
    }
}

/// A tool result as the harness returned it to the model server.
#[derive(Debug, Clone, Deserialize)]
pub struct RealResult {
    /// The call's id.
    pub id: String,
    /// The text that the model saw.
    pub text: String,
    /// The error flag that the harness set, if it set one.
    pub is_error: Option<bool>,
    /// The exit code of a command, if it is known.
    #[serde(default)]
    pub exit: Option<i64>,
}

impl RealResult {
    /// True if the ground truth has only the beginning of the text.
    pub fn is_cut(&self) -> bool {
        self.text.chars().count() == RESULT_CHARS
    }
}

/// A file before and after the calls of one model turn.
#[derive(Debug, Clone, Deserialize)]
pub struct RealEdit {
    /// The calls of the turn.
    pub call_ids: Vec<String>,
    /// The tools that were called.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The file, relative to the project's root.
    pub file: String,
    /// Its text before; `None` if there was no file, or it was too big or not UTF-8.
    pub before: Option<String>,
    /// Its text after; `None` as above.
    pub after: Option<String>,
    /// The hash of its bytes before; `None` if there was no file.
    pub before_sha256: Option<String>,
    /// The hash of its bytes after; `None` if there was no file.
    pub after_sha256: Option<String>,
    /// Its text after hooks or formatters changed it, if there are any: then `after` is `None`.
    #[serde(skip)]
    pub formatted: Option<String>,
}

impl RealEdit {
    /// True for a change that no call made: the user reverted what calls had done.
    pub fn is_revert(&self) -> bool {
        self.call_ids.is_empty() && self.tools.is_empty()
    }

    /// The file before.
    pub fn state_before(&self) -> FileState<'_> {
        FileState::of(&self.before, &self.before_sha256)
    }

    /// The file after, with what hooks and formatters changed.
    pub fn state_left(&self) -> FileState<'_> {
        FileState::of(
            if self.formatted.is_some() {
                &self.formatted
            } else {
                &self.after
            },
            &self.after_sha256,
        )
    }

    /// The file after.
    pub fn state_after(&self) -> FileState<'_> {
        FileState::of(&self.after, &self.after_sha256)
    }
}

/// What the ground truth knows of a file before or after an edit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FileState<'t> {
    /// There was no file.
    Absent,
    /// Its text.
    Text(&'t str),
    /// There was a file, but its text is not recorded: it was too big or not UTF-8.
    Unknown,
}

impl<'t> FileState<'t> {
    fn of(text: &'t Option<String>, sha256: &Option<String>) -> FileState<'t> {
        match (text, sha256) {
            (Some(text), _) => FileState::Text(text),
            (None, Some(_)) => FileState::Unknown,
            (None, None) => FileState::Absent,
        }
    }

    /// The text, if it is known.
    pub fn text(self) -> Option<&'t str> {
        match self {
            FileState::Text(text) => Some(text),
            FileState::Absent | FileState::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_one_model_has_no_response_of_another() {
        let of = |model: Option<&str>| RealUsage {
            model: model.map(str::to_owned),
            ..RealUsage::default()
        };
        assert!(of(Some("m")).may_be_of(Some("m")) && of(None).may_be_of(Some("m")));
        assert!(of(Some("m")).may_be_of(None) && !of(Some("m")).may_be_of(Some("n")));
    }

    #[test]
    fn files_are_named_from_the_root_of_the_project() {
        for (file, name) in [
            ("/home/dev/proj/a.py", "a.py"),
            ("./a.py", "a.py"),
            ("e/../e/b.txt", "e/b.txt"),
            ("../out.txt", "../out.txt"),
        ] {
            assert_eq!(in_project(file), name);
        }
        assert!(
            is_outside_project("/tmp/x")
                && is_outside_project("../out.txt")
                && !is_outside_project("a.py")
        );
    }
}
