//! The events of what a run prints: step 3. Its lines have no times, of a response only some tokens, and of a result what the terminal shows.

use std::collections::HashSet;

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{
    Author, Channel, Meta, MsgIn, MsgOut, SessionFacts, Status, Tokens, ToolResult, Usage,
};
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Record};

use super::reads::is_shown;
use super::responses::emit_call;
use super::results::{SHELL, exit_in, file_events};
use super::state::Returned;
use crate::qwen::format::{PrintedKind, rule};
use crate::qwen::printed::{CONTENT, Notes, Own, Plan, blocks, key_in};
use crate::qwen::readers::{Block, Display, FileArgs, Printed, PrintedCounts, Said};
use crate::shared::pending_calls::{CallPlace, PendingCalls};
use crate::shared::printed_parts::emit_left;
use crate::shared::stated::{Stated, emit_facts};
use crate::shared::value::{Value, count, is_true, non_empty_text, owned, raw_str, text};

/// What the handlers of one session keep.
#[derive(Debug, Default)]
pub struct Run {
    /// Calls without a result.
    calls: PendingCalls<CallPlace>,
    /// Facts about the session, as its lines said them last.
    stated: Stated,
    /// The keys of the calls of sub-agents whose start was said.
    agents: HashSet<u64>,
}

/// Session, sub-agent and id of a line. The first line of a run has the id of the session.
pub fn set_header(line: &Printed<'_>, out: &mut Emitter<'_>) {
    let id = text(line.uuid()).filter(|id| id.raw() != raw_str(line.session_id()));
    out.set_header(RecordHeader::new(None, id));
    if let Some(session) = owned(line.session_id()) {
        out.set_source(Some(&session), owned(line.parent_call()).as_deref());
    }
}

impl Run {
    /// The events of a line.
    pub fn line(
        &mut self,
        notes: &Notes,
        kind: PrintedKind,
        record: &Record<'_>,
        out: &mut Emitter<'_>,
    ) -> Outcome {
        let (line, plan) = (Printed::lenient(record.value), &notes.plan);
        self.agent(record, &line, out);
        match kind {
            PrintedKind::SystemInit => self.init(&line, out),
            PrintedKind::Assistant => self.answer(plan, record, &line, out),
            PrintedKind::User => self.told(plan, record, &line, out),
            PrintedKind::Result => return end(plan, record, &line, out),
            PrintedKind::StreamEvent => match notes.parts.left(record.number) {
                Some(left) => emit_left(record, left, out),
                // The first line of a sub-agent says who started it.
                None if out.has_events() => {}
                None => return Outcome::duplicate(kind.name(), rule::PRINTED_PIECE),
            },
            PrintedKind::SystemContinueTurnFailed
            | PrintedKind::SystemModelFallback
            | PrintedKind::SystemRetry
            | PrintedKind::SystemSessionRecordingDegraded
            | PrintedKind::SystemTaskNotification
            | PrintedKind::SystemTaskStarted
            | PrintedKind::SystemVisionBridge
            | PrintedKind::SystemVisionBridgeFailed
            | PrintedKind::SystemVisionRouting
            | PrintedKind::SystemWorktreeRestored
            | PrintedKind::SystemWorktreeStarted => {
                let name = text(record.value.member("subtype")).unwrap_or_default();
                let notice = Meta::system(name, line.data().map(Value::json));
                out.emit(notice, Pointer::At("/data"));
            }
        }
        Outcome::Mapped
    }

    /// A run begins. The next one of its session says the same facts.
    fn init(&mut self, line: &Printed<'_>, out: &mut Emitter<'_>) {
        if let Some(version) = text(line.version()) {
            out.version(&version.decode_lossy());
        }
        let facts = SessionFacts {
            cwd: self.stated.changed("cwd", line.cwd()),
            model: self.stated.changed("model", line.model()),
            permission_mode: self.stated.changed("mode", line.permission_mode()),
            ..SessionFacts::default()
        };
        emit_facts(facts, Pointer::Root, out);
        if !out.has_events() {
            out.emit(Meta::system("init", None), Pointer::Root);
        }
    }

    /// Who started the sub-agent whose first line this is. Its lines name only the call.
    fn agent(&mut self, record: &Record<'_>, line: &Printed<'_>, out: &mut Emitter<'_>) {
        let Some(call_id) = text(line.parent_call()) else {
            return;
        };
        if !self.agents.insert(hash64(call_id.raw())) {
            return;
        }
        let place = self.calls.get(call_id.raw()).copied();
        let mut call = place.and_then(|place| record.others.get(place.record));
        let call = call.as_mut().and_then(|call| call.value());
        let input = call
            .zip(place)
            .and_then(|(call, place)| called(call, place)?.input());
        let facts = SessionFacts {
            agent: input.and_then(|input| non_empty_text(input.member("subagent_type"))),
            parent_session_id: text(line.session_id()),
            parent_call_id: Some(call_id),
            ..SessionFacts::default()
        };
        let parent = out.seq_of_call(call_id);
        out.emit_child(parent, Meta::Session(facts), "/parent_tool_use_id");
    }

    /// Parts of an answer, with the tokens if they are its last ones.
    fn answer(
        &mut self,
        plan: &Plan,
        record: &Record<'_>,
        line: &Printed<'_>,
        out: &mut Emitter<'_>,
    ) {
        let said = Said::lenient_opt(line.message());
        for (n, block) in blocks(line).enumerate() {
            let pointer = Pointer::Item(CONTENT, n);
            let words = |text, channel| MsgOut {
                text,
                channel,
                model: non_empty_text(said.model()),
                ..MsgOut::default()
            };
            match (raw_str(block.kind()), plan.own.get(&record.number)) {
                ("text", Some(Own::Error)) => {
                    out.emit(Meta::error(None, text(block.text())), pointer);
                }
                ("text", Some(Own::Notice)) => {
                    out.emit(Meta::system("notice", text(block.text())), pointer);
                }
                ("text", None) => {
                    out.emit(words(text(block.text()), None), pointer);
                }
                ("thinking", _) => {
                    let channel = Some(Channel::Reasoning);
                    out.emit(words(text(block.thinking()), channel), pointer);
                }
                ("tool_use", _) => {
                    let place = CallPlace {
                        record: record.number,
                        part: n,
                    };
                    let asked = (block.id(), block.name(), block.input());
                    emit_call(&mut self.calls, asked, None, (place, pointer), out);
                }
                (other, _) => out.unrecognized_block(other, block.object().raw(), pointer),
            }
        }
        if let Some(usage) = usage(&said) {
            out.emit(Meta::Usage(usage), "/message/usage");
        }
    }

    /// A line of the user: results of calls, the task of a sub-agent, or words of the harness. A person's prompts are not printed.
    fn told(
        &mut self,
        plan: &Plan,
        record: &Record<'_>,
        line: &Printed<'_>,
        out: &mut Emitter<'_>,
    ) {
        let by = match text(line.parent_call()) {
            Some(_) => Author::Agent,
            None => Author::Harness,
        };
        for (n, block) in blocks(line).enumerate() {
            let pointer = Pointer::Item(CONTENT, n);
            match raw_str(block.kind()) {
                "text" => drop(out.emit(MsgIn::user(by, text(block.text())), pointer)),
                "tool_result" => {
                    let is_denied = plan
                        .denied
                        .contains(&key_in(line.session_id(), raw_str(block.call_id())));
                    self.result(record, (&block, is_denied), pointer, out);
                }
                other => out.unrecognized_block(other, block.object().raw(), pointer),
            }
        }
    }

    fn result(
        &mut self,
        record: &Record<'_>,
        (block, is_denied): (&Block<'_>, bool),
        pointer: Pointer<'_>,
        out: &mut Emitter<'_>,
    ) {
        let place = self.calls.close(raw_str(block.call_id()));
        let mut line = place.and_then(|place| record.others.get(place.record));
        let line = line.as_mut().and_then(|line| line.value());
        let call = line
            .zip(place)
            .and_then(|(line, place)| called(line, place));
        let call = call.unwrap_or_default();
        let shown = text(block.content());
        let words = shown.map(|shown| shown.decode_lossy()).unwrap_or_default();
        let status = match is_true(block.is_error()) {
            false => Status::Ok,
            true if is_denied => Status::Denied,
            true => Status::Error,
        };
        let exit = exit_in(&words).filter(|_| is_framed(&call, &words));
        let (stdout, stderr) = match status {
            Status::Ok => (shown, None),
            _ if exit.is_some() => (shown, None),
            _ => (None, shown),
        };
        let event = ToolResult {
            tool: text(call.name()),
            call_id: text(block.call_id()),
            status: Some(status),
            exit,
            stdout,
            stderr,
            ..ToolResult::default()
        };
        out.emit(event, pointer);
        if status == Status::Ok
            && let Some(args) = call.input()
        {
            let returned = Returned {
                tool: call.name(),
                call_id: text(block.call_id()),
                output: shown,
                display: Display::lenient_opt(None),
                shown: shown.filter(|_| is_shown(&words)),
            };
            file_events(&returned, &FileArgs::lenient(args), out);
        }
    }
}

/// The call at this place of its line.
fn called(line: Value<'_>, place: CallPlace) -> Option<Block<'_>> {
    let line = Printed::lenient(line);
    blocks(&line).nth(place.part)
}

/// True for a command of which the text for the model is printed: it begins with the command. Of others only what they printed is.
fn is_framed(call: &Block<'_>, words: &str) -> bool {
    let command = call
        .input()
        .and_then(|input| owned(input.member("command")));
    raw_str(call.name()) == SHELL
        && command
            .is_some_and(|command| words.starts_with(&format!("Command: {command}\nDirectory: ")))
}

/// How a run ends.
const ENDS: [&str; 2] = ["result/success", "result/error_during_execution"];

/// A run ends. Mostly it says what is on the tape.
fn end(plan: &Plan, record: &Record<'_>, line: &Printed<'_>, out: &mut Emitter<'_>) -> Outcome {
    let error = line.error().and_then(|error| error.member("message"));
    let said = non_empty_text(line.answer()).filter(|_| !is_true(line.is_error()));
    match (plan.again.contains_key(&record.number), text(error), said) {
        (false, Some(error), _) => {
            out.emit(Meta::error(None, Some(error)), "/error/message");
        }
        (false, None, Some(said)) => {
            out.emit(Meta::system("result", Some(said)), "/result");
        }
        _ => {
            let subtype = record.value.member("subtype");
            let of = |name: &&&str| name.strip_prefix("result/") == Some(raw_str(subtype));
            if let Some(name) = ENDS.iter().find(of) {
                return Outcome::duplicate(name, rule::PRINTED_RESULT);
            }
            out.emit(Meta::system("result", text(subtype)), "/subtype");
        }
    }
    Outcome::Mapped
}

/// The tokens of a response, which its last line has; none of them are in the others. Reasoning is a part of the output if the total says so. The prompt is counted with the tokens from
/// the cache, with Anthropic's interface also with those to it, and no line names the interface.
fn usage<'a>(said: &Said<'a>) -> Option<Usage<'a>> {
    let counts = PrintedCounts::lenient_opt(said.usage());
    let [prompt, output, total] = [counts.prompt(), counts.output(), counts.total()].map(count);
    let is_counted = [prompt, output]
        .iter()
        .any(|count| count.is_some_and(|count| count > 0));
    let rest = total
        .zip(prompt)
        .and_then(|(total, prompt)| total.checked_sub(prompt));
    is_counted.then(|| Usage {
        model: non_empty_text(said.model()),
        tokens: Tokens {
            cache_read: count(counts.cached()),
            output: output.filter(|output| rest == Some(*output)),
            ..Tokens::default()
        },
        ..Usage::default()
    })
}
