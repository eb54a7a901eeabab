//! A conversion: the adapter of an artifact is chosen by its head, its version is judged, and the three steps run.

pub use crate::conversion::{Options, Summary};
use std::fmt;

use crate::error::AdapterError;
use crate::input::head::{Head, Identity};
pub use crate::input::source::{Source, Spool};
pub use crate::input::{ByteSource, Input, Memory, Reader};
use crate::policy::Policy;
use crate::sink::EventSink;
use crate::steps::{self, Start};
use crate::stream_adapter::{Framing, SessionInit, StreamAdapter};
use crate::support::{refusal, resolve_support};
use crate::version::Support;

/// Converts one artifact, and sends its events to `sink`.
///
/// Takes linear time: the input is read twice ([`crate::steps`]). Memory is bounded by the largest record
/// ([`Limits::record_bytes`](crate::limits::Limits::record_bytes)), not by the size of the artifact, except for the notes on each record. A
/// document is one record, so it is completely in memory. The same input always gives the same events.
///
/// What is wrong with the input is found before the first event, so a strict conversion that fails for it has written nothing. After another
/// error, of the file or the sink, the sink may have received part of a tape without [`EventSink::finish`]. Discard it.
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
        let framing = adapter
            .probe(head)
            .map_or(Framing::Lines, |evidence| evidence.framing);
        Ok(Chosen {
            adapter,
            framing,
            identity: adapter.identify(head),
        })
    })
}

/// How an artifact is converted.
pub struct Chosen<'a> {
    /// The adapter.
    pub adapter: &'a dyn StreamAdapter,
    /// How the artifact is divided into records.
    pub framing: Framing,
    /// What [`StreamAdapter::identify`] returns for its head.
    pub identity: Identity,
}

impl fmt::Debug for Chosen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chosen")
            .field("adapter", &self.adapter.describe().adapter_id)
            .field("framing", &self.framing)
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

/// As [`convert`], with what `choose` returns for the head of the artifact.
///
/// # Errors
/// Those of [`convert`] and of `choose`.
pub fn convert_chosen<'a, S: ByteSource>(
    mut input: Input<S>,
    options: &Options,
    sink: &mut dyn EventSink,
    choose: impl FnOnce(&Head<'_>) -> Result<Chosen<'a>, AdapterError>,
) -> Result<Summary, AdapterError> {
    let head = input.head()?;
    let Chosen {
        adapter,
        framing,
        identity,
    } = choose(&head)?;
    let descriptor = adapter.describe();
    let identity = options.context.complete(identity);
    let (revision, support) = descriptor.matrix.identify(&identity);
    let support = if options.context.unknown_schema {
        Support::Unknown
    } else {
        support
    };
    if options.policy == Policy::Strict
        && let Some(error) = refusal(descriptor, support, identity.version.as_deref())
    {
        return Err(if options.context.unknown_schema {
            error.expected("a store with the schema of a recorded version")
        } else {
            error
        });
    }
    let init = SessionInit {
        identity: &identity,
        revision,
        head: &head,
        context: &options.context,
    };
    let support = resolve_support(descriptor, identity.version.as_deref(), revision, support);
    let mut conversion = adapter.conversion(&init);
    input.discard_head();
    let start = Start {
        descriptor,
        options,
        identity: &identity,
        support,
        framing,
    };
    steps::convert(&start, conversion.as_mut(), &mut input, sink).map_err(|mut error| {
        error.policy = options.policy;
        error.adapter.get_or_insert(descriptor.adapter_id);
        error.harness.get_or_insert(descriptor.harness_family);
        error
    })
}
