//! The reader: typed events from the lines of a tape.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::error::{InvalidEvent, TapeError};
use super::raw::{Members, RawEvent, RawEvents, raw_events};
use crate::event::*;
use crate::hash::Hash;
use crate::ledger::Ledger;
use crate::policy::Policy;
use crate::text::Text;
use crate::tool_kind::ToolKind;
use crate::version::Support;

/// The events of a tape. A line that is not an event gives an error, and the next line follows.
pub fn events(tape: &str) -> Events<'_> {
    Events {
        raw: raw_events(tape),
        number: 0,
    }
}

/// Iterator over the events of a tape.
#[derive(Debug, Clone)]
pub struct Events<'t> {
    raw: RawEvents<'t>,
    number: u64,
}

impl<'t> Iterator for Events<'t> {
    type Item = Result<EventRecord<'t>, TapeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let raw = self.raw.next()?;
        self.number += 1;
        let line = self.number;
        Some(raw.and_then(|raw| EventRecord::from_raw(raw).map_err(|error| error.at(line))))
    }
}

impl<'t> EventRecord<'t> {
    /// Reads one line of a tape, given without its `\n`. Members that this version does not know are skipped.
    ///
    /// # Errors
    /// [`InvalidEvent`] if a required member is missing, or a value is not what the format allows.
    pub fn parse(line: &'t str) -> Result<Self, InvalidEvent> {
        EventRecord::from_raw(RawEvent::parse(line)?)
    }

    fn from_raw(raw: RawEvent<'t>) -> Result<Self, InvalidEvent> {
        let RawEvent {
            seq,
            t,
            kind,
            source,
            fields,
            parent,
            t_basis,
            origin,
            replay,
        } = raw;
        let event = event(kind, &Reader(fields))?;
        Ok(EventRecord {
            seq,
            t,
            t_basis,
            source,
            event,
            parent,
            origin,
            replay,
        })
    }
}

fn event<'t>(kind: Kind, fields: &Reader<'t>) -> Result<Event<'t>, InvalidEvent> {
    Ok(match kind {
        Kind::Meta => Event::Meta(meta(fields)?),
        Kind::MsgIn => Event::MsgIn(MsgIn {
            role: fields.one_of("role", &Role::ALL, Role::as_str)?,
            by: fields.one_of("by", &Author::ALL, Author::as_str)?,
            text: fields.text("text")?,
            attachments: fields.attachments()?,
        }),
        Kind::MsgOut => Event::MsgOut(MsgOut {
            text: fields.text("text")?,
            channel: fields.maybe_one_of("channel", &Channel::ALL, Channel::as_str)?,
            model: fields.text("model")?,
            message_id: fields.text("message_id")?,
            redacted: fields.flag("redacted")?,
        }),
        Kind::ToolCall => Event::ToolCall(ToolCall {
            tool: fields.required_text("tool")?,
            server: fields.text("server")?,
            kind: fields.one_of("kind", &ToolKind::ALL, ToolKind::as_str)?,
            call_id: fields.text("call_id")?,
            message_id: fields.text("message_id")?,
            args: fields.0.get("args").map(RawValue::get),
        }),
        Kind::ToolResult => Event::ToolResult(tool_result(fields)?),
        Kind::CodeRead => Event::CodeRead(CodeRead {
            call_id: fields.text("call_id")?,
            file: fields.required_text("file")?,
            range: fields.range("range")?,
            total_lines: fields.count("total_lines")?,
            hash: fields.hash("hash")?,
            anchor_hashes: fields.anchors("anchor_hashes")?,
            text: fields.span_text("text")?,
        }),
        Kind::CodeEdit => Event::CodeEdit(code_edit(fields)?),
        Kind::SpanLink => Event::SpanLink(SpanLink {
            call_id: None,
            from_file: fields.required_text("from_file")?,
            from_range: fields.range("from_range")?,
            to_file: fields.required_text("to_file")?,
            to_range: fields.range("to_range")?,
            note: fields.text("note")?,
        }),
    })
}

fn tool_result<'t>(fields: &Reader<'t>) -> Result<ToolResult<'t>, InvalidEvent> {
    let side_file = |artifact: Reader<'t>| {
        Ok(SideFile {
            path: artifact.required_text("path")?,
            hash: artifact.hash("hash")?,
            bytes: artifact.count("bytes")?,
        })
    };
    Ok(ToolResult {
        tool: fields.text("tool")?,
        call_id: fields.text("call_id")?,
        status: fields.maybe_one_of("status", &Status::ALL, Status::as_str)?,
        exit: fields.parsed("exit", "an integer", |raw| raw.parse().ok())?,
        stdout: fields.text("stdout")?,
        stderr: fields.text("stderr")?,
        truncated: fields.flag("truncated")?,
        artifact: fields
            .maybe_object("artifact")?
            .map(side_file)
            .transpose()?,
        attachments: fields.attachments()?,
        duration_ms: fields.count("duration_ms")?,
    })
}

fn code_edit<'t>(fields: &Reader<'t>) -> Result<CodeEdit<'t>, InvalidEvent> {
    Ok(CodeEdit {
        call_id: fields.text("call_id")?,
        op: fields.one_of("op", &EditOp::ALL, EditOp::as_str)?,
        file: fields.required_text("file")?,
        before_range: fields.range("before_range")?,
        after_range: fields.range("after_range")?,
        before_hash: fields.hash("before_hash")?,
        after_hash: fields.hash("after_hash")?,
        file_before_hash: fields.hash("file_before_hash")?,
        file_after_hash: fields.hash("file_after_hash")?,
        before_anchor_hashes: fields.anchors("before_anchor_hashes")?,
        after_anchor_hashes: fields.anchors("after_anchor_hashes")?,
        before_text: fields.span_text("before_text")?,
        after_text: fields.span_text("after_text")?,
        before_lines: fields.count("before_lines")?,
        after_lines: fields.count("after_lines")?,
        snippet: fields.maybe_word("basis")? == Some("snippet"),
        confirmed: fields.parsed("confirmed", "a boolean", |raw| raw.parse().ok())? != Some(false),
    })
}

fn meta<'t>(fields: &Reader<'t>) -> Result<Meta<'t>, InvalidEvent> {
    Ok(match fields.word("label")? {
        "tape.start" => Meta::TapeStart(Box::new(tape_start(fields)?)),
        "revision" => Meta::Revision(Box::new(RevisionChange {
            harness: harness(fields)?,
            claims: claims(fields)?,
        })),
        "unrecognized" => Meta::Unrecognized(Unrecognized {
            name: fields.required_text("name")?,
            raw: fields.0.get("raw").map(RawValue::get),
            text: None,
            bytes: fields.count("bytes")?,
            hash: fields.hash("hash")?,
            lossy: fields.flag("lossy")?,
        }),
        "tape.stop" => Meta::TapeStop(Box::new(tape_stop(fields)?)),
        "session" => Meta::Session(session(fields)?),
        "episode" => Meta::Episode(EpisodeFacts {
            work_id: fields.text("work_id")?,
            episode_id: fields.text("episode_id")?,
            session_id: fields.text("session_id")?,
            adapter_profile_hash: fields.text("adapter_profile_hash")?,
            agent: fields.text("agent")?,
            agent_version: fields.text("agent_version")?,
        }),
        "usage" => Meta::Usage(usage(fields)?),
        "rewind" => Meta::Rewind {
            to: Seq(fields.required("to", "a count", |raw| raw.parse().ok())?),
            files: fields.flag("files")?,
        },
        "compaction" => Meta::Compaction {
            text: fields.text("text")?,
            trigger: fields.text("trigger")?,
        },
        "error" => Meta::Error {
            code: fields.text("code")?,
            text: fields.text("text")?,
        },
        "interrupt" => Meta::Interrupt {
            text: fields.text("text")?,
        },
        "permission" => Meta::Permission(Permission {
            decision: fields.one_of("decision", &Decision::ALL, Decision::as_str)?,
            tool: fields.text("tool")?,
            call_id: fields.text("call_id")?,
            text: fields.text("text")?,
        }),
        "context" => Meta::Context(ImplicitInput {
            name: fields.required_text("name")?,
            file: fields.text("file")?,
            hash: fields.hash("hash")?,
            bytes: fields.count("bytes")?,
            text: fields.text("text")?,
        }),
        "system" => Meta::System {
            name: fields.required_text("name")?,
            text: fields.text("text")?,
        },
        other => Meta::Other(other),
    })
}

fn session<'t>(fields: &Reader<'t>) -> Result<SessionFacts<'t>, InvalidEvent> {
    Ok(SessionFacts {
        model: fields.text("model")?,
        provider: fields.text("provider")?,
        repo_head: fields.text("repo_head")?,
        repo_branch: fields.text("repo_branch")?,
        repo_url: fields.text("repo_url")?,
        cwd: fields.text("cwd")?,
        title: fields.text("title")?,
        parent_session_id: fields.text("parent_session_id")?,
        parent_call_id: fields.text("parent_call_id")?,
        fork_of: fields.text("fork_of")?,
        agent: fields.text("agent")?,
        permission_mode: fields.text("permission_mode")?,
        effort: fields.text("effort")?,
        cost_total_usd: fields.number("cost_total_usd")?,
        context_tokens: fields.count("context_tokens")?,
    })
}

fn usage<'t>(fields: &Reader<'t>) -> Result<Usage<'t>, InvalidEvent> {
    let tokens = match fields.maybe_object("tokens")? {
        None => Tokens::default(),
        Some(tokens) => Tokens {
            input: tokens.count("input")?,
            cache_read: tokens.count("cache_read")?,
            cache_write: tokens.count("cache_write")?,
            cache_write_1h: tokens.count("cache_write_1h")?,
            output: tokens.count("output")?,
            reasoning: tokens.count("reasoning")?,
        },
    };
    Ok(Usage {
        message_id: fields.text("message_id")?,
        request_id: fields.text("request_id")?,
        model: fields.text("model")?,
        tokens,
        cost_usd: fields.number("cost_usd")?,
        stop_reason: fields.text("stop_reason")?,
        service_tier: fields.text("service_tier")?,
        provisional: fields.flag("provisional")?,
        part: fields.text("part")?,
    })
}

fn tape_start<'t>(fields: &Reader<'t>) -> Result<TapeStart<'t>, InvalidEvent> {
    let adapter = fields.object("adapter")?;
    Ok(TapeStart {
        schema: fields.word("schema")?,
        adapter_id: adapter.word("id")?,
        adapter_version: adapter.word("version")?,
        harness: harness(fields)?,
        policy: fields.one_of("policy", &Policy::ALL, Policy::as_str)?,
        anchors: fields.word("anchors")?,
        redaction: fields.maybe_word("redaction")?,
        unicode: fields.maybe_word("unicode")?,
        spans: fields.maybe_word("spans")?,
        claims: claims(fields)?,
    })
}

fn harness<'t>(fields: &Reader<'t>) -> Result<Harness<'t>, InvalidEvent> {
    let harness = fields.object("harness")?;
    Ok(Harness {
        family: harness.word("family")?,
        version: harness.text("version")?,
        schema: harness.maybe_word("schema")?,
    })
}

fn claims<'t>(fields: &Reader<'t>) -> Result<Claims<'t>, InvalidEvent> {
    let grades = fields.object("coverage")?;
    let mut coverage = [ClaimGrade::None; Kind::ALL.len()];
    for kind in Kind::ALL {
        coverage[kind as usize] =
            grades.one_of(kind.as_str(), &ClaimGrade::ALL, ClaimGrade::as_str)?;
    }
    let support = fields.one_of("support", &Support::ALL, Support::as_str)?;
    Ok(Claims {
        support,
        coverage,
        degraded: fields.required("degraded", "a list of names", |raw| {
            serde_json::from_str(raw).ok()
        })?,
    })
}

fn tape_stop(fields: &Reader<'_>) -> Result<TapeStop, InvalidEvent> {
    let (events, input) = (fields.object("counts")?, fields.object("input")?);
    let mut counts = KindCounts::default();
    for kind in Kind::ALL {
        counts.set(
            kind,
            events.required(kind.as_str(), "a count", |raw| raw.parse().ok())?,
        );
    }
    let ledger: Ledger =
        fields.required("ledger", "a ledger", |raw| serde_json::from_str(raw).ok())?;
    let input = InputDigest {
        hash: input.required("hash", "a hash", Hash::of_json)?,
        bytes: input.required("bytes", "a count", |raw| raw.parse().ok())?,
        beside: input
            .objects("beside")?
            .into_iter()
            .map(beside_file)
            .collect::<Result<_, _>>()?,
    };
    Ok(TapeStop {
        counts,
        ledger,
        input,
        complete: fields.required("complete", "a boolean", |raw| raw.parse().ok())?,
    })
}

/// The members of an object, with a method for each type of value.
struct Reader<'t>(Members<'t>);

impl<'t> Reader<'t> {
    /// The value of a member, read by `parse`; `None` if it is absent.
    fn parsed<T>(
        &self,
        key: &str,
        expected: &str,
        parse: impl FnOnce(&'t str) -> Option<T>,
    ) -> Result<Option<T>, InvalidEvent> {
        let Some(raw) = self.0.get(key) else {
            return Ok(None);
        };
        parse(raw.get())
            .map(Some)
            .ok_or_else(|| InvalidEvent::new(format!("`{key}` is not {expected}")))
    }

    fn required<T>(
        &self,
        key: &str,
        expected: &str,
        parse: impl FnOnce(&'t str) -> Option<T>,
    ) -> Result<T, InvalidEvent> {
        self.parsed(key, expected, parse)?
            .ok_or_else(|| InvalidEvent::new(format!("`{key}` is missing")))
    }

    fn text(&self, key: &str) -> Result<Option<Text<'t>>, InvalidEvent> {
        self.parsed(key, "a string", Text::of_str)
    }

    fn span_text(&self, key: &str) -> Result<Option<Cow<'t, str>>, InvalidEvent> {
        self.parsed(key, "a string without half surrogate pairs", |raw| {
            Text::of_str(raw)?.decode().ok()
        })
    }

    fn required_text(&self, key: &str) -> Result<Text<'t>, InvalidEvent> {
        self.required(key, "a string", Text::of_str)
    }

    fn maybe_word(&self, key: &str) -> Result<Option<&'t str>, InvalidEvent> {
        self.parsed(key, "a string without escapes", word)
    }

    fn word(&self, key: &str) -> Result<&'t str, InvalidEvent> {
        self.required(key, "a string without escapes", word)
    }

    /// The variant with this name; `all` lists all variants.
    fn maybe_one_of<T: Copy>(
        &self,
        key: &str,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Result<Option<T>, InvalidEvent> {
        self.parsed(key, "a known name", |raw| {
            all.iter()
                .copied()
                .find(|variant| word(raw) == Some(name(*variant)))
        })
    }

    fn one_of<T: Copy>(
        &self,
        key: &str,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Result<T, InvalidEvent> {
        self.maybe_one_of(key, all, name)?
            .ok_or_else(|| InvalidEvent::new(format!("`{key}` is missing")))
    }

    fn flag(&self, key: &str) -> Result<bool, InvalidEvent> {
        Ok(self
            .parsed(key, "a boolean", |raw| raw.parse().ok())?
            .unwrap_or_default())
    }

    fn count(&self, key: &str) -> Result<Option<u64>, InvalidEvent> {
        self.parsed(key, "a count", |raw| raw.parse().ok())
    }

    fn number(&self, key: &str) -> Result<Option<Number<'t>>, InvalidEvent> {
        self.parsed(key, "a number", Number::of_str)
    }

    fn hash(&self, key: &str) -> Result<Option<Hash>, InvalidEvent> {
        self.parsed(key, "a hash", Hash::of_json)
    }

    fn range(&self, key: &str) -> Result<Option<Range>, InvalidEvent> {
        let range = |raw| {
            serde_json::from_str(raw)
                .ok()
                .map(|(first, last)| Range { first, last })
        };
        self.parsed(key, "a range", range)
    }

    fn anchors(&self, key: &str) -> Result<Vec<u64>, InvalidEvent> {
        let anchors = |raw: &'t str| {
            let hex: Vec<&str> = serde_json::from_str(raw).ok()?;
            hex.into_iter()
                .map(|hex| u64::from_str_radix(hex, 16).ok())
                .collect()
        };
        Ok(self
            .parsed(key, "a list of fingerprints", anchors)?
            .unwrap_or_default())
    }

    fn maybe_object(&self, key: &str) -> Result<Option<Reader<'t>>, InvalidEvent> {
        self.parsed(key, "an object", |raw| Members::of(raw).ok().map(Reader))
    }

    fn object(&self, key: &str) -> Result<Reader<'t>, InvalidEvent> {
        self.required(key, "an object", |raw| Members::of(raw).ok().map(Reader))
    }

    fn attachments(&self) -> Result<Vec<Attachment<'t>>, InvalidEvent> {
        self.objects("attachments")?
            .into_iter()
            .map(attachment)
            .collect()
    }

    fn objects(&self, key: &str) -> Result<Vec<Reader<'t>>, InvalidEvent> {
        let all = |raw| serde_json::from_str::<Vec<Members<'t>>>(raw).ok();
        Ok(self
            .parsed(key, "a list of objects", all)?
            .unwrap_or_default()
            .into_iter()
            .map(Reader)
            .collect())
    }
}

fn beside_file(fields: Reader<'_>) -> Result<BesideFile, InvalidEvent> {
    let name = fields.required_text("name")?.decode_lossy().into_owned();
    let hash = fields.hash("hash")?;
    Ok(BesideFile {
        name,
        hash,
        bytes: fields.required("bytes", "a count", |raw| raw.parse().ok())?,
    })
}

fn attachment<'t>(fields: Reader<'t>) -> Result<Attachment<'t>, InvalidEvent> {
    let (media_type, name) = (fields.text("media_type")?, fields.text("name")?);
    Ok(Attachment {
        media_type,
        hash: fields.hash("hash")?,
        bytes: fields.count("bytes")?,
        name,
    })
}

/// The string in a raw value, if it is one without escapes.
fn word(raw: &str) -> Option<&str> {
    raw.strip_prefix('"')?
        .strip_suffix('"')
        .filter(|word| !word.contains('\\'))
}
