//! Files beside a sub-agent's log: `agent-<id>.meta.json` names the call that started it, and its model.

use std::path::Path;
use std::sync::Arc;

use engram_core::adapter::{Identity, SideInfo};
use engram_core::head::Head;

use crate::shared::neighbours::Neighbours;
use crate::shared::value::{StructuralIndex, owned, parse};

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
    add(&mut info, &meta.unwrap_or_default());
    info.side_files = Some(Arc::new(files));
    info
}

/// The call that started the sub-agent, and its model. The lines of a sub-agent name no model.
fn add(info: &mut SideInfo, meta: &str) {
    let mut index = StructuralIndex::default();
    if let Ok(meta) = parse(meta, &mut index) {
        info.parent_call_id = owned(meta.member("toolUseId"));
        info.model = owned(meta.member("model"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_beside_a_log_names_the_call_and_the_model() {
        let of = |meta: &str| {
            let mut info = SideInfo::default();
            add(&mut info, meta);
            (info.parent_call_id, info.model)
        };
        let meta = r#"{"agentId":"general-purpose-call_1","toolUseId":"call_1","model":"m"}"#;
        assert_eq!(of(meta), (Some("call_1".to_owned()), Some("m".to_owned())));
        assert_eq!(of("{}"), (None, None));
        assert_eq!(of("no JSON"), (None, None));
    }
}
