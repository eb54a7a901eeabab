//! What it means that a fixture shows a gap: one row a gap, told from truth and tape alone.

use std::collections::BTreeSet;

use engram_core::event::Kind;
use serde_json::Value;

use crate::tape::Event;
use crate::tree::{Artifact, Case};
use crate::truth::{named, sides};

/// A case with its truth and tapes.
pub struct Shown {
    case: Case,
    truth: Value,
    tapes: Vec<Vec<Event>>,
}

impl Shown {
    /// A case and the tapes of its sessions. What does not convert is another gate's finding.
    pub fn of(case: &Case, artifacts: &'static [Artifact]) -> Shown {
        let sides = sides(artifacts).unwrap_or_default();
        let (truth, _) = named(case.truth(), &sides);
        Shown { case: case.clone(), truth, tapes: sides.into_iter().map(|side| side.events).collect() }
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.case.name()
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.case.version
    }

    /// True for a case of the fixture tree.
    pub fn is_fixture(&self) -> bool {
        self.case.is_fixture()
    }

    /// Its tapes.
    pub fn tapes(&self) -> impl Iterator<Item = &Vec<Event>> {
        self.tapes.iter()
    }

    /// True for cases of that harness.
    fn is(&self, harness: &str) -> bool {
        self.case.harness == harness
    }

    fn events(&self, kind: Kind) -> impl Iterator<Item = &Event> {
        self.tapes.iter().flatten().filter(move |event| event.is(kind))
    }

    fn has(&self, kind: Kind, shows: impl Fn(&Event) -> bool) -> bool {
        self.events(kind).any(shows)
    }

    /// The calls of truth.
    fn calls(&self) -> impl Iterator<Item = &Value> {
        self.truth["calls"].as_array().into_iter().flatten()
    }

    /// The real edits of truth.
    fn edits(&self) -> impl Iterator<Item = RealEdit<'_>> {
        self.truth["edits"].as_array().into_iter().flatten().map(RealEdit)
    }

    /// The calls that a real edit may come from.
    fn calls_of(&self, edit: &RealEdit<'_>) -> Vec<&Value> {
        self.calls().filter(|call| edit.is_of(call["id"].as_str().unwrap_or_default())).collect()
    }

    /// True when an edit by one of these tools shows it, given the real edit.
    fn edits_by(&self, tools: &[&str], shows: impl Fn(&Event, &RealEdit<'_>) -> bool) -> bool {
        self.events(Kind::CodeEdit).any(|edit| {
            let id = edit.text("call_id").unwrap_or_default();
            let of_tool =
                self.has(Kind::ToolCall, |call| call.text("call_id") == Some(id) && tools.contains(&call.text("tool").unwrap_or_default()));
            let file = edit.text("file").unwrap_or_default();
            of_tool && self.edits().any(|real| real.is_of(id) && file.ends_with(real.file()) && shows(edit, &real))
        })
    }
}

/// A real edit of truth.
struct RealEdit<'a>(&'a Value);

impl RealEdit<'_> {
    fn file(&self) -> &str {
        self.0["file"].as_str().unwrap_or_default()
    }

    fn is_of(&self, call_id: &str) -> bool {
        self.0["call_ids"].as_array().into_iter().flatten().any(|id| id == call_id)
    }

    /// The file was text before.
    fn had_text(&self) -> bool {
        self.0["before"].is_string()
    }

    /// The file was text after.
    fn has_text(&self) -> bool {
        self.0["after"].is_string()
    }

    /// The file was not UTF-8, and the harness wrote U+FFFD in place of what it could not read.
    fn is_damaged(&self) -> bool {
        let written = self.0["after"].as_str().is_some_and(|after| after.contains('\u{fffd}'));
        written && !self.had_text() && self.0["before_sha256"].is_string()
    }

    /// The file was there before and after, and too big for truth to hold.
    fn is_untold(&self) -> bool {
        let untold = |text: &str, sha256: &str| self.0[text].is_null() && self.0[sha256].is_string();
        untold("before", "before_sha256") && untold("after", "after_sha256")
    }
}

/// No hash of the file, and none of the span before.
fn is_bare(edit: &Event) -> bool {
    lacks_before(edit) && edit.text("before_hash").is_none() && edit.text("file_after_hash").is_none()
}

fn lacks_before(edit: &Event) -> bool {
    edit.text("file_before_hash").is_none()
}

fn is_snippet(edit: &Event) -> bool {
    edit.text("basis") == Some("snippet")
}

/// One gap: its code, the kind that it is of, and how a case shows it.
struct Row {
    code: &'static str,
    kind: Kind,
    shows: fn(&Shown) -> bool,
}

const ROWS: &[Row] = &[
    Row { code: "edit.shell", kind: Kind::CodeEdit, shows: shell_edit_unseen },
    Row {
        code: "edit.shell_no_text",
        kind: Kind::CodeEdit,
        shows: |case| case.edits_by(SHELLS, |edit, _| is_bare(edit) && edit.range("after_range").is_some()),
    },
    Row {
        code: "edit.not_utf8",
        kind: Kind::CodeEdit,
        shows: |case| case.edits_by(EDITORS, |edit, real| is_bare(edit) && real.is_damaged()),
    },
    Row {
        code: "edit.big_file",
        kind: Kind::CodeEdit,
        shows: |case| case.edits_by(EDITORS, |edit, real| is_bare(edit) && real.is_untold()),
    },
    Row {
        code: "edit.write_no_before",
        kind: Kind::CodeEdit,
        shows: |case| case.edits_by(&["Write"], |edit, real| lacks_before(edit) && real.had_text()),
    },
    Row {
        code: "edit.notebook_no_text",
        kind: Kind::CodeEdit,
        shows: |case| case.edits_by(&["NotebookEdit"], |edit, real| lacks_before(edit) && real.had_text()),
    },
    Row {
        code: "edit.copied_snippet",
        kind: Kind::CodeEdit,
        shows: |case| case.edits_by(EDITORS, |edit, _| is_snippet(edit) && edit.is_replay()),
    },
    Row {
        code: "edit.agent_snippet",
        kind: Kind::CodeEdit,
        shows: |case| case.has(Kind::CodeEdit, |edit| is_snippet(edit) && edit.0.pointer("/source/agent_id").is_some()),
    },
    Row {
        code: "edit.snippet",
        kind: Kind::CodeEdit,
        shows: |case| case.edits_by(&["replace", "write_file"], |edit, _| is_snippet(edit) && edit.0.get("confirmed").is_none()),
    },
    Row {
        code: "edit.parallel_lost",
        kind: Kind::CodeEdit,
        shows: |case| case.is("gemini") && case.has(Kind::CodeEdit, |edit| edit.0.get("confirmed") == Some(&Value::Bool(false))),
    },
    Row {
        code: "prompt.delegated",
        kind: Kind::MsgIn,
        shows: |case| {
            let prompts: Vec<&str> = case.truth["prompts"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let is_delegated =
                |said: &Event| said.text("text").is_some_and(|text| text.starts_with("Your task is to ") && !prompts.contains(&text));
            case.has(Kind::MsgIn, |said| said.0.get("synthetic").is_none() && is_delegated(said))
        },
    },
    Row {
        code: "edit.formatter",
        kind: Kind::CodeEdit,
        shows: |case| case.edits_by(&["write"], |edit, real| is_snippet(edit) && edit.text("file_after_hash").is_none() && real.has_text()),
    },
    Row {
        code: "edit.no_file_hash",
        kind: Kind::CodeEdit,
        shows: |case| {
            case.is("opencode")
                && case.edits_by(OPENCODE_EDITORS, |edit, real| {
                    edit.range("after_range").is_some() && lacks_before(edit) && edit.text("file_after_hash").is_none() && real.has_text()
                })
        },
    },
    Row {
        code: "edit.altered_diff",
        kind: Kind::CodeEdit,
        shows: |case| {
            case.is("opencode")
                && case.edits_by(OPENCODE_EDITORS, |edit, real| {
                    is_bare(edit) && edit.text("after_hash").is_none() && edit.range("after_range").is_some() && real.has_text()
                })
        },
    },
    Row {
        code: "edit.after_error",
        kind: Kind::CodeEdit,
        shows: |case| {
            case.edits().any(|real| {
                let of_edit = |event: &Event| event.text("call_id").is_some_and(|id| real.is_of(id));
                let failed = |result: &Event| of_edit(result) && result.text("status") == Some("error");
                let by_editor =
                    case.calls_of(&real).into_iter().all(|call| OPENCODE_EDITORS.contains(&call["tool"].as_str().unwrap_or_default()));
                by_editor && case.has(Kind::ToolResult, failed) && !case.has(Kind::CodeEdit, of_edit)
            })
        },
    },
    Row {
        code: "stream.no_reasoning",
        kind: Kind::MsgOut,
        shows: |case| {
            let is_stream =
                |tape: &&Vec<Event>| tape.first().and_then(|start| start.0.pointer("/harness/schema")?.as_str()) == Some("run-stream");
            case.tapes().filter(is_stream).any(|tape| {
                let reasoned =
                    |event: &Event| event.0.pointer("/tokens/reasoning").and_then(Value::as_u64).is_some_and(|tokens| tokens > 0);
                tape.iter().any(reasoned) && !tape.iter().any(|event| event.text("channel") == Some("reasoning"))
            })
        },
    },
    Row { code: "edit.patch_text", kind: Kind::CodeEdit, shows: |case| case.edits_by(PATCHERS, |edit, _| is_snippet(edit)) },
    Row {
        code: "edit.add_over_file",
        kind: Kind::CodeEdit,
        shows: |case| case.edits_by(PATCHERS, |edit, real| edit.text("op") == Some("create") && real.had_text()),
    },
    Row {
        code: "read.no_total",
        kind: Kind::CodeRead,
        shows: |case| case.has(Kind::CodeRead, |read| read.range("range").is_some() && read.0.get("total_lines").is_none()),
    },
    Row { code: "read.no_lines", kind: Kind::CodeRead, shows: |case| case.has(Kind::CodeRead, |read| read.range("range").is_none()) },
    Row {
        code: "read.not_utf8",
        kind: Kind::CodeRead,
        shows: |case| case.has(Kind::CodeRead, |read| read.range("range").is_some() && read.text("hash").is_none()),
    },
    Row { code: "read.shell", kind: Kind::CodeRead, shows: shell_read_unseen },
    Row { code: "link.no_range", kind: Kind::SpanLink, shows: |case| case.has(Kind::SpanLink, |link| link.range("from_range").is_none()) },
    Row {
        code: "call.nested_parent",
        kind: Kind::ToolCall,
        shows: |case| {
            case.has(Kind::ToolCall, |call| {
                call.text("call_id").is_some_and(|id| id.starts_with("exec-")) && call.0.get("parent").is_none()
            })
        },
    },
    Row { code: "evidence.made_up", kind: Kind::Meta, shows: |case| case.is("cursor") },
    Row {
        code: "session.not_recorded",
        kind: Kind::Meta,
        shows: |case| {
            case.is("cursor") && !case.has(Kind::Meta, |meta| meta.text("label") == Some("session") && meta.text("model").is_some())
        },
    },
    Row {
        code: "usage.not_recorded",
        kind: Kind::Meta,
        shows: |case| case.is("cursor") && !case.has(Kind::Meta, |meta| meta.text("label") == Some("usage")),
    },
    Row {
        code: "message.placeholder",
        kind: Kind::MsgOut,
        shows: |case| case.is("cursor") && PLACEHOLDERS.iter().any(|mark| case.has(Kind::MsgOut, |out| says(out, mark))),
    },
    Row {
        code: "reasoning.unmarked",
        kind: Kind::MsgOut,
        shows: |case| case.is("cursor") && case.has(Kind::MsgOut, |out| says(out, "\n\n[REDACTED]")),
    },
    Row {
        code: "call.no_id",
        kind: Kind::ToolCall,
        shows: |case| case.is("cursor") && case.has(Kind::ToolCall, |call| call.text("call_id").is_none()),
    },
    Row {
        code: "call.args_as_text",
        kind: Kind::ToolCall,
        shows: |case| case.is("cursor") && case.has(Kind::ToolCall, |call| call.text("args").is_some()),
    },
    Row {
        code: "result.name_only",
        kind: Kind::ToolResult,
        shows: |case| {
            let is_bare = |result: &Event| ["status", "stdout", "stderr"].iter().all(|key| result.text(key).is_none());
            case.is("cursor") && case.has(Kind::ToolResult, is_bare)
        },
    },
    Row {
        code: "result.as_told",
        kind: Kind::ToolResult,
        shows: |case| {
            let is_told = |result: &Event| result.text("status").is_none() && result.text("stdout").is_some();
            case.is("cursor") && case.has(Kind::ToolResult, is_told)
        },
    },
    Row {
        code: "result.stub",
        kind: Kind::ToolResult,
        shows: |case| case.has(Kind::ToolResult, |result| result.text("stdout").is_some_and(|out| out.contains("totalLinesInFile"))),
    },
    Row {
        code: "edit.request_only",
        kind: Kind::CodeEdit,
        shows: |case| case.is("cursor") && case.has(Kind::CodeEdit, |edit| edit.0.get("confirmed").is_some()),
    },
    Row {
        code: "edit.no_range",
        kind: Kind::CodeEdit,
        shows: |case| {
            let is_loose = |edit: &Event| is_snippet(edit) && edit.text("call_id").is_none() && edit.0.get("confirmed").is_none();
            case.is("cursor") && case.has(Kind::CodeEdit, is_loose)
        },
    },
];

/// The codes of all rows.
pub fn known() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.code)
}

/// The kind that a gap is of.
pub fn kind(code: &str) -> Option<Kind> {
    ROWS.iter().find(|row| row.code == code).map(|row| row.kind)
}

/// The gaps that a case shows.
pub fn demonstrated(case: &Shown) -> BTreeSet<String> {
    ROWS.iter().filter(|row| (row.shows)(case)).map(|row| row.code.to_owned()).collect()
}

/// Tools that run commands, by their real names.
const SHELLS: &[&str] = &["Bash", "shell", "shell_command", "exec_command", "run_shell_command", "shellToolCall", "bash"];
/// What stands in place of content that was not kept.
const PLACEHOLDERS: &[&str] = &["[Image]", "[File: ", "[Oversize transcript blob omitted"];
/// Tools that edit files.
const EDITORS: &[&str] = &["Edit", "MultiEdit", "Write", "NotebookEdit", "replace", "write_file"];
/// Tools that edit files, by the names that OpenCode gives them.
const OPENCODE_EDITORS: &[&str] = &["edit", "write", "apply_patch", "patch"];
/// Tools that a patch may be given to.
const PATCHERS: &[&str] = &["apply_patch", "shell", "shell_command", "exec_command"];
/// Commands that show a file.
const SHOWING: &[&str] = &["cat ", "sed -n", "head ", "tail "];

fn says(event: &Event, text: &str) -> bool {
    event.text("text").is_some_and(|said| said.contains(text))
}

fn is_shell(call: &Value) -> bool {
    let is_patch = call["args"].to_string().contains("*** Begin Patch");
    SHELLS.contains(&call["tool"].as_str().unwrap_or_default()) && !is_patch
}

/// A file changed by a shell command alone, and no `code.edit` on it by such a call.
fn shell_edit_unseen(case: &Shown) -> bool {
    case.edits().any(|real| {
        let calls = case.calls_of(&real);
        let of_edit = |event: &Event| event.text("call_id").is_some_and(|id| real.is_of(id));
        let is_logged = case.has(Kind::ToolResult, of_edit);
        let is_seen = case.has(Kind::CodeEdit, |edit| of_edit(edit) && edit.text("file").is_some_and(|file| file.ends_with(real.file())));
        // Calls of agents that run side by side share a turn: the command has to name the file.
        let is_named = calls.iter().any(|call| call["args"].to_string().contains(real.file()));
        is_named && calls.into_iter().all(is_shell) && is_logged && !is_seen
    })
}

/// A shell command that showed a file, and no `code.read` by that call.
fn shell_read_unseen(case: &Shown) -> bool {
    case.calls().filter(|call| is_shell(call)).any(|call| {
        let args = call["args"].to_string();
        let of_call = |event: &Event| event.text("call_id") == call["id"].as_str();
        let is_ok = case.has(Kind::ToolResult, |result| of_call(result) && result.text("status") == Some("ok"));
        SHOWING.iter().any(|command| args.contains(command)) && is_ok && !case.has(Kind::CodeRead, of_call)
    })
}
