//! What step 3 keeps between records.

use engram_core::event::{Seq, SessionFacts};
use engram_core::keys::{KeySet, hash64};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::pi::readers::{Details, FileArgs};
use crate::shared::pending_calls::{CallPlace, PendingCalls};
use crate::shared::stated::Stated;
use crate::shared::value::Field;

/// A call of a tool for files that has succeeded, and where its result is.
pub struct FileCall<'a> {
    pub call_id: Option<Text<'a>>,
    pub args: FileArgs<'a>,
    pub details: Details<'a>,
    /// The version of the harness takes the text before an edit from the file: the log has the time that the call took (Pi 1.3 and later), or
    /// says that the file changed (OpenClaw since 2026.8).
    pub is_exact: bool,
    /// The session has read or changed the file before.
    pub is_known: bool,
}

/// What the handlers of a session keep.
#[derive(Debug, Default)]
pub struct State {
    /// Calls without a result.
    pub calls: PendingCalls<CallPlace>,
    /// Scripts without a result, which are the parents of the calls that they make.
    pub scripts: PendingCalls<Seq>,
    /// Model, provider and effort, as the session said them last.
    pub stated: Stated,
    /// The files that a call has read or changed, by path.
    pub files: KeySet,
    /// The harness has a tool that applies patches. Of an extension with its name nothing is known.
    pub has_patches: bool,
    /// The last record that is a copy of another session.
    pub last_copy: Option<usize>,
}

impl State {
    /// True for a record that is a copy of another session.
    pub fn is_copy(&self, number: usize) -> bool {
        self.last_copy.is_some_and(|last| number <= last)
    }

    /// True if the session has read or changed this file before. From now on it has.
    pub fn knows(&mut self, path: Text<'_>) -> bool {
        !self.files.insert(hash64(path.raw()))
    }

    /// Emits what a call of this record says of the file at a path. The harness takes a leading `@` away, and knows what `~` is.
    pub fn with_file(
        &self,
        record: usize,
        path: Text<'_>,
        out: &mut Emitter<'_>,
        emit: impl FnOnce(Text<'_>, &mut Emitter<'_>),
    ) {
        let path = path.decode_lossy();
        let path = path.strip_prefix('@').unwrap_or(&path);
        let file = Text::Plain(path);
        // A copy may be of a session in another directory.
        if path.starts_with('~') || self.is_copy(record) {
            out.with_paths_as_stated(|out| emit(file, out));
        } else {
            emit(file, out);
        }
    }

    /// The facts among these that are not those before.
    pub fn model<'a>(
        &mut self,
        model: Field<'a>,
        provider: Field<'a>,
        effort: Field<'a>,
    ) -> SessionFacts<'a> {
        SessionFacts {
            model: self.stated.changed("model", model),
            provider: self.stated.changed("provider", provider),
            effort: self.stated.changed("effort", effort),
            ..SessionFacts::default()
        }
    }
}
