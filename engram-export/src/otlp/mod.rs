//! OpenTelemetry traces in the JSON form of OTLP: one line for each session, with its sub-agents. Collectors read such files
//! (`otlpjsonfile`), and each line can be sent to an endpoint.

mod content;
mod conventions;
mod events;
mod facts;
mod ids;
mod spans;
mod wire;

use engram_core::event::{Event, Meta};

pub use self::conventions::Semconv;
use self::conventions::{REPO_BRANCH, REPO_REVISION, REPO_URL, SERVICE_NAME, SERVICE_VERSION};
use self::ids::trace_id;
use self::spans::Spans;
use self::wire::{Attributes, Resource, ResourceSpans, Scope, ScopeSpans, TracesData};
use crate::losses::{Losses, Rule, SURROGATE, TIME_RANGE, UNKNOWN_LABEL};
use crate::session::Session;
use crate::text::owned;

/// What OTLP cannot hold.
pub const RULES: &[Rule] = &[
    SURROGATE,
    UNKNOWN_LABEL,
    TIME_RANGE,
    NO_TIME,
    NO_TIME_EVENT,
    CLAMPED,
    REPLAY,
    TEXT,
    CUT,
    FINGERPRINTS,
    CONTEXT,
];

pub(crate) const NO_TIME: Rule = Rule {
    name: "tape.no_time",
    meaning: "a tape without times: it has no spans",
};
pub(crate) const NO_TIME_EVENT: Rule = Rule {
    name: "event.no_time",
    meaning: "an event without a time: it is in no span",
};
pub(crate) const CLAMPED: Rule = Rule {
    name: "span.clamped",
    meaning: "a span that would end before it starts, since the clock of the log steps back: it has no length, and `engram.time` is `clamped`",
};
pub(crate) const REPLAY: Rule = Rule {
    name: "event.replay",
    meaning: "an event that repeats another session's history: it is left out",
};
pub(crate) const TEXT: Rule = Rule {
    name: "content.left_out",
    meaning: "a text, arguments or a result that `--content` leaves out",
};
pub(crate) const CUT: Rule = Rule {
    name: "content.cut",
    meaning: "a text over the limit of an attribute: it is cut, and `engram.truncated` is set",
};
pub(crate) const FINGERPRINTS: Rule = Rule {
    name: "code.anchors",
    meaning: "the fingerprints of a read or an edit",
};
pub(crate) const CONTEXT: Rule = Rule {
    name: "meta.left_out",
    meaning: "a context, notice, revision or unrecognized record",
};

/// The texts that spans have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Content {
    /// None.
    #[default]
    None,
    /// Messages.
    Text,
    /// Messages, arguments and results.
    All,
}

/// How spans are written.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The conventions.
    pub semconv: Semconv,
    /// The texts.
    pub content: Content,
    /// The longest text of an attribute, in bytes.
    pub max_attribute_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            semconv: Semconv::default(),
            content: Content::default(),
            max_attribute_bytes: 8192,
        }
    }
}

/// One tape of a session: that of the session, or of a sub-agent.
#[derive(Debug)]
pub struct Part<'s, 't> {
    /// The name of the tape, used where it has no session id.
    pub name: &'s str,
    /// The tape.
    pub session: &'s Session<'t>,
    /// The part that started this one, and the call that did. Parents come before their children.
    pub parent: Option<(usize, Option<&'s str>)>,
}

/// Writes traces, and counts what is lost.
#[derive(Debug)]
pub struct Otlp {
    options: Options,
    losses: Losses,
}

impl Otlp {
    /// Traces with these options.
    pub fn new(options: Options) -> Otlp {
        Otlp {
            options,
            losses: Losses::new("otlp", &[RULES]),
        }
    }

    /// What was lost so far.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// The line of a session with its sub-agents; `None` if none of them has a time.
    pub fn line(&mut self, parts: &[Part<'_, '_>]) -> Option<String> {
        let root = parts.first()?;
        let first = root.session.events.first()?;
        let session_id = first
            .source
            .session_id
            .map_or_else(|| root.name.to_owned(), owned);
        let trace = trace_id(first.source.harness, &session_id);
        let (mut resource_spans, mut written): (Vec<ResourceSpans>, Vec<Option<Spans>>) =
            (Vec::new(), Vec::new());
        for part in parts {
            self.losses.tape();
            let parent = part.parent.and_then(|(at, call)| {
                written
                    .get(at)?
                    .as_ref()
                    .map(|spans| spans.parent_for(call))
            });
            let spans = Spans::of(part, &trace, parent, self.options, &mut self.losses);
            match spans {
                Some(mut spans) => {
                    resource_spans
                        .push(self.resource_spans(part.session, std::mem::take(&mut spans.spans)));
                    written.push(Some(spans));
                }
                None => {
                    self.losses.count(&NO_TIME);
                    written.push(None);
                }
            }
        }
        if resource_spans.is_empty() {
            return None;
        }
        serde_json::to_string(&TracesData { resource_spans })
            .ok()
            .map(|line| line + "\n")
    }

    fn resource_spans(&self, session: &Session<'_>, spans: Vec<wire::Span>) -> ResourceSpans {
        let mut resource = Attributes::default();
        let (mut version, mut repository) = (None, [None, None, None]);
        for record in session.events.iter().filter(|record| !record.replay) {
            match &record.event {
                Event::Meta(Meta::TapeStart(start)) => version = start.harness.version.map(owned),
                Event::Meta(Meta::Session(facts)) => {
                    let stated = [facts.repo_url, facts.repo_branch, facts.repo_head];
                    repository
                        .iter_mut()
                        .zip(stated)
                        .for_each(|(known, stated)| {
                            *known = known.take().or_else(|| stated.map(owned))
                        });
                }
                _ => {}
            }
        }
        resource.set(
            SERVICE_NAME,
            session
                .events
                .first()
                .map_or("unknown", |first| first.source.harness),
        );
        resource.maybe(SERVICE_VERSION, version);
        let names = [REPO_URL, REPO_BRANCH, REPO_REVISION];
        names
            .into_iter()
            .zip(repository)
            .for_each(|(name, value)| resource.maybe(name, value));
        let mut attributes = Attributes::default();
        attributes.set("engram.semconv", self.options.semconv.as_str());
        let scope = Scope {
            name: "engram",
            version: env!("CARGO_PKG_VERSION"),
            attributes: attributes.0,
        };
        let schema_url = self.options.semconv.schema_url();
        ResourceSpans {
            resource: Resource {
                attributes: resource.0,
            },
            scope_spans: vec![ScopeSpans {
                scope,
                spans,
                schema_url,
            }],
            schema_url,
        }
    }
}
