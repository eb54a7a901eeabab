//! All sessions at a path: session files, compressed or not, sessions in stores, and directories to search for both.
//!
//! [`sessions`] is the simple form. To use several threads or paths, list the locations with [`SessionFinder`] and call
//! [`SessionLocation::open`] where the work is done: locations are cheap, and nothing is read before that call.

mod discover;
mod events;
mod find;
mod forms;
mod location;
mod lost;
mod options;
mod source;
mod stamp;
mod store_session;
mod stores;
mod units;

use std::path::Path;

use engram_core::error::{AdapterError, ErrorCode};

pub use crate::prompt_history::{LostSession, PromptHistory};
pub use events::Events;
pub use find::{FoundSessions, SessionFinder};
pub use forms::{FormIdentity, OtherForm};
pub use location::SessionLocation;
pub use lost::lost_sessions;
pub use options::SessionOptions;
pub use source::SessionSource;
pub use stamp::Stamp;
pub use store_session::display_path;
pub use stores::{RegisteredStore, open_store, store_at_root};
pub use units::{Unit, units};

/// Every session at `path`: a session file, a store, or a directory to search for both.
///
/// In a directory, files that are not sessions are skipped. A path to a file must be a session, or it is an error. Sessions are opened one at
/// a time, as the iterator advances, and each is converted in memory bounded by its largest record. Sessions of a store that have a newer
/// copy in the same store are left out, and so are forms of a session that repeat another form of it; [`SessionFinder`] lists them.
///
/// ```
/// use engram_adapters::sessions::{SessionOptions, sessions};
/// use engram_core::tape::JsonLines;
///
/// # let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/codex/0.169.0/main");
/// for session in sessions(directory, &SessionOptions::default()) {
///     let session = session?;
///     let path = session.path().to_owned();
///     let mut tape = Vec::new();
///     let summary = session.convert(&mut JsonLines::new(&mut tape))?;
///     println!("{}: {} {:?}", path.display(), summary.harness, summary.version);
/// }
/// # Ok::<(), engram_core::error::AdapterError>(())
/// ```
pub fn sessions<P: AsRef<Path>>(
    path: P,
    options: &SessionOptions,
) -> impl Iterator<Item = Result<SessionSource, AdapterError>> + Send + use<'_, P> {
    let mut finder = SessionFinder::new(options);
    finder.add(path.as_ref());
    finder
        .finish()
        .locations
        .into_iter()
        .filter_map(|location| match location {
            Ok(location) => opened(&location, options),
            Err(error) => Some(Err(error)),
        })
}

/// The open session; `None` for a file in a searched directory that is not a session.
fn opened(
    location: &SessionLocation,
    options: &SessionOptions,
) -> Option<Result<SessionSource, AdapterError>> {
    match location.open(options) {
        Err(error) if error.code == ErrorCode::UnknownHarness && !location.is_named() => None,
        opened => Some(opened),
    }
}
