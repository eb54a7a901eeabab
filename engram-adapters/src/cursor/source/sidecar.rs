//! What the folder of a transcript shows that the transcript does not record.

use std::path::Path;

use engram_core::adapter::SideInfo;
use engram_core::head::Head;

/// A sub-agent's transcript is in `<parent session>/subagents/`. Nothing else names its parent.
pub(in crate::cursor) fn sidecar(path: &Path, _head: &Head<'_>) -> SideInfo {
    let folder = path.parent().filter(|folder| folder.file_name().is_some_and(|name| name == "subagents"));
    let parent = folder.and_then(Path::parent).and_then(Path::file_name);
    SideInfo { parent_session_id: parent.and_then(|name| name.to_str()).map(str::to_owned), ..SideInfo::default() }
}
