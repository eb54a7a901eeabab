//! Tool calls that have no result yet, and what their results will need of them.

use std::borrow::Cow;

use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;

use crate::claude_code::readers::FileArguments;
use crate::claude_code::record::Replacement;
use crate::claude_code::tools::TOOLS;
use crate::shared::pending_calls::PendingCalls;
use crate::shared::value::{Field, Value, text};
use engram_core::keys::hash64;

/// Calls that have no result yet, by the hash of the raw call id.
#[derive(Default)]
pub struct OpenCalls {
    calls: PendingCalls<Call>,
    /// Hashes of the names of the files that calls have changed, in the order of their results.
    changed: Vec<u64>,
}

impl OpenCalls {
    /// Adds a call.
    pub fn open(&mut self, key: u64, call: Call) {
        self.calls.open(
            key,
            Call {
                changed_before: self.changed.len(),
                ..call
            },
        );
    }

    /// A result says that its call has changed this file.
    pub fn set_changed(&mut self, file: Text<'_>) {
        self.changed.push(hash64(file.comparable()));
    }

    /// True if another call has changed this file since the call began.
    pub fn is_changed_since(&self, call: &Call, file: Text<'_>) -> bool {
        let changed = self.changed.get(call.changed_before..).unwrap_or_default();
        !changed.is_empty() && changed.contains(&hash64(file.comparable()))
    }

    /// The tool of an open call, if it is one of the harness's own or of an MCP server.
    pub fn tool(&self, key: u64) -> Option<&str> {
        let call = self.calls.get(key)?;
        (matches!(call.tool, Cow::Borrowed(_)) || call.kind == ToolKind::Mcp).then_some(&call.tool)
    }

    /// Removes the call, which has a result now.
    pub fn close(&mut self, key: u64) -> Option<Call> {
        self.calls.close(key)
    }

    /// The id of the open call that started a sub-agent with this prompt, if there is exactly one.
    pub fn id_by_prompt(&self, prompt: Text<'_>) -> Option<&str> {
        let prompt = hash64(prompt.comparable());
        let mut spawned = self
            .calls
            .iter()
            .filter_map(|call| call.spawned.as_deref())
            .filter(|spawned| spawned.prompt == prompt);
        let SpawnedAgent { call_id, .. } = spawned.next()?;
        spawned.next().is_none().then_some(call_id)
    }
}

/// What is kept of a call until its result comes.
pub struct Call {
    /// The tool's name.
    pub tool: Cow<'static, str>,
    pub kind: ToolKind,
    pub arguments: KeptArguments,
    /// The number of changes of files that the log has before the call.
    changed_before: usize,
    spawned: Option<Box<SpawnedAgent>>,
}

/// The arguments that a result may need, because it does not always show what was read or changed. Texts are raw JSON.
pub enum KeptArguments {
    Nothing,
    /// The file that was read.
    ReadFile(String),
    /// Hash of the text to write.
    WrittenText(u64),
    /// Hashes of the text to replace and of its replacement.
    ReplacedText {
        old: u64,
        new: u64,
    },
    /// All arguments.
    All(String),
}

/// A sub-agent that a call started.
struct SpawnedAgent {
    call_id: String,
    /// Hash of the prompt.
    prompt: u64,
}

impl Call {
    /// A call of `tool`. `keep_all` keeps all arguments of a call that may change a file.
    #[inline(never)]
    pub fn new(call_id: Text<'_>, tool: &str, input: Field<'_>, keep_all: bool) -> Self {
        let (tool, kind) = TOOLS.named(tool);
        let arguments = FileArguments::lenient_opt(input);
        let prompt = text(arguments.prompt()).map(|prompt| hash64(prompt.comparable()));
        let spawned = prompt.map(|prompt| {
            Box::new(SpawnedAgent {
                call_id: call_id.decode_lossy().into_owned(),
                prompt,
            })
        });
        let is_own = matches!(tool, Cow::Borrowed(_));
        Call {
            tool,
            kind,
            spawned,
            changed_before: 0,
            arguments: KeptArguments::of((kind, is_own), &arguments, input, keep_all),
        }
    }
}

impl KeptArguments {
    fn of(
        (kind, is_own): (ToolKind, bool),
        arguments: &FileArguments<'_>,
        input: Field<'_>,
        keep_all: bool,
    ) -> Self {
        let all = |input: Value<'_>| KeptArguments::All(input.raw().to_owned());
        let Some(file) = arguments.path().or(arguments.notebook_path()) else {
            // They are compared with the member table if the result does not name the file either.
            let is_needed =
                is_own && matches!(kind, ToolKind::Read | ToolKind::Edit | ToolKind::Write);
            return input
                .filter(|_| is_needed)
                .map_or(KeptArguments::Nothing, all);
        };
        // Results of reads and of notebook edits do not always name the file.
        match (kind, input) {
            (ToolKind::Read, _) => KeptArguments::ReadFile(file.raw().to_owned()),
            (_, Some(input)) if keep_all || arguments.notebook_path().is_some() => all(input),
            (ToolKind::Write, _) => arguments.content().map_or(KeptArguments::Nothing, |text| {
                KeptArguments::WrittenText(hash64(text.raw()))
            }),
            (ToolKind::Edit, _) => match (arguments.old_string(), arguments.new_string()) {
                (Some(old), Some(new)) => KeptArguments::ReplacedText {
                    old: hash64(old.raw()),
                    new: hash64(new.raw()),
                },
                _ => KeptArguments::Nothing,
            },
            _ => KeptArguments::Nothing,
        }
    }
}

/// True if the arguments do not have the file, or the text that is to be written or replaced.
pub fn lacks_arguments(kind: ToolKind, input: Field<'_>) -> bool {
    if !matches!(kind, ToolKind::Read | ToolKind::Edit | ToolKind::Write) {
        return false;
    }
    let arguments = FileArguments::lenient_opt(input);
    let single = Replacement {
        old: arguments.old_string(),
        new: arguments.new_string(),
        everywhere: false,
    };
    let is_whole =
        |replacement: &Replacement<'_>| replacement.old.is_some() && replacement.new.is_some();
    let lacks_text = match kind {
        ToolKind::Write => text(arguments.content()).is_none(),
        ToolKind::Edit if arguments.notebook_path().is_none() => {
            !Replacement::list_or(arguments.edits(), single)
                .iter()
                .all(is_whole)
        }
        _ => false,
    };
    lacks_text || arguments.path().or(arguments.notebook_path()).is_none()
}
