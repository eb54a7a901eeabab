//! Paths of files: absolute where the log states the directory that a call ran in.

use engram_core::text::Text;

/// The absolute form of a relative path. None if the path is absolute as it is, begins with `~`, or if the directory is not known.
pub(super) fn absolute(path: Text<'_>, directory: Option<&str>) -> Option<String> {
    let directory = directory.filter(|directory| !directory.is_empty())?;
    let path = path.decode().ok()?;
    let is_windows = path.get(1..3).is_some_and(|drive| drive == ":\\" || drive == ":/");
    if path.is_empty() || path.starts_with(['/', '\\', '~']) || is_windows {
        return None;
    }
    let separator = if directory.starts_with('/') { '/' } else { '\\' };
    let mut names: Vec<&str> = directory.trim_end_matches(['/', separator]).split(separator).collect();
    for name in path.split(['/', separator]) {
        match name {
            "" | "." => {}
            ".." if names.len() > 1 => drop(names.pop()),
            name => names.push(name),
        }
    }
    Some(names.join(if separator == '/' { "/" } else { "\\" }))
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
        assert_eq!(of("a/b.py", Some("C:\\p")).as_deref(), Some("C:\\p\\a\\b.py"));
        for (path, directory) in [("/a", Some("/p")), ("~/a", Some("/p")), ("C:\\a", Some("/p")), ("a", None), ("", Some("/p"))] {
            assert_eq!(of(path, directory), None);
        }
    }
}
