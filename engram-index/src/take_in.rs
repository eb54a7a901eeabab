//! The events of one tape become rows.

use std::collections::{BTreeSet, HashMap, HashSet};

use engram_core::anchor::{SCHEME, anchors};
use engram_core::event::{
    CodeEdit, CodeRead, EditOp, Event, EventRecord, Meta, Range, SessionFacts, SpanLink, Status,
    ToolCall, ToolResult, Usage,
};
use engram_core::file_path::full_path;
use engram_core::form_facts::FormSink;
use engram_core::sink::EventSink;
use engram_core::stats::{Stats, TapeCost};
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;

use crate::rebuild::Rebuild;
use crate::rows::{
    CallRow, FileRef, Kind, PromptRow, SNIPPET, SaidRow, SpanRow, Spent, TapeRows, UNCONFIRMED,
    What, digest,
};
use crate::shell::Effect;
use crate::{names, repeats, said};

/// Kinds of calls whose output may show the lines of a file.
const SHOWING: [&str; 5] = ["read", "edit", "write", "mcp", "other"];
/// The first lines of a tape name its unknown lines.
const NAMING_LINES: u64 = 4;
/// Longest string among arguments that may be a path.
const MAX_PATH_BYTES: usize = 4096;
/// Longest fact of a session that is kept, in characters.
const FACT_CHARS: usize = 1024;
/// Most strings of one call that may be a path.
const MAX_PATHS: usize = 64;

/// The state of a tape up to the current line.
#[derive(Default)]
pub struct Builder {
    rows: TapeRows,
    /// True if the fingerprints of what was said are wanted.
    texts: bool,
    number: u64,
    /// The first line that is no event, with what is wrong.
    fault: Option<(u64, String)>,
    /// False if the fingerprints of the tape follow another scheme.
    has_anchors: bool,
    /// The first directory of the session, and the current one.
    root: Option<String>,
    cwd: String,
    url: String,
    model: Option<String>,
    /// The last prompt of each agent, and the call that started it.
    prompts: HashMap<Option<String>, u64>,
    started_by: HashMap<String, u64>,
    /// The sub-agents that have events of their own here.
    agents: BTreeSet<String>,
    /// The place of each call in the rows, by `seq`.
    calls: HashMap<u64, usize>,
    /// The calls of the current response.
    response: Option<String>,
    response_calls: Vec<usize>,
    /// Tokens and costs, and what is compared with other tapes of the session.
    stats: Stats,
    form: FormSink,
    /// Strings of calls that may change files, until it is known whether they did.
    paths: HashMap<u64, Vec<String>>,
    /// Calls that failed.
    failed: Vec<u64>,
    /// The texts of files.
    rebuild: Rebuild,
}

impl Builder {
    /// The rows of a new tape; with `texts`, also the fingerprints of what is said.
    pub fn new(texts: bool) -> Builder {
        Builder {
            texts,
            ..Builder::default()
        }
    }

    /// The first line that is no event, with what is wrong.
    pub fn fault(&self) -> Option<(u64, String)> {
        self.fault.clone()
    }

    /// Takes the next line, which begins at this byte.
    pub fn line(&mut self, line: &str, offset: u64) {
        self.number += 1;
        // Long enough to tell tapes apart, and the same for a session that grows.
        if self.number <= NAMING_LINES {
            self.rebuild.add_to_name(line);
        }
        match EventRecord::parse(line) {
            Ok(record) => self.event(&record, offset),
            Err(error) => {
                self.fault.get_or_insert((self.number, error.to_string()));
            }
        }
    }

    fn event(&mut self, record: &EventRecord<'_>, offset: u64) {
        let t = if record.t_basis == Some(engram_core::event::TimeBasis::Absent) {
            None
        } else {
            names::millis(record.t)
        };
        let agent = record.source.agent_id.map(owned);
        if let Some(t) = t {
            let tape = &mut self.rows.tape;
            (tape.t0, tape.t1) = (
                Some(tape.t0.map_or(t, |t0| t0.min(t))),
                Some(tape.t1.map_or(t, |t1| t1.max(t))),
            );
        }
        if self.rows.tape.events == 0 {
            let tape = &mut self.rows.tape;
            (tape.harness, tape.session, tape.agent) = (
                record.source.harness.to_owned(),
                record.source.session_id.map(owned),
                agent.clone(),
            );
        }
        self.rows.tape.events += 1;
        if let (Some(agent), Some(parent)) = (&agent, record.parent)
            && !self.started_by.contains_key(agent)
        {
            self.started_by.insert(agent.clone(), parent.get());
        }
        if let Some(agent) = agent
            .as_ref()
            .filter(|agent| !record.replay && !self.agents.contains(*agent))
        {
            self.agents.insert(agent.clone());
        }
        let at = At {
            seq: record.seq.get(),
            t,
            agent,
            parent: record.parent.map(|seq| seq.get()),
            offset,
            replay: record.replay,
        };
        if self.texts && !at.replay {
            let anchors: Vec<u64> = said::texts(&record.event)
                .iter()
                .flat_map(|text| anchors(text))
                .collect();
            if !anchors.is_empty() {
                self.rows.said.push(SaidRow { offset, t, anchors });
            }
        }
        let event = record.as_event_ref();
        // Counting cannot fail.
        let _ = self.stats.event(&event);
        let _ = self.form.event(&event);
        match &record.event {
            Event::Meta(meta) => self.meta(meta, &at),
            Event::MsgIn(message) => {
                let by = message.by as i64;
                self.rows.prompts.push(PromptRow {
                    seq: at.seq,
                    t,
                    by,
                    replay: at.replay,
                    offset,
                    agent: at.agent.clone(),
                });
                // What the harness adds begins no turn, unless there is nothing else.
                if by < 2 || !self.prompts.contains_key(&at.agent) {
                    self.prompts.insert(at.agent, at.seq);
                }
            }
            Event::MsgOut(message) => {
                if let Some(model) = message.model {
                    self.model = Some(owned(model));
                }
            }
            Event::ToolCall(call) => self.call(call, at),
            Event::ToolResult(result) => self.result(result, &at),
            Event::CodeRead(read) if !at.replay => self.read(read, &at),
            Event::CodeEdit(edit) if !at.replay => self.edit(edit, &at),
            Event::SpanLink(link) if !at.replay => self.link(link, &at),
            _ => {}
        }
    }

    fn meta(&mut self, meta: &Meta<'_>, at: &At) {
        match meta {
            Meta::TapeStart(start) => {
                let tape = &mut self.rows.tape;
                tape.adapter = format!("{} {}", start.adapter_id, start.adapter_version);
                tape.schema = start.schema.to_owned();
                tape.support = start.claims.support.as_str().to_owned();
                tape.facts.version = start.harness.version.map(|version| bounded(version));
                self.has_anchors = start.anchors == SCHEME;
            }
            Meta::TapeStop(stop) => {
                self.rows.tape.input_hash = digest(&stop.input.hash);
                self.rows.tape.complete = stop.complete;
            }
            Meta::Revision(change) => {
                let version = change.harness.version.map(|version| bounded(version));
                self.rows.tape.facts.version = version;
            }
            Meta::Session(facts) => self.session(facts, at),
            Meta::Usage(usage) if !at.replay => self.usage(usage),
            Meta::Rewind { to, files: true } if !at.replay => self.rebuild.restored(to.get()),
            _ => {}
        }
    }

    fn session(&mut self, facts: &SessionFacts<'_>, at: &At) {
        if let Some(cwd) = facts.cwd {
            self.cwd = owned(cwd);
            self.root.get_or_insert_with(|| names::path(&self.cwd));
        }
        if let Some(url) = facts.repo_url {
            self.url = names::url(&url.decode_lossy());
        }
        if let Some(model) = facts.model {
            self.model = Some(owned(model));
        }
        let tape = &mut self.rows.tape;
        // What a sub-agent on the tape of its session says of itself is not said of the session.
        if at.agent.is_some() && at.agent != tape.agent {
            return;
        }
        let total = facts.cost_total_usd.filter(|_| !at.replay);
        let total = total.and_then(|total| total.as_str().parse::<f64>().ok());
        let known = tape.spent.cost_total.into_iter();
        tape.spent.cost_total = known.chain(total).reduce(f64::max);
        let first = |to: &mut Option<String>, from: Option<Text<'_>>| {
            if to.is_none() {
                *to = from.map(owned);
            }
        };
        first(&mut tape.parent_session, facts.parent_session_id);
        first(&mut tape.parent_call, facts.parent_call_id);
        first(&mut tape.fork_of, facts.fork_of);
        let of_session = &mut tape.facts;
        let first = |to: &mut Option<String>, from: Option<Text<'_>>| {
            if to.is_none() {
                *to = from.map(bounded).filter(|text| !text.is_empty());
            }
        };
        first(&mut of_session.cwd, facts.cwd);
        first(&mut of_session.model, facts.model);
        first(&mut of_session.repo_url, facts.repo_url);
        of_session.title = facts.title.map(bounded).or(of_session.title.take());
    }

    /// The calls of a response are of its model.
    fn usage(&mut self, usage: &Usage<'_>) {
        let model = usage.model.map(owned).or_else(|| self.model.clone());
        if let (Some(response), Some(model)) = (usage.message_id.map(owned), &model)
            && self.response.as_ref() == Some(&response)
            && usage.part.is_none()
        {
            self.response_calls
                .iter()
                .for_each(|at| self.rows.calls[*at].model = Some(model.clone()));
        }
    }

    fn call(&mut self, call: &ToolCall<'_>, at: At) {
        let response = call.message_id.map(owned);
        if response.is_none() || response != self.response {
            self.response_calls.clear();
        }
        self.response = response;
        self.response_calls.push(self.rows.calls.len());
        self.calls.insert(at.seq, self.rows.calls.len());
        if let Some(args) = call.args.filter(|_| !at.replay) {
            match call.kind {
                ToolKind::Edit | ToolKind::Write | ToolKind::Delete | ToolKind::Move => {
                    self.paths.insert(at.seq, strings(args));
                    self.rebuild.call(at.seq, args);
                }
                ToolKind::Execute => {
                    self.rebuild.call(at.seq, args);
                    self.rebuild.command();
                }
                ToolKind::Read | ToolKind::Mcp | ToolKind::Other => self.rebuild.call(at.seq, args),
                _ => {}
            }
        }
        self.rows.calls.push(CallRow {
            seq: at.seq,
            prompt: self.prompt_of(&at.agent),
            agent: at.agent,
            tool: owned(call.tool),
            kind: call.kind.as_str(),
            model: self.model.clone(),
            t: at.t,
            status: None,
            exit: None,
            call_id: call.call_id.map(owned),
            replay: at.replay,
            offset: at.offset,
        });
    }

    /// The last prompt of an agent; if it has none, that of the call that started it.
    fn prompt_of(&self, agent: &Option<String>) -> Option<u64> {
        let own = self.prompts.get(agent).copied();
        own.or_else(|| {
            self.rows.calls[*self.calls.get(self.started_by.get(agent.as_ref()?)?)?].prompt
        })
    }

    fn result(&mut self, result: &ToolResult<'_>, at: &At) {
        let Some(seq) = at.parent else { return };
        let Some(call) = self.calls.get(&seq).map(|at| &mut self.rows.calls[*at]) else {
            return;
        };
        (call.status, call.exit) = (result.status.map(|status| status as i64), result.exit);
        if let Some(output) = result.stdout.filter(|_| !call.replay)
            && SHOWING.contains(&call.kind)
        {
            self.rebuild.result(seq, &output.decode_lossy());
        }
        let succeeded = call.kind == "execute"
            && !call.replay
            && matches!(result.status, None | Some(Status::Ok))
            && result.exit.is_none_or(|exit| exit == 0);
        if succeeded {
            self.effects(seq, result, at);
        }
        let Some(call) = self.calls.get(&seq).map(|at| &self.rows.calls[*at]) else {
            return;
        };
        let has_paths = self.paths.contains_key(&seq);
        match result.status {
            Some(Status::Error | Status::Denied | Status::Cancelled)
                if has_paths && !call.replay =>
            {
                self.failed.push(seq)
            }
            _ => drop(self.paths.remove(&seq)),
        }
    }

    /// Files that a command changed or showed, where its text says how.
    fn effects(&mut self, call: u64, result: &ToolResult<'_>, at: &At) {
        let at = &At {
            parent: Some(call),
            agent: None,
            ..*at
        };
        for effect in self.rebuild.effects(call, &self.cwd) {
            let (path, other) = match &effect {
                Effect::Written { path, .. }
                | Effect::Appended { path, .. }
                | Effect::Removed { path }
                | Effect::Replaced { path, .. }
                | Effect::Changed { path }
                | Effect::Shown { path, .. } => (path.clone(), None),
                Effect::Moved { from, to } | Effect::Copied { from, to } => {
                    (to.clone(), Some(self.file(from)))
                }
            };
            let mut row = self.span(What::Update, Text::Plain(""), at);
            (row.file, row.other) = (self.file(&path), other);
            match &effect {
                Effect::Written { text, .. } => self.rebuild.written(&row, text, false),
                Effect::Appended { text, .. } => self.rebuild.written(&row, text, true),
                Effect::Moved { .. } => self.rebuild.link(&row, Kind::Moved),
                Effect::Copied { .. } => self.rebuild.link(&row, Kind::Copied),
                Effect::Removed { .. } => self.rebuild.removed(&row),
                Effect::Replaced {
                    old, new, every, ..
                } => self.rebuild.replaced(&row, old, new, *every),
                Effect::Changed { .. } => self.rebuild.lost(&row),
                Effect::Shown { lines, .. } if result.exit == Some(0) && !result.truncated => {
                    let output = result.stdout.map(|output| output.decode_lossy());
                    self.rebuild.shown_by_command(
                        &row,
                        output.as_deref().unwrap_or_default(),
                        *lines,
                    );
                }
                Effect::Shown { .. } => {}
            }
        }
    }

    fn read(&mut self, read: &CodeRead<'_>, at: &At) {
        let mut span = self.span(What::Read, read.file, at);
        span.after = read.range.map(pair);
        span.ah = read.hash.as_ref().map(digest);
        span.lines = span.after.map(count);
        self.rebuild
            .read(&span, read.text.as_deref(), read.total_lines);
        self.rows.spans.push(span);
    }

    fn edit(&mut self, edit: &CodeEdit<'_>, at: &At) {
        let what = match edit.op {
            EditOp::Create => What::Create,
            EditOp::Update => What::Update,
            EditOp::Overwrite => What::Overwrite,
            EditOp::Delete => What::Delete,
            EditOp::Move => What::Move,
        };
        let mut span = self.span(what, edit.file, at);
        (span.before, span.after) = (edit.before_range.map(pair), edit.after_range.map(pair));
        let hash = |hash: &Option<engram_core::hash::Hash>| hash.as_ref().map(digest);
        (span.bh, span.ah) = (hash(&edit.before_hash), hash(&edit.after_hash));
        (span.fbh, span.fah) = (hash(&edit.file_before_hash), hash(&edit.file_after_hash));
        span.lines = span
            .after
            .map(count)
            .or(edit.after_lines.and_then(|lines| i64::try_from(lines).ok()));
        span.flags =
            if edit.snippet { SNIPPET } else { 0 } | if edit.confirmed { 0 } else { UNCONFIRMED };
        if self.has_anchors {
            span.before_anchors.clone_from(&edit.before_anchor_hashes);
            span.after_anchors.clone_from(&edit.after_anchor_hashes);
        }
        if edit.confirmed {
            let texts = [edit.before_text.as_deref(), edit.after_text.as_deref()];
            self.rebuild.edit(&span, texts);
        }
        self.rows.spans.push(span);
    }

    fn link(&mut self, link: &SpanLink<'_>, at: &At) {
        let mut span = self.span(What::Link, link.to_file, at);
        span.other = Some(self.file(&link.from_file.decode_lossy()));
        (span.before, span.after) = (link.from_range.map(pair), link.to_range.map(pair));
        if span.before.is_none() {
            let kind = match link.note.map(owned).as_deref() {
                Some("copy") => Kind::Copied,
                _ => Kind::Moved,
            };
            self.rebuild.link(&span, kind);
        }
        self.rows.spans.push(span);
    }

    fn span(&self, what: What, file: Text<'_>, at: &At) -> SpanRow {
        SpanRow {
            seq: at.seq,
            call: at.parent.filter(|seq| self.calls.contains_key(seq)),
            file: self.file(&file.decode_lossy()),
            other: None,
            what,
            before: None,
            after: None,
            bh: None,
            ah: None,
            fbh: None,
            fah: None,
            lines: None,
            flags: 0,
            t: at.t,
            before_anchors: Vec::new(),
            after_anchors: Vec::new(),
        }
    }

    fn file(&self, path: &str) -> FileRef {
        let full = names::path(&full_path(&self.cwd, path));
        match self
            .root
            .as_deref()
            .and_then(|root| names::below(root, &full).map(|path| (root, path)))
        {
            Some((root, path)) => FileRef {
                url: self.url.clone(),
                root: root.to_owned(),
                path: path.to_owned(),
            },
            None => FileRef {
                url: String::new(),
                root: String::new(),
                path: full,
            },
        }
    }

    /// A call that failed has no event for its file. A file of the tape that its arguments name is the one.
    /// The rows, without the hash of the tape.
    pub fn finish(mut self) -> TapeRows {
        let known: HashSet<FileRef> = self
            .rows
            .spans
            .iter()
            .map(|span| span.file.clone())
            .collect();
        for seq in std::mem::take(&mut self.failed) {
            let Some(call) = self.calls.get(&seq).map(|at| self.rows.calls[*at].clone()) else {
                continue;
            };
            let strings = self.paths.remove(&seq).unwrap_or_default();
            let Some(file) = strings
                .iter()
                .map(|string| self.file(string))
                .find(|file| known.contains(file))
            else {
                continue;
            };
            let at = At {
                seq,
                t: call.t,
                agent: None,
                parent: Some(seq),
                offset: 0,
                replay: false,
            };
            let mut span = self.span(What::Failed, Text::Plain(""), &at);
            span.file = file;
            self.rows.spans.push(span);
        }
        self.rows.steps = std::mem::take(&mut self.rebuild).finish();
        self.rows.tape.facts.agents = (!self.agents.is_empty()).then(|| json(&self.agents));
        self.rows.tape.spent = spent(&self.stats, self.rows.tape.spent.cost_total);
        let facts = self.form.facts();
        self.rows.form = facts.map(|facts| repeats::form(&facts, &self.stats));
        self.rows
    }
}

/// What the responses of a tape spent.
fn spent(stats: &Stats, cost_total: Option<f64>) -> Spent {
    let tokens = stats.counts().tokens;
    let cost = stats.costs().clone().into_tapes().next();
    let cost = cost.filter(|cost| !TapeCost::is_empty(cost));
    Spent {
        tokens: (!tokens.is_empty()).then(|| json(&tokens)),
        cost: cost.as_ref().map(json),
        cost_total,
    }
}

fn json(value: &impl serde::Serialize) -> String {
    // A map of texts and numbers always is JSON.
    serde_json::to_string(value).unwrap_or_default()
}

/// The envelope of an event.
struct At {
    seq: u64,
    t: Option<i64>,
    agent: Option<String>,
    parent: Option<u64>,
    offset: u64,
    replay: bool,
}

fn owned(text: Text<'_>) -> String {
    text.decode_lossy().into_owned()
}

/// The beginning of a text: a log can have a title of any length.
fn bounded(text: Text<'_>) -> String {
    text.decode_lossy().chars().take(FACT_CHARS).collect()
}

fn pair(range: Range) -> (i64, i64) {
    let number = |line| i64::try_from(line).unwrap_or(i64::MAX);
    (number(range.first), number(range.last))
}

fn count((first, last): (i64, i64)) -> i64 {
    (last - first + 1).max(0)
}

/// The short strings on one line in a JSON value.
fn strings(json: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_str(json) {
        names::strings(&value, &mut |_, text| {
            if text.len() <= MAX_PATH_BYTES
                && !text.contains('\n')
                && !text.is_empty()
                && found.len() < MAX_PATHS
            {
                found.push(text.to_owned());
            }
        });
    }
    found
}
