//! Which session a sub-agent belongs to. What a sub-agent did counts for the session that a person started, however many sub-agents are between.

use std::collections::{HashMap, HashSet};

use engram_core::overview::Overview;

/// Sub-agents that are followed to find the session above them. A log may state any parent, even a circle of parents.
const MAX_DEPTH: usize = 64;

/// Harness and id of a session.
pub type SessionId = (String, Option<String>);

/// The parents of sub-agents that have a session id of their own, as those of Codex do.
#[derive(Debug, Default)]
pub struct Roots(HashMap<SessionId, String>);

impl Roots {
    /// The parents among these sessions and sub-agents.
    pub fn new<'o>(overviews: impl Iterator<Item = &'o Overview> + Clone) -> Roots {
        let sessions: HashSet<SessionId> = overviews
            .clone()
            .filter(|overview| overview.agent_id.is_none())
            .map(own)
            .collect();
        let parents = overviews
            .filter(|overview| overview.agent_id.is_some() && !sessions.contains(&own(overview)))
            .filter_map(|overview| Some((own(overview), overview.parent_session_id.clone()?)));
        Roots(parents.collect())
    }

    /// The session that this one belongs to; itself unless it is a sub-agent.
    pub fn of(&self, overview: &Overview) -> SessionId {
        let mut id = own(overview);
        if overview.agent_id.is_none() {
            return id;
        }
        if let Some(parent) = &overview.parent_session_id {
            id.1 = Some(parent.clone());
        }
        for _ in 0..MAX_DEPTH {
            match self.0.get(&id) {
                Some(parent) if id.1.as_ref() != Some(parent) => id.1 = Some(parent.clone()),
                _ => break,
            }
        }
        id
    }
}

fn own(overview: &Overview) -> SessionId {
    (overview.harness.clone(), overview.session_id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overview(session: &str, agent: Option<&str>, parent: Option<&str>) -> Overview {
        serde_json::from_value(serde_json::json!({
            "harness": "codex", "session_id": session, "agent_id": agent, "parent_session_id": parent
        }))
        .unwrap()
    }

    #[test]
    fn a_sub_agent_belongs_to_the_session_above_all_sub_agents() {
        let all = [
            overview("session", None, Some("fork of")),
            overview("child", Some("child"), Some("session")),
            overview("grandchild", Some("grandchild"), Some("child")),
            overview("session", Some("without an id of its own"), None),
            overview("orphan", Some("orphan"), Some("gone")),
            overview("one", Some("one"), Some("other")),
            overview("other", Some("other"), Some("one")),
        ];
        let roots = Roots::new(all.iter());
        let of = |at: usize| roots.of(&all[at]).1.unwrap();
        let found: Vec<String> = (0..5).map(of).collect();
        assert_eq!(found, ["session", "session", "session", "session", "gone"]);
        // A circle has no session, but an end.
        assert!(["one", "other"].contains(&of(5).as_str()));
    }
}
