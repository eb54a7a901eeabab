//! Tool parts: the call, and how it ended.

use std::borrow::Cow;

use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Artifact, Attachment, Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;
use serde_json::value::RawValue;

use super::convert::Converter;
use super::messages::Turn;
use super::parts::notice;
use super::schema::{File, Metadata, Part, Time};
use super::tools::TOOLS;
use crate::kit::json::{self, Raw, boolean, filled_text, integer, text};
use crate::kit::media::data_url_token;

/// A call and its result, in the words of one form. 0.1.174 had others.
pub(super) struct Call<'a> {
    pub tool: Cow<'a, str>,
    pub name: Text<'a>,
    pub id: Option<Text<'a>>,
    pub input: Raw<'a>,
    pub end: End<'a>,
    pub metadata: Option<&'a Metadata<'a>>,
    pub time: Time,
    pub attachments: &'a [File<'a>],
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
        let call = if part.tool_invocation.is_some() { first_call(part, turn)? } else { state_call(part)? };
        turn.stamp(call.time.start, part.id, out);
        let event = ToolCall { tool: call.name, kind: TOOLS.kind(&call.tool), call_id: call.id, args: call.input.map(RawValue::get) };
        out.emit(event, place)?;
        if matches!(call.end, End::Open) {
            return match call.metadata.and_then(|metadata| filled_text(metadata.output)) {
                Some(so_far) => notice("tool.output_so_far", Some(so_far), place, out),
                None => Ok(Outcome::Mapped),
            };
        }
        turn.stamp(call.time.end.or(call.time.start), part.id, out);
        let mut result = outcome(&call);
        result.attachments = call.attachments.iter().map(attachment).collect();
        let succeeded = result.status == Some(Status::Ok);
        out.emit(result, place)?;
        if succeeded {
            self.read(&call, place, out)?;
            self.edits(&call, place, out)?;
        }
        Ok(Outcome::Mapped)
    }
}

/// The call of a part since 0.5.29.
fn state_call<'a>(part: &'a Part<'a>) -> Result<Call<'a>, Fault> {
    let missing = |field: &'static str| Fault::malformed(field, "a value", "nothing");
    let state = part.state.as_ref().ok_or_else(|| missing("/state"))?;
    let name = text(part.tool).ok_or_else(|| missing("/tool"))?;
    let end = match &*state.status {
        "pending" | "running" => End::Open,
        "completed" => End::Completed(text(state.output)),
        "error" => End::Failed(text(state.error)),
        other => return Err(Fault::unrecognized(&format!("tool/{other}"))),
    };
    // The arguments of a call that is still being written stand in `raw`.
    let input = state.input.filter(|input| input.get() != "{}").or(state.raw.filter(|raw| raw.get() != "\"\"")).or(state.input);
    Ok(Call {
        tool: name.decode_lossy(),
        name,
        id: filled_text(part.call_id),
        input,
        end,
        metadata: Some(&state.metadata),
        time: state.time,
        attachments: &state.attachments,
    })
}

/// The call of a part of 0.1.174, whose metadata stands in the message.
fn first_call<'a>(part: &'a Part<'a>, turn: &Turn<'a>) -> Result<Call<'a>, Fault> {
    let missing = |field: &'static str| Fault::malformed(field, "a value", "nothing");
    let invocation = part.tool_invocation.as_ref().ok_or_else(|| missing("/toolInvocation"))?;
    let name = text(invocation.tool_name).ok_or_else(|| missing("/toolInvocation/toolName"))?;
    let id = filled_text(invocation.tool_call_id);
    let metadata = id.zip(turn.first).and_then(|(id, first)| first.tool.get(&id.decode_lossy()));
    let result = text(invocation.result);
    let end = match (&*invocation.state, metadata) {
        ("call" | "partial-call", _) => End::Open,
        ("result", None) => End::Aborted(result),
        ("result", Some(metadata)) if boolean(metadata.error) == Some(true) => End::Failed(result),
        ("result", Some(_)) => End::Completed(result),
        (other, _) => return Err(Fault::unrecognized(&format!("tool-invocation/{other}"))),
    };
    let time = metadata.and_then(|metadata| metadata.time).and_then(|time| json::parse(time.get()).ok());
    Ok(Call {
        tool: name.decode_lossy(),
        name,
        id,
        input: invocation.args,
        end,
        metadata,
        time: time.unwrap_or_default(),
        attachments: &[],
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
    let mut result = ToolResult { tool: Some(call.name), call_id: call.id, duration_ms: duration(call.time), ..ToolResult::default() };
    let metadata = call.metadata;
    match call.end {
        End::Open => {}
        End::Aborted(said) => {
            result.status = Some(Status::Cancelled);
            result.stderr = said;
        }
        End::Failed(said) => {
            let begins = |words: &[&str]| said.is_some_and(|said| words.iter().any(|words| begins_with(said, words)));
            result.status = Some(match () {
                () if begins(&DENIALS) => Status::Denied,
                () if begins(&STOPS) => Status::Cancelled,
                () => Status::Error,
            });
            result.stderr = said;
            result.stdout = metadata.and_then(|metadata| filled_text(metadata.output));
        }
        // A call of a tool that does not exist, or with wrong arguments, becomes a call of this one, which always completes.
        End::Completed(said) if call.tool == "invalid" => {
            result.status = Some(Status::Error);
            result.stderr = said;
        }
        End::Completed(said) => {
            result.stdout = said;
            result.exit = metadata.and_then(|metadata| integer(metadata.exit));
            result.status = completed_status(call, said, result.exit);
            // The file lies elsewhere, and not at all beside an export: it is named, not read.
            result.artifact =
                metadata.and_then(|metadata| filled_text(metadata.output_path)).map(|path| Artifact { path, hash: None, bytes: None });
            result.truncated = metadata.is_some_and(|metadata| boolean(metadata.truncated) == Some(true)) && is_cut(call, said);
        }
    }
    result
}

/// A command tells its failure by its exit code, and by having none that it was stopped.
fn completed_status(call: &Call<'_>, said: Option<Text<'_>>, exit: Option<i64>) -> Option<Status> {
    let states_exit = call.metadata.is_some_and(|metadata| metadata.exit.is_some());
    match exit {
        Some(0) => Some(Status::Ok),
        Some(_) => Some(Status::Error),
        None if states_exit && said.is_some_and(|said| said.decode_lossy().contains(STOPPED_COMMAND)) => Some(Status::Cancelled),
        None if states_exit => Some(Status::Error),
        // A command that the user ran (`!`) does not say how it ended.
        None if call.tool == "bash" => None,
        None => Some(Status::Ok),
    }
}

/// `read` also says `truncated` when the call itself asked for some lines only.
fn is_cut(call: &Call<'_>, said: Option<Text<'_>>) -> bool {
    call.tool != "read"
        || said.is_some_and(|said| ["\n(Output capped at", "\n(Output truncated at"].iter().any(|cut| said.decode_lossy().contains(cut)))
}

fn begins_with(said: Text<'_>, words: &str) -> bool {
    match said {
        Text::Token(token) => token[1..].starts_with(words),
        Text::Plain(plain) => plain.starts_with(words),
    }
}

fn duration(time: Time) -> Option<u64> {
    time.end.zip(time.start).and_then(|(end, start)| u64::try_from(end.checked_sub(start)?).ok())
}

/// A file by its name, or by its URL where that leads elsewhere than to the content itself.
pub(super) fn attachment<'a>(file: &File<'a>) -> Attachment<'a> {
    let held = file.url.and_then(|url| data_url_token(url.get()));
    let content = held.as_ref().and_then(|held| held.hash).is_some();
    let name = held.as_ref().and_then(|held| held.name).filter(|_| !content);
    let none = Attachment { media_type: None, hash: None, bytes: None, name: None };
    let held = held.unwrap_or(none);
    Attachment { media_type: filled_text(file.mime).or(held.media_type), name: name.or(filled_text(file.filename)), ..held }
}
