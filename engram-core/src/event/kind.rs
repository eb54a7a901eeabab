//! The kinds of events, and counts per kind.

use std::ops::AddAssign;

use crate::words::words;

words! {
    /// The eight kinds of events.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Kind {
        /// Session metadata.
        Meta = "meta",
        /// Input to the agent.
        MsgIn = "msg.in",
        /// Output of the agent.
        MsgOut = "msg.out",
        /// The agent invokes a tool.
        ToolCall = "tool.call",
        /// A tool returned.
        ToolResult = "tool.result",
        /// The agent read a file.
        CodeRead = "code.read",
        /// The agent changed a file.
        CodeEdit = "code.edit",
        /// A declared link between two spans.
        SpanLink = "span.link",
    }
}

impl Kind {
    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A set of kinds, in the order of [`Kind::ALL`].
pub(crate) type Kinds = [bool; Kind::ALL.len()];

/// Numbers of events per kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KindCounts([u64; Kind::ALL.len()]);

impl KindCounts {
    /// The number of events of one kind.
    pub fn of(&self, kind: Kind) -> u64 {
        self.0[kind as usize]
    }

    /// Sets the number of events of one kind.
    pub fn set(&mut self, kind: Kind, count: u64) {
        self.0[kind as usize] = count;
    }

    /// Counts one more event of a kind.
    pub fn add(&mut self, kind: Kind) {
        self.0[kind as usize] += 1;
    }

    /// Every kind with its number, in the order of [`Kind::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Kind, u64)> {
        Kind::ALL.into_iter().zip(self.0)
    }

    /// The number of all events.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl AddAssign for KindCounts {
    fn add_assign(&mut self, more: KindCounts) {
        for (count, more) in self.0.iter_mut().zip(more.0) {
            *count += more;
        }
    }
}
