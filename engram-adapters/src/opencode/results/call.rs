//! A tool call and how it ended, in one form for all versions.

use std::borrow::Cow;
use std::cell::OnceCell;

use engram_core::emit::Fault;
use engram_core::text::{MAX_DECODED_BYTES, Text};

use crate::opencode::readers::{Invocation, Metadata, Part, State, Time};
use crate::shared::value::{Field, integer, is_true, non_empty_text, raw_str, text};

/// A call and its end.
pub struct Call<'a> {
    /// The tool's name, decoded.
    pub tool: Cow<'a, str>,
    /// The tool's name, as the source spells it.
    pub name: Text<'a>,
    pub id: Option<Text<'a>>,
    pub input: Field<'a>,
    pub end: CallEnd<'a>,
    pub metadata: Metadata<'a>,
    /// The metadata object itself.
    pub metadata_value: Field<'a>,
    /// When the call began, in milliseconds since the epoch.
    pub started: Option<i64>,
    /// When the call ended, in milliseconds since the epoch.
    pub ended: Option<i64>,
    pub attachments: Field<'a>,
    /// 2.x: the pieces that the call returned, files among them.
    pub contents: Field<'a>,
    /// 2.x: its diffs are known to be complete.
    pub is_exact: bool,
    /// The directory that the call ran in, where the log says it.
    pub directory: Option<&'a str>,
    /// What a call without a result has returned so far.
    pub partial_output: Option<Text<'a>>,
    /// The output. Decoded on first use: few tools need it.
    pub(super) output: OnceCell<Cow<'a, str>>,
}

/// How far a call got.
#[derive(Clone, Copy)]
pub enum CallEnd<'a> {
    /// It has no result: it was still running when the session stopped.
    Open,
    /// It completed. A command that failed completes too.
    Completed(Option<Text<'a>>),
    /// It failed.
    Failed(Option<Text<'a>>),
    /// It was stopped.
    Aborted(Option<Text<'a>>),
    /// 2.x: it was not allowed.
    Denied(Option<Text<'a>>),
}

impl<'a> Call<'a> {
    /// What a completed call returned.
    pub fn output(&self) -> Option<&str> {
        let CallEnd::Completed(Some(output)) = self.end else {
            return None;
        };
        let is_short = || {
            output.raw().len() <= MAX_DECODED_BYTES
                || matches!(output.decode(), Ok(Cow::Borrowed(_)))
        };
        is_short().then(|| &**self.output.get_or_init(|| output.decode_lossy()))
    }

    /// The call of a part of 0.5.29 or later.
    pub fn of_state(part: &Part<'a>) -> Result<Call<'a>, Fault> {
        let state = part
            .state()
            .ok_or_else(|| Fault::malformed("/state", "the state of a call", "nothing"))?;
        let state = State::strict(state, "/state")?;
        let name = required(part.tool(), "/tool")?;
        let end = match raw_str(state.status()) {
            "pending" | "running" => CallEnd::Open,
            "completed" => CallEnd::Completed(text(state.output())),
            "error" => CallEnd::Failed(text(state.error())),
            "" => return Err(Fault::malformed("/state/status", "text", "nothing")),
            other => return Err(Fault::unrecognized(&format!("tool/{other}"))),
        };
        let time = Time::lenient_opt(state.time());
        // While the model still writes the arguments, they are in `raw` and `input` is empty.
        let input = state
            .input()
            .filter(|input| !input.is_empty_object())
            .or(state.raw().filter(|raw| raw.raw() != "\"\""))
            .or(state.input());
        let metadata = Metadata::lenient_opt(state.metadata());
        let mut call = Call {
            tool: name.decode_lossy(),
            name,
            id: non_empty_text(part.call_id()),
            input,
            end,
            metadata,
            metadata_value: state.metadata(),
            started: integer(time.start()),
            ended: integer(time.end()),
            attachments: state.attachments(),
            contents: None,
            is_exact: false,
            directory: None,
            partial_output: non_empty_text(metadata.output()),
            output: OnceCell::new(),
        };
        call.complete_step_line(part.id(), &state);
        Ok(call)
    }

    /// The call of a part of 0.1.174. `tool_metadata` is the message's metadata of all its calls, by call id.
    #[cold]
    pub fn of_invocation(
        invocation: &Invocation<'a>,
        tool_metadata: Field<'a>,
    ) -> Result<Call<'a>, Fault> {
        let name = required(invocation.name(), "/toolInvocation/toolName")?;
        let metadata_value =
            tool_metadata.and_then(|by_call| by_call.member(raw_str(invocation.call_id())));
        let metadata = Metadata::lenient_opt(metadata_value);
        let result = text(invocation.result());
        let end = match raw_str(invocation.state()) {
            "call" | "partial-call" => CallEnd::Open,
            "result" if metadata_value.is_none() => CallEnd::Aborted(result),
            "result" if is_true(metadata.error()) => CallEnd::Failed(result),
            "result" => CallEnd::Completed(result),
            "" => return Err(Fault::malformed("/toolInvocation/state", "text", "nothing")),
            other => return Err(Fault::unrecognized(&format!("tool-invocation/{other}"))),
        };
        let time = Time::lenient_opt(metadata.time());
        Ok(Call {
            tool: name.decode_lossy(),
            name,
            id: non_empty_text(invocation.call_id()),
            input: invocation.args(),
            end,
            metadata,
            metadata_value,
            started: integer(time.start()),
            ended: integer(time.end()),
            attachments: None,
            contents: None,
            is_exact: false,
            directory: None,
            partial_output: None,
            output: OnceCell::new(),
        })
    }
}

/// A field without which there is no call.
pub(super) fn required<'a>(field: Field<'a>, pointer: &'static str) -> Result<Text<'a>, Fault> {
    text(field).ok_or_else(|| Fault::malformed(pointer, "text", "nothing"))
}
