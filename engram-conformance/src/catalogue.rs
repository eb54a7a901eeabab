//! The catalogue of checks: one line says what a check asserts, the next what it needs, where it comes from, and what runs it.

use engram_core::event::Kind;

use crate::check::Needs::{Nothing, Scenario};
use crate::check::Over::{Adapter, Recordings};
use crate::check::{Check, Needs, Part, Tier};
use crate::checks::{claims, observable, provenance, stability, versions, viable};
use crate::truth::{chain, edits, facts, reads};

const STREAM: Needs = Needs::Part(Part::Stream);
const TOOLS: Needs = Needs::Part(Part::Tools);
const FIXTURES: Needs = Needs::Part(Part::Fixtures);
const CALLS: Needs = Needs::Kind(Kind::ToolCall);
const RESULTS: Needs = Needs::Kind(Kind::ToolResult);
const ANSWERS: Needs = Needs::Kind(Kind::MsgOut);
const READS: Needs = Needs::Kind(Kind::CodeRead);
const EDITS: Needs = Needs::Kind(Kind::CodeEdit);
const LINKS: Needs = Needs::Kind(Kind::SpanLink);

macro_rules! checks {
    ($($tier:ident: $($id:literal asserts $asserts:literal, needs $needs:expr, from $seed:literal, by $over:expr;)+)+) => {
        /// Every check, by tier.
        pub const CHECKS: &[Check] = &[
            $($(Check { id: $id, tier: Tier::$tier, needs: $needs, asserts: $asserts, seed: $seed, over: $over },)+)+
        ];
    };
}

checks! {
    Viable:
    "session.converts" asserts "every session gives a tape",
        needs Nothing, from "adapters: Ingest runtime contract", by Recordings(viable::converts);
    "session.detected" asserts "every session is recognised, by named marks",
        needs STREAM, from "adapters: detect harness family/version", by Recordings(viable::detected);
    "scenario.declared" asserts "a recording shows the scenarios that it declares, and no others",
        needs FIXTURES, from "ack: Prompt determinism", by Recordings(viable::scenarios);
    "text.all" asserts "every content string of the source stands in the tape or under a named rule",
        needs Nothing, from "adapters: Emit parseable text content", by Recordings(viable::text);
    "bytes.twice" asserts "the same bytes give the same tape again",
        needs Nothing, from "adapters: Same input bytes -> same output bytes", by Recordings(stability::twice);
    "version.identified" asserts "a tape names the harness version or the schema, or says that it is degraded",
        needs Nothing, from "adapters: Version-aware behavior", by Recordings(versions::identified);
    "version.strict" asserts "an unheard-of version is refused under strict policy",
        needs Nothing, from "adapters: fail with unknown_harness_version", by Recordings(versions::strict);
    "version.permissive" asserts "an unheard-of version gives a degraded tape under permissive policy",
        needs Nothing, from "adapters: ingest safe subset + emit degraded coverage", by Recordings(versions::permissive);
    "error.located" asserts "a broken record is an error with a code and its line, or stands in the tape as unrecognized",
        needs Nothing, from "adapters: Machine-readable failure", by Recordings(viable::broken_record);
    "error.cut" asserts "a session that is cut off is an error with a code, or says that it is incomplete; never a panic",
        needs Nothing, from "ack: Skip, don't fail", by Recordings(viable::cut);
    "prompt.all" asserts "every prompt that the log holds is a msg.in, as often as it was given",
        needs Nothing, from "ack: test_transcript_contains_user_message", by Recordings(facts::prompts);
    "answer.present" asserts "a recording in which a prompt was given has an answer of the model after it",
        needs ANSWERS, from "ack: test_transcript_contains_assistant_message", by Recordings(viable::answer);
    Observable:
    "tape.canonical" asserts "a tape is canonical bytes: parsing and writing it again changes nothing",
        needs Nothing, from "ack: Bundle inclusion", by Recordings(observable::canonical);
    "tape.envelope" asserts "every event has the keys that its kind requires, of the right shape, and no others",
        needs Nothing, from "ack: test_transcript_envelope_completeness", by Recordings(observable::envelope);
    "tape.kinds" asserts "every event is of one of the eight kinds",
        needs Nothing, from "ack: test_transcript_canonical_types_only", by Recordings(observable::kinds);
    "tape.seq" asserts "`seq` counts from 0 without gaps",
        needs Nothing, from "ack: test_transcript_sequence_monotonicity", by Recordings(observable::seq);
    "tape.source" asserts "every event carries the label of the harness",
        needs Nothing, from "ack: test_transcript_adapter_label", by Recordings(observable::source);
    "tape.bracket" asserts "start and stop stand around the events, and the stop counts them truly",
        needs Nothing, from "ack: test_transcript_start_stop_events", by Recordings(observable::bracket);
    "tape.parent" asserts "a result, read or edit names its own call as parent, and the call comes before it",
        needs Nothing, from "ack: test_transcript_tool_use_before_tool_result", by Recordings(observable::parent);
    "tape.ledger" asserts "the ledger's sums hold",
        needs Nothing, from "adapters: silently degrade behavior", by Recordings(observable::ledger);
    "tape.time" asserts "every time is RFC 3339 in UTC, or says on what it rests",
        needs Nothing, from "ack: timestamp (valid ISO-8601)", by Recordings(observable::time);
    "tape.policy" asserts "a tape keeps to its policy",
        needs Nothing, from "adapters: enforce strict/permissive policy", by Recordings(observable::policy);
    "time.recorded" asserts "no time is invented: each stands in the source",
        needs Nothing, from "adapters: add unspecced inference", by Recordings(observable::recorded_time);
    "order.source" asserts "events stand in the order of the source, never sorted by kind",
        needs Nothing, from "adapters: Never reorder by event kind", by Recordings(observable::order);
    "record.known" asserts "no record of a supported version is unrecognized or malformed",
        needs Nothing, from "ack: Forward compatibility via unknown", by Recordings(observable::known);
    "call.all" asserts "every call that the log holds is a tool.call",
        needs CALLS, from "ack: test_tool_invoked_event", by Recordings(facts::calls);
    "call.once" asserts "no call stands twice, and none is made up",
        needs CALLS, from "ack: A ToolInvoked event is emitted", by Recordings(facts::calls_once);
    "call.facts" asserts "a call has the tool and the arguments that the model gave",
        needs CALLS, from "ack: event.params contains the tool input", by Recordings(facts::call_facts);
    "call.kind" asserts "every tool name has a kind in the adapter's table, and the tape says that kind",
        needs TOOLS, from "substrate: Tool Kind normalization", by Recordings(observable::tool_kinds);
    "call.parallel" asserts "of calls that run side by side, each result names its own call",
        needs Scenario("parallel_calls"), from "runtime: Parallel tool calls", by Recordings(observable::parallel);
    "result.all" asserts "every result that the log holds is a tool.result",
        needs RESULTS, from "ack: test_tool_result_is_correct", by Recordings(facts::results);
    "result.once" asserts "a call has one result",
        needs RESULTS, from "runtime: Tool loop", by Recordings(facts::results_once);
    "result.facts" asserts "a result has the text, the outcome and the exit code that the harness gave",
        needs RESULTS, from "ack: event.result contains the tool output", by Recordings(facts::result_facts);
    "form.same" asserts "the string form and the streaming form give the same tape, in pieces of any size",
        needs STREAM, from "adapters: Determinism test", by Recordings(stability::forms);
    "claim.none" asserts "a kind that is claimed as none never comes, and a degraded tape claims nothing as full",
        needs Nothing, from "adapters: Coverage-claim tests", by Recordings(observable::unclaimed);
    "claim.shown" asserts "a kind that is claimed is shown, and every tested version has its recording",
        needs FIXTURES, from "adapters: claim full without fixture proof", by Adapter(claims::shown);
    "claim.gaps" asserts "every gap that is declared is shown, by the revision that claims it and by the recording that it names",
        needs FIXTURES, from "adapters: Coverage-claim tests", by Adapter(claims::gaps);
    "claim.whole" asserts "the claims of a descriptor agree with each other, and a tape claims what its revision claims",
        needs Nothing, from "adapters: Contract sync test", by Adapter(claims::whole);
    "rule.needed" asserts "every omission rule has a reason, is needed by a recording, and hides no more than it names",
        needs FIXTURES, from "adapters: silently degrade behavior", by Adapter(claims::rules);
    Provenance:
    "read.range" asserts "a read has the lines that the model was shown",
        needs READS, from "adapters: Structured edit/read spans", by Recordings(reads::ranges);
    "read.hash" asserts "a read has the hash and the fingerprints of those lines",
        needs READS, from "adapters: Structured edit/read spans", by Recordings(reads::hashes);
    "read.applied" asserts "a call that failed leaves no read",
        needs READS, from "ack: test_tool_failure_rolls_back_filesystem", by Recordings(reads::of_failed);
    "edit.all" asserts "every edit of an edit tool is there, with the lines and hashes that the log lets be known",
        needs EDITS, from "adapters: Structured edit/read spans", by Recordings(edits::all);
    "edit.real" asserts "no edit is of a file that did not change",
        needs EDITS, from "adapters: add unspecced inference", by Recordings(edits::real);
    "edit.applied" asserts "a call that failed or was denied leaves no edit",
        needs EDITS, from "ack: Transactional contract", by Recordings(provenance::applied);
    "edit.span" asserts "the spans of an edit, their hashes and its op are those of the real file before and after",
        needs EDITS, from "adapters: before/after hashes", by Recordings(edits::spans);
    "edit.snippet" asserts "an edit without lines hashes a text that the call gives",
        needs EDITS, from "adapters: before/after hashes", by Recordings(edits::snippets);
    "edit.file" asserts "the file hashes of an edit are those of the real file before and after",
        needs EDITS, from "adapters: before/after hashes", by Recordings(edits::whole_files);
    "edit.chain" asserts "the states of a file link up from its real first state to its real last, but for named gaps",
        needs EDITS, from "ack: test_sequential_operations_isolation", by Recordings(chain::holds);
    "move.linked" asserts "a moved file is linked to the file that it became",
        needs LINKS, from "adapters: span.link", by Recordings(provenance::moves);
    "agent.attributed" asserts "a sub-agent's events say whose they are, and the agent's session names the one that started it",
        needs Scenario("subagent"), from "ack: Subagent transcript entries", by Recordings(provenance::agents);
    "interrupt.final" asserts "nothing is executed between an interrupt and the next prompt",
        needs Scenario("interrupt"), from "runtime: Cancellation", by Recordings(provenance::interrupts);
    "replay.marked" asserts "what repeats another session's history says so, where the source shows it",
        needs Nothing, from "runtime: Tool loop", by Recordings(facts::copies);
    "context.hashed" asserts "implicit context is recorded by its hash",
        needs Scenario("implicit_context"), from "runtime: Implicit sources", by Recordings(provenance::context);
    "context.secrets" asserts "no implicit context tells the value of a secret",
        needs Scenario("implicit_context"), from "runtime: safe hashes (never secrets)", by Recordings(provenance::secrets);
    "claim.open" asserts "a gap that a recording shows is declared by its revision",
        needs Nothing, from "adapters: silently degrade behavior", by Adapter(claims::open);
}

impl Check {
    /// The check of that id.
    pub fn named(id: &str) -> Option<&'static Check> {
        CHECKS.iter().find(|check| check.id == id)
    }
}
