//! The records of a run store: agents, runs, and the events of runs.

use std::borrow::Cow;

use engram_core::event::Tokens;

use crate::cursor::fields::time_of_millis;
use crate::cursor::readers::{Run, RunUsage};
use crate::shared::time::tape_time;
use crate::shared::value::{Field, count};

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
        let ends = [
            self.finished_at(),
            self.ended_at(),
            self.cancelled_at(),
            self.expired_at(),
            self.updated_at(),
        ];
        ends.into_iter().find_map(time)
    }
}

/// A time: a text in the database, milliseconds in the files.
pub(super) fn time(field: Field<'_>) -> Option<Cow<'_, str>> {
    tape_time(field).or_else(|| time_of_millis(field).map(Cow::Owned))
}
