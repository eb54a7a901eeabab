//! Notices of the session's own record that stand at the end of the tape.

use crate::shared::value::{Field, integer, non_empty_text};

/// Notices of the session's own record.
#[derive(Default)]
pub struct LastNotices {
    /// Where the user published the session, as raw JSON.
    pub share: Option<String>,
    /// When the user put the session away, in milliseconds since the epoch. None in the inner option if that cannot be read.
    pub archived: Option<Option<i64>>,
}

impl LastNotices {
    /// Remembers the link of a published session, and when the session was put away.
    pub fn of(share: Field<'_>, archived: Field<'_>) -> LastNotices {
        let url = share.and_then(|share| share.member("url"));
        LastNotices {
            share: url
                .filter(|url| non_empty_text(Some(*url)).is_some())
                .map(|url| url.raw().to_owned()),
            archived: archived.map(|archived| integer(Some(archived))),
        }
    }
}
