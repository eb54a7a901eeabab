//! What is remembered of a call until its result comes.

use std::borrow::Cow;

use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;

use super::schema::FileArguments;
use super::tools::TOOLS;
use crate::shared::value::{Field, text};
use engram_core::keys::hash64;

/// What is remembered of a call until its result comes.
pub(super) struct Call {
    /// The tool's name.
    pub tool: Cow<'static, str>,
    pub kind: ToolKind,
    /// The sub-agent that it started.
    pub started: Option<Box<Started>>,
    pub kept: Kept,
}

/// What is kept of a call's arguments, where the result may not tell what was read or changed. Strings stand as the source spells them.
pub(super) enum Kept {
    Nothing,
    /// The file that was read.
    File(String),
    /// A key of the text that is to be written.
    Written(u64),
    /// Keys of the text that is to be replaced and of what is to stand there.
    Replaced([u64; 2]),
    /// All of them.
    Arguments(String),
}

/// What is remembered of a call that starts a sub-agent.
pub(super) struct Started {
    /// The call's id.
    pub call_id: String,
    /// A key of the prompt.
    pub prompt: u64,
}

impl Call {
    /// The facts of a call that its result may need.
    #[inline(never)]
    pub fn of(call_id: Text<'_>, tool: &str, input: Field<'_>, keep_arguments: bool) -> Self {
        let (tool, kind) = TOOLS.named(tool);
        let arguments = FileArguments::lenient_opt(input);
        let prompt = text(arguments.prompt()).map(|prompt| hash64(prompt.decode_lossy()));
        let started = prompt.map(|prompt| Box::new(Started { call_id: call_id.decode_lossy().into_owned(), prompt }));
        // Results of reads and of notebook edits do not always name the file.
        let kept = match (arguments.path().or(arguments.notebook_path()), input) {
            (Some(file), _) if kind == ToolKind::Read => Kept::File(file.raw().to_owned()),
            (Some(_), Some(input)) if keep_arguments || arguments.notebook_path().is_some() => Kept::Arguments(input.raw().to_owned()),
            (Some(_), _) if kind == ToolKind::Write => {
                arguments.content().map_or(Kept::Nothing, |asked| Kept::Written(hash64(asked.raw())))
            }
            (Some(_), _) if kind == ToolKind::Edit => match (arguments.old_string(), arguments.new_string()) {
                (Some(old), Some(new)) => Kept::Replaced([hash64(old.raw()), hash64(new.raw())]),
                _ => Kept::Nothing,
            },
            _ => Kept::Nothing,
        };
        Call { tool, kind, started, kept }
    }
}
