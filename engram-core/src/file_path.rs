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
    let has_drive = || {
        path.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
            && path.as_bytes().get(1) == Some(&b':')
    };
    path.starts_with(['/', '\\']) || has_drive()
}

#[cfg(test)]
mod tests {
    use super::*;

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
