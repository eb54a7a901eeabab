//! Files beside a sub-agent's log: `agent-<id>.meta.json` names the call that started it, its model, and the interface of the provider.

use std::path::Path;
use std::sync::Arc;

use engram_core::adapter::{Identity, SessionInit, SideInfo};
use engram_core::head::Head;

use super::interface::Interface;
use crate::shared::neighbours::Neighbours;
use crate::shared::value::{StructuralIndex, owned, parse, raw_str};

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
        // Only one that runs in the background has the first of them. The harness looks for both, too, when it resumes an agent.
        let flags = meta.member("persistedCliFlags");
        let in_flags = || owned(flags.and_then(|flags| flags.member("model")));
        info.model = owned(meta.member("model")).or_else(in_flags);
    }
}

/// The interface that the requests of a sub-agent go to. Its lines do not name it.
pub(super) fn interface(init: &SessionInit<'_>) -> Interface {
    let agent = init.identity.agent_id.as_ref();
    let files = init.context.side_files.as_ref();
    let meta = agent
        .zip(files)
        .and_then(|(agent, files)| files.text(&format!("agent-{agent}.meta.json")));
    interface_of(&meta.unwrap_or_default())
}

fn interface_of(meta: &str) -> Interface {
    let mut index = StructuralIndex::default();
    let meta = parse(meta, &mut index).ok();
    let flags = meta.and_then(|meta| meta.member("persistedCliFlags"));
    Interface::named(raw_str(flags.and_then(|flags| flags.member("authType"))))
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
        let foreground = r#"{"persistedCliFlags":{"model":"n"}}"#;
        assert_eq!(of(foreground), (None, Some("n".to_owned())));
        assert_eq!(of("{}"), (None, None));
        assert_eq!(of("no JSON"), (None, None));
    }

    #[test]
    fn the_file_beside_a_log_names_the_interface() {
        let of = |name: &str| {
            interface_of(&format!(
                r#"{{"agentId":"a","persistedCliFlags":{{"authType":"{name}"}}}}"#
            ))
        };
        assert_eq!(
            [of("anthropic"), of("openai"), interface_of("{}")],
            [Interface::Anthropic, Interface::Usual, Interface::Usual]
        );
    }
}
