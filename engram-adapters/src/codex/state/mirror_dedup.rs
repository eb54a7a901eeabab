//! Facts that Codex writes twice: once as an item for the model and once as an event for the screen.

use engram_core::keys::hash64;

use crate::shared::restorable::RestorableMap;

/// Which of the two records of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// A `response_item`: what goes to the model.
    Model,
    /// An `event_msg` or `item_completed`: what goes to the screen.
    Screen,
}

/// What kind of fact it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fact {
    /// A message of the user.
    Prompt,
    /// An image that the user sent.
    Image,
    /// A message of the agent.
    Answer,
    /// A reasoning, or one part of its summary.
    Reasoning,
}

/// Facts of which only one side has been read. Either side may come first: the order differs between versions.
#[derive(Debug, Default)]
pub struct MirrorDedup {
    /// By fact: how often the model's side is ahead, or (below zero) the screen's.
    ahead: RestorableMap<i32>,
}

impl MirrorDedup {
    /// Records a fact, given as its JSON token. False when it repeats one of the other side.
    pub fn is_new(&mut self, side: Side, fact: Fact, token: &str) -> bool {
        let step = if side == Side::Model { 1 } else { -1 };
        let fact = hash64((fact, token));
        let ahead = self.ahead.get(fact).unwrap_or_default();
        match ahead + step {
            0 => self.ahead.remove(fact),
            ahead => self.ahead.insert(fact, ahead),
        };
        ahead * step >= 0
    }

    /// True if this side has stated the fact and the other side has not repeated it.
    pub fn is_ahead(&self, side: Side, fact: Fact, token: &str) -> bool {
        let ahead = self.ahead.get(hash64((fact, token))).unwrap_or_default();
        if side == Side::Model { ahead > 0 } else { ahead < 0 }
    }

    /// The record is converted: its facts stay.
    pub fn commit(&mut self) {
        self.ahead.commit();
    }

    /// The record is malformed: its facts are forgotten.
    pub fn roll_back(&mut self) {
        self.ahead.roll_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_side_may_come_first_and_each_pair_is_one_fact() {
        let mut mirrors = MirrorDedup::default();
        assert!(mirrors.is_new(Side::Model, Fact::Answer, "\"a\""));
        assert!(!mirrors.is_new(Side::Screen, Fact::Answer, "\"a\""));
        assert!(mirrors.is_new(Side::Screen, Fact::Answer, "\"a\""));
        assert!(mirrors.is_new(Side::Screen, Fact::Answer, "\"a\""));
        assert!(!mirrors.is_new(Side::Model, Fact::Answer, "\"a\""));
        assert!(!mirrors.is_new(Side::Model, Fact::Answer, "\"a\""));
        assert!(mirrors.is_new(Side::Model, Fact::Prompt, "\"a\""));
    }
}
