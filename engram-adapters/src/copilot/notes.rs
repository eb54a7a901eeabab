//! Step 1: checks each record, and notes what later decisions need.

use engram_core::emit::{Fault, Pointer};
use engram_core::keys::hash64;
use engram_core::steps::{Check, Record};
use engram_core::text::{Text, canonical_json};
use engram_core::tool_kind::ToolKind;

use super::descriptor::TOOLS;
use super::format::EventKind;
use super::readers::{
    Answer, Context, Counts, End, Event, Notice, Output, Prompt, Request, Session, Shell, Start,
};
use crate::shared::log::LogNotes;
use crate::shared::pending_calls::PendingCalls;
use crate::shared::shown::sections;
use crate::shared::time::{millis, tape_time};
use crate::shared::value::{
    Field, Value, elements, has_members, is_true, non_empty_text, owned, raw_str, required, text,
};

/// The kind of a record.
///
/// # Errors
/// [`Fault::Unrecognized`] if the type is not known.
pub(super) fn kind_of(value: Value<'_>) -> Result<EventKind, Fault> {
    let name = raw_str(value.member("type"));
    EventKind::named(name).ok_or_else(|| Fault::unrecognized(name))
}

/// What a record says that decides about others. Ids and paths are keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fact {
    /// A run begins: the session starts or goes on. `sums_go_on`: the sums at its end are those of all runs so far, not of this one.
    Began { sums_go_on: bool },
    /// A run ended.
    Ended,
    /// A prompt of the main session, and its time in milliseconds. `steers`: the person typed it while the model worked.
    Prompted {
        id: u64,
        time: Option<i64>,
        steers: bool,
    },
    /// A part of a response, by the provider's id.
    Answered { response: u64 },
    /// The tokens of a response.
    Counted { response: u64 },
    /// A response asks for a call with these arguments.
    Asked { call: u64, args: u64 },
    /// A call begins.
    Called { call: u64, args: u64 },
    /// A command names a file.
    Named { path: u64 },
    /// A call changed a file. `call` is the record in which the call begins.
    Changed { path: u64, call: Option<usize> },
    /// Something else happened in a turn.
    Worked,
    /// The records before this one are copies of another session.
    Forked,
    /// The person went back, and the time of the notice in milliseconds. The log has nothing of what was taken back.
    Rewound { time: Option<i64> },
}

/// A fact, and its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Note {
    pub number: usize,
    /// The run that wrote the record.
    pub run: usize,
    pub fact: Fact,
}

/// How many runs may write at the same time.
const MAX_RUNS: usize = 16;

/// The runs of a session, by the key of the last record of each. Two may go on with a session at the same time: a record names the one before it in
/// its own run.
#[derive(Debug, Default)]
struct Runs(Vec<u64>);

impl Runs {
    /// The run of a record.
    fn of(&mut self, kind: EventKind, event: &Event<'_>) -> usize {
        let id = hash64(raw_str(event.id()));
        let begins = matches!(kind, EventKind::SessionStart | EventKind::SessionResume);
        if begins || self.0.is_empty() {
            self.0.push(id);
            return self.0.len() - 1;
        }
        let parent = hash64(raw_str(event.parent()));
        let mut last = (0..self.0.len()).rev().take(MAX_RUNS);
        let run = last.find(|run| self.0[*run] == parent);
        let run = run.unwrap_or(self.0.len() - 1);
        self.0[run] = id;
        run
    }
}

/// The notes of a session.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub facts: Vec<Note>,
    runs: Runs,
    /// Where calls of tools that change files begin, by call.
    editors: PendingCalls<usize>,
    cwd: String,
}

impl LogNotes for Notes {
    fn add(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        let kind = kind_of(record.value)?;
        let event = Event::strict(record.value, "")?;
        let data = event.data().filter(|data| data.is_object());
        let data = data.ok_or_else(|| Fault::malformed("/data", "an object", "nothing"))?;
        let facts = self.facts(kind, data, &event, record.number)?;
        let run = self.runs.of(kind, &event);
        let note = |fact| Note {
            number: record.number,
            run,
            fact,
        };
        self.facts.extend(facts.into_iter().map(note));
        check.members(
            raw_str(record.value.member("type")),
            record.value,
            Pointer::Root,
            &|_| None,
        );
        if text(event.id()).is_some() || text(event.timestamp()).is_some() {
            check.identify();
        }
        Ok(())
    }
}

impl Notes {
    /// Notes for a test of what is decided.
    #[cfg(test)]
    pub fn of(facts: Vec<Note>) -> Notes {
        Notes {
            facts,
            ..Notes::default()
        }
    }

    fn facts(
        &mut self,
        kind: EventKind,
        data: Value<'_>,
        event: &Event<'_>,
        number: usize,
    ) -> Result<Vec<Fact>, Fault> {
        Ok(match kind {
            EventKind::SessionStart | EventKind::SessionResume => {
                let run = Session::strict(data, "/data")?;
                self.set_directory(run.context());
                // What writes this member (1.0.66 and later: recorded) takes up the sums of the session.
                vec![Fact::Began {
                    sums_go_on: has_members(data, &["sessionLimits"]),
                }]
            }
            EventKind::SessionContextChanged => {
                self.set_directory(Some(data));
                Vec::new()
            }
            EventKind::SessionShutdown => vec![Fact::Ended],
            EventKind::SessionInfo if fork_of(data).is_some() => vec![Fact::Forked],
            EventKind::SessionInfo if is_rewind(data) => vec![Fact::Rewound {
                time: time_of(event),
            }],
            EventKind::UserMessage => {
                let prompt = Prompt::strict(data, "/data")?;
                required(prompt.content(), "/data/content")?;
                match event.agent() {
                    None => vec![Fact::Prompted {
                        id: hash64(raw_str(event.id())),
                        time: time_of(event),
                        steers: raw_str(prompt.delivery()) == "steering",
                    }],
                    Some(_) => Vec::new(),
                }
            }
            EventKind::AssistantMessage => answer(data)?,
            EventKind::SessionUsageRecord => {
                let counts = Counts::lenient_opt(data.member("usage"));
                vec![Fact::Counted {
                    response: key(counts.api_call()),
                }]
            }
            EventKind::ToolExecutionStart => self.start(data, number)?,
            EventKind::ToolExecutionComplete => self.end(data)?,
            _ => Vec::new(),
        })
    }

    fn set_directory(&mut self, context: Option<Value<'_>>) {
        let context = Context::lenient_opt(context);
        self.cwd = owned(context.cwd()).unwrap_or_default();
    }

    fn start(&mut self, data: Value<'_>, number: usize) -> Result<Vec<Fact>, Fault> {
        let start = Start::strict(data, "/data")?;
        required(start.id(), "/data/toolCallId")?;
        required(start.tool(), "/data/toolName")?;
        let call = key(start.id());
        let kind = TOOLS.kind(raw_str(start.tool()));
        if matches!(kind, ToolKind::Edit | ToolKind::Write) {
            self.editors.open(call, number);
        }
        let called = Fact::Called {
            call,
            args: arguments(start.args()),
        };
        let paths = elements(Shell::lenient_opt(start.shell()).paths());
        let named = paths.filter_map(|path| Some(self.absolute(&path.text()?.decode_lossy())));
        let named = named.map(|path| Fact::Named {
            path: path_key(&path),
        });
        Ok(std::iter::once(called).chain(named).collect())
    }

    /// A path that a command names, from the root.
    fn absolute(&self, path: &str) -> String {
        match path.starts_with('/') {
            true => path.to_owned(),
            false => format!("{}/{}", self.cwd, path.trim_start_matches("./")),
        }
    }

    fn end(&mut self, data: Value<'_>) -> Result<Vec<Fact>, Fault> {
        let end = End::strict(data, "/data")?;
        required(end.id(), "/data/toolCallId")?;
        let mut facts = vec![Fact::Worked];
        let call = self.editors.close(key(end.id()));
        if is_true(end.success()) && call.is_some() {
            let output = Output::lenient_opt(end.result());
            let detail = text(output.detail()).map(|detail| detail.decode_lossy());
            let sections = detail.as_deref().and_then(sections).unwrap_or_default();
            let changed = sections.iter().filter(|section| !section.changes_nothing());
            let paths = changed.flat_map(|section| {
                let from = section
                    .before
                    .filter(|_| section.after.is_some_and(|to| Some(to) != section.before));
                std::iter::once(section.path()).chain(from)
            });
            facts.extend(paths.map(|path| Fact::Changed {
                path: path_key(path),
                call,
            }));
        }
        Ok(facts)
    }
}

fn answer(data: Value<'_>) -> Result<Vec<Fact>, Fault> {
    let answer = Answer::strict(data, "/data")?;
    required(answer.id(), "/data/messageId")?;
    required(answer.content(), "/data/content")?;
    let mut facts = vec![Fact::Worked];
    if text(answer.api_call()).is_some() {
        facts.push(Fact::Answered {
            response: key(answer.api_call()),
        });
    }
    for (n, request) in elements(answer.requests()).enumerate() {
        let at = Pointer::Item("/data/toolRequests", n);
        let request = Request::strict(request, "").map_err(|fault| fault.within(at))?;
        required(request.id(), "/toolCallId").map_err(|fault| fault.within(at))?;
        required(request.tool(), "/name").map_err(|fault| fault.within(at))?;
        facts.push(Fact::Asked {
            call: key(request.id()),
            args: arguments(request.args()),
        });
    }
    Ok(facts)
}

fn key(id: Field<'_>) -> u64 {
    hash64(raw_str(id))
}

fn arguments(args: Field<'_>) -> u64 {
    hash64(args.map(|args| canonical_json(args.raw())))
}

/// The sub-agent that a record is of: its id, or, in versions that give agents none, the call that started it.
pub(super) fn agent_of(value: Value<'_>) -> Option<Text<'_>> {
    let event = Event::lenient(value);
    let member = |name| event.data().and_then(|data| data.member(name));
    let call: Field<'_> = match raw_str(value.member("type")) {
        "subagent.started" | "subagent.completed" | "subagent.failed" => member("toolCallId"),
        _ => member("parentToolCallId"),
    };
    non_empty_text(event.agent()).or(non_empty_text(call))
}

/// The session that this one was forked from, as the notice behind the copied records says: `Forked from "NAME" (ID) as ...` (1.0.92 and 1.0.102:
/// recorded).
pub(super) fn fork_of(data: Value<'_>) -> Option<String> {
    let notice = Notice::lenient(data);
    let message = owned(notice.message()).filter(|_| raw_str(notice.info()) == "fork")?;
    let mut ids = message
        .strip_prefix("Forked from \"")?
        .split("\" (")
        .skip(1);
    let is_id = |id: &&str| {
        id.len() == 36
            && id
                .bytes()
                .all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
    };
    ids.find_map(|rest| rest.split(')').next().filter(is_id).map(str::to_owned))
}

/// True for the notice that the person went back (1.0.102: recorded).
pub(super) fn is_rewind(notice: Value<'_>) -> bool {
    raw_str(Notice::lenient(notice).info()) == "rewind"
}

fn time_of(event: &Event<'_>) -> Option<i64> {
    tape_time(event.timestamp()).and_then(|time| millis(&time))
}

/// The key of a path. A diff has it without the `/` at its beginning.
pub(super) fn path_key(path: &str) -> u64 {
    hash64(path.trim_start_matches('/'))
}
