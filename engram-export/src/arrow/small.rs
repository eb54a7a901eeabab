//! The small tables: what people ask tapes for.

use engram_core::event::*;

use super::column::*;
use super::nested::Ranges;
use super::rows::{Rows, rows};
use super::values::{
    Place, attachments_json, push, push_count, push_hash, push_json, push_range, push_str,
    push_word,
};
use crate::text::Decoder;

rows! {
    /// Rows of `sessions`.
    SessionRows {
        "the name of the tape" tape: Names,
        "the harness" harness: Names,
        "the session" session_id: Words,
        "the sub-agent" agent_id: Words,
        "the key of the session or sub-agent of this tape: unique in `sessions`, the same in all tables" session_key: Words,
        "the version of the harness, as last stated" version: Words,
        "the first time" start: Times,
        "the last time" end: Times,
        "the title, as last stated" title: Texts,
        "the first working directory" cwd: Words,
        "the project: the first working directory, in the checkout of its repository where it is a worktree that is there" project: Words,
        "the first model that is given" model: Words,
        "the remote of the repository" repo_url: Words,
        "the branch" repo_branch: Words,
        "the commit" repo_head: Words,
        "the name of the agent or mode" agent: Words,
        "the session that started this one" parent_session_id: Words,
        "the call that started this one" parent_call_id: Words,
        "the session that this one is a fork of" fork_of: Words,
        "the events" events: Counts,
        "the events that repeat another session's history. They are in no other number" replayed: Counts,
        "the prompts of a person" prompts: Counts,
        "the calls of tools" calls: Counts,
        "the calls that failed, were denied or cancelled" failed_calls: Counts,
        "the changes of files" edits: Counts,
        "the responses that say what they cost" responses: Counts,
        "input tokens that neither came from a cache nor went to one" input: Ints,
        "input tokens that came from a cache" cache_read: Ints,
        "input tokens that went to a cache" cache_write: Ints,
        "output tokens with those of reasoning" output: Ints,
        "output tokens of reasoning" reasoning: Ints,
        "the cost of the responses in US dollars, as far as they state it" cost_usd: Decimals,
        "the responses that state no cost" responses_without_cost: Counts,
        "computed: what these cost by their tokens and list prices, as far as their models have a price" cost_computed_usd: Decimals,
        "the largest cost in US dollars that the log states for the session so far, with its sub-agents. It is not added to `cost_usd`" cost_total_usd: Decimals,
        "computed: the part of `cost_computed_usd` after the largest total of the tape; null on tapes of sub-agents" cost_after_total_usd: Decimals,
    }
}

rows! {
    /// Rows of `prompts`.
    PromptRows {
        "the name of the tape" tape: Names,
        "the harness" harness: Names,
        "the session" session_id: Words,
        "the sub-agent" agent_id: Words,
        "the key of the session or sub-agent of this tape: unique in `sessions`, the same in all tables" session_key: Words,
        "the `seq` of the prompt" seq: Counts,
        "the turn that it begins: its own `seq`" turn: Ints,
        "the time" t: Times,
        "the role" role: Words,
        "who wrote it: `person`, `agent`" by: Words,
        "the text" text: Texts,
        "images and files, JSON" attachments: Texts,
        "it repeats the history of another session" replay: Flags,
        "half surrogate pairs were replaced by U+FFFD" lossy: Flags,
    }
}

rows! {
    /// Rows of `calls`.
    CallRows {
        "the name of the tape" tape: Names,
        "the harness" harness: Names,
        "the session" session_id: Words,
        "the sub-agent" agent_id: Words,
        "the key of the session or sub-agent of this tape: unique in `sessions`, the same in all tables" session_key: Words,
        "the `seq` of the call; null for a result without one" seq: Ints,
        "the turn" turn: Ints,
        "the time of the call" t: Times,
        "the tool, as the harness names it" tool: Words,
        "the MCP server" server: Words,
        "what the tool does" tool_kind: Words,
        "the id of the call" call_id: Texts,
        "the response that asked for it" message_id: Texts,
        "the arguments, JSON" args: Texts,
        "the `seq` of the result; null where there is none" result_seq: Ints,
        "the time of the result" result_t: Times,
        "how it ended: `ok`, `error`, `denied`, `cancelled`" status: Words,
        "the exit code" exit: Ints,
        "the output" stdout: Texts,
        "the error output, or the text of an error" stderr: Texts,
        "the harness cut the output" truncated: Flags,
        "the side file that has the output, JSON" artifact: Texts,
        "images and files of the result, JSON" attachments: Texts,
        "how long it took, as the log says" duration_ms: Ints,
        "from the time of the call to that of the result, where both are their own" elapsed_ms: Ints,
        "it repeats the history of another session" replay: Flags,
        "half surrogate pairs were replaced by U+FFFD" lossy: Flags,
    }
}

rows! {
    /// Rows of `edits`.
    EditRows {
        "the name of the tape" tape: Names,
        "the harness" harness: Names,
        "the session" session_id: Words,
        "the sub-agent" agent_id: Words,
        "the key of the session or sub-agent of this tape: unique in `sessions`, the same in all tables" session_key: Words,
        "the `seq` of the edit" seq: Counts,
        "the turn" turn: Ints,
        "the `seq` of the call" parent: Ints,
        "the time" t: Times,
        "the id of the call" call_id: Texts,
        "`create`, `update`, `overwrite`, `delete`, `move`" op: Words,
        "the file" file: Texts,
        "the lines before" before_range: Ranges,
        "the lines after" after_range: Ranges,
        "the number of lines before, from the range or of the snippet" lines_removed: Ints,
        "the number of lines after, from the range or of the snippet" lines_added: Ints,
        "the hash of the lines before" before_hash: Hashes,
        "the hash of the lines after" after_hash: Hashes,
        "the hash of the whole file before" file_before_hash: Hashes,
        "the hash of the whole file after" file_after_hash: Hashes,
        "`snippet` where the lines are not known" basis: Words,
        "false where the log shows that it was asked for, but not its outcome" confirmed: Flags,
        "it repeats the history of another session" replay: Flags,
        "half surrogate pairs were replaced by U+FFFD" lossy: Flags,
    }
}

rows! {
    /// Rows of `usage`.
    UsageRows {
        "the name of the tape" tape: Names,
        "the harness" harness: Names,
        "the session" session_id: Words,
        "the sub-agent" agent_id: Words,
        "the key of the session or sub-agent of this tape: unique in `sessions`, the same in all tables" session_key: Words,
        "the `seq` of the event" seq: Counts,
        "the turn" turn: Ints,
        "the time" t: Times,
        "the response" message_id: Texts,
        "the request" request_id: Texts,
        "the model; that of the session where the response says none" model: Words,
        "input tokens that neither came from a cache nor went to one" input: Ints,
        "input tokens that came from a cache" cache_read: Ints,
        "input tokens that went to a cache" cache_write: Ints,
        "the part of `cache_write` that lives for an hour" cache_write_1h: Ints,
        "output tokens with those of reasoning" output: Ints,
        "output tokens of reasoning" reasoning: Ints,
        "the cost in US dollars, as the log states it" cost_usd: Decimals,
        "computed: the cost by tokens and list prices, where the log states none" cost_computed_usd: Decimals,
        "why the response ended, in the log's own word" stop_reason: Words,
        "the service level, in the log's own word" service_tier: Words,
        "the log has only a count from before the end of the response" provisional: Flags,
        "what a second model did in the response: `advisor`" part: Words,
        "it repeats the history of another session" replay: Flags,
        "half surrogate pairs were replaced by U+FFFD" lossy: Flags,
    }
}

/// Fills what the rows of all small tables begin with.
macro_rules! push_place {
    ($rows:ident, $place:ident, $record:ident) => {
        $rows.tape.push($place.tape);
        $rows.harness.push($record.source.harness);
        push_str(&mut $rows.session_id, $place.session_id);
        push_str(&mut $rows.agent_id, $place.agent_id);
        $rows.session_key.push($place.session_key);
        $rows.seq.push(int($record.seq.get()));
        $place
            .turn
            .into_iter()
            .for_each(|turn| $rows.turn.push(turn));
        $place.t.into_iter().for_each(|t| $rows.t.push(t));
        $rows.replay.push($record.replay);
    };
}

impl PromptRows {
    /// Appends a message, if a person or an agent wrote it.
    pub(crate) fn push(
        &mut self,
        place: &Place<'_>,
        record: &EventRef<'_>,
        message: &MsgIn<'_>,
        decoder: &mut Decoder,
    ) {
        if message.by == Author::Harness {
            return;
        }
        push_place!(self, place, record);
        self.role.push(message.role.as_str());
        self.by.push(message.by.as_str());
        push(&mut self.text, message.text, decoder);
        push_json(
            &mut self.attachments,
            attachments_json(&message.attachments, decoder),
        );
        self.lossy.push(decoder.take_lossy());
        self.end_row();
    }
}

impl EditRows {
    /// Appends an edit.
    pub(crate) fn push(
        &mut self,
        place: &Place<'_>,
        record: &EventRef<'_>,
        edit: &CodeEdit<'_>,
        decoder: &mut Decoder,
    ) {
        push_place!(self, place, record);
        push_count(&mut self.parent, record.parent.map(Seq::get));
        push(&mut self.call_id, edit.call_id, decoder);
        self.op.push(edit.op.as_str());
        self.file.push(decoder.text(edit.file));
        push_range(&mut self.before_range, edit.before_range);
        push_range(&mut self.after_range, edit.after_range);
        push_count(
            &mut self.lines_removed,
            lines(edit.before_range, edit.before_lines),
        );
        push_count(
            &mut self.lines_added,
            lines(edit.after_range, edit.after_lines),
        );
        push_hash(&mut self.before_hash, edit.before_hash);
        push_hash(&mut self.after_hash, edit.after_hash);
        push_hash(&mut self.file_before_hash, edit.file_before_hash);
        push_hash(&mut self.file_after_hash, edit.file_after_hash);
        push_str(&mut self.basis, edit.snippet.then_some("snippet"));
        self.confirmed.push(edit.confirmed);
        self.lossy.push(decoder.take_lossy());
        self.end_row();
    }
}

/// The number of lines of a span or a snippet.
fn lines(range: Option<Range>, of_snippet: Option<u64>) -> Option<u64> {
    range
        .map(|range| (range.last.saturating_add(1)).saturating_sub(range.first))
        .or(of_snippet)
}

impl UsageRows {
    /// Appends what a response cost. `model` is that of the session, `computed` what is computed where the log states no cost.
    pub(crate) fn push(
        &mut self,
        place: &Place<'_>,
        record: &EventRef<'_>,
        usage: &Usage<'_>,
        (model, computed): (Option<&str>, Option<f64>),
        decoder: &mut Decoder,
    ) {
        push_place!(self, place, record);
        push(&mut self.message_id, usage.message_id, decoder);
        push(&mut self.request_id, usage.request_id, decoder);
        match usage.model {
            Some(_) => push_word(&mut self.model, usage.model, decoder),
            None => push_str(&mut self.model, model),
        }
        let Tokens {
            input,
            cache_read,
            cache_write,
            cache_write_1h,
            output,
            reasoning,
        } = usage.tokens;
        push_count(&mut self.input, input);
        push_count(&mut self.cache_read, cache_read);
        push_count(&mut self.cache_write, cache_write);
        push_count(&mut self.cache_write_1h, cache_write_1h);
        push_count(&mut self.output, output);
        push_count(&mut self.reasoning, reasoning);
        if let Some(cost) = usage.cost_usd.and_then(|cost| cost.as_str().parse().ok()) {
            self.cost_usd.push(cost);
        }
        computed
            .into_iter()
            .for_each(|cost| self.cost_computed_usd.push(cost));
        push_word(&mut self.stop_reason, usage.stop_reason, decoder);
        push_word(&mut self.service_tier, usage.service_tier, decoder);
        self.provisional.push(usage.provisional);
        push_word(&mut self.part, usage.part, decoder);
        self.lossy.push(decoder.take_lossy());
        self.end_row();
    }
}
