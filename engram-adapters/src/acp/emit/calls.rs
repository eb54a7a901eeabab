//! Calls, the questions about them, and their results.

use engram_core::emit::Pointer;
use engram_core::event::{Decision, ImplicitInput, Meta, Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;

use super::files::file_events;
use super::output::{exit, images, of_program, output};
use super::state::{COPILOT, Connection, State};
use crate::acp::call_line::{call_of, read};
use crate::acp::descriptor::TOOLS;
use crate::acp::message::{at, key};
use crate::acp::notes::{name_of, response_of};
use crate::acp::plan::CallPlan;
use crate::acp::readers::Call;
use crate::shared::notices;
use crate::shared::shown::{returned, sections};
use crate::shared::tool_table::mcp_server;
use crate::shared::value::{Field, Value, elements, has_members, owned, raw_str, text};

/// The kind of a call: by its name, else by the word of the protocol for what it does.
fn kind_of(tool: &str, word: &str) -> ToolKind {
    let kind = TOOLS.resolve(tool).or_else(|| TOOLS.resolve(word));
    kind.unwrap_or(ToolKind::Other)
}

/// A line about a call: the call where its arguments are, the result where it ends.
pub fn update(
    (connection, state): (&Connection, &mut State),
    record: &Record<'_>,
    plan: &CallPlan,
    out: &mut Emitter<'_>,
) -> Outcome {
    let update = call_of(record.value);
    if record.number == plan.args {
        let pointer = Pointer::At("/m/params/update");
        call(state, tool_of(record, plan), (&update, pointer), out);
    }
    if Some(record.number) == plan.end {
        result((connection, state), record, (plan, &update), out);
    }
    match (
        out.has_events(),
        at(record.value, "m/params/update/sessionUpdate"),
    ) {
        (false, Some(name)) if name.raw_str() == "tool_call" => {
            Outcome::bookkeeping("session/update/tool_call", "call.progress")
        }
        (false, _) => Outcome::bookkeeping("session/update/tool_call_update", "call.progress"),
        _ => Outcome::Mapped,
    }
}

/// The word of the protocol for what a call does.
fn word_of(record: &Record<'_>, plan: &CallPlan) -> String {
    let word = read(record, plan.kind, |call| raw_str(call.kind()).to_owned());
    word.unwrap_or_default()
}

/// The name of the tool: the agent's, else the word of the protocol for what it does. With the kind of the tool.
fn tool_of(record: &Record<'_>, plan: &CallPlan) -> (String, ToolKind) {
    let word = word_of(record, plan);
    let name = read(record, plan.name, |call| owned(name_of(call))).flatten();
    let name = name.or_else(|| read(record, plan.title, |call| owned(call.title())).flatten());
    let tool = name
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| match word.as_str() {
            "" => ToolKind::Other.as_str().to_owned(),
            word => word.to_owned(),
        });
    let kind = kind_of(&tool, &word);
    (tool, kind)
}

/// The call.
fn call(
    state: &mut State,
    (tool, kind): (String, ToolKind),
    (call, pointer): (&Call<'_>, Pointer<'_>),
    out: &mut Emitter<'_>,
) {
    let event = ToolCall {
        server: mcp_server(&tool).map(Text::Plain),
        call_id: text(call.id()),
        args: call.input().map(Value::raw),
        ..ToolCall::new(Text::Plain(&tool), kind)
    };
    out.emit(event, pointer);
    state.calls.open(key(call.id()), tool);
}

/// The agent asks whether a call may run.
pub fn ask(state: &mut State, record: &Record<'_>, plan: Option<&CallPlan>, out: &mut Emitter<'_>) {
    let asked = call_of(record.value);
    let pointer = Pointer::At("/m/params/toolCall");
    let tool = plan.map(|plan| tool_of(record, plan));
    if let (Some(plan), Some(tool)) = (plan, &tool)
        && plan.args == record.number
    {
        call(state, tool.clone(), (&asked, pointer), out);
        let words = elements(asked.content()).find_map(|part| text(at(part, "content/text")));
        if plan.is_only_asked && asked.input().is_none() && words.is_some() {
            out.emit(Meta::system("asked", words), pointer);
        }
    }
    let tool = tool.as_ref().map(|(tool, _)| Text::Plain(tool));
    out.emit(Decision::Ask.of_call(tool, text(asked.id()), None), pointer);
}

/// The person's answer: allow if the kind of the chosen option begins with `allow`, else deny, also if it is cancelled or unknown. The question has
/// the options. A denied call is remembered.
pub fn decided(
    state: &mut State,
    record: &Record<'_>,
    (question, plan): (Value<'_>, Option<&CallPlan>),
    out: &mut Emitter<'_>,
) {
    let outcome =
        |name| at(record.value, "m/result/outcome").and_then(|outcome| outcome.member(name));
    let chosen = outcome("optionId").map(Value::raw);
    let options = at(question, "m/params/options");
    let mut options = options.into_iter().flat_map(Value::elements);
    let option = options
        .find(|option| chosen.is_some() && option.member("optionId").map(Value::raw) == chosen);
    let kind = raw_str(option.and_then(|option| option.member("kind")));
    let decision = match kind.starts_with("allow") {
        true => Decision::Allow,
        false => Decision::Deny,
    };
    let call = call_of(question);
    if decision == Decision::Deny {
        state.denied.insert(key(call.id()));
    }
    let tool = plan.map(|plan| tool_of(record, plan).0);
    let reason = if kind.is_empty() {
        raw_str(outcome("outcome"))
    } else {
        kind
    };
    let decided = decision.of_call(
        tool.as_deref().map(Text::Plain),
        text(call.id()),
        Some(Text::Plain(reason)),
    );
    out.emit(decided, Pointer::At("/m/result/outcome"));
}

fn result(
    (connection, state): (&Connection, &mut State),
    record: &Record<'_>,
    (plan, update): (&CallPlan, &Call<'_>),
    out: &mut Emitter<'_>,
) {
    let tool = state.calls.close(key(update.id())).unwrap_or_default();
    let kind = kind_of(&tool, &word_of(record, plan));
    let is_ok = raw_str(update.status()) == "completed";
    let (raw, exit) = (update.output(), exit(update));
    let of_program = read(record, plan.response, of_program).flatten();
    let said = of_program
        .filter(|_| is_ok)
        .unwrap_or_else(|| output(update, is_ok || exit.is_some()));
    let text_of = said.stdout.as_deref().unwrap_or_default();
    let own = (connection.agent == COPILOT).then(|| returned(text_of, kind == ToolKind::Execute));
    let exit = exit.or(own.as_ref().and_then(|own| own.exit));
    let status = match is_ok {
        true => of_completed(raw, exit, text_of),
        false if state.denied.contains(&key(update.id())) || is_refused(update) => Status::Denied,
        false if plan.is_cancelled => Status::Cancelled,
        false => Status::Error,
    };
    let is_nothing = own.is_some() && is_nothing(raw, text_of);
    let (printed, behind) = match own {
        Some(_) if is_nothing => ("", ""),
        Some(own) => (own.printed, own.behind),
        None => parted(raw, text_of),
    };
    let is_cut = |path| {
        raw.and_then(|raw| at(raw, path))
            .is_some_and(Value::is_true)
    };
    let event = ToolResult {
        tool: (!tool.is_empty()).then_some(Text::Plain(&tool)),
        call_id: text(update.id()),
        status: Some(status),
        exit,
        stdout: non_empty(printed),
        stderr: said.stderr.as_deref().map(Text::Plain),
        truncated: is_cut("truncated") || is_cut("metadata/truncated") && !is_part(raw, text_of),
        attachments: images(update),
        ..ToolResult::default()
    };
    out.emit(event, Pointer::At("/m/params/update"));
    if is_nothing {
        let shown = Meta::system("shown", non_empty(text_of));
        out.emit(shown, Pointer::At("/m/params/update/rawOutput/content"));
    }
    if let Some(behind) = non_empty(behind) {
        let input = ImplicitInput::of_text("tool_result", Some(behind));
        out.emit(Meta::Context(input), Pointer::At("/m/params/update"));
    }
    // Kimi Code calls a search a read.
    if is_ok && kind != ToolKind::Search {
        file_events((connection, state), record, (plan, update), out);
    }
}

fn non_empty(text: &str) -> Option<Text<'_>> {
    Some(Text::Plain(text)).filter(|_| !text.is_empty())
}

/// How a call has ended that an agent calls completed: a command is, however it ended.
fn of_completed(raw: Field<'_>, exit: Option<i64>, text: &str) -> Status {
    match exit {
        Some(0) => Status::Ok,
        Some(_) => Status::Error,
        None if !has_exit(raw) => Status::Ok,
        None if notices::is_stopped(text) => Status::Cancelled,
        None => Status::Error,
    }
}

/// True for a command of Kilo or OpenCode: its exit code is `null` if its time was over or the user stopped it.
fn has_exit(raw: Field<'_>) -> bool {
    let metadata = raw.and_then(|raw| raw.member("metadata"));
    metadata.is_some_and(|metadata| has_members(metadata, &["exit"]))
}

/// True for a read of Kilo or OpenCode that has all the lines that the call asked for, which are not all lines of the file.
fn is_part(raw: Field<'_>, stdout: &str) -> bool {
    let is_read = raw.is_some_and(|raw| at(raw, "metadata/display").is_some());
    is_read && !notices::is_cut_read(stdout)
}

/// True if Claude Code refused the call by a rule or a classifier (claude-agent-acp 0.101.0: recorded).
fn is_refused(update: &Call<'_>) -> bool {
    let response = response_of(update);
    response.is_some_and(|response| response.member("decisionReasonType").is_some())
}

/// True if the model got nothing of an empty file: the content is the diff that the terminal shows (Copilot CLI).
fn is_nothing(raw: Field<'_>, stdout: &str) -> bool {
    let detail = raw.and_then(|raw| raw.member("detailedContent"));
    raw_str(detail) == raw_str(raw.and_then(|raw| raw.member("content")))
        && detail.is_some()
        && sections(stdout).is_some()
}

/// What a command of Kilo or OpenCode printed, and the text that the model got if that has more; of other tools the text.
fn parted<'o>(raw: Field<'_>, text: &'o str) -> (&'o str, &'o str) {
    let printed = notices::printed(text);
    match has_exit(raw) && printed.len() < text.len() {
        true => (printed, text),
        false => (text, ""),
    }
}
