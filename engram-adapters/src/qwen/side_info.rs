//! Files beside a sub-agent's log: `agent-<id>.meta.json` names the call that started it.

use std::path::Path;
use std::sync::Arc;

use engram_core::adapter::{Identity, SideInfo};
use engram_core::head::Head;

use crate::shared::neighbours::Neighbours;
use crate::shared::value::{StructuralIndex, parse, text};

/// What the files around the log at `path` add to it.
pub(super) fn side_info(path: &Path, _: &Head<'_>, identity: &Identity) -> SideInfo {
    let mut info = SideInfo::default();
    let directory = path.parent().filter(|_| identity.agent_id.is_some());
    let Some(files) = directory.and_then(|directory| Neighbours::open(directory, path)) else {
        return info;
    };
    let meta = path.with_extension("meta.json");
    let meta = meta
        .file_name()
        .and_then(|name| files.text(Path::new(name)));
    info.parent_session_id.clone_from(&identity.session_id);
    info.parent_call_id = meta.as_deref().and_then(starting_call);
    info.side_files = Some(Arc::new(files));
    info
}

fn starting_call(meta: &str) -> Option<String> {
    let mut index = StructuralIndex::default();
    let meta = parse(meta, &mut index).ok()?;
    text(meta.member("toolUseId")).map(|call| call.decode_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_beside_a_log_names_the_call() {
        let meta = r#"{"agentId":"general-purpose-call_1","toolUseId":"call_1"}"#;
        assert_eq!(starting_call(meta).as_deref(), Some("call_1"));
        assert_eq!(starting_call("{}"), None);
    }
}
