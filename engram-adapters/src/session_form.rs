//! The forms in which a harness keeps one session, in the order of how much they state, and the sign by which each is recognised.

use std::path::Path;

use crate::open::store::StoredSession;

/// Something that may be a session in some form.
#[derive(Debug, Clone, Copy)]
pub enum FormPlace<'p> {
    /// A file.
    File(&'p Path),
    /// A session in a store of this kind.
    Stored(&'static str, &'p StoredSession),
}

/// One form of a harness's sessions. A harness lists its forms if it can leave one session in several of them. The form with the most facts
/// is first.
#[derive(Debug, Clone, Copy)]
pub struct SessionForm {
    /// The name, for people.
    pub name: &'static str,
    /// What only this form says, for people; empty if a form before it says everything.
    pub only_here: &'static str,
    /// The id of the session if the place has this form. It may look at the path and at the first bytes of a file, because it is asked for
    /// every file that is found.
    pub session_id: fn(FormPlace<'_>) -> Option<String>,
}

/// Ids of sessions in the names of files are at most this long.
#[cfg(any(feature = "cursor", feature = "gemini", feature = "claude-code"))]
const MAX_ID_BYTES: usize = 200;

/// The stem of a file's name, if it can be the id of a session and the file has this ending.
#[cfg(any(feature = "cursor", feature = "gemini", feature = "claude-code"))]
pub(crate) fn id_in_name(path: &Path, ending: &str) -> Option<String> {
    let id = path.file_name()?.to_str()?.strip_suffix(ending)?;
    let is_plain = id
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    (!id.is_empty() && id.len() < MAX_ID_BYTES && is_plain).then(|| id.to_owned())
}
