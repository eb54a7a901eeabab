//! The catalogue of checks. Each has two lines: its id and assertion; then its needs, its specification, and its function.

use engram_core::event::Kind;

use crate::check::Needs::{Nothing, Scenario};
use crate::check::Run::{Case, Claims, Conversion};
use crate::check::{Capability, Check, Needs};
use crate::checks::{
    apart, arguments, authors, claims, completeness, conversation, edit_chain, edits, home,
    identity, members, observable, one_prompt, prompts, provenance, read_states, reads, repeated,
    repeated_ids, responses, shared_ids, stability, statements, usage, versions, viable,
};
use crate::tier::Tier;

const STREAM: Needs = Needs::Capability(Capability::Stream);
const TOOLS: Needs = Needs::Capability(Capability::Tools);
const FIXTURES: Needs = Needs::Capability(Capability::Fixtures);
const CALLS: Needs = Needs::Kind(Kind::ToolCall);
const RESULTS: Needs = Needs::Kind(Kind::ToolResult);
const ANSWERS: Needs = Needs::Kind(Kind::MsgOut);
const READS: Needs = Needs::Kind(Kind::CodeRead);
const EDITS: Needs = Needs::Kind(Kind::CodeEdit);
const LINKS: Needs = Needs::Kind(Kind::SpanLink);

macro_rules! checks {
    ($($tier:ident: $($id:literal asserts $asserts:literal, needs $needs:expr, from $seed:literal, by $run:expr;)+)+) => {
        /// Every check, by tier.
        pub const CHECKS: &[Check] = &[
            $($(Check { id: $id, tier: Tier::$tier, needs: $needs, asserts: $asserts, seed: $seed, run: $run },)+)+
        ];
    };
}

checks! {
    Viable:
    "session.converts" asserts "every session converts to a tape",
        needs Nothing, from "adapters: Ingest runtime contract", by Case(viable::converts);
    "store.not_empty" asserts "a recording whose files contain a prompt or a call gives a tape with messages or calls",
        needs Nothing, from "adapters: silently degrade behavior", by Case(viable::store_not_empty);
    "session.detected" asserts "every session is detected, with named evidence",
        needs STREAM, from "adapters: detect harness family/version", by Conversion(viable::detected);
    "scenario.declared" asserts "a recording shows exactly the scenarios that it declares",
        needs FIXTURES, from "ack: Prompt determinism", by Case(viable::scenarios);
    "text.all" asserts "every content string of the source is on the tape or omitted by a named rule",
        needs Nothing, from "adapters: Emit parseable text content", by Conversion(viable::text);
    "leaf.audited" asserts "every string, number and boolean of the source is on the tape, or accounted for by the member table",
        needs Nothing, from "adapters: Emit parseable text content", by Conversion(members::leaves);
    "bytes.twice" asserts "converting the same bytes twice gives the same tape",
        needs Nothing, from "adapters: Same input bytes -> same output bytes", by Conversion(stability::twice);
    "version.identified" asserts "a tape names the harness version or the schema, or is marked as degraded",
        needs Nothing, from "adapters: Version-aware behavior", by Case(versions::identified);
    "version.strict" asserts "strict policy refuses an unknown version, and one newer than every recorded one",
        needs Nothing, from "adapters: fail with unknown_harness_version", by Conversion(versions::strict);
    "version.permissive" asserts "permissive policy converts an unknown version, or one newer than every recorded one, to a degraded tape that says which",
        needs Nothing, from "adapters: ingest safe subset + emit degraded coverage", by Conversion(versions::permissive);
    "error.located" asserts "a broken record is an error with a code and its line, or an unrecognized event on the tape",
        needs Nothing, from "adapters: Machine-readable failure", by Conversion(viable::broken_record);
    "error.cut" asserts "a truncated session is an error with a code, or its tape is marked as incomplete; never a panic",
        needs Nothing, from "ack: Skip, don't fail", by Conversion(viable::truncated);
    "prompt.all" asserts "every prompt in the log is a msg.in, as often as the user sent it",
        needs Nothing, from "ack: test_transcript_contains_user_message", by Conversion(prompts::all);
    "prompt.person" asserts "every msg.in by a person is a prompt that a person sent, and every logged prompt is one",
        needs Nothing, from "ack: test_transcript_contains_user_message", by Conversion(prompts::by_person);
    "prompt.once" asserts "what came along with a prompt is no message of its own, and a session has a prompt as often as a person sent it",
        needs Nothing, from "ack: test_transcript_contains_user_message", by Case(one_prompt::once);
    "prompt.hook" asserts "words that a hook printed are not by a person",
        needs Nothing, from "ack: test_transcript_contains_user_message", by Case(one_prompt::of_hooks);
    "message.author" asserts "a message with the words of a call is by an agent, and no message of a person or an agent has a wrapper of the harness",
        needs Nothing, from "ack: test_transcript_contains_user_message", by Case(authors::of_messages);
    "answer.present" asserts "a recording with a prompt has an answer of the model after it",
        needs ANSWERS, from "ack: test_transcript_contains_assistant_message", by Conversion(viable::answer);
    Observable:
    "tape.canonical" asserts "a tape is canonical JSON Lines: parsing and printing it again changes no byte",
        needs Nothing, from "ack: Bundle inclusion", by Case(observable::canonical);
    "tape.envelope" asserts "every event has exactly the keys of its kind, with values of the right type",
        needs Nothing, from "ack: test_transcript_envelope_completeness", by Case(observable::envelope);
    "tape.kinds" asserts "every event has one of the eight kinds",
        needs Nothing, from "ack: test_transcript_canonical_types_only", by Case(observable::kinds);
    "tape.seq" asserts "`seq` counts from 0 without gaps",
        needs Nothing, from "ack: test_transcript_sequence_monotonicity", by Case(observable::seq);
    "tape.source" asserts "every event names the harness",
        needs Nothing, from "ack: test_transcript_adapter_label", by Case(observable::source);
    "tape.bracket" asserts "a tape begins with tape.start and ends with tape.stop, and the counts of tape.stop are right",
        needs Nothing, from "ack: test_transcript_start_stop_events", by Case(observable::bracket);
    "tape.parent" asserts "a result, read or edit names its own call as parent and comes after it",
        needs Nothing, from "ack: test_transcript_tool_use_before_tool_result", by Case(observable::parent);
    "tape.ledger" asserts "the sums of the ledger are right",
        needs Nothing, from "adapters: silently degrade behavior", by Case(observable::ledger);
    "tape.time" asserts "every time is RFC 3339 in UTC, or has its basis",
        needs Nothing, from "ack: timestamp (valid ISO-8601)", by Case(observable::time);
    "tape.policy" asserts "a tape conforms to its policy",
        needs Nothing, from "adapters: enforce strict/permissive policy", by Case(observable::policy);
    "time.recorded" asserts "no time is invented: the source contains each of them",
        needs Nothing, from "adapters: add unspecced inference", by Case(observable::recorded_time);
    "order.source" asserts "events are in source order, never sorted by kind",
        needs Nothing, from "adapters: Never reorder by event kind", by Case(observable::order);
    "record.known" asserts "no record of a supported version is unrecognized or malformed",
        needs Nothing, from "ack: Forward compatibility via unknown", by Case(observable::known);
    "member.known" asserts "every member of a record is in the adapter's table, and a member with another name, JSON type or form of number or time is noticed",
        needs Nothing, from "adapters: silently degrade behavior", by Claims(members::known);
    "record.repeated" asserts "a record that has an id or a time and is repeated in the log changes no event",
        needs Nothing, from "adapters: Same input bytes -> same output bytes", by Conversion(repeated::records);
    "id.shared" asserts "of records that share an id, each fact that only one of them says is on the tape",
        needs Nothing, from "adapters: silently degrade behavior", by Conversion(shared_ids::records);
    "sessions.apart" asserts "a capture or log of two sessions at once has the events of each, as if it were alone",
        needs STREAM, from "runtime: Parallel tool calls", by Conversion(apart::sessions);
    "id.once" asserts "apart from replayed history, a record is on one tape, and on it once",
        needs Nothing, from "runtime: Tool loop", by Case(identity::once);
    "home.once" asserts "over all tapes of a home, a response has one usage, a call one tool.call and a prompt one msg.in, replays apart",
        needs Nothing, from "runtime: Tool loop", by Case(home::once);
    "parent.record" asserts "a result, read or edit belongs to the call of its own record, or else to the latest open call of its id",
        needs RESULTS, from "ack: test_transcript_tool_use_before_tool_result", by Case(identity::parents);
    "response.together" asserts "the events of a response stand together, and its usage directly behind them",
        needs Nothing, from "runtime: Streaming", by Case(responses::together);
    "usage.sum" asserts "the usage on the tapes adds up to what the model server counted",
        needs Nothing, from "runtime: Streaming", by Conversion(usage::sums);
    "usage.model" asserts "a usage has a model, if the tape said one before",
        needs Nothing, from "runtime: Streaming", by Case(completeness::models);
    "call.all" asserts "every call in the log is a tool.call",
        needs CALLS, from "ack: test_tool_invoked_event", by Case(conversation::calls);
    "call.once" asserts "no call is repeated, and none is invented",
        needs CALLS, from "ack: A ToolInvoked event is emitted", by Conversion(conversation::calls_once);
    "call.id_repeated" asserts "a later call with the id of an earlier one is a call of its own, and its result is its own",
        needs CALLS, from "runtime: Parallel tool calls", by Conversion(repeated_ids::calls);
    "call.facts" asserts "a call has the tool and the arguments that the model sent",
        needs CALLS, from "ack: event.params contains the tool input", by Conversion(arguments::call_facts);
    "call.kind" asserts "the adapter's table has a kind for every tool name, and the tape has the same kind",
        needs TOOLS, from "substrate: Tool Kind normalization", by Conversion(observable::tool_kinds);
    "call.parallel" asserts "each result of parallel calls names its own call",
        needs Scenario("parallel_calls"), from "runtime: Parallel tool calls", by Case(observable::parallel);
    "result.all" asserts "every result in the log is a tool.result",
        needs RESULTS, from "ack: test_tool_result_is_correct", by Case(conversation::results);
    "result.once" asserts "a call has one result",
        needs RESULTS, from "runtime: Tool loop", by Case(conversation::results_once);
    "result.facts" asserts "a result has the text, the status and the exit code that the harness returned",
        needs RESULTS, from "ack: event.result contains the tool output", by Case(conversation::result_facts);
    "permission.denied" asserts "a denied call has a permission that was denied, before its result",
        needs RESULTS, from "runtime: Tool loop", by Case(observable::denied);
    "form.same" asserts "the string form and the streaming form give the same tape, with chunks of any size",
        needs STREAM, from "adapters: Determinism test", by Conversion(stability::forms);
    "claim.none" asserts "a kind with the claim none has no events, and a degraded tape claims nothing as full",
        needs Nothing, from "adapters: Coverage-claim tests", by Case(observable::unclaimed);
    "claim.shown" asserts "recordings prove every claimed kind, and every tested version has a recording",
        needs FIXTURES, from "adapters: claim full without fixture proof", by Claims(claims::shown);
    "claim.gaps" asserts "every declared gap is exhibited by the revision that claims it and by the recording that it names",
        needs FIXTURES, from "adapters: Coverage-claim tests", by Claims(claims::gaps);
    "claim.whole" asserts "the claims of a descriptor are consistent, and a tape has the claims of its revision",
        needs Nothing, from "adapters: Contract sync test", by Claims(claims::consistent);
    "rule.needed" asserts "every omission rule has a reason, is used by a recording, and omits no more than it names",
        needs FIXTURES, from "adapters: silently degrade behavior", by Claims(claims::rules);
    Provenance:
    "read.range" asserts "a read has the lines that the model saw",
        needs READS, from "adapters: Structured edit/read spans", by Case(reads::ranges);
    "read.hash" asserts "a read has the hash and the fingerprints of those lines",
        needs READS, from "adapters: Structured edit/read spans", by Case(reads::hashes);
    "read.file" asserts "a read has the lines, the hash and the fingerprints of a text that its file had when it was read",
        needs READS, from "adapters: Structured edit/read spans", by Conversion(read_states::of_files);
    "read.applied" asserts "a failed call has no read",
        needs READS, from "ack: test_tool_failure_rolls_back_filesystem", by Case(reads::of_failed);
    "edit.all" asserts "every edit by an edit tool is on the tape, with the lines and hashes that the log allows",
        needs EDITS, from "adapters: Structured edit/read spans", by Conversion(edits::logged_edits_are_there);
    "edit.real" asserts "every edit is of a file that really changed",
        needs EDITS, from "adapters: add unspecced inference", by Case(edits::real);
    "edit.applied" asserts "a failed or denied call has no edit",
        needs EDITS, from "ack: Transactional contract", by Case(provenance::applied);
    "edit.span" asserts "the spans of an edit, their hashes and its op match the real file before and after",
        needs EDITS, from "adapters: before/after hashes", by Conversion(edits::spans);
    "edit.snippet" asserts "an edit without lines hashes a text from its call",
        needs EDITS, from "adapters: before/after hashes", by Case(edits::snippets);
    "snippet.lines" asserts "a snippet has the number of its lines for each side that it hashes",
        needs EDITS, from "adapters: before/after hashes", by Case(statements::line_counts);
    "edit.statements" asserts "what an edit hashes is text that the file really had, also where a turn or a call changed it several times",
        needs EDITS, from "adapters: before/after hashes", by Conversion(statements::agree);
    "edit.sides" asserts "an edit that creates a file has no side before, and one that deletes a file has no side after",
        needs EDITS, from "adapters: before/after hashes", by Case(completeness::sides);
    "file.absolute" asserts "the file of a read or edit is absolute, if the tape said a directory before",
        needs Nothing, from "adapters: Structured edit/read spans", by Case(completeness::paths);
    "edit.files" asserts "every changed file that a record of its call names has an edit",
        needs EDITS, from "adapters: Structured edit/read spans", by Case(statements::files);
    "edit.file" asserts "the file hashes of an edit match the real file before and after",
        needs EDITS, from "adapters: before/after hashes", by Conversion(edits::whole_files);
    "edit.chain" asserts "the states of a file form a chain from its real first state to its real last, except for named gaps",
        needs EDITS, from "ack: test_sequential_operations_isolation", by Conversion(edit_chain::links);
    "move.linked" asserts "a moved file has a link to its new name",
        needs LINKS, from "adapters: span.link", by Case(provenance::moves);
    "agent.attributed" asserts "a sub-agent's events name the agent, and its session names the session that started it",
        needs Scenario("subagent"), from "ack: Subagent transcript entries", by Case(provenance::agents);
    "interrupt.final" asserts "no tool runs between an interrupt and the next message",
        needs Scenario("interrupt"), from "runtime: Cancellation", by Case(provenance::interrupts);
    "replay.marked" asserts "history repeated from another session is marked as replay, if the source shows the repetition",
        needs Nothing, from "runtime: Tool loop", by Case(conversation::replays);
    "context.hashed" asserts "implicit context has its text or the hash of it; a directory has its name",
        needs Scenario("implicit_context"), from "runtime: Implicit sources", by Case(provenance::context);
    "context.secrets" asserts "implicit context never contains a secret",
        needs Scenario("implicit_context"), from "runtime: safe hashes (never secrets)", by Case(provenance::secrets);
    "claim.open" asserts "every gap that a recording exhibits is declared by its revision",
        needs Nothing, from "adapters: silently degrade behavior", by Claims(claims::open);
}

impl Check {
    /// The check with this id.
    pub fn named(id: &str) -> Option<&'static Check> {
        CHECKS.iter().find(|check| check.id == id)
    }
}
