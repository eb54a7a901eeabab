//! Step 1: a line has the shape of its type, and what the plan needs of it is noted.

mod message;
mod shape;
mod transcript;

use std::borrow::Cow;

use engram_core::emit::{Fault, Pointer};
use engram_core::keys::{KeyMap, KeySet, hash64};
use engram_core::steps::Check;

use super::members::{ARGUMENTS, set_record_type};
use super::notes::{Block, Notes};
use super::readers::Line;
use super::revisions::{Dialect, MATRIX, dialect};
use crate::shared::value::{Field, StructuralIndex, Value, parse, raw_str, text};

pub(super) use shape::{has_several_results, is_shared_result};

/// Takes the notes.
pub(super) struct Checker {
    pub notes: Notes,
    /// The dialect of the version that wrote the current line.
    dialect: Dialect,
    /// The version, as raw JSON.
    version: String,
    /// The tools of the open calls, by the ids of the calls.
    tools: KeyMap<Cow<'static, str>>,
    /// All calls so far.
    calls: KeySet,
    /// The arguments of open calls that lack what such a call needs.
    lacking: KeyMap<Lacking>,
    /// The log has prompts in a queue.
    has_queue: bool,
    /// The agent of the first line of the conversation, which is that of the file.
    own_agent: Option<u64>,
    /// The blocks of the current line.
    blocks: Vec<Block>,
    /// The type of the current line.
    kind: String,
}

/// Arguments that lack the file or a text.
struct Lacking {
    tool: Cow<'static, str>,
    json: String,
}

impl Checker {
    /// Before the first line.
    pub fn new(dialect: Dialect) -> Self {
        Checker {
            notes: Notes::default(),
            dialect,
            version: String::new(),
            tools: KeyMap::default(),
            calls: KeySet::default(),
            lacking: KeyMap::default(),
            has_queue: false,
            own_agent: None,
            blocks: Vec::new(),
            kind: String::new(),
        }
    }

    /// Sets the version that wrote a line. A version that no revision knows changes no dialect.
    fn set_version(&mut self, line: &Line<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        let Some(version) = text(line.version()).filter(|version| version.raw() != self.version)
        else {
            return Ok(());
        };
        let decoded = version.decode_lossy();
        check.version(&decoded)?;
        version.raw().clone_into(&mut self.version);
        if let Some(revision) = MATRIX.resolve(Some(&decoded)).0 {
            self.dialect = dialect(Some(revision));
        }
        Ok(())
    }

    /// Compares a line with the member table. A type that the table does not have is unrecognized as a whole.
    fn members(&mut self, line: &Line<'_>, content: Field<'_>, check: &mut Check<'_>) {
        set_record_type(&mut self.kind, line);
        let tool = called_tool(&self.tools, content);
        let _ = check.named_members(&self.kind, line.object(), Pointer::Root, &|_| tool);
    }

    /// The result of a call that lacks arguments shows that they are those of an unknown form.
    #[cold]
    fn check_arguments(lacking: &Lacking, at: Pointer<'_>, check: &mut Check<'_>) {
        let mut index = StructuralIndex::default();
        if let Ok(arguments) = parse(&lacking.json, &mut index) {
            let _ = check.named_members(
                &format!("{ARGUMENTS}{}", lacking.tool),
                arguments,
                at,
                &|_| None,
            );
        }
    }
}

/// The tool whose result the blocks have, if it is one of the harness's own tools or of an MCP server. The result of another tool is
/// compared with those of all tools.
fn called_tool<'c>(tools: &'c KeyMap<Cow<'static, str>>, content: Field<'_>) -> Option<&'c str> {
    let result = content?
        .elements()
        .find_map(|block| text(block.member("tool_use_id")))?;
    tools.get(&hash64(result.raw())).map(|tool| &**tool)
}

/// The key of an id.
pub(super) fn key(id: Field<'_>) -> u64 {
    text(id)
        .filter(|id| !id.is_empty())
        .map_or(super::notes::NONE, |id| hash64(id.raw()))
}

/// True for a `tool_result`.
fn is_result(block: Value<'_>) -> bool {
    raw_str(block.member("type")) == "tool_result"
}
