//! Tool parts: the call, and how it ended.

use std::borrow::Cow;
use std::cell::OnceCell;

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Attachment, SideFile, Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::text::Text;
use memchr::memmem;

use super::converter::{Converter, notice};
use super::messages::Turn;
use super::schema::{File, Invocation, Metadata, Part, State, Time};
use super::tools::TOOLS;
use crate::shared::media::data_url;
use crate::shared::value::{Field, Value, integer, is_true, non_empty_text, raw_str, text};

/// A call and its result, in the words of one form. 0.1.174 had others.
pub(super) struct Call<'a> {
    pub tool: Cow<'a, str>,
    pub name: Text<'a>,
    pub id: Option<Text<'a>>,
    pub input: Field<'a>,
    pub end: End<'a>,
    pub metadata: Metadata<'a>,
    /// The metadata as it stands.
    stated: Field<'a>,
    started: Option<i64>,
    ended: Option<i64>,
    attachments: Field<'a>,
    /// The output, decoded where it is looked into.
    output: OnceCell<Cow<'a, str>>,
}

impl Call<'_> {
    /// What a completed call returned.
    pub fn output(&self) -> Option<&str> {
        let End::Completed(Some(said)) = self.end else { return None };
        Some(self.output.get_or_init(|| said.decode_lossy()))
    }
}

/// How far a call got.
#[derive(Clone, Copy)]
pub(super) enum End<'a> {
    /// It has no result: it was still running when the session stopped.
    Open,
    /// It completed; a command that failed did so too.
    Completed(Option<Text<'a>>),
    /// It failed.
    Failed(Option<Text<'a>>),
    /// 0.1.174: it was stopped before it ran.
    Aborted(Option<Text<'a>>),
}

impl Converter {
    /// Converts a tool part: the call, its result, and what it read or changed.
    pub fn call(&mut self, part: &Part<'_>, turn: &Turn<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        match part.invocation() {
            None => self.say_call(&state_call(part)?, part, turn, place, out),
            Some(invocation) => {
                self.say_call(&first_call(&Invocation::strict(invocation, "/toolInvocation")?, turn)?, part, turn, place, out)
            }
        }
    }

    fn say_call(
        &mut self,
        call: &Call<'_>,
        part: &Part<'_>,
        turn: &Turn<'_>,
        place: Pointer<'_>,
        out: &mut Emitter,
    ) -> Result<Outcome, Fault> {
        turn.set_header(call.started, part.id(), &mut self.clock, out);
        let event = ToolCall { tool: call.name, kind: TOOLS.kind(&call.tool), call_id: call.id, args: call.input.map(Value::raw) };
        out.emit(event, place)?;
        if matches!(call.end, End::Open) {
            return match non_empty_text(call.metadata.output()) {
                Some(so_far) => notice("tool.output_so_far", Some(so_far), place, out),
                None => Ok(Outcome::Mapped),
            };
        }
        turn.set_header(call.ended.or(call.started), part.id(), &mut self.clock, out);
        let mut result = outcome(call);
        result.attachments = call
            .attachments
            .into_iter()
            .flat_map(Value::elements)
            .map(File::lenient)
            .map(|file| attachment(file.mime(), file.url(), file.filename()))
            .collect();
        let succeeded = result.status == Some(Status::Ok);
        out.emit(result, place)?;
        if succeeded {
            self.read(call, place, out)?;
            self.edits(call, place, out)?;
        }
        Ok(Outcome::Mapped)
    }
}

/// A field that a call cannot do without.
fn needed<'a>(field: Field<'a>, pointer: &'static str) -> Result<Text<'a>, Fault> {
    text(field).ok_or_else(|| Fault::malformed(pointer, "text", "nothing"))
}

/// The call of a part since 0.5.29.
fn state_call<'a>(part: &Part<'a>) -> Result<Call<'a>, Fault> {
    let state = part.state().ok_or_else(|| Fault::malformed("/state", "the state of a call", "nothing"))?;
    let state = State::strict(state, "/state")?;
    let name = needed(part.tool(), "/tool")?;
    let end = match raw_str(state.status()) {
        "pending" | "running" => End::Open,
        "completed" => End::Completed(text(state.output())),
        "error" => End::Failed(text(state.error())),
        "" => return Err(Fault::malformed("/state/status", "text", "nothing")),
        other => return Err(Fault::unrecognized(&format!("tool/{other}"))),
    };
    let time = Time::lenient_opt(state.time());
    // The arguments of a call that is still being written stand in `raw`.
    let input = state.input().filter(|input| input.raw() != "{}").or(state.raw().filter(|raw| raw.raw() != "\"\"")).or(state.input());
    Ok(Call {
        tool: name.decode_lossy(),
        name,
        id: non_empty_text(part.call_id()),
        input,
        end,
        metadata: Metadata::lenient_opt(state.metadata()),
        stated: state.metadata(),
        started: integer(time.start()),
        ended: integer(time.end()),
        attachments: state.attachments(),
        output: OnceCell::new(),
    })
}

/// The call of a part of 0.1.174, whose metadata stands in the message.
#[cold]
fn first_call<'a>(invocation: &Invocation<'a>, turn: &Turn<'a>) -> Result<Call<'a>, Fault> {
    let name = needed(invocation.name(), "/toolInvocation/toolName")?;
    let metadata = turn.tool_metadata.and_then(|by_call| by_call.member(raw_str(invocation.call_id())));
    let of_tool = Metadata::lenient_opt(metadata);
    let result = text(invocation.result());
    let end = match raw_str(invocation.state()) {
        "call" | "partial-call" => End::Open,
        "result" if metadata.is_none() => End::Aborted(result),
        "result" if is_true(of_tool.error()) => End::Failed(result),
        "result" => End::Completed(result),
        "" => return Err(Fault::malformed("/toolInvocation/state", "text", "nothing")),
        other => return Err(Fault::unrecognized(&format!("tool-invocation/{other}"))),
    };
    let time = Time::lenient_opt(of_tool.time());
    Ok(Call {
        tool: name.decode_lossy(),
        name,
        id: non_empty_text(invocation.call_id()),
        input: invocation.args(),
        end,
        metadata: of_tool,
        stated: metadata,
        started: integer(time.start()),
        ended: integer(time.end()),
        attachments: None,
        output: OnceCell::new(),
    })
}

/// What the harness says when a call was not allowed (0.5.29 to 1.18.34).
const DENIALS: [&str; 2] = ["The user rejected permission", "The user has specified a rule which prevents"];

/// What it says when the user stopped one, or would not answer.
const STOPS: [&str; 2] = ["Tool execution aborted", "The user dismissed this question"];

/// How a stopped command's output ends.
const STOPPED_COMMAND: &str = "User aborted the command";

/// The result of a call that ended. Without artifact and attachments.
fn outcome<'a>(call: &Call<'a>) -> ToolResult<'a> {
    let mut result = ToolResult { tool: Some(call.name), call_id: call.id, duration_ms: duration(call), ..ToolResult::default() };
    let metadata = &call.metadata;
    match call.end {
        End::Open => {}
        End::Aborted(said) => {
            result.status = Some(Status::Cancelled);
            result.stderr = said;
        }
        End::Failed(said) => {
            let begins = |words: &[&str]| said.is_some_and(|said| words.iter().any(|words| said.starts_with(words)));
            result.status = Some(match () {
                () if begins(&DENIALS) => Status::Denied,
                () if begins(&STOPS) => Status::Cancelled,
                () => Status::Error,
            });
            result.stderr = said;
            result.stdout = non_empty_text(metadata.output());
        }
        // A call of a tool that does not exist, or with wrong arguments, becomes a call of this one, which always completes.
        End::Completed(said) if call.tool == "invalid" => {
            result.status = Some(Status::Error);
            result.stderr = said;
        }
        End::Completed(said) => {
            result.stdout = said;
            result.exit = integer(metadata.exit());
            result.status = completed_status(call, result.exit);
            // The file lies elsewhere, and not at all beside an export: it is named, not read.
            result.artifact = non_empty_text(metadata.output_path()).map(|path| SideFile { path, hash: None, bytes: None });
            result.truncated = is_true(metadata.truncated()) && is_cut(call);
        }
    }
    result
}

/// A command tells its failure by its exit code, and by having none that it was stopped.
fn completed_status(call: &Call<'_>, exit: Option<i64>) -> Option<Status> {
    // A command that was stopped has a code that is `null`. One that the user ran (`!`) has none, and does not say how it ended.
    let states_exit = || call.stated.is_some_and(|stated| stated.members().any(|(name, _)| name == "exit"));
    match exit {
        Some(0) => Some(Status::Ok),
        Some(_) => Some(Status::Error),
        None if call.tool != "bash" => Some(Status::Ok),
        None if !states_exit() => None,
        None if call.output().is_some_and(|said| memmem::find(said.as_bytes(), STOPPED_COMMAND.as_bytes()).is_some()) => {
            Some(Status::Cancelled)
        }
        None => Some(Status::Error),
    }
}

/// What `read` says where it left lines out that the call asked for.
const CUT_READS: [&str; 2] = ["\n(Output capped at", "\n(Output truncated at"];

/// `read` also says `truncated` when the call itself asked for some lines only.
fn is_cut(call: &Call<'_>) -> bool {
    call.tool != "read"
        || call.output().is_some_and(|said| CUT_READS.iter().any(|cut| memmem::find(said.as_bytes(), cut.as_bytes()).is_some()))
}

fn duration(call: &Call<'_>) -> Option<u64> {
    call.ended.zip(call.started).and_then(|(end, start)| u64::try_from(end.checked_sub(start)?).ok())
}

/// A file by its name, or by its URL where that leads elsewhere than to the content itself.
pub(super) fn attachment<'a>(mime: Field<'a>, url: Field<'a>, filename: Field<'a>) -> Attachment<'a> {
    let none = Attachment { media_type: None, hash: None, bytes: None, name: None };
    let held = url.and_then(data_url).unwrap_or(none);
    Attachment { media_type: non_empty_text(mime).or(held.media_type), name: held.name.or(non_empty_text(filename)), ..held }
}
