//! Which blocks, lines, calls and results have been emitted, to recognise those that the log repeats.

use crate::claude_code::revisions::Dialect;
use crate::claude_code::schema::Line;
use crate::shared::record_facts::fact_of;
use crate::shared::restorable::{Restorable, RestorableMap};
use crate::shared::seen_set::SeenSet;
use crate::shared::value::{Value, non_empty_text};

/// What has been emitted. Messages and calls go by hashes.
#[derive(Default)]
pub struct Dedup {
    /// Messages of the version that wrote the current one may be appended again.
    messages_are_repeated: bool,
    /// The message whose blocks are being read.
    open_message: Restorable<Option<u64>>,
    /// Messages that another message has followed. Only these can be appended again.
    finished_messages: SeenSet,
    blocks: SeenSet,
    wrapped_lines: SeenSet,
    calls: SeenSet,
    results: RestorableMap<Results>,
    /// What each result states.
    result_blocks: SeenSet,
}

/// The results of the calls with one id.
#[derive(Debug, Clone, Copy, Default)]
struct Results {
    /// Calls without a result.
    open: u32,
    /// A result has been emitted.
    is_any: bool,
}

impl Dedup {
    /// The record is converted: its facts stay.
    pub fn commit(&mut self) {
        self.open_message.commit();
        self.results.commit();
        self.sets().into_iter().for_each(SeenSet::commit);
    }

    /// The record is malformed: its facts are forgotten.
    pub fn roll_back(&mut self) {
        self.open_message.roll_back();
        self.results.roll_back();
        self.sets().into_iter().for_each(SeenSet::roll_back);
    }

    fn sets(&mut self) -> [&mut SeenSet; 5] {
        [&mut self.finished_messages, &mut self.blocks, &mut self.wrapped_lines, &mut self.calls, &mut self.result_blocks]
    }

    /// The blocks that follow belong to this message.
    pub fn begin_message(&mut self, message: Option<u64>, dialect: Dialect) {
        self.messages_are_repeated = dialect.messages_are_repeated;
        if self.messages_are_repeated && *self.open_message != message {
            if let Some(last) = *self.open_message {
                self.finished_messages.insert(last);
            }
            self.open_message.set(message);
        }
    }

    /// False for a block of a finished message that has been emitted. A message may contain the same block twice while it is open.
    pub fn insert_block(&mut self, block: Value<'_>) -> bool {
        let (true, Some(message)) = (self.messages_are_repeated, *self.open_message) else { return true };
        let is_new = self.blocks.insert((message, block.raw()));
        is_new || !self.finished_messages.contains(message)
    }

    /// False for a wrapped line that has been converted. Another line may have its `uuid`.
    pub fn insert_wrapped_line(&mut self, line: &Line<'_>) -> bool {
        let content = line.message().or(line.attachment()).map(Value::raw);
        non_empty_text(line.uuid()).is_none_or(|uuid| self.wrapped_lines.insert((uuid.decode_lossy(), content)))
    }

    /// True for a wrapped line that has been converted.
    pub fn has_wrapped_line(&self, line: &Line<'_>) -> bool {
        let content = line.message().or(line.attachment()).map(Value::raw);
        non_empty_text(line.uuid()).is_some_and(|uuid| self.wrapped_lines.contains((uuid.decode_lossy(), content)))
    }

    /// True for a new call. False if the log has the same block again after its message was finished, or after the call got its result. A
    /// call with a used id in another block is new: its result follows.
    pub fn insert_call(&mut self, call: u64, message: Option<u64>, block: Value<'_>) -> bool {
        let is_ended = |message| self.finished_messages.contains(message) || self.has_result(call);
        let may_be_appended = self.messages_are_repeated && message.is_some_and(is_ended);
        let is_appended = self.messages_are_repeated && !self.calls.insert((call, message, block.raw())) && may_be_appended;
        if !is_appended {
            let calls = self.results.get(call).unwrap_or_default();
            self.results.insert(call, Results { open: calls.open + 1, ..calls });
        }
        !is_appended
    }

    /// False for a result that has been emitted: its call has one that states the same, and no other call of its id is open.
    pub fn insert_result(&mut self, call: u64, block: Value<'_>) -> bool {
        let calls = self.results.get(call).unwrap_or_default();
        let is_other = self.result_blocks.insert((call, fact_of(block)));
        let is_new = calls.open > 0 || !calls.is_any || is_other;
        if is_new {
            self.results.insert(call, Results { open: calls.open.saturating_sub(1), is_any: true });
        }
        is_new
    }

    /// True for a call with a result that has been emitted.
    pub fn has_result(&self, call: u64) -> bool {
        self.results.get(call).is_some_and(|calls| calls.is_any && calls.open == 0)
    }
}
