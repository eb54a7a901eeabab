//! The table of checks: what each asserts, what it needs, and where in the seed specifications it comes from.

use std::fmt;

use engram_core::event::Kind;
use serde::Serialize;

use crate::checks::{claims, observable, provenance, stability, versions, viable};
use crate::convert::Subject;
use crate::evidence::Evidence;
use crate::outcome::Found;
use crate::scene::Scene;
use crate::truth::{chain, edits, facts, reads};

/// How much an adapter is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Tier {
    /// The least: all text, deterministically, of a known version, with errors that machines can read.
    Viable = 1,
    /// Every event is what it should be, and stands where it should.
    Observable = 2,
    /// Reads and edits are those of the real files.
    Provenance = 3,
}

impl Tier {
    /// The tier of that number.
    pub fn numbered(number: u8) -> Option<Tier> {
        [Tier::Viable, Tier::Observable, Tier::Provenance].into_iter().find(|tier| *tier as u8 == number)
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", *self as u8)
    }
}

/// A part that an adapter may offer beyond the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Its streaming form.
    Stream,
    /// Its table of tools.
    Tools,
    /// Recordings that declare what they show: the adapter's own fixtures.
    Fixtures,
}

impl Part {
    /// What is said when it is not there.
    pub const fn missing(self) -> &'static str {
        match self {
            Part::Stream => "the adapter does not offer its streaming form",
            Part::Tools => "the adapter does not offer its table of tools",
            Part::Fixtures => "these recordings do not declare what they show (scenarios.tsv)",
        }
    }
}

/// What a check needs to say anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing beyond the contract.
    Nothing,
    /// That the adapter claims events of a kind.
    Kind(Kind),
    /// A recording that shows a scenario.
    Scenario(&'static str),
    /// A part that the adapter may offer.
    Part(Part),
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Needs::Nothing => Ok(()),
            Needs::Kind(kind) => f.write_str(kind.as_str()),
            Needs::Scenario(name) => write!(f, "a recording of `{name}`"),
            Needs::Part(Part::Stream) => f.write_str("the streaming form"),
            Needs::Part(Part::Tools) => f.write_str("the table of tools"),
            Needs::Part(Part::Fixtures) => f.write_str("recordings that declare what they show"),
        }
    }
}

/// What a check goes over.
#[derive(Clone, Copy)]
pub(crate) enum Over {
    /// Each recording with its tapes.
    Recordings(fn(&Scene<'_>, &mut Found)),
    /// The adapter, with what all its recordings show.
    Adapter(fn(&Subject<'_>, &Evidence, &mut Found)),
}

/// One check.
#[derive(Clone, Copy)]
pub struct Check {
    /// The stable id.
    pub id: &'static str,
    /// The tier.
    pub tier: Tier,
    /// What it needs.
    pub needs: Needs,
    /// What it asserts, in a sentence.
    pub asserts: &'static str,
    /// The line of a seed specification that it comes from.
    pub seed: &'static str,
    pub(crate) over: Over,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

impl Check {
    /// The check of that id.
    pub fn named(id: &str) -> Option<&'static Check> {
        CHECKS.iter().find(|check| check.id == id)
    }
}

const fn of(tier: Tier, id: &'static str, needs: Needs, asserts: &'static str, seed: &'static str, over: Over) -> Check {
    Check { id, tier, needs, asserts, seed, over }
}

use Needs::{Nothing, Scenario};
use Over::{Adapter, Recordings};
use Tier::{Observable, Provenance, Viable};

const STREAM: Needs = Needs::Part(Part::Stream);
const TOOLS: Needs = Needs::Part(Part::Tools);
const FIXTURES: Needs = Needs::Part(Part::Fixtures);
const READS: Needs = Needs::Kind(Kind::CodeRead);
const EDITS: Needs = Needs::Kind(Kind::CodeEdit);
const CALLS: Needs = Needs::Kind(Kind::ToolCall);
const RESULTS: Needs = Needs::Kind(Kind::ToolResult);
const LINKS: Needs = Needs::Kind(Kind::SpanLink);

/// Every check, by tier.
pub const CHECKS: &[Check] = &[
    of(
        Viable,
        "session.converts",
        Nothing,
        "every session gives a tape",
        "adapters: Ingest runtime contract",
        Recordings(viable::converts),
    ),
    of(
        Viable,
        "session.detected",
        STREAM,
        "every session is recognised, by named marks",
        "adapters: detect harness family/version",
        Recordings(viable::detected),
    ),
    of(
        Viable,
        "scenario.declared",
        FIXTURES,
        "a recording shows the scenarios that it declares, and no others",
        "ack: Prompt determinism",
        Recordings(viable::scenarios),
    ),
    of(
        Viable,
        "text.all",
        Nothing,
        "every content string of the source stands in the tape or under a named rule",
        "adapters: Emit parseable text content",
        Recordings(viable::text),
    ),
    of(
        Viable,
        "bytes.twice",
        Nothing,
        "the same bytes give the same tape again",
        "adapters: Same input bytes -> same output bytes",
        Recordings(stability::twice),
    ),
    of(
        Viable,
        "version.identified",
        Nothing,
        "a tape names the harness version or the schema, or says that it is degraded",
        "adapters: Version-aware behavior",
        Recordings(versions::identified),
    ),
    of(
        Viable,
        "version.strict",
        Nothing,
        "an unheard-of version is refused under strict policy",
        "adapters: fail with unknown_harness_version",
        Recordings(versions::strict),
    ),
    of(
        Viable,
        "version.permissive",
        Nothing,
        "an unheard-of version gives a degraded tape under permissive policy",
        "adapters: ingest safe subset + emit degraded coverage",
        Recordings(versions::permissive),
    ),
    of(
        Viable,
        "error.located",
        Nothing,
        "a broken record is an error with a code and its line, or stands in the tape as unrecognized",
        "adapters: Machine-readable failure",
        Recordings(viable::broken_record),
    ),
    of(
        Viable,
        "error.cut",
        Nothing,
        "a session that is cut off is an error with a code, or says that it is incomplete; never a panic",
        "ack: Skip, don't fail",
        Recordings(viable::cut),
    ),
    of(
        Viable,
        "prompt.all",
        Nothing,
        "every prompt that the log holds is a msg.in, as often as it was given",
        "ack: test_transcript_contains_user_message",
        Recordings(facts::prompts),
    ),
    of(
        Viable,
        "answer.present",
        Scenario("text_response"),
        "a session that took a prompt has an answer of the model after it",
        "ack: test_transcript_contains_assistant_message",
        Recordings(viable::answer),
    ),
    of(
        Observable,
        "tape.canonical",
        Nothing,
        "a tape is canonical bytes: parsing and writing it again changes nothing",
        "ack: Bundle inclusion",
        Recordings(observable::canonical),
    ),
    of(
        Observable,
        "tape.envelope",
        Nothing,
        "every event has the keys that its kind requires, of the right shape, and no others",
        "ack: test_transcript_envelope_completeness",
        Recordings(observable::envelope),
    ),
    of(
        Observable,
        "tape.kinds",
        Nothing,
        "every event is of one of the eight kinds",
        "ack: test_transcript_canonical_types_only",
        Recordings(observable::kinds),
    ),
    of(
        Observable,
        "tape.seq",
        Nothing,
        "`seq` counts from 0 without gaps",
        "ack: test_transcript_sequence_monotonicity",
        Recordings(observable::seq),
    ),
    of(
        Observable,
        "tape.source",
        Nothing,
        "every event carries the label of the harness",
        "ack: test_transcript_adapter_label",
        Recordings(observable::source),
    ),
    of(
        Observable,
        "tape.bracket",
        Nothing,
        "start and stop stand around the events, and the stop counts them truly",
        "ack: test_transcript_start_stop_events",
        Recordings(observable::bracket),
    ),
    of(
        Observable,
        "tape.parent",
        Nothing,
        "a result, read or edit names its own call as parent, and the call comes before it",
        "ack: test_transcript_tool_use_before_tool_result",
        Recordings(observable::parent),
    ),
    of(Observable, "tape.ledger", Nothing, "the ledger's sums hold", "adapters: silently degrade behavior", Recordings(observable::ledger)),
    of(
        Observable,
        "tape.time",
        Nothing,
        "every time is RFC 3339 in UTC, or says on what it rests",
        "ack: timestamp (valid ISO-8601)",
        Recordings(observable::time),
    ),
    of(
        Observable,
        "tape.policy",
        Nothing,
        "a tape keeps to its policy and to its own claim",
        "adapters: enforce strict/permissive policy",
        Recordings(observable::policy),
    ),
    of(
        Observable,
        "time.recorded",
        Nothing,
        "no time is invented: each stands in the source",
        "adapters: add unspecced inference",
        Recordings(observable::recorded_time),
    ),
    of(
        Observable,
        "order.source",
        Nothing,
        "events stand in the order of the source, never sorted by kind",
        "adapters: Never reorder by event kind",
        Recordings(observable::order),
    ),
    of(
        Observable,
        "record.known",
        Nothing,
        "no record of a supported version is unrecognized or malformed",
        "ack: Forward compatibility via unknown",
        Recordings(observable::known),
    ),
    of(
        Observable,
        "call.all",
        CALLS,
        "every call that the log holds is a tool.call",
        "ack: test_tool_invoked_event",
        Recordings(facts::calls),
    ),
    of(
        Observable,
        "call.once",
        CALLS,
        "no call stands twice, and none is made up",
        "ack: A ToolInvoked event is emitted",
        Recordings(facts::calls_once),
    ),
    of(
        Observable,
        "call.facts",
        CALLS,
        "a call has the tool and the arguments that the model gave",
        "ack: event.params contains the tool input",
        Recordings(facts::call_facts),
    ),
    of(
        Observable,
        "call.kind",
        TOOLS,
        "every tool name has a kind in the adapter's table, and the tape says that kind",
        "substrate: Tool Kind normalization",
        Recordings(observable::tool_kinds),
    ),
    of(
        Observable,
        "call.parallel",
        Scenario("parallel_calls"),
        "of calls that run side by side, each result names its own call",
        "runtime: Parallel tool calls",
        Recordings(observable::parallel),
    ),
    of(
        Observable,
        "result.all",
        RESULTS,
        "every result that the log holds is a tool.result",
        "ack: test_tool_result_is_correct",
        Recordings(facts::results),
    ),
    of(Observable, "result.once", RESULTS, "a call has one result", "runtime: Tool loop", Recordings(facts::results_once)),
    of(
        Observable,
        "result.facts",
        RESULTS,
        "a result has the text, the outcome and the exit code that the harness gave",
        "ack: event.result contains the tool output",
        Recordings(facts::result_facts),
    ),
    of(
        Observable,
        "form.same",
        STREAM,
        "the string form and the streaming form give the same tape, in pieces of any size",
        "adapters: Determinism test",
        Recordings(stability::forms),
    ),
    of(
        Observable,
        "claim.none",
        Nothing,
        "a kind that is claimed as none never comes",
        "adapters: Coverage-claim tests",
        Adapter(claims::none),
    ),
    of(
        Observable,
        "claim.shown",
        FIXTURES,
        "a kind that is claimed is shown, and every tested version has its recording",
        "adapters: claim full without fixture proof",
        Adapter(claims::shown),
    ),
    of(
        Observable,
        "claim.open",
        Nothing,
        "a gap that a recording shows is declared by its revision",
        "adapters: silently degrade behavior",
        Adapter(claims::open),
    ),
    of(
        Observable,
        "claim.gaps",
        FIXTURES,
        "every gap that is declared is shown, by the revision that claims it and by the recording that it names",
        "adapters: Coverage-claim tests",
        Adapter(claims::gaps),
    ),
    of(
        Observable,
        "claim.whole",
        Nothing,
        "the claims of a descriptor agree with each other, and a tape claims what its revision claims",
        "adapters: Contract sync test",
        Adapter(claims::whole),
    ),
    of(
        Observable,
        "rule.needed",
        FIXTURES,
        "every omission rule has a reason, is needed by a recording, and hides no more than it names",
        "adapters: silently degrade behavior",
        Adapter(claims::rules),
    ),
    of(
        Provenance,
        "read.range",
        READS,
        "a read has the lines that the model was shown",
        "adapters: Structured edit/read spans",
        Recordings(reads::ranges),
    ),
    of(
        Provenance,
        "read.hash",
        READS,
        "a read has the hash and the fingerprints of those lines",
        "adapters: Structured edit/read spans",
        Recordings(reads::hashes),
    ),
    of(
        Provenance,
        "read.applied",
        READS,
        "a call that failed leaves no read",
        "ack: test_tool_failure_rolls_back_filesystem",
        Recordings(reads::of_failed),
    ),
    of(
        Provenance,
        "edit.all",
        EDITS,
        "every edit of an edit tool is there, with the lines and hashes that the log lets be known",
        "adapters: Structured edit/read spans",
        Recordings(edits::all),
    ),
    of(
        Provenance,
        "edit.real",
        EDITS,
        "no edit is of a file that did not change",
        "adapters: add unspecced inference",
        Recordings(edits::real),
    ),
    of(
        Provenance,
        "edit.applied",
        EDITS,
        "a call that failed or was denied leaves no edit",
        "ack: Transactional contract",
        Recordings(provenance::applied),
    ),
    of(
        Provenance,
        "edit.span",
        EDITS,
        "the spans of an edit, their hashes and its op are those of the real file before and after",
        "adapters: before/after hashes",
        Recordings(edits::spans),
    ),
    of(
        Provenance,
        "edit.snippet",
        EDITS,
        "an edit without lines hashes a text that the call gives",
        "adapters: before/after hashes",
        Recordings(edits::snippets),
    ),
    of(
        Provenance,
        "edit.file",
        EDITS,
        "the file hashes of an edit are those of the real file before and after",
        "adapters: before/after hashes",
        Recordings(edits::whole_files),
    ),
    of(
        Provenance,
        "edit.chain",
        EDITS,
        "the states of a file link up from its real first state to its real last, but for named gaps",
        "ack: test_sequential_operations_isolation",
        Recordings(chain::holds),
    ),
    of(
        Provenance,
        "move.linked",
        LINKS,
        "a moved file is linked to the file that it became",
        "adapters: span.link",
        Recordings(provenance::moves),
    ),
    of(
        Provenance,
        "agent.attributed",
        Scenario("subagent"),
        "a sub-agent's events say whose they are, and the agent's session names the one that started it",
        "ack: Subagent transcript entries",
        Recordings(provenance::agents),
    ),
    of(
        Provenance,
        "interrupt.final",
        Scenario("interrupt"),
        "nothing is executed between an interrupt and the next prompt",
        "runtime: Cancellation",
        Recordings(provenance::interrupts),
    ),
    of(
        Provenance,
        "replay.marked",
        Nothing,
        "what repeats another session's history says so, where the source shows it",
        "runtime: Tool loop",
        Recordings(facts::copies),
    ),
    of(
        Provenance,
        "context.hashed",
        Scenario("implicit_context"),
        "implicit context is recorded by its hash",
        "runtime: Implicit sources",
        Recordings(provenance::context),
    ),
    of(
        Provenance,
        "context.secrets",
        Scenario("implicit_context"),
        "no implicit context tells the value of a secret",
        "runtime: safe hashes (never secrets)",
        Recordings(provenance::secrets),
    ),
];
