//! Sub-agents that write into the file of their session (up to 2.0.27): which lines belong to which agent.

use std::borrow::Cow;

use crate::claude_code::revisions::Dialect;
use crate::claude_code::schema::Line;
use crate::shared::value::{is_true, text};
use engram_core::keys::{KeyMap, hash64};

/// Chains of sidechain lines. A chain without an agent id is named after the `uuid` of its first line.
#[derive(Default)]
pub struct Sidechains {
    /// The chain of every sidechain line, by the hash of its `uuid`.
    chains: KeyMap<usize>,
    /// The `uuid` of the first line of every chain.
    roots: Vec<String>,
}

impl Sidechains {
    /// The sub-agent that wrote this line. It may be asked for more than once.
    pub fn agent<'a>(&mut self, line: &Line<'a>, dialect: Dialect) -> Option<Cow<'a, str>> {
        match text(line.agent_id()) {
            Some(agent) => Some(agent.decode_lossy()),
            None if dialect.agents_share_the_file && is_true(line.is_sidechain()) => self.root(line),
            None => None,
        }
    }

    /// The `uuid` of the first line of this line's chain.
    fn root<'a>(&mut self, line: &Line<'a>) -> Option<Cow<'a, str>> {
        let uuid = text(line.uuid())?.decode_lossy();
        let known = text(line.parent_uuid()).and_then(|parent| self.chains.get(&hash64(parent.decode_lossy())).copied());
        let own = || self.chains.get(&hash64(&uuid)).copied().filter(|chain| self.roots.get(*chain).is_some_and(|root| *root == uuid));
        let chain = known.or_else(own).unwrap_or_else(|| {
            self.roots.push(uuid.clone().into_owned());
            self.roots.len() - 1
        });
        self.chains.insert(hash64(&uuid), chain);
        self.roots.get(chain).map(|root| Cow::Owned(root.clone()))
    }
}
