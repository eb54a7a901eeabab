//! Paths of files: absolute where the log has the directory that a call ran in.

use std::borrow::Cow;

use engram_core::file_path::full_path;
use engram_core::text::Text;

/// The absolute form of a relative path. None if the path is absolute as it is, begins with `~`, or if the directory is not known.
pub(super) fn absolute(path: Text<'_>, directory: Option<&str>) -> Option<String> {
    let path = path.decode().ok()?;
    if path.is_empty() || path.starts_with('~') {
        return None;
    }
    match full_path(directory?, &path) {
        Cow::Owned(full) => Some(full),
        Cow::Borrowed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_relative_paths_are_joined() {
        let of = |path, directory| absolute(Text::Plain(path), directory);
        assert_eq!(of("src/a.py", Some("/p")).as_deref(), Some("/p/src/a.py"));
        assert_eq!(of("./a.py", Some("/p/q/")).as_deref(), Some("/p/q/a.py"));
        assert_eq!(of("../a.py", Some("/p/q")).as_deref(), Some("/p/a.py"));
        assert_eq!(
            of("a/b.py", Some("C:\\p")).as_deref(),
            Some("C:\\p\\a\\b.py")
        );
        for (path, directory) in [
            ("/a", Some("/p")),
            ("~/a", Some("/p")),
            ("C:\\a", Some("/p")),
            ("a", None),
            ("", Some("/p")),
        ] {
            assert_eq!(of(path, directory), None);
        }
    }
}
