//! The pipeline: divides an artifact into records, passes each to the session, and applies policy and limits.

use simdutf8::compat::from_utf8;

pub use crate::conversion::{Options, Summary};
use crate::emit::{Emitter, Fault};
use crate::error::{AdapterError, ErrorCode, error_of, unreadable};
use crate::event::{InputDigest, RecordLocation};
use crate::hash::Hash;
use crate::input::broken::Broken;
use crate::input::head::{Head, first_value, is_blank};
pub use crate::input::source::{Source, Spool};
use crate::input::terminal::controls;
use crate::input::truncation::complete_items;
pub use crate::input::{ByteSource, Input, Memory, Reader};
use crate::input::{OriginalRecord, UnreadableLine};
use crate::ledger::Outcome;
use crate::policy::Policy;
use crate::repeats::Repeats;
use crate::sink::EventSink;
use crate::steps::{self, Start};
use crate::stream::{Framing, Session, SessionInit, SideInfo, StreamAdapter};
use crate::support::{refusal, resolve_support};
use crate::version::Support;

/// Converts one artifact, and sends its events to `sink`.
///
/// Takes linear time: an adapter on the three steps reads the input twice ([`crate::steps`]). Memory is bounded by the largest record
/// ([`Limits::record_bytes`](crate::limits::Limits::record_bytes)), not by the size of the artifact, except for a few bytes per record. A
/// document is one record, so it is completely in memory. The same input always gives the same events.
///
/// If this fails, the sink may have received part of a tape, without [`EventSink::finish`]. Discard it.
///
/// ```
/// use engram_core::adapter::StreamAdapter;
/// use engram_core::error::AdapterError;
/// use engram_core::event::Kind;
/// use engram_core::pipeline::{Input, Options, convert};
/// use engram_core::tape::JsonLines;
///
/// fn convert_file(adapter: &dyn StreamAdapter, log: std::fs::File) -> Result<Vec<u8>, AdapterError> {
///     let (options, mut tape) = (Options::default(), Vec::new());
///     let summary = convert(adapter, Input::new(log, options.limits), &options, &mut JsonLines::new(&mut tape))?;
///     eprintln!("{} messages to the agent, {} tool calls", summary.counts.of(Kind::MsgIn), summary.counts.of(Kind::ToolCall));
///     Ok(tape)
/// }
/// ```
///
/// # Errors
/// [`AdapterError`]: a failing reader or sink, a limit, a defect of the adapter, and under strict policy any unknown or malformed input.
/// It has adapter, harness, version and line as far as they are known.
pub fn convert<S: ByteSource>(
    adapter: &dyn StreamAdapter,
    input: Input<S>,
    options: &Options,
    sink: &mut dyn EventSink,
) -> Result<Summary, AdapterError> {
    convert_chosen(input, options, sink, |head| {
        let framing = adapter.probe(head).map_or(Framing::Lines, |evidence| evidence.framing);
        Ok((adapter, framing))
    })
}

/// As [`convert`], with the adapter and framing that `choose` returns for the head of the artifact.
///
/// # Errors
/// Those of [`convert`] and of `choose`.
pub fn convert_chosen<'a, S: ByteSource>(
    mut input: Input<S>,
    options: &Options,
    sink: &mut dyn EventSink,
    choose: impl FnOnce(&Head<'_>) -> Result<(&'a dyn StreamAdapter, Framing), AdapterError>,
) -> Result<Summary, AdapterError> {
    let head = input.head()?;
    let (adapter, framing) = choose(&head)?;
    let descriptor = adapter.describe();
    let identity = options.context.complete(adapter.identify(&head));
    let (revision, support) = descriptor.matrix.identify(&identity);
    let support = if options.context.unknown_schema { Support::Unknown } else { support };
    if options.policy == Policy::Strict
        && let Some(error) = refusal(descriptor, support, identity.version.as_deref())
    {
        return Err(if options.context.unknown_schema { error.expected("a store with the schema of a recorded version") } else { error });
    }
    let init = SessionInit { identity: &identity, revision, head: &head, context: &options.context };
    let support = resolve_support(descriptor, identity.version.as_deref(), revision, support);
    if let Some(mut conversion) = adapter.conversion(&init) {
        input.discard_head();
        let start = Start { descriptor, options, identity: &identity, support, framing };
        return steps::convert(&start, conversion.as_mut(), &mut input, sink).map_err(|mut error| {
            error.policy = options.policy;
            error.adapter.get_or_insert(descriptor.adapter_id);
            error.harness.get_or_insert(descriptor.harness_family);
            error
        });
    }
    let mut session = adapter.session(&init);
    let mut out = Emitter::new(sink, descriptor, options, &identity, support);
    out.set_apart(session.sessions_are_apart());
    let repeats = session.repeats_are_exact().then(Repeats::default);
    let mut run = Run { out, complete: true, repeats, original: None, has_controls: session.has_terminal_controls() };
    input.discard_head();
    run.run(session.as_mut(), &mut input, framing, &options.context).map_err(|mut error| {
        error.policy = options.policy;
        error.adapter.get_or_insert(descriptor.adapter_id);
        error.harness.get_or_insert(descriptor.harness_family);
        if error.version.is_none() {
            error.version = run.out.support().version.clone();
        }
        error
    })?;
    let bytes = input.consumed().1;
    Ok(Summary::of(descriptor, &identity, &run.out, bytes, run.complete))
}

/// A conversion in progress.
struct Run<'s> {
    out: Emitter<'s>,
    complete: bool,
    /// The records to which later ones are compared, if the session asks for it.
    repeats: Option<Repeats>,
    /// The current line as it was, if it was rewritten.
    original: Option<OriginalRecord>,
    /// Control sequences of a terminal may precede a record.
    has_controls: bool,
}

impl Run<'_> {
    fn run<S: ByteSource>(
        &mut self,
        session: &mut dyn Session,
        input: &mut Input<S>,
        framing: Framing,
        side_info: &SideInfo,
    ) -> Result<(), AdapterError> {
        self.out.start().map_err(|fault| self.error(fault))?;
        match framing {
            Framing::Lines => self.lines(session, input)?,
            Framing::Document => self.document(session, input)?,
        }
        if let Some(reason) = input.truncation_reason() {
            self.complete = false;
            if self.out.policy() == Policy::Strict {
                return Err(AdapterError::new(ErrorCode::TruncatedInput).expected("a complete artifact").found(reason));
            }
        }
        self.out.begin();
        session.finish(&mut self.out).map_err(|fault| self.error(fault))?;
        let (hash, bytes) = input.consumed();
        let digest = InputDigest { hash, bytes, beside: side_info.side_files.as_ref().map(|files| files.files_read()).unwrap_or_default() };
        self.out.stop(digest, self.complete).map_err(|fault| self.error(fault))
    }

    fn lines<S: ByteSource>(&mut self, session: &mut dyn Session, input: &mut Input<S>) -> Result<(), AdapterError> {
        let mut number = 0;
        while let Some(line) = input.next_line()? {
            number += 1;
            self.original = line.original;
            match line.text {
                Ok(text) => self.line(session, text, number, line.terminated)?,
                Err(unreadable) => self.unreadable_line(session, *unreadable, number, line.terminated)?,
            }
        }
        Ok(())
    }

    fn unreadable_line(
        &mut self,
        session: &mut dyn Session,
        line: UnreadableLine<'_>,
        number: u64,
        terminated: bool,
    ) -> Result<(), AdapterError> {
        match line {
            UnreadableLine::Oversize { bytes, hash, allowed } => self.oversize(bytes, hash, allowed, number),
            UnreadableLine::NotUtf8 { bytes, error } if terminated || error.error_len().is_some() => {
                self.out.begin_at(RecordLocation { line: number, part: 0 });
                self.not_json(bytes, "UTF-8")
            }
            UnreadableLine::NotUtf8 { bytes, error } => {
                // The artifact ends inside a character. The record before it may still be complete.
                let valid = from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
                self.line(session, valid, number, false)?;
                self.end_inside_record()
            }
        }
    }

    fn oversize(&mut self, bytes: u64, hash: Hash, allowed: u64, number: u64) -> Result<(), AdapterError> {
        self.out.begin_at(RecordLocation { line: number, part: 0 });
        if self.out.policy() == Policy::Strict {
            let error = AdapterError::new(ErrorCode::LimitExceeded).expected(format!("at most {allowed} bytes")).line(number);
            return Err(error.found(&format!("{bytes} bytes")));
        }
        self.out.oversize(bytes, hash).map_err(|fault| self.error(fault))
    }

    /// Converts one physical line. In nearly all cases it is one record, which is parsed only once.
    fn line(&mut self, session: &mut dyn Session, text: &str, number: u64, terminated: bool) -> Result<(), AdapterError> {
        self.out.begin_at(RecordLocation { line: number, part: 0 });
        let text = if self.has_controls { &text[controls(text.as_bytes())..] } else { text };
        if is_blank(text.as_bytes()) {
            return Ok(());
        }
        if self.omit_repeat(text) {
            return Ok(());
        }
        match session.record(text, &mut self.out) {
            Err(Fault::Json(_)) => self.split_irregular_line(session, text, number, terminated),
            result => self.settle(result, text),
        }
    }

    /// Converts a line that is not a single JSON value of the expected structure: several values, a truncated record, or something else.
    fn split_irregular_line(&mut self, session: &mut dyn Session, text: &str, number: u64, terminated: bool) -> Result<(), AdapterError> {
        let (mut rest, mut part) = (text, 0);
        while !is_blank(rest.as_bytes()) {
            self.out.begin_at(RecordLocation { line: number, part });
            let end = match first_value(rest) {
                Ok(end) => {
                    if !self.omit_repeat(&rest[..end]) {
                        let result = session.record(&rest[..end], &mut self.out);
                        self.settle(result, &rest[..end])?;
                    }
                    end
                }
                Err(is_truncated) => {
                    let lead = rest.len() - rest.trim_ascii_start().len();
                    let next = session.resync(&rest[lead..]).filter(|at| *at > 0).map(|at| lead + at);
                    let next = next.filter(|at| *at < rest.len() && rest.is_char_boundary(*at));
                    if next.is_none() && !terminated && is_truncated {
                        return self.end_inside_record();
                    }
                    let end = next.unwrap_or(rest.len());
                    match session.fragment(&rest[lead..end], &mut self.out) {
                        Some(result) => self.settle(result, &rest[..end])?,
                        None => self.not_json(&rest.as_bytes()[..end], "JSON")?,
                    }
                    end
                }
            };
            rest = &rest[end..];
            part += 1;
        }
        Ok(())
    }

    /// Counts a record that is an exact repeat. It does not reach the session.
    #[inline]
    fn omit_repeat(&mut self, text: &str) -> bool {
        let is_repeat = self.repeats.as_ref().is_some_and(|repeats| repeats.contains(text, self.original.as_ref()));
        if is_repeat {
            self.out.settle_repeat(text);
        }
        is_repeat
    }

    #[inline]
    fn settle(&mut self, result: Result<Outcome, Fault>, text: &str) -> Result<(), AdapterError> {
        match result {
            Ok(Outcome::Mapped) if !self.out.has_events() => {
                let error = AdapterError::new(ErrorCode::AdapterDefect).expected("at least one event of a mapped record");
                Err(error.line(self.out.line()))
            }
            Ok(outcome) => {
                if let Some(repeats) = self.repeats.as_mut().filter(|_| self.out.is_identified())
                    && !matches!(outcome, Outcome::Duplicate { .. })
                {
                    repeats.insert(text, self.original.as_ref());
                }
                self.out.settle(outcome);
                self.out.take_error().map_or(Ok(()), Err)
            }
            Err(fault) => self.settle_fault(fault, text),
        }
    }

    fn settle_fault(&mut self, fault: Fault, text: &str) -> Result<(), AdapterError> {
        let fault = match fault {
            // The text is known to be JSON here, so only its structure can be wrong.
            Fault::Json(error) => Fault::malformed("", "fields of the expected types", &error.to_string()),
            fault => fault,
        };
        self.out.set_original(self.original);
        let settled = self.out.settle_fault(fault, text);
        self.out.set_original(None);
        settled.map_err(|fault| self.error(fault))
    }

    /// The artifact ends inside the current record.
    fn end_inside_record(&mut self) -> Result<(), AdapterError> {
        self.complete = false;
        if self.out.policy() == Policy::Strict {
            return Err(AdapterError::new(ErrorCode::TruncatedInput).line(self.out.line()));
        }
        Ok(())
    }

    fn not_json(&mut self, bytes: &[u8], expected: &str) -> Result<(), AdapterError> {
        if self.out.policy() == Policy::Strict {
            return Err(unreadable(bytes, expected, self.out.line()));
        }
        self.out.malformed_bytes(bytes).map_err(|fault| self.error(fault))
    }

    fn document<S: ByteSource>(&mut self, session: &mut dyn Session, input: &mut Input<S>) -> Result<(), AdapterError> {
        let (bytes, text) = input.rest()?;
        let broken = match text {
            Ok(text) => match session.document(text, &mut self.out) {
                Err(Fault::Json(error)) => Broken::json(text, &error),
                converted => return converted.map_err(|fault| self.error(fault)),
            },
            Err(error) => Broken::utf8(bytes, error),
        };
        self.broken_document(session, bytes, broken)
    }

    /// Converts the complete items of a broken document. The rest is missing, or is kept as one malformed record.
    fn broken_document(&mut self, session: &mut dyn Session, bytes: &[u8], broken: Broken<'_>) -> Result<(), AdapterError> {
        let valid = complete_items(broken.valid_prefix).filter(|_| self.out.policy() == Policy::Permissive);
        let Some(valid) = valid else { return Err(broken.error) };
        session.document(&valid.text, &mut self.out).map_err(|fault| self.error(fault))?;
        if broken.error.code == ErrorCode::TruncatedInput {
            self.complete = false;
            return Ok(());
        }
        self.out.begin();
        self.not_json(&bytes[valid.end..], "JSON")
    }

    fn error(&self, fault: Fault) -> AdapterError {
        error_of(fault, self.out.line())
    }
}
