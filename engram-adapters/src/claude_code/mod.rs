//! The claude-code adapter.

use std::path::Path;

use engram_core::adapter::{Context, Evidence, Framing, Identity, Opening, Session, StreamAdapter};
use engram_core::coverage::{Coverage, Grade};
use engram_core::descriptor::{AdapterDescriptor, UnknownVersionPolicy};
use engram_core::emit::{Emitter, Fault};
use engram_core::head::Head;
use engram_core::ledger::Outcome;
use engram_core::version::VersionMatrix;

use crate::Entry;
use crate::kit::tool_table::ToolTable;

/// The registry's row.
pub(crate) const ENTRY: Entry = Entry { adapter: &ClaudeCode, tools: &TOOLS, surroundings };

static TOOLS: ToolTable = ToolTable { names: &[], prefixes: &[] };

fn surroundings(_path: &Path, _head: &Head<'_>) -> Context {
    Context::default()
}

struct ClaudeCode;

const NOTHING: Coverage = Coverage {
    meta: Grade::None,
    msg_in: Grade::None,
    msg_out: Grade::None,
    tool_call: Grade::None,
    tool_result: Grade::None,
    code_read: Grade::None,
    code_edit: Grade::None,
    span_link: Grade::None,
};

static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "claude-code",
    adapter_version: "0.1.0",
    harness_family: "claude-code",
    matrix: VersionMatrix { revisions: &[], known_bad: &[] },
    schema_detection_strategy: "",
    coverage: NOTHING,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &[],
    gaps: &[],
    omission_rules: &[],
};

impl StreamAdapter for ClaudeCode {
    fn describe(&self) -> &'static AdapterDescriptor {
        &DESCRIPTOR
    }

    fn probe(&self, _head: &Head<'_>) -> Option<Evidence> {
        None.map(|marks| Evidence { marks, framing: Framing::Lines })
    }

    fn identify(&self, _head: &Head<'_>) -> Identity {
        Identity::default()
    }

    fn session(&self, _opening: &Opening<'_>) -> Box<dyn Session> {
        Box::new(Converter)
    }
}

struct Converter;

impl Session for Converter {
    fn record(&mut self, _text: &str, _out: &mut Emitter) -> Result<Outcome, Fault> {
        Err(Fault::unrecognized(""))
    }
}
