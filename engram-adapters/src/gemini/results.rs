//! What tools returned.

use std::borrow::Cow;

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Attachment, ImplicitInput, Meta, SideFile, Status, ToolResult};
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;
use memchr::memmem;

use super::converter::Converter;
use super::heard::text_key;
use super::parts::attachment;
use super::schema::{Call, FunctionResponse, Part, Response, parts};
use super::tools::TOOLS;
use crate::shared::value::{Field, Value, raw_str, text};

/// What stands for a call that the user did not allow.
const DENIED: &str = "User denied execution";
/// How a cancelled call answers.
const CANCELLED: &str = "\"[Operation Cancelled]";

/// How an output begins of which the harness has left the ends only, when it was long ago (2026).
pub(super) const MASKED: &str = "<tool_output_masked>";

/// The line that states how a command ended: always up to 0.30.1, from 0.31.0 on only where it is not 0.
const EXIT_CODE: &str = "Exit Code: ";

/// The texts of one result, still in the source's spelling.
#[derive(Default)]
struct Said<'a> {
    output: Texts<'a>,
    error: Texts<'a>,
    attachments: Vec<Attachment<'a>>,
}

/// Texts in their order. Nearly always there is one.
#[derive(Default)]
struct Texts<'a> {
    first: Field<'a>,
    others: Vec<Value<'a>>,
}

impl<'a> Texts<'a> {
    fn take(&mut self, text: Field<'a>) {
        match self.first {
            None => self.first = text,
            Some(_) => self.others.extend(text),
        }
    }

    fn iter(&self) -> impl Iterator<Item = Value<'a>> {
        self.first.into_iter().chain(self.others.iter().copied())
    }

    /// The texts as one, each on its own lines. Several are joined in `room`.
    fn joined<'t>(&self, room: &'t mut String) -> Option<Text<'t>>
    where
        'a: 't,
    {
        let only = text(self.first).filter(|_| self.others.is_empty());
        if only.is_none() && self.first.is_some() {
            *room = self.join();
            return Some(Text::Token(room));
        }
        only
    }

    #[cold]
    fn join(&self) -> String {
        let inner: Vec<Cow<'_, str>> = self.iter().map(unquoted).collect();
        format!("\"{}\"", inner.join("\\n"))
    }
}

/// A text as it is spelled between its quotes; another value as it would be in a text.
fn unquoted(value: Value<'_>) -> Cow<'_, str> {
    match value.text() {
        Some(_) => Cow::Borrowed(raw_str(Some(value))),
        None => serde_json::to_string(value.raw()).map(|quoted| quoted[1..quoted.len() - 1].to_owned()).unwrap_or_default().into(),
    }
}

impl<'a> Said<'a> {
    fn take_response(&mut self, response: &FunctionResponse<'a>) {
        let answer = Response::lenient_opt(response.response());
        self.output.take(answer.output());
        self.error.take(answer.error());
        if answer.output().is_none() && answer.error().is_none() {
            // A tool of the user's own may answer in another form.
            self.output.take(response.response().filter(|answer| !matches!(answer.raw(), "{}" | "\"\"")));
        }
        let files = response.parts().into_iter().flat_map(Value::elements).filter_map(|part| Part::lenient(part).inline_data());
        self.attachments.extend(files.map(attachment));
    }

    /// Takes what stands beside the response itself: texts that belong to it, and files.
    fn take_part(&mut self, part: &Part<'a>) {
        self.output.take(part.said());
        self.attachments.extend(part.inline_data().or(part.file_data()).map(attachment));
    }
}

/// How many parts stand before the response. What belongs to a result stands behind it.
fn words_before(result: Field<'_>) -> usize {
    parts(result).position(|part| part.response().is_some()).unwrap_or_default()
}

impl Converter {
    /// Converts the outcome of a call.
    #[inline(never)]
    pub fn result(&mut self, call: &Call<'_>, tool: Text<'_>, path: &str, n: usize, out: &mut Emitter) -> Result<(), Fault> {
        let mut said = Said::default();
        let before = words_before(call.result());
        for (part_n, part) in parts(call.result()).enumerate() {
            match part.response().map(FunctionResponse::lenient) {
                Some(response) => {
                    said.take_response(&response);
                    if let Some(call) = call.key() {
                        self.note_answer(call, &response);
                    }
                }
                None if part_n < before && part.said().is_some() => {
                    self.interjected(&part, &format!("{path}/{n}/result/{part_n}/text"), out)?;
                }
                None => said.take_part(&part),
            }
        }
        if said.output.first.is_none() && said.error.first.is_none() {
            // A call that never ran has no result, only what the terminal shows of it.
            let shown = call.display().filter(|shown| shown.text().is_some());
            if call.succeeded() { said.output.take(shown) } else { said.error.take(shown) }
        }
        let status = match raw_str(call.status()) {
            "success" => Some(Status::Ok),
            "error" => Some(Status::Error),
            "cancelled" if said.error.iter().any(|text| text.raw().contains(DENIED)) => Some(Status::Denied),
            "cancelled" => Some(Status::Cancelled),
            _ => None,
        };
        self.tool_result(tool, text(call.id()), status, said, call.display(), Pointer::Item(path, n), out)
    }

    /// What the model was told of a call, beside a result that the harness has cut since.
    #[cold]
    pub fn told(&mut self, response: &FunctionResponse<'_>, path: &str, out: &mut Emitter) -> Result<(), Fault> {
        let mut said = Said::default();
        said.take_response(response);
        for whole in said.output.iter().chain(said.error.iter()).filter_map(Value::text) {
            out.parent_of_next(text(response.id()).and_then(|id| out.seq_of_call(id)));
            let context = ImplicitInput { name: Text::Plain("tool_result"), file: None, hash: None, bytes: None, text: Some(whole) };
            self.emit(Meta::Context(context), Pointer::At(path), out)?;
        }
        Ok(())
    }

    /// What a person said while the tool ran: the harness puts it before the result.
    #[cold]
    fn interjected(&mut self, part: &Part<'_>, path: &str, out: &mut Emitter) -> Result<(), Fault> {
        let Some(words) = text(part.said()) else { return Ok(()) };
        self.user_text(words, false, None, Pointer::At(path), out)?;
        self.interjection = Some(text_key("user", words));
        Ok(())
    }

    /// Converts a result in the form in which the model gets it, with the files among the parts that belong to it.
    #[inline(never)]
    pub fn response(&mut self, response: Value<'_>, beside: Field<'_>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let response = FunctionResponse::lenient(response);
        let mut said = Said::default();
        said.take_response(&response);
        for part in parts(beside).filter(|part| part.inline_data().is_some() || part.file_data().is_some()) {
            said.take_part(&part);
        }
        let status = match said.error.first {
            None => Status::Ok,
            Some(error) if error.raw().contains(DENIED) => Status::Denied,
            Some(error) if error.raw().starts_with(CANCELLED) => Status::Cancelled,
            Some(_) => Status::Error,
        };
        let Some(tool) = text(response.name()) else { return Err(Fault::malformed("/content", "the name of a tool", "none")) };
        self.tool_result(tool, text(response.id()), Some(status), said, None, pointer, out)
    }

    #[expect(clippy::too_many_arguments, reason = "the facts of one event")]
    #[inline(never)]
    fn tool_result(
        &mut self,
        tool: Text<'_>,
        call_id: Option<Text<'_>>,
        status: Option<Status>,
        said: Said<'_>,
        display: Field<'_>,
        pointer: Pointer<'_>,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        let (mut output, mut error) = (String::new(), String::new());
        let (stdout, stderr) = (said.output.joined(&mut output), said.error.joined(&mut error));
        let shell = TOOLS.kind(&tool.decode_lossy()) == ToolKind::Execute;
        let exit = if shell { exit_code(stdout, display) } else { None };
        let path = stdout.and_then(saved_to);
        let artifact = path.as_deref().map(|path| {
            let (hash, bytes) = self.context.side_files.as_ref().and_then(|files| files.hash(path)).unzip();
            SideFile { path: Text::Plain(path), hash, bytes }
        });
        let result = ToolResult {
            tool: Some(tool),
            call_id,
            status,
            exit,
            stdout,
            stderr,
            truncated: path.is_some(),
            artifact,
            attachments: said.attachments,
            duration_ms: None,
        };
        self.emit(result, pointer, out)
    }
}

/// The exit code that the harness states after the output of a command.
///
/// What the command itself printed could look the same, so the code counts only where the command's own output, which the
/// terminal shows, holds no such line.
fn exit_code(output: Option<Text<'_>>, shown: Field<'_>) -> Option<i64> {
    shown.filter(|shown| memmem::find(shown.raw().as_bytes(), EXIT_CODE.as_bytes()).is_none())?;
    // At most four lines of the harness's own follow it.
    let mut last = output?.raw().trim_end_matches('"').rsplit("\\n").take(8);
    last.find_map(|line| line.strip_prefix(EXIT_CODE))?.parse().ok()
}

/// Where the harness put the whole output of which the result holds only a part.
fn saved_to(output: Text<'_>) -> Option<String> {
    let beginnings = ["Output too large.", "<untrusted_context>\\nOutput too large.", "Tool output was too large", MASKED];
    if !beginnings.iter().any(|beginning| output.starts_with(beginning)) {
        return None;
    }
    let output = output.decode_lossy();
    let after = ["For full output see: ", "The full output has been saved to: ", "Full output available at: "]
        .iter()
        .find_map(|mark| output.split_once(mark))?
        .1;
    after.lines().next().map(|path| path.trim_end().to_owned())
}
