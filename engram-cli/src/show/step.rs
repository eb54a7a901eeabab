//! What one event adds to a view. An event borrows its text, so a step owns what the view keeps of it.

use engram_core::event::*;
use engram_core::stats::TokenCounts;

use super::calls::{call, owned};
use super::view::{
    Attached, Body, CallResult, Facts, Message, Notice, NoticeKind, Span, Spot, Who,
};

/// What one event adds, with its place.
#[derive(Debug)]
pub struct Step {
    pub seq: Seq,
    /// The event's own time.
    pub time: Option<String>,
    pub parent: Option<Seq>,
    pub is_replay: bool,
    pub session_id: Option<String>,
    pub agent_id: Option<String>,
    pub what: What,
}

/// The addition.
#[derive(Debug)]
pub enum What {
    Body(Body),
    Facts(Box<StatedFacts>),
    /// A result, and the name of its tool.
    Result(Box<CallResult>, Option<String>),
    /// A read or an edit.
    Effect {
        text: String,
        /// The place, if it is an edit.
        edited: Option<Span>,
    },
    Rewind {
        to: u64,
        files: bool,
    },
    Stop {
        is_complete: bool,
        redacted: Vec<(String, u64)>,
    },
}

/// Facts that one event says.
#[derive(Debug, Default)]
pub struct StatedFacts(Facts);

impl StatedFacts {
    /// Replaces earlier facts.
    pub fn apply(self, facts: &mut Facts) {
        let stated = self.0;
        if !stated.harness.is_empty() {
            facts.harness = stated.harness;
            // A session was understood as well as its least known part.
            let more: Vec<String> = stated
                .degraded
                .into_iter()
                .filter(|reason| !facts.degraded.contains(reason))
                .collect();
            facts.degraded.extend(more);
        }
        for model in stated.models {
            if !facts.models.contains(&model) {
                facts.models.push(model);
            }
        }
        if facts.project.is_none() {
            facts.project.clone_from(&stated.cwd);
        }
        for (fact, stated) in [
            (&mut facts.version, stated.version),
            (&mut facts.agent, stated.agent),
            (&mut facts.title, stated.title),
            (&mut facts.cwd, stated.cwd),
            (&mut facts.branch, stated.branch),
            (&mut facts.parent_session_id, stated.parent_session_id),
            (&mut facts.parent_call_id, stated.parent_call_id),
        ] {
            if stated.is_some() {
                *fact = stated;
            }
        }
    }
}

impl Step {
    /// What this event adds, if anything.
    pub fn of(record: &EventRef<'_>) -> Option<Step> {
        let what = what(record.event)?;
        Some(Step {
            seq: record.seq,
            time: (record.t_basis != Some(TimeBasis::Absent)).then(|| record.t.to_owned()),
            parent: record.parent,
            is_replay: record.replay,
            session_id: record.source.session_id.map(owned),
            agent_id: record.source.agent_id.map(owned),
            what,
        })
    }
}

fn what(event: &Event<'_>) -> Option<What> {
    Some(match event {
        Event::Meta(meta) => return of_meta(meta),
        Event::MsgIn(message) => What::Body(Body::Message(Message {
            who: author(message),
            text: message.text.map(owned),
            attachments: message.attachments.iter().map(attachment).collect(),
            is_opaque: false,
        })),
        Event::MsgOut(message) => What::Body(Body::Message(Message {
            who: match message.channel {
                Some(Channel::Reasoning) => Who::Reasoning,
                Some(Channel::Commentary) => Who::Commentary,
                Some(Channel::Final) | None => Who::Answer,
            },
            text: message.text.map(owned),
            attachments: Vec::new(),
            is_opaque: message.redacted,
        })),
        Event::ToolCall(tool_call) => What::Body(Body::Call(Box::new(call(tool_call)))),
        Event::ToolResult(result) => {
            What::Result(Box::new(of_result(result)), result.tool.map(owned))
        }
        Event::CodeRead(read) => What::Effect {
            text: format!(
                "read {}{}",
                owned(read.file),
                lines(read.range).unwrap_or_default()
            ),
            edited: None,
        },
        Event::CodeEdit(edit) => What::Effect {
            text: of_edit(edit),
            edited: Some(span(edit)),
        },
        Event::SpanLink(link) => {
            let note = link.note.map_or("link".to_owned(), owned);
            What::Effect {
                text: format!(
                    "{note}: {} to {}",
                    owned(link.from_file),
                    owned(link.to_file)
                ),
                edited: None,
            }
        }
    })
}

fn author(message: &MsgIn<'_>) -> Who {
    match (message.role, message.by) {
        (Role::System | Role::Developer, _) => Who::Instructions,
        (Role::User, Author::Person) => Who::Person,
        (Role::User, Author::Agent) => Who::Agent,
        (Role::User, Author::Harness) => Who::Harness,
    }
}

fn attachment(attachment: &Attachment<'_>) -> Attached {
    let known = [
        attachment.name.map(owned),
        attachment.media_type.map(owned),
        attachment.bytes.map(|bytes| format!("{bytes} bytes")),
    ];
    let known: Vec<String> = known.into_iter().flatten().collect();
    let label = if known.is_empty() {
        "attachment".to_owned()
    } else {
        known.join(", ")
    };
    Attached {
        label,
        hash: attachment.hash.map(|hash| hash.to_string()),
    }
}

fn of_result(result: &ToolResult<'_>) -> CallResult {
    let mut files: Vec<Attached> = result.attachments.iter().map(attachment).collect();
    files.extend(result.artifact.as_ref().map(|file| Attached {
        label: format!("output in {}", owned(file.path)),
        hash: None,
    }));
    CallResult {
        status: result.status.map(Status::as_str),
        exit: result.exit,
        stdout: result.stdout.map(owned),
        stderr: result.stderr.map(owned),
        is_truncated: result.truncated,
        files,
        duration_ms: result.duration_ms,
    }
}

fn span(edit: &CodeEdit<'_>) -> Span {
    let spot = |range, hash| Spot { range, hash };
    Span {
        file: owned(edit.file),
        before: spot(edit.before_range, edit.before_hash),
        after: spot(edit.after_range, edit.after_hash),
    }
}

/// `update src/main.rs, lines 3 to 7`.
fn of_edit(edit: &CodeEdit<'_>) -> String {
    let place = match (
        lines(edit.after_range.or(edit.before_range)),
        edit.before_lines,
        edit.after_lines,
    ) {
        (Some(lines), ..) => lines,
        (None, Some(before), Some(after)) => format!(", {before} lines by {after}"),
        _ => String::new(),
    };
    let doubt = if edit.confirmed {
        ""
    } else {
        " (outcome not in the log)"
    };
    format!("{} {}{place}{doubt}", edit.op.as_str(), owned(edit.file))
}

fn lines(range: Option<Range>) -> Option<String> {
    let Range { first, last } = range?;
    Some(match last.checked_sub(first) {
        None => format!(", before line {first}"),
        Some(0) => format!(", line {first}"),
        Some(_) => format!(", lines {first} to {last}"),
    })
}

fn of_meta(meta: &Meta<'_>) -> Option<What> {
    use NoticeKind::{Detail, Error, Turn};
    let notice = |kind, title: &str, text: Option<String>| {
        Some(What::Body(Body::Notice(Notice {
            kind,
            title: title.to_owned(),
            text,
        })))
    };
    match meta {
        Meta::TapeStart(start) => facts(of_harness(&start.harness, &start.claims)),
        Meta::Revision(change) => facts(of_harness(&change.harness, &change.claims)),
        Meta::Episode(episode) => {
            let agent = episode.agent.map(owned).unwrap_or_default();
            let version = episode
                .agent_version
                .map(|version| format!(" {}", owned(version)))
                .unwrap_or_default();
            notice(
                Detail,
                &format!("episode of {agent}{version}"),
                episode.adapter_profile_hash.map(owned),
            )
        }
        Meta::Session(stated) => facts(of_session(stated)),
        Meta::TapeStop(stop) => {
            let redacted = stop
                .ledger
                .redactions
                .iter()
                .map(|redacted| (redacted.rule.to_string(), redacted.count));
            Some(What::Stop {
                is_complete: stop.complete,
                redacted: redacted.collect(),
            })
        }
        Meta::Rewind { to, files } => Some(What::Rewind {
            to: to.get(),
            files: *files,
        }),
        Meta::Usage(usage) => Some(What::Body(Body::Usage(
            TokenCounts::of(usage),
            usage.model.map(owned),
        ))),
        Meta::Compaction { text, .. } => {
            notice(Turn, "history replaced by a summary", text.map(owned))
        }
        Meta::Error { code, text } => {
            let title = code.map_or("error".to_owned(), |code| format!("error {}", owned(code)));
            notice(Error, &title, text.map(owned))
        }
        Meta::Interrupt { text } => notice(Turn, "interrupted", text.map(owned)),
        Meta::Permission(permission) => {
            let tool = permission
                .tool
                .map(|tool| format!(": {}", owned(tool)))
                .unwrap_or_default();
            let kind = if permission.decision == Decision::Deny {
                Turn
            } else {
                Detail
            };
            notice(
                kind,
                &format!("permission {}{tool}", permission.decision.as_str()),
                permission.text.map(owned),
            )
        }
        Meta::Context(input) => {
            let file = input
                .file
                .map(|file| format!(" {}", owned(file)))
                .unwrap_or_default();
            notice(
                Detail,
                &format!("context {}{file}", owned(input.name)),
                input.text.map(owned),
            )
        }
        Meta::System { name, text } => notice(Detail, &owned(*name), text.map(owned)),
        Meta::Unrecognized(unknown) => {
            let text = || serde_json::to_string(&unknown.text.map(owned)?).ok();
            notice(
                Error,
                &format!("not recognised: {}", owned(unknown.name)),
                unknown.raw.map(str::to_owned).or_else(text),
            )
        }
        Meta::Other(label) => notice(Detail, label, None),
        _ => None,
    }
}

fn facts(facts: Facts) -> Option<What> {
    Some(What::Facts(Box::new(StatedFacts(facts))))
}

fn of_harness(harness: &Harness<'_>, claims: &Claims<'_>) -> Facts {
    Facts {
        harness: harness.family.to_owned(),
        version: harness.version.map(owned),
        degraded: claims
            .degraded
            .iter()
            .map(|&reason| reason.to_owned())
            .collect(),
        ..Facts::default()
    }
}

fn of_session(stated: &SessionFacts<'_>) -> Facts {
    Facts {
        agent: stated.agent.map(owned),
        title: stated.title.map(owned),
        cwd: stated.cwd.map(owned),
        branch: stated.repo_branch.map(owned),
        models: stated.model.map(owned).into_iter().collect(),
        parent_session_id: stated.parent_session_id.map(owned),
        parent_call_id: stated.parent_call_id.map(owned),
        ..Facts::default()
    }
}
