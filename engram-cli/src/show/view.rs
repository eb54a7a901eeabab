//! A session as a person reads it: messages, the calls with their results, and totals. Built once; every renderer reads it.

use std::collections::BTreeMap;

use engram_core::event::Range;
use engram_core::hash::Hash;
use engram_core::stats::{Costs, TokenCounts};

/// Sub-agents of sub-agents are inside each other to this depth; deeper ones are beside each other. A log decides how deep they are, and a
/// page, a stack and an indent have an end.
pub const DEEPEST: usize = 8;

/// A session or a sub-agent. All text is as the tape has it: a renderer makes it safe for its target.
#[derive(Debug, Default)]
pub struct SessionView {
    pub facts: Facts,
    pub items: Vec<Item>,
    pub totals: Totals,
    /// Edits of each file.
    pub files: BTreeMap<String, u64>,
    /// What its tape says about costs. Those of sub-agents on tapes of their own are with them.
    pub costs: Costs,
    /// False if the log ends inside a record.
    pub is_complete: bool,
    /// It only repeats the history of another session.
    pub is_copy: bool,
    /// Which tape of its family it is on; 0 is that of the session itself. Numbers of events are those of their tape.
    pub tape: usize,
}

/// Facts about a session, as last said.
#[derive(Debug, Default, Clone)]
pub struct Facts {
    pub harness: String,
    pub version: Option<String>,
    pub session_id: Option<String>,
    pub agent_id: Option<String>,
    /// The name of the agent or mode.
    pub agent: Option<String>,
    pub title: Option<String>,
    pub cwd: Option<String>,
    /// The directory that the session began in.
    pub project: Option<String>,
    pub branch: Option<String>,
    /// Every model, in the order in which they were first named.
    pub models: Vec<String>,
    pub parent_session_id: Option<String>,
    pub parent_call_id: Option<String>,
    /// Why claims of the tape are lowered.
    pub degraded: Vec<String>,
    /// How many texts each redaction rule replaced.
    pub redacted: Vec<(String, u64)>,
    /// The first and last known time.
    pub times: Option<(String, String)>,
}

/// Numbers of a session. Events that repeat another session's history are not counted, as in `engram stats`.
#[derive(Debug, Default, Clone, Copy)]
pub struct Totals {
    pub prompts: u64,
    pub calls: u64,
    pub failed_calls: u64,
    /// Those of the failed calls that were denied.
    pub denied_calls: u64,
    pub edits: u64,
    pub tokens: TokenCounts,
}

impl SessionView {
    /// The sub-agents, and theirs.
    pub fn agents(&self) -> Vec<&SessionView> {
        let mut found = Vec::new();
        let mut open = vec![self];
        while let Some(view) = open.pop() {
            for item in &view.items {
                match &item.body {
                    Body::Call(call) => open.extend(&call.agents),
                    Body::Agent(agent) => open.push(agent),
                    _ => {}
                }
            }
            found.push(view);
        }
        found
            .into_iter()
            .filter(|view| !std::ptr::eq(*view, self))
            .collect()
    }

    /// Edits of each file, those of sub-agents included.
    pub fn all_files(&self) -> BTreeMap<&str, u64> {
        let mut files = BTreeMap::new();
        for view in self.agents().into_iter().chain([self]) {
            view.files
                .iter()
                .for_each(|(file, edits)| *files.entry(file.as_str()).or_insert(0) += edits);
        }
        files
    }
}

/// Adds a sub-agent whose call is not known, in the place where it begins.
pub fn push_agent(items: &mut Vec<Item>, agent: SessionView) {
    let seq = agent.items.first().map_or(u64::MAX, |item| item.seq);
    let time = agent.facts.times.as_ref().map(|(first, _)| first.clone());
    items.push(Item {
        seq,
        also: Vec::new(),
        time,
        is_replay: false,
        is_rewound: false,
        body: Body::Agent(Box::new(agent)),
    });
}

/// An attachment, or a file with output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// Name, type and size, as far as they are known.
    pub label: String,
    /// The hash of its bytes.
    pub hash: Option<String>,
}

/// Items as they are shown: notices of no importance that follow each other are one group.
pub fn groups(items: &[Item]) -> impl Iterator<Item = &[Item]> {
    items.chunk_by(|one, next| one.detail().is_some() && next.detail().is_some())
}

/// One thing that a person sees.
#[derive(Debug)]
pub struct Item {
    /// The number of its event.
    pub seq: u64,
    /// The numbers of the other events that are shown with it: the result and the effects of a call.
    pub also: Vec<u64>,
    /// The event's own time.
    pub time: Option<String>,
    /// It repeats the history of another session.
    pub is_replay: bool,
    /// The person went back to a point before it.
    pub is_rewound: bool,
    pub body: Body,
}

impl Item {
    /// The title, if that is enough: of a notice of no importance, and of instructions to the model.
    pub fn detail(&self) -> Option<&str> {
        match &self.body {
            Body::Notice(notice) if notice.kind == NoticeKind::Detail => Some(&notice.title),
            Body::Message(message) if message.who == Who::Instructions => Some(message.who.name()),
            _ => None,
        }
    }
}

/// The content of an item.
#[derive(Debug)]
pub enum Body {
    Message(Message),
    Call(Box<Call>),
    Usage(TokenCounts, Option<String>),
    Notice(Notice),
    /// A sub-agent whose call is not known.
    Agent(Box<SessionView>),
}

/// Who a message is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Person,
    /// The agent that started this one.
    Agent,
    Harness,
    /// A message of role `system` or `developer`.
    Instructions,
    Answer,
    Commentary,
    Reasoning,
}

impl Who {
    /// How it is called in every form.
    pub fn name(self) -> &'static str {
        match self {
            Who::Person => "user",
            Who::Agent => "calling agent",
            Who::Harness => "harness",
            Who::Instructions => "instructions",
            Who::Answer => "assistant",
            Who::Commentary => "assistant, commentary",
            Who::Reasoning => "reasoning",
        }
    }

    /// True for what is folded where that is possible: it is not part of the conversation.
    pub fn is_folded(self) -> bool {
        matches!(self, Who::Harness | Who::Instructions | Who::Reasoning)
    }
}

/// A message to or from the agent.
#[derive(Debug)]
pub struct Message {
    pub who: Who,
    /// `None` if the log has only an opaque form, or attachments alone.
    pub text: Option<String>,
    pub attachments: Vec<Attached>,
    pub is_opaque: bool,
}

/// A call of a tool with everything that belongs to it.
#[derive(Debug)]
pub struct Call {
    pub tool: String,
    pub call_id: Option<String>,
    /// The most telling argument, such as the command or the file.
    pub summary: Option<String>,
    /// The other arguments: name and text.
    pub arguments: Vec<(String, String)>,
    /// The change that the call asks for.
    pub diffs: Vec<Diff>,
    pub result: Option<CallResult>,
    /// What the log shows to be read or changed: `update src/main.rs, lines 3 to 7`.
    pub effects: Vec<String>,
    /// The places of its edits.
    pub spans: Vec<Span>,
    /// Sub-agents that the call started.
    pub agents: Vec<SessionView>,
}

impl Call {
    /// True if the result has a failure.
    pub fn has_failed(&self) -> bool {
        self.result.as_ref().is_some_and(CallResult::is_failure)
    }
}

/// What a call returned.
#[derive(Debug, Default)]
pub struct CallResult {
    /// `ok`, `error`, `denied` or `cancelled`, if the log says it.
    pub status: Option<&'static str>,
    pub exit: Option<i64>,
    pub stdout: Option<String>,
    pub stderr: Option<String>,
    pub is_truncated: bool,
    /// Attachments, and the file with the rest of the output.
    pub files: Vec<Attached>,
    pub duration_ms: Option<u64>,
}

impl CallResult {
    /// True if the call was not allowed to run.
    pub fn is_denied(&self) -> bool {
        self.status == Some("denied")
    }

    /// True if status or exit code state a failure.
    pub fn is_failure(&self) -> bool {
        self.status.is_some_and(|status| status != "ok") || self.exit.is_some_and(|exit| exit != 0)
    }
}

/// A change that a call asks for, as its arguments state it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Diff {
    pub parts: Vec<(Sign, String)>,
    /// The texts that it was made of, if the call has both.
    pub whole: Option<Whole>,
    /// The text is that of a complete file.
    pub is_new_file: bool,
}

/// The two texts of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole {
    pub old: Hash,
    pub new: Hash,
    /// Equal lines of both before the first part.
    pub skipped: u64,
    /// The lines of each.
    pub lines: (u64, u64),
}

/// Where an edit is, as the log states it.
#[derive(Debug, PartialEq, Eq)]
pub struct Span {
    pub file: String,
    /// The old lines.
    pub before: Spot,
    /// The new lines.
    pub after: Spot,
}

/// Lines of a file, and the hash of their text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    pub range: Option<Range>,
    pub hash: Option<Hash>,
}

/// What a run of lines of a diff is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    Same,
    Removed,
    Added,
    /// A header of a patch.
    Header,
}

impl Sign {
    /// The character before such a line.
    pub fn prefix(self) -> &'static str {
        match self {
            Sign::Same => " ",
            Sign::Removed => "-",
            Sign::Added => "+",
            Sign::Header => "",
        }
    }
}

/// Anything else that happened.
#[derive(Debug)]
pub struct Notice {
    pub kind: NoticeKind,
    /// One line.
    pub title: String,
    pub text: Option<String>,
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeKind {
    Error,
    /// It changes the course of the session: an interrupt, a compaction, a step back, a denied call.
    Turn,
    /// Input of the model beside the conversation, and notices of the harness.
    Detail,
}
