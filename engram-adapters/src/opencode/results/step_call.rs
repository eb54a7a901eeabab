//! The calls of OpenCode 2, in the form of [`Call`]: the parts of an answer, and the lines of a stream.

use std::borrow::Cow;
use std::cell::OnceCell;

use engram_core::emit::Fault;
use engram_core::text::Text;

use super::call::{Call, CallEnd, required};
use crate::opencode::readers::{
    Metadata, State, StepContent, StepDetails, StepError, StepPart, StepState, StepTime,
    StreamDetails,
};
use crate::shared::value::{Field, Value, elements, integer, non_empty_text, raw_str, text};

/// Errors of calls that were not allowed, and of calls that were stopped.
const DENIED: &str = "permission.rejected";
const CANCELLED: [&str; 2] = ["aborted", "tool.interrupted"];

/// What a call returned, as one text.
#[derive(Default)]
pub struct StepOutput(Option<String>);

impl StepOutput {
    /// The output of a call. Empty for a call that returned one text: its record has that text, which is not copied.
    pub fn of(part: &StepPart<'_>) -> StepOutput {
        let state = StepState::lenient_opt(part.state());
        let details = StepDetails::lenient_opt(state.metadata().or(state.structured()));
        let exit = integer(Metadata::lenient_opt(state.metadata().or(state.structured())).exit());
        let texts: Vec<Cow<'_, str>> = texts(state.content())
            .map(|text| text.decode_lossy())
            .collect();
        let said: Vec<&str> = texts
            .iter()
            .map(|text| &**text)
            .filter(|text| !is_exit_notice(text, exit))
            .collect();
        match said[..] {
            [] => StepOutput(details.entries().map(listing)),
            [_] => StepOutput((texts.len() > 1).then(|| said.concat())),
            _ => StepOutput(Some(said.join("\n"))),
        }
    }
}

/// True for the line that a command's output ends with, when the result has the same number.
fn is_exit_notice(text: &str, exit: Option<i64>) -> bool {
    let Some(number) = text
        .strip_prefix("Command exited with code ")
        .or_else(|| text.strip_prefix("Exited with code "))
    else {
        return false;
    };
    exit.is_some() && number.trim_end_matches('.').parse().ok() == exit
}

/// The names in a directory, one per line.
fn listing(entries: Value<'_>) -> String {
    let names = entries
        .elements()
        .filter_map(|entry| text(entry.member("path")))
        .map(|name| name.decode_lossy());
    names.collect::<Vec<_>>().join("\n")
}

fn texts(content: Field<'_>) -> impl Iterator<Item = Text<'_>> {
    elements(content).filter_map(|item| non_empty_text(StepContent::lenient(item).text()))
}

impl<'a> Call<'a> {
    /// The call of a part of an answer.
    pub fn of_step(part: &StepPart<'a>, output: &'a StepOutput) -> Result<Call<'a>, Fault> {
        let state = part
            .state()
            .ok_or_else(|| Fault::malformed("/state", "the state of a call", "nothing"))?;
        let state = StepState::strict(state, "/state")?;
        let name = required(part.name(), "/name")?;
        let metadata_value = state.metadata().or(state.structured());
        let details = StepDetails::lenient_opt(metadata_value);
        let time = StepTime::lenient_opt(part.time());
        let returned = output
            .0
            .as_deref()
            .map(Text::Plain)
            .or_else(|| texts(state.content()).next());
        let end = match raw_str(state.status()) {
            "streaming" | "pending" | "running" => CallEnd::Open,
            // Betas have the text of a file only among the details.
            "completed" => CallEnd::Completed(returned.or(non_empty_text(details.content()))),
            "error" => failed(&state),
            "" => return Err(Fault::malformed("/state/status", "text", "nothing")),
            other => return Err(Fault::unrecognized(&format!("tool/{other}"))),
        };
        Ok(Call {
            tool: name.decode_lossy(),
            name,
            id: non_empty_text(part.id()),
            input: state.input(),
            end,
            metadata: Metadata::lenient_opt(metadata_value),
            metadata_value,
            started: integer(time.created()),
            ended: integer(time.completed()),
            attachments: None,
            contents: state.content(),
            is_exact: state.structured().is_some(),
            directory: None,
            partial_output: returned.or_else(|| error_for_model(&state)),
            output: OnceCell::new(),
        })
    }

    /// Completes the call of a stream line of 2.x, whose details are one level deeper, and whose part has the id of the call as its own.
    pub(super) fn complete_step_line(&mut self, id: Field<'a>, state: &State<'a>) {
        let line = StreamDetails::lenient_opt(state.metadata());
        if !line.is_of_step() {
            return;
        }
        self.id = self.id.or(non_empty_text(id));
        self.metadata_value = line.metadata().or(line.structured());
        self.metadata = Metadata::lenient_opt(self.metadata_value);
        self.contents = line.content();
        self.is_exact = line.structured().is_some();
        let details = StepDetails::lenient_opt(self.metadata_value);
        if let CallEnd::Completed(returned) = &mut self.end {
            *returned = returned
                .filter(|text| !text.is_empty())
                .or(non_empty_text(details.content()));
        }
    }
}

impl StreamDetails<'_> {
    fn is_of_step(&self) -> bool {
        self.provider_call().is_some()
    }
}

/// The error as the model got it, if it differs from the error itself (betas).
fn error_for_model<'a>(state: &StepState<'a>) -> Option<Text<'a>> {
    let message = StepError::lenient_opt(state.error())
        .message()
        .filter(|message| message.raw() != "\"\"")?;
    StepError::lenient_opt(state.result())
        .value()
        .filter(|value| value.raw() != message.raw())
        .and_then(Value::non_empty_text)
}

/// How a call failed, by the type of its error.
fn failed<'a>(state: &StepState<'a>) -> CallEnd<'a> {
    let error = StepError::lenient_opt(state.error());
    let message = non_empty_text(error.message()).or(non_empty_text(
        StepError::lenient_opt(state.result()).value(),
    ));
    match raw_str(error.kind()) {
        DENIED => CallEnd::Denied(message),
        kind if CANCELLED.contains(&kind) => CallEnd::Aborted(message),
        _ => CallEnd::Failed(message),
    }
}
