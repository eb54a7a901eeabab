//! Paths of files as a tape has them: absolute where the log has the directory that they are relative to.

use std::borrow::Cow;

/// A path in a directory. If the directory is absolute, the result has no `.` and `..` of the path. An absolute path stays as it is, and so
/// does any path if the directory is empty, which means one that no record says.
pub fn full_path<'p>(directory: &str, path: &'p str) -> Cow<'p, str> {
    if directory.is_empty() || is_absolute(path) {
        return Cow::Borrowed(path);
    }
    let separator = if directory.starts_with('/') || !directory.contains('\\') {
        '/'
    } else {
        '\\'
    };
    let mut parts: Vec<&str> = directory
        .trim_end_matches(['/', separator])
        .split(separator)
        .collect();
    for part in path.split(['/', separator]) {
        match part {
            "" | "." => {}
            // The parent of a root is the root.
            ".." if is_absolute(directory) => parts.truncate(parts.len().saturating_sub(1).max(1)),
            part => parts.push(part),
        }
    }
    Cow::Owned(parts.join(if separator == '/' { "/" } else { "\\" }))
}

/// True for a path from a root or a drive.
fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\']) || has_drive(path)
}

/// True for a path of Windows that begins with a drive: `C:`.
fn has_drive(path: &str) -> bool {
    path.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
        && path.as_bytes().get(1) == Some(&b':')
}

/// What all spellings of a path have in common, to compare two of them. A path of Windows, with its drive or its server, is the same in any
/// case and with either slash: an editor writes `c:\\dev` where a shell writes `C:\\dev`. Other paths are as they are. A slash at the end does
/// not count.
///
/// ```
/// use engram_core::file_path::comparable;
///
/// assert_eq!(comparable("C:\\Dev\\Proj"), comparable("c:/dev/proj/"));
/// assert_ne!(comparable("/home/Dev"), comparable("/home/dev"));
/// ```
pub fn comparable(path: &str) -> Cow<'_, str> {
    if has_drive(path) || path.starts_with("\\\\") {
        let path = path.replace('\\', "/").to_lowercase();
        return Cow::Owned(path.trim_end_matches('/').to_owned());
    }
    let trimmed = path.trim_end_matches('/');
    Cow::Borrowed(if trimmed.is_empty() { path } else { trimmed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_path_are_compared_as_equal() {
        for (one, other) in [
            ("C:\\Users\\dev", "c:\\users\\dev\\"),
            ("C:/Users/dev", "c:\\Users\\dev"),
            ("\\\\Server\\share", "\\\\server/SHARE"),
            ("/p/", "/p"),
            ("/", "/"),
        ] {
            assert_eq!(comparable(one), comparable(other), "{one} {other}");
        }
        for (one, other) in [("/p", "/P"), ("C:\\p", "D:\\p"), ("a\\b", "a/b"), ("", "/")] {
            assert_ne!(comparable(one), comparable(other), "{one} {other}");
        }
    }

    #[test]
    fn paths_are_full_where_the_directory_is_stated() {
        for (directory, path, full) in [
            ("/p", "src/a.py", "/p/src/a.py"),
            ("/p/", "./a", "/p/a"),
            ("/p", "../out/a", "/out/a"),
            ("/p", "e/../e/a", "/p/e/a"),
            ("/", "../a", "/a"),
            ("/p", "/x/a", "/x/a"),
            ("", "src/a", "src/a"),
            ("src", "../a", "src/../a"),
            ("C:\\p", "src/a", "C:\\p\\src\\a"),
            ("C:\\p", "D:\\a", "D:\\a"),
            ("C:\\p", "C:/a", "C:/a"),
        ] {
            assert_eq!(full_path(directory, path), full, "{directory} {path}");
        }
    }
}
