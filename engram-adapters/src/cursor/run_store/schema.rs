//! The records of a run store: agents, runs, and the events of runs.

use std::borrow::Cow;

use engram_core::event::Tokens;

use crate::cursor::fields::time_of_millis;
use crate::shared::time::tape_time;
use crate::shared::value::{Field, count};
use crate::shared::view::view;

view! {
    /// A line of an opened run store.
    Line {
        store: "store" Any,
        agent: "agent" Object,
        run: "run" Object,
        event: "event" Object,
    }
}

view! {
    /// An agent: one conversation.
    pub(in crate::cursor) Agent {
        agent_id: "agentId" Any,
        cwd: "cwd" Any,
        name: "name" Any,
        created_at: "createdAt" Any,
    }
}

view! {
    /// A run: what the agent did about one prompt.
    pub(in crate::cursor) Run {
        run_id: "runId" Any,
        request_id: "requestId" Any,
        status: "status" Any,
        /// A name, or an object with it.
        model: "model" Any,
        error: "error" Any,
        usage: "usage" Object,
        result: "result" Any,
        created_at: "createdAt" Any,
        updated_at: "updatedAt" Any,
        started_at: "startedAt" Any,
        finished_at: "finishedAt" Any,
        ended_at: "endedAt" Any,
        cancelled_at: "cancelledAt" Any,
        expired_at: "expiredAt" Any,
    }
}

view! {
    /// An event of a run.
    Event {
        run_id: "runId" Any,
        seq: "seq" Any,
        payload: "payload" Object,
        created_at: "createdAt" Any,
    }
}

view! {
    /// Tokens of a run. Its input is without what came from the cache or went to it: the total is the sum of all four.
    pub(in crate::cursor) RunUsage {
        input_tokens: "inputTokens" Any,
        output_tokens: "outputTokens" Any,
        cache_read_tokens: "cacheReadTokens" Any,
        cache_write_tokens: "cacheWriteTokens" Any,
    }
}

impl RunUsage<'_> {
    /// The tokens, if there are any counts.
    pub(in crate::cursor) fn tokens(&self) -> Option<Tokens> {
        let tokens = Tokens {
            input: count(self.input_tokens()),
            output: count(self.output_tokens()),
            cache_read: count(self.cache_read_tokens()),
            cache_write: count(self.cache_write_tokens()),
            ..Tokens::default()
        };
        (tokens != Tokens::default()).then_some(tokens)
    }
}

impl<'a> Run<'a> {
    /// When the run began.
    pub(super) fn began(&self) -> Option<Cow<'a, str>> {
        time(self.started_at()).or_else(|| time(self.created_at()))
    }

    /// When the run ended.
    pub(super) fn ended(&self) -> Option<Cow<'a, str>> {
        let ends = [self.finished_at(), self.ended_at(), self.cancelled_at(), self.expired_at(), self.updated_at()];
        ends.into_iter().find_map(time)
    }
}

/// A time: a text in the database, milliseconds in the files.
pub(super) fn time(field: Field<'_>) -> Option<Cow<'_, str>> {
    tape_time(field).or_else(|| time_of_millis(field).map(Cow::Owned))
}
