//! A row of `engram list`.

use engram_core::overview::Overview;
use engram_core::stats::{Cost, TapeCost, session_key};
use serde::Serialize;

use crate::reading::TapeState;

/// One session.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Its log, store or tape.
    pub path: String,
    /// Whether it has a tape.
    pub tape: TapeState,
    /// The row that the session is counted from, if it is another one: its `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
    /// The number of what was read; `None` for a lost session.
    #[serde(skip)]
    pub item: Option<usize>,
    /// Sub-agents of the session, on tapes of their own or on its own one.
    pub sub_agents: u64,
    /// What it cost; with its sub-agents if they have no rows of their own.
    #[serde(skip)]
    pub cost: Cost,
    /// What its tapes say about costs.
    #[serde(skip)]
    pub costs: Vec<(u64, TapeCost)>,
    /// What its tape says of it.
    #[serde(flatten)]
    pub overview: Overview,
}

/// Harness, session and agent.
pub type Identity = (String, Option<String>, Option<String>);

impl Row {
    /// Whose row it is.
    pub fn identity(&self) -> Identity {
        (
            self.overview.harness.clone(),
            self.overview.session_id.clone(),
            self.overview.agent_id.clone(),
        )
    }

    /// The sub-agents of which its log or tape has events. One of a session without an id is that of its tape.
    pub fn agents(&self) -> impl Iterator<Item = Identity> {
        let (harness, session) = (&self.overview.harness, &self.overview.session_id);
        let session = session.as_ref().unwrap_or(&self.path);
        let agents = self.overview.agents();
        agents.map(move |agent| {
            (
                harness.clone(),
                Some(session.clone()),
                Some(agent.to_owned()),
            )
        })
    }

    /// True for a sub-agent.
    pub fn is_sub_agent(&self) -> bool {
        self.overview.agent_id.is_some()
    }

    /// The session whose total has what this row costs.
    pub fn own_key(&self) -> u64 {
        let id = self.overview.session_id.as_deref().unwrap_or_default();
        session_key(&self.overview.harness, id)
    }
}
