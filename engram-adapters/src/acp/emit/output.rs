//! What a call returned: the text that the model was given, as far as the agent says it.

use std::borrow::Cow;

use engram_core::event::Attachment;

use crate::acp::message::at;
use crate::acp::notes::response_of;
use crate::acp::readers::{Block, Call};
use crate::shared::media::base64_hash;
use crate::shared::value::{Value, integer, owned, raw_str, text};

/// The output of a call.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Output<'a> {
    pub stdout: Option<Cow<'a, str>>,
    pub stderr: Option<Cow<'a, str>>,
}

/// The texts that a client shows of a call.
fn shown<'a>(call: &Call<'a>) -> Option<Cow<'a, str>> {
    let items = call.content().into_iter().flat_map(Value::elements);
    let mut texts = items
        .filter(|item| raw_str(item.member("type")) == "content")
        .filter_map(|item| text(at(item, "content/text")))
        .map(|text| text.decode_lossy());
    let first = texts.next()?;
    let all = texts.fold(first, |all, next| format!("{all}\n{next}").into());
    Some(all).filter(|text| !text.is_empty())
}

/// The output. What a command printed, and what an agent gives the model, is in `rawOutput` (Kilo, OpenCode and Qwen Code: `output`; Vibe: `stdout`, `stderr`, `content`; Copilot CLI:
/// `content`, `message`), or it is what the client shows (Kimi Code, other tools of Qwen Code).
pub fn output<'a>(call: &Call<'a>, ran: bool) -> Output<'a> {
    let raw = call.output();
    let of = |path: &str| {
        let found = raw.and_then(|raw| text(at(raw, path)));
        found
            .map(|text| text.decode_lossy())
            .filter(|text| !text.is_empty())
    };
    let (stdout, stderr) = (of("stdout"), of("stderr"));
    if stdout.is_some() || stderr.is_some() {
        return Output { stdout, stderr };
    }
    // A command of Qwen Code: why it ended is beside its output.
    if raw_str(raw.and_then(|raw| raw.member("type"))) == "shell_result" {
        return Output {
            stdout: of("output"),
            stderr: of("error"),
        };
    }
    // claude-agent-acp shows it between lines of Markdown.
    let is_plain = call
        .meta()
        .is_some_and(|meta| meta.member("claudeCode").is_some());
    let plain = || raw.and_then(Value::text).map(|text| text.decode_lossy());
    // What Vibe wrote to a file is no output of the call; what it read is.
    let is_read = raw_str(call.kind()) == "read";
    let said = plain()
        .filter(|_| is_plain)
        .or_else(|| of("output"))
        .or_else(|| of("content").filter(|_| is_read))
        .or_else(|| shown(call))
        .or_else(|| of("content"))
        .or_else(|| {
            of("error")
                .or_else(|| of("error/message"))
                .or_else(|| of("message"))
        })
        .or_else(plain)
        .filter(|text| !text.is_empty());
    match ran {
        true => Output {
            stdout: said,
            stderr: None,
        },
        false => Output {
            stdout: None,
            stderr: said,
        },
    }
}

/// What a command printed, as its tool returned it to the program (claude-agent-acp): the model may get other words, such as that there is no output.
pub fn of_program(call: &Call<'_>) -> Option<Output<'static>> {
    let of = |name| owned(response_of(call)?.member(name));
    let text = |text: String| (!text.is_empty()).then_some(Cow::Owned(text));
    Some(Output {
        stdout: of("stdout").map(text)?,
        stderr: of("stderr").and_then(text),
    })
}

/// The exit code, where the agent adds it: Qwen Code, Kilo and OpenCode, Copilot CLI. A command that a signal ended has none (Qwen Code says 0).
pub fn exit(call: &Call<'_>) -> Option<i64> {
    let raw = call.output().filter(|raw| raw.member("signal").is_none())?;
    let of_contents = || {
        let mut contents = raw.member("contents")?.elements();
        contents.find_map(|item| integer(item.member("exitCode")))
    };
    integer(raw.member("exitCode"))
        .or_else(|| integer(at(raw, "metadata/exit")))
        .or_else(of_contents)
}

/// The images that a call returned.
pub fn images<'a>(call: &Call<'a>) -> Vec<Attachment<'a>> {
    let items = call.content().into_iter().flat_map(Value::elements);
    let image = |item: Value<'a>| {
        let block = Block::lenient_opt(item.member("content"));
        let data = text(block.data()).filter(|_| raw_str(block.kind()) == "image")?;
        let (hash, bytes) = base64_hash(data).unzip();
        Some(Attachment {
            media_type: text(block.media_type()),
            hash,
            bytes,
            name: text(block.uri()),
        })
    };
    items.filter_map(image).collect()
}
