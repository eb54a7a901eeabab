//! What the path of a transcript shows that the transcript does not record.

use std::path::Path;
use std::sync::Arc;

use engram_core::adapter::{Identity, SideFiles, SideInfo};
use engram_core::head::Head;

use super::detect;
use super::form::Form;
use super::parent_transcript::{SUBAGENTS, parent_session};
use super::session_forms::TRANSCRIPTS;
use crate::shared::neighbours::Neighbours;

/// The longest name that the harness gives a file. Longer ids are cut.
const MAX_NAME_BYTES: usize = 200;

/// Session and parent session of a transcript:
/// `agent-transcripts/<session>/<session>.jsonl`, `agent-transcripts/<session>.jsonl` in older versions, and
/// `agent-transcripts/<session at the root>/subagents/<session>.jsonl`. No record names either. A sub-agent whose call is in no transcript has
/// the session at the root as its parent.
pub(in crate::cursor) fn side_info(path: &Path, head: &Head<'_>, _: &Identity) -> SideInfo {
    let is_transcript = detect::form(head)
        .is_some_and(|(form, _)| matches!(form, Form::Transcript | Form::TranscriptDocument));
    if !is_transcript {
        return SideInfo::default();
    }
    let directory = path.parent();
    let parent_directory = directory
        .filter(|directory| name(directory) == Some(SUBAGENTS))
        .and_then(Path::parent);
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let is_named = parent_directory.is_some()
        || directory.is_some_and(|directory| {
            name(directory) == Some(TRANSCRIPTS) || is_own_directory(directory, stem)
        });
    let root = parent_directory.and_then(|directory| Some((directory, name(directory)?)));
    let files = root.and_then(|(directory, _)| Neighbours::open(directory, path));
    let parent = root.map(|(_, root)| {
        let files = files.as_ref();
        let found = files.and_then(|files| parent_session(files, (root, stem?), head));
        found.unwrap_or_else(|| root.to_owned())
    });
    SideInfo {
        session_id: stem
            .filter(|stem| is_named && is_unescaped(stem))
            .map(str::to_owned),
        parent_session_id: parent,
        side_files: files.map(|files| Arc::new(files) as Arc<dyn SideFiles>),
        ..SideInfo::default()
    }
}

/// True for `agent-transcripts/<session>/`.
fn is_own_directory(directory: &Path, session: Option<&str>) -> bool {
    name(directory) == session
        && directory
            .parent()
            .is_some_and(|above| name(above) == Some(TRANSCRIPTS))
}

/// True for a file name that can only be that of one session: other ids are escaped in a way that cannot be undone, or cut.
fn is_unescaped(name: &str) -> bool {
    name.len() < MAX_NAME_BYTES
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn name(path: &Path) -> Option<&str> {
    path.file_name().and_then(|name| name.to_str())
}
