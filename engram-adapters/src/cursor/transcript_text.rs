//! The oldest transcript: text under `user:` and `assistant:` lines. Nothing in it is escaped, so it is read as modestly as it is written.

use engram_core::adapter::{Context, Session};
use engram_core::emit::{Emitter, Fault, Stamp};
use engram_core::event::{Meta, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;

use super::tools;
use super::transcript::{Parent, answer, empty, prompt, reasoning};
use super::transcript_json::Waiting;

/// What a line begins. Everything up to the next such line belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block<'t> {
    User,
    Assistant,
    Thinking,
    Call(&'t str),
    Result(&'t str),
    TurnEnded(&'t str),
}

impl<'t> Block<'t> {
    /// The block that a line begins, and what of the line is already its content. `after_blank`: the line before is empty.
    fn begin(line: &'t str, after_blank: bool, in_assistant: bool) -> Option<(Block<'t>, &'t str)> {
        match line {
            "user:" if after_blank => return Some((Block::User, "")),
            "assistant:" if after_blank => return Some((Block::Assistant, "")),
            "[Thinking]" if in_assistant => return Some((Block::Thinking, "")),
            _ => {}
        }
        if let Some(thought) = line.strip_prefix("[Thinking] ").filter(|_| in_assistant) {
            return Some((Block::Thinking, thought));
        }
        if let Some(tool) = line.strip_prefix("[Tool call] ").filter(|_| in_assistant) {
            return Some((Block::Call(tool), ""));
        }
        if let Some(tool) = line.strip_prefix("[Tool result] ").filter(|_| after_blank) {
            return Some((Block::Result(tool), ""));
        }
        line.strip_prefix("Turn ended: ").filter(|_| after_blank).map(|ended| (Block::TurnEnded(ended), ""))
    }
}

/// A block with its text, which runs from one byte of the document to another.
struct Record<'t> {
    block: Block<'t>,
    line: u64,
    text: &'t str,
}

/// The blocks of a document, in order.
fn records(text: &str) -> Vec<Record<'_>> {
    let mut records: Vec<Record<'_>> = Vec::new();
    let (mut at, mut number, mut after_blank) = (0, 0, true);
    let mut begun: Option<(Block<'_>, u64, usize)> = None;
    for line in text.split_inclusive('\n') {
        number += 1;
        let bare = line.strip_suffix('\n').unwrap_or(line);
        let in_assistant = begun.is_some_and(|(block, ..)| matches!(block, Block::Assistant | Block::Thinking | Block::Call(_)));
        if let Some((block, content)) = Block::begin(bare, after_blank, in_assistant) {
            if let Some((block, line, start)) = begun {
                records.push(Record { block, line, text: &text[start..at] });
            }
            let start = if block == Block::Thinking { at + bare.len() - content.len() } else { at + line.len() };
            begun = Some((block, number, start));
        }
        after_blank = bare.is_empty();
        at += line.len();
    }
    if let Some((block, line, start)) = begun {
        records.push(Record { block, line, text: &text[start..] });
    }
    records
}

/// Converts one document.
pub(super) struct Converter {
    parent: Parent,
    waiting: Waiting,
}

impl Converter {
    pub(super) fn new(context: &Context) -> Self {
        Converter { parent: Parent::new(context), waiting: Waiting::default() }
    }

    fn convert(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let text = without_separator(record.text);
        match record.block {
            Block::User => said(prompt(Some(Text::Plain(text)), None, Pointer::Root, out)?, "user"),
            Block::Assistant => said(answer(Some(Text::Plain(text)), None, Pointer::Root, out)?, "assistant"),
            Block::Thinking => self.thinking(record.text, out),
            Block::Call(tool) => {
                let mut args = String::new();
                engram_core::text::push_text(&mut args, Text::Plain(text));
                let kind = tools::TOOLS.kind(tool);
                let call = ToolCall { tool: Text::Plain(tool), kind, call_id: None, args: (!text.is_empty()).then_some(&args) };
                let seq = out.emit(call, Pointer::Root)?;
                self.waiting.call(tool, seq);
                Ok(Outcome::Mapped)
            }
            Block::Result(tool) => {
                out.parent_of_next(self.waiting.answer(tool));
                let stdout = Some(Text::Plain(text)).filter(|text| !text.is_empty());
                out.emit(ToolResult { tool: Some(Text::Plain(tool)), stdout, ..ToolResult::default() }, Pointer::Root)?;
                Ok(Outcome::Mapped)
            }
            Block::TurnEnded(ended) => turn_ended(ended, text, out),
        }
    }

    /// The first line is the thought, what follows is the answer; an empty first line stands for a thought that is redacted.
    fn thinking(&mut self, text: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let (thought, rest) = text.split_once('\n').unwrap_or((text, ""));
        let events = reasoning(Text::Plain(thought), Pointer::Root, out)?
            + answer(Some(Text::Plain(without_separator(rest))), None, Pointer::Root, out)?;
        said(events, "assistant")
    }
}

fn said(events: usize, role: &str) -> Result<Outcome, Fault> {
    Ok(if events == 0 { empty(role) } else { Outcome::Mapped })
}

/// The text without the line end that closes it and the empty line that separates it from the next block.
fn without_separator(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\n').unwrap_or(text)
}

/// `success.`, `aborted.`, `aborted: <text>.` or `error: <text>`.
fn turn_ended(ended: &str, rest: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
    if ended == "success." && rest.is_empty() {
        return Ok(Outcome::Bookkeeping { record: "turn_ended", rule: "turn_end" });
    }
    let joined = if rest.is_empty() { ended.to_owned() } else { format!("{ended}\n{rest}") };
    let (status, text) = joined.split_once(": ").unwrap_or((&joined, ""));
    let text = Some(Text::Plain(text)).filter(|text| !text.is_empty());
    match status.trim_end_matches('.') {
        "aborted" => out.emit(Meta::Interrupt { text }, Pointer::Root)?,
        status => out.emit(Meta::Error { code: Some(Text::Plain(status)), text }, Pointer::Root)?,
    };
    Ok(Outcome::Mapped)
}

impl Session for Converter {
    fn record(&mut self, _text: &str, _out: &mut Emitter) -> Result<Outcome, Fault> {
        Err(Fault::malformed("", "a document", "a line"))
    }

    fn document(&mut self, text: &str, out: &mut Emitter) -> Result<(), Fault> {
        out.begin();
        self.parent.state(out)?;
        for record in records(text) {
            out.begin();
            out.restamp(record.line, Stamp::default());
            match self.convert(&record, out) {
                Ok(outcome) => out.settle(outcome),
                Err(fault) => out.settle_fault(fault, record.text)?,
            }
        }
        Ok(())
    }
}
