//! The driver: divides an artifact into records, hands each to the session, applies the policy, bounds everything.

use simdutf8::compat::{Utf8Error, from_utf8};

use crate::coverage::Coverage;
use crate::emit::{Emitter, Fault};
use crate::error::{AdapterError, ErrorCode};
use crate::event::{KindCounts, RecordLocation};
use crate::hash::Hash;
use crate::input::NotText;
use crate::input::head::{Head, first_value, is_blank};
use crate::input::truncation::complete_items;
pub use crate::input::{ByteSource, Input, Memory, Reader};
use crate::ledger::{Ledger, Outcome};
use crate::limits::Limits;
use crate::policy::Policy;
use crate::sink::EventSink;
use crate::stream::{Framing, Session, SessionInit, SideInfo, StreamAdapter};
use crate::support::{refusal, resolve_support};
use crate::version::Support;

/// How a conversion is to be run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What to do about the unknown.
    pub policy: Policy,
    /// Bounds.
    pub limits: Limits,
    /// What the files around the artifact say.
    pub context: SideInfo,
}

/// What a conversion came to.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The adapter that converted.
    pub adapter_id: &'static str,
    /// The harness that wrote the artifact.
    pub harness: &'static str,
    /// The last version that the artifact records.
    pub version: Option<String>,
    /// The schema revision, where it is known.
    pub schema: Option<&'static str>,
    /// How well the version is known.
    pub support: Support,
    /// What was claimed for the artifact.
    pub coverage: Coverage,
    /// Why the claim was lowered.
    pub degraded: Vec<&'static str>,
    /// The session's id.
    pub session_id: Option<String>,
    /// The sub-agent's id.
    pub agent_id: Option<String>,
    /// Events per kind.
    pub counts: KindCounts,
    /// Where every record went.
    pub ledger: Ledger,
    /// Bytes of the artifact.
    pub input_bytes: u64,
    /// False when the artifact ends inside a record.
    pub complete: bool,
}

/// Converts one artifact. The sink may hold part of a tape when this fails: the caller throws it away.
///
/// # Errors
/// [`AdapterError`] with code, adapter, harness, version and line where known.
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

/// As [`convert`], by the adapter that `choose` chooses for the head, with the framing that it has found.
///
/// # Errors
/// As [`convert`], and those of `choose`.
pub fn convert_chosen<'a, S: ByteSource>(
    mut input: Input<S>,
    options: &Options,
    sink: &mut dyn EventSink,
    choose: impl FnOnce(&Head<'_>) -> Result<(&'a dyn StreamAdapter, Framing), AdapterError>,
) -> Result<Summary, AdapterError> {
    let head = input.head()?;
    let (adapter, framing) = choose(&head)?;
    let descriptor = adapter.describe();
    let identity = adapter.identify(&head);
    let (revision, support) = descriptor.matrix.identify(&identity);
    let support = if options.context.unknown_schema { Support::Unknown } else { support };
    if options.policy == Policy::Strict
        && let Some(error) = refusal(descriptor, support, identity.version.as_deref())
    {
        return Err(error);
    }
    let mut session = adapter.session(&SessionInit { identity: &identity, revision, head: &head, context: &options.context });
    let support = resolve_support(descriptor, identity.version.as_deref(), revision, support);
    let mut run = Run { out: Emitter::new(sink, descriptor, options.policy, options.limits, &identity, support), complete: true };
    run.run(session.as_mut(), &mut input, framing).map_err(|mut error| {
        error.policy = options.policy;
        error.adapter.get_or_insert(descriptor.adapter_id);
        error.harness.get_or_insert(descriptor.harness_family);
        if error.version.is_none() {
            error.version = run.out.support().version.clone();
        }
        error
    })?;
    let support = run.out.support();
    Ok(Summary {
        adapter_id: descriptor.adapter_id,
        harness: descriptor.harness_family,
        version: support.version.clone(),
        schema: support.revision,
        support: support.support,
        coverage: support.coverage,
        degraded: support.degraded.clone(),
        session_id: identity.session_id,
        agent_id: identity.agent_id,
        counts: run.out.counts(),
        ledger: run.out.ledger().clone(),
        input_bytes: input.consumed().1,
        complete: run.complete,
    })
}

/// A document that ends too early, or is no JSON from some place on.
struct Broken<'b> {
    /// What is before that place.
    valid_prefix: &'b str,
    /// What is said of it where no part of it is to be converted.
    error: AdapterError,
}

impl<'b> Broken<'b> {
    fn json(text: &'b str, error: &serde_json::Error) -> Self {
        if error.is_eof() {
            return Broken::cut(text, format!("the end of the document at line {}, column {}", error.line(), error.column()));
        }
        let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
        let valid_prefix = &text[..text.floor_char_boundary(lines + error.column().saturating_sub(1))];
        Broken { valid_prefix, error: AdapterError::new(ErrorCode::MalformedRecord).expected("JSON").found(&error.to_string()) }
    }

    fn utf8(bytes: &'b [u8], error: Utf8Error) -> Self {
        let valid_prefix = from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        let found = format!("invalid byte at offset {}", error.valid_up_to());
        if error.error_len().is_none() {
            return Broken::cut(valid_prefix, found);
        }
        Broken { valid_prefix, error: AdapterError::new(ErrorCode::MalformedRecord).expected("UTF-8").found(&found) }
    }

    fn cut(valid_prefix: &'b str, found: String) -> Self {
        Broken { valid_prefix, error: AdapterError::new(ErrorCode::TruncatedInput).expected("a whole document").found(&found) }
    }
}

struct Run<'s> {
    out: Emitter<'s>,
    complete: bool,
}

impl Run<'_> {
    fn run<S: ByteSource>(&mut self, session: &mut dyn Session, input: &mut Input<S>, framing: Framing) -> Result<(), AdapterError> {
        self.out.start().map_err(|fault| self.error(fault))?;
        match framing {
            Framing::Lines => self.lines(session, input)?,
            Framing::Document => self.document(session, input)?,
        }
        if let Some(reason) = input.cut_off() {
            self.complete = false;
            if self.out.policy() == Policy::Strict {
                return Err(AdapterError::new(ErrorCode::TruncatedInput).expected("the whole artifact").found(reason));
            }
        }
        self.out.begin();
        session.finish(&mut self.out).map_err(|fault| self.error(fault))?;
        self.out.stop(input.consumed(), self.complete).map_err(|fault| self.error(fault))
    }

    fn lines<S: ByteSource>(&mut self, session: &mut dyn Session, input: &mut Input<S>) -> Result<(), AdapterError> {
        let mut number = 0;
        while let Some(line) = input.next_line()? {
            number += 1;
            match line.text {
                Ok(text) => self.line(session, text, number, line.terminated)?,
                Err(not_text) => self.not_text(session, *not_text, number, line.terminated)?,
            }
        }
        Ok(())
    }

    #[cold]
    fn not_text(&mut self, session: &mut dyn Session, line: NotText<'_>, number: u64, terminated: bool) -> Result<(), AdapterError> {
        match line {
            NotText::Oversize { bytes, hash, allowed } => self.oversize(bytes, hash, allowed, number),
            NotText::Malformed { bytes, error } if terminated || error.error_len().is_some() => {
                self.out.begin_at(RecordLocation { line: number, part: 0 });
                self.not_json(bytes, "UTF-8")
            }
            NotText::Malformed { bytes, error } => {
                // The artifact ends inside a character: what is before it may still be whole.
                let whole = from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
                self.line(session, whole, number, false)?;
                self.cut()
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

    /// Converts one physical line. Nearly always it is one record, and is parsed once.
    fn line(&mut self, session: &mut dyn Session, text: &str, number: u64, terminated: bool) -> Result<(), AdapterError> {
        self.out.begin_at(RecordLocation { line: number, part: 0 });
        if is_blank(text.as_bytes()) {
            return Ok(());
        }
        match session.record(text, &mut self.out) {
            Err(Fault::Json(_)) => self.split_irregular_line(session, text, number, terminated),
            settled => self.settle(settled, text),
        }
    }

    /// Converts a line that is not one JSON value of the expected shape: several values, a cut record, or something else.
    #[cold]
    fn split_irregular_line(&mut self, session: &mut dyn Session, text: &str, number: u64, terminated: bool) -> Result<(), AdapterError> {
        let (mut rest, mut part) = (text, 0);
        while !is_blank(rest.as_bytes()) {
            self.out.begin_at(RecordLocation { line: number, part });
            let end = match first_value(rest) {
                Ok(end) => {
                    let settled = session.record(&rest[..end], &mut self.out);
                    self.settle(settled, &rest[..end])?;
                    end
                }
                Err(cut) => {
                    let lead = rest.len() - rest.trim_ascii_start().len();
                    let next = session.resync(&rest[lead..]).filter(|at| *at > 0).map(|at| lead + at);
                    let next = next.filter(|at| *at < rest.len() && rest.is_char_boundary(*at));
                    if next.is_none() && !terminated && cut {
                        return self.cut();
                    }
                    let end = next.unwrap_or(rest.len());
                    match session.fragment(&rest[lead..end], &mut self.out) {
                        Some(settled) => self.settle(settled, &rest[..end])?,
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

    #[inline]
    fn settle(&mut self, settled: Result<Outcome, Fault>, text: &str) -> Result<(), AdapterError> {
        match settled {
            Ok(Outcome::Mapped) if !self.out.has_events() => {
                let error = AdapterError::new(ErrorCode::AdapterDefect).expected("an event of a mapped record");
                Err(error.line(self.out.line()))
            }
            Ok(outcome) => {
                self.out.settle(outcome);
                Ok(())
            }
            Err(fault) => self.settle_fault(fault, text),
        }
    }

    #[cold]
    fn settle_fault(&mut self, fault: Fault, text: &str) -> Result<(), AdapterError> {
        let fault = match fault {
            // The text is JSON, or the driver would not have asked: only its shape can be wrong.
            Fault::Json(error) => Fault::malformed("", "fields of the known types", &error.to_string()),
            fault => fault,
        };
        self.out.settle_fault(fault, text).map_err(|fault| self.error(fault))
    }

    /// The artifact ends inside this record.
    fn cut(&mut self) -> Result<(), AdapterError> {
        self.complete = false;
        if self.out.policy() == Policy::Strict {
            return Err(AdapterError::new(ErrorCode::TruncatedInput).line(self.out.line()));
        }
        Ok(())
    }

    fn not_json(&mut self, bytes: &[u8], expected: &str) -> Result<(), AdapterError> {
        if self.out.policy() == Policy::Strict {
            let error = AdapterError::new(ErrorCode::MalformedRecord).expected(expected).line(self.out.line());
            return Err(error.found(&String::from_utf8_lossy(&bytes[..bytes.len().min(512)])));
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

    /// Converts what is whole of a document. What is behind it was cut off, or is kept as it is.
    #[cold]
    fn broken_document(&mut self, session: &mut dyn Session, bytes: &[u8], broken: Broken<'_>) -> Result<(), AdapterError> {
        let whole = complete_items(broken.valid_prefix).filter(|_| self.out.policy() == Policy::Permissive);
        let Some(whole) = whole else { return Err(broken.error) };
        session.document(&whole.text, &mut self.out).map_err(|fault| self.error(fault))?;
        if broken.error.code == ErrorCode::TruncatedInput {
            self.complete = false;
            return Ok(());
        }
        self.out.begin();
        self.not_json(&bytes[whole.end..], "JSON")
    }

    fn error(&self, fault: Fault) -> AdapterError {
        let mut error = match fault {
            Fault::Fatal(error) => return error,
            Fault::Json(error) => AdapterError::new(ErrorCode::MalformedRecord).expected("JSON").found(&error.to_string()),
            Fault::Unrecognized { name } => AdapterError::new(ErrorCode::UnrecognizedRecord).expected("a known record type").found(&name),
            Fault::Malformed { pointer, expected, found } => {
                let mut error = AdapterError::new(ErrorCode::MalformedRecord).expected(expected);
                error.pointer = Some(pointer);
                error.found = Some(found);
                error
            }
            Fault::Limit(limit) => {
                AdapterError::new(ErrorCode::LimitExceeded).expected(format!("{} of at most {}", limit.limit, limit.allowed))
            }
        };
        error.line = (self.out.line() > 0).then_some(self.out.line());
        error
    }
}
