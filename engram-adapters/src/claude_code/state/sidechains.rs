//! Sub-agents that write into the file of their session (up to 2.0.27): which lines belong to which agent.

use std::borrow::Cow;

use crate::claude_code::revisions::Dialect;
use crate::claude_code::schema::Line;
use crate::shared::value::{is_true, text};
use engram_core::keys::{KeyMap, hash64};

/// Chains of sidechain lines. A chain without an agent id is named after the `uuid` of its first line.
pub struct Sidechains {
    agents_share_the_file: bool,
    /// The chain of every sidechain line, by the hash of its `uuid`.
    chains: KeyMap<usize>,
    /// The `uuid` of the first line of every chain.
    roots: Vec<String>,
}

impl Sidechains {
    /// No chain.
    pub fn new(dialect: Dialect) -> Self {
        Sidechains { agents_share_the_file: dialect.agents_share_the_file, chains: KeyMap::default(), roots: Vec::new() }
    }

    /// The sub-agent that wrote this line.
    pub fn agent<'a>(&mut self, line: &Line<'a>) -> Option<Cow<'a, str>> {
        match text(line.agent_id()) {
            Some(agent) => Some(agent.decode_lossy()),
            None if self.agents_share_the_file && is_true(line.is_sidechain()) => self.root(line),
            None => None,
        }
    }

    /// The `uuid` of the first line of this line's chain.
    fn root<'a>(&mut self, line: &Line<'a>) -> Option<Cow<'a, str>> {
        let uuid = text(line.uuid())?.decode_lossy();
        let known = text(line.parent_uuid()).and_then(|parent| self.chains.get(&hash64(parent.decode_lossy())).copied());
        let chain = known.unwrap_or_else(|| {
            self.roots.push(uuid.clone().into_owned());
            self.roots.len() - 1
        });
        self.chains.insert(hash64(&uuid), chain);
        self.roots.get(chain).map(|root| Cow::Owned(root.clone()))
    }
}
