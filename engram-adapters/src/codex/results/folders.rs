//! The directory that a patch is applied in, and the full paths of the files that it names.

use std::borrow::Cow;

/// The names by which a script applies a patch.
const APPLY: [&str; 2] = ["apply_patch", "applypatch"];

/// The directory of a call with this `workdir`, in a turn in this directory. An empty text stands for a directory that no record states.
pub fn folder_of_call(cwd: &str, workdir: Option<&str>) -> String {
    workdir.map_or_else(|| cwd.to_owned(), |workdir| full_path(cwd, workdir).into_owned())
}

/// The directory in which a script applies a patch, given the script up to the patch. None if the script goes to a directory that its text
/// does not state.
pub fn folder_of_script(script: &str, folder: &str) -> Option<String> {
    let script = script.trim_start();
    let Some(rest) = script.strip_prefix("cd ") else {
        let changes =
            script.split(|sign: char| sign.is_whitespace() || ";&|()".contains(sign)).any(|word| matches!(word, "cd" | "pushd" | "popd"));
        return (!changes).then(|| folder.to_owned());
    };
    let (target, rest) = rest.split_once("&&")?;
    let target = plain_word(target.trim())?;
    APPLY.iter().any(|name| rest.trim_start().starts_with(name)).then(|| full_path(folder, target).into_owned())
}

/// A word of a script without its quotes, if the shell does not change it.
fn plain_word(word: &str) -> Option<&str> {
    let quoted = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote).filter(|inner| !inner.contains(quote));
    let word = quoted('\'').or_else(|| quoted('"').filter(|inner| !inner.contains(['$', '`', '\\']))).or_else(|| {
        let is_plain = |sign: char| sign.is_alphanumeric() || "/._-+@%,:=".contains(sign);
        Some(word).filter(|word| word.chars().all(is_plain))
    })?;
    (!word.is_empty() && word != "-").then_some(word)
}

/// A path in a directory: without `.` and `..`, if the directory is absolute.
pub fn full_path<'p>(folder: &str, path: &'p str) -> Cow<'p, str> {
    if folder.is_empty() || is_absolute(path) {
        return Cow::Borrowed(path);
    }
    let separator = if folder.starts_with('/') || !folder.contains('\\') { '/' } else { '\\' };
    let mut parts: Vec<&str> = folder.trim_end_matches(separator).split(separator).collect();
    for part in path.split(['/', separator]) {
        match part {
            "" | "." => {}
            ".." if is_absolute(folder) && parts.len() > 1 => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Cow::Owned(parts.join(&separator.to_string()))
}

fn is_absolute(path: &str) -> bool {
    let has_drive = || path.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && path.as_bytes().get(1) == Some(&b':');
    path.starts_with(['/', '\\']) || has_drive()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_full_where_the_directory_is_stated() {
        for (folder, path, full) in [
            ("/p", "src/a.py", "/p/src/a.py"),
            ("/p/", "./a", "/p/a"),
            ("/p", "../out/a", "/out/a"),
            ("/p", "/x/a", "/x/a"),
            ("", "src/a", "src/a"),
            ("src", "../a", "src/../a"),
            ("C:\\p", "src/a", "C:\\p\\src\\a"),
            ("C:\\p", "D:\\a", "D:\\a"),
        ] {
            assert_eq!(full_path(folder, path), full, "{folder} {path}");
        }
    }

    #[test]
    fn a_script_states_its_directory_or_not() {
        let folder = |script: &str| folder_of_script(script, "/p");
        assert_eq!(folder("apply_patch <<'E'\n").as_deref(), Some("/p"));
        assert_eq!(folder("cd src && apply_patch <<'E'\n").as_deref(), Some("/p/src"));
        assert_eq!(folder("cd 'a b' && applypatch <<E").as_deref(), Some("/p/a b"));
        assert_eq!(folder("mkdir -p x; apply_patch <<E").as_deref(), Some("/p"));
        for script in [
            "cd $X && apply_patch <<E",
            "cd a && ls && apply_patch <<E",
            "mkdir a && cd a && apply_patch <<E",
            "cd a; apply_patch <<E",
            "cd - && apply_patch",
        ] {
            assert_eq!(folder(script), None, "{script}");
        }
    }
}
