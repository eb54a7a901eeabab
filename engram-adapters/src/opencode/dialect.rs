//! Differences between versions that the records themselves do not show, named after behaviour.

use engram_core::adapter::Identity;
use engram_core::version::Support;

use super::family::{FAMILIES, OF_OPENCODE, of_version};
use super::revisions::{COUNTED_LINES, STEP_STREAM, STREAM};

/// How a version, or a stream, must be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    /// `read` is proven to count lines only. Older versions count the empty text after the last line end as a line; but a newer version
    /// may have continued a session of an older one.
    pub counts_only_lines: bool,
    /// Moves by `apply_patch` are proven to be logged as such.
    pub moves_are_links: bool,
    /// The stream is one of 2.x, which counts tokens in another way.
    pub is_step: bool,
}

/// The dialect of the version that created a session, or of a stream. A version that is ahead has that of the newest revision; of unknown
/// versions nothing is assumed.
pub(super) fn dialect(identity: &Identity) -> Dialect {
    let version = identity.version.as_deref();
    let family = &FAMILIES[version.map_or(OF_OPENCODE, of_version)];
    let (revision, support) = family.descriptor.matrix.resolve(version);
    let known =
        revision.filter(|_| matches!(support, Support::Tested | Support::Between | Support::Ahead));
    let counts_only_lines = known.is_some_and(|revision| revision.schema == COUNTED_LINES);
    Dialect {
        counts_only_lines,
        moves_are_links: counts_only_lines || identity.schema == Some(STREAM),
        is_step: identity.schema == Some(STEP_STREAM),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_is_ahead_is_read_like_the_newest_and_an_unknown_one_is_not() {
        let counts_only_lines = |version: &str| {
            dialect(&Identity {
                version: Some(version.to_owned()),
                ..Identity::default()
            })
            .counts_only_lines
        };
        assert!(
            ["1.3.0", "1.4.0", "1.18.34", "1.18.35", "99.0.0"]
                .into_iter()
                .all(counts_only_lines)
        );
        assert!(
            !["0.1.0", "1.0.98", "1.2.28", "local"]
                .into_iter()
                .any(counts_only_lines)
        );
    }
}
