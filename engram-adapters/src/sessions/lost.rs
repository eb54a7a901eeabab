//! Sessions that only the histories of prompts still name.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::prompt_history::LostSession;
use crate::registry::Registry;

/// The sessions that the histories in these directories name and `is_known` does not know by their id, each once.
pub fn lost_sessions(
    registry: &Registry,
    homes: &[PathBuf],
    is_known: impl Fn(&str) -> bool,
) -> Vec<LostSession> {
    let mut lost = BTreeMap::new();
    for adapter in registry.adapters() {
        let Some(history) = adapter.prompt_history() else {
            continue;
        };
        let harness = adapter.descriptor().harness_family;
        for session in homes
            .iter()
            .flat_map(|home| history.sessions(harness, home))
        {
            let id = session.overview.session_id.clone().unwrap_or_default();
            if !is_known(&id) {
                lost.entry((harness, id)).or_insert(session);
            }
        }
    }
    lost.into_values().collect()
}
