//! The directory that a patch is applied in.

use engram_core::file_path::full_path;

/// The names by which a script applies a patch.
const APPLY: [&str; 2] = ["apply_patch", "applypatch"];

/// The directory of a call with this `workdir`, in a turn in this directory. An empty text means a directory that no record says.
pub fn directory_of_call(cwd: &str, workdir: Option<&str>) -> String {
    workdir.map_or_else(
        || cwd.to_owned(),
        |workdir| full_path(cwd, workdir).into_owned(),
    )
}

/// The directory in which a script applies a patch, given the script up to the patch. None if the script goes to a directory that its text
/// does not state.
pub fn directory_of_script(script: &str, directory: &str) -> Option<String> {
    let script = script.trim_start();
    let Some(rest) = script.strip_prefix("cd ") else {
        let changes = script
            .split(|sign: char| sign.is_whitespace() || ";&|()".contains(sign))
            .any(|word| matches!(word, "cd" | "pushd" | "popd"));
        return (!changes).then(|| directory.to_owned());
    };
    let (target, rest) = rest.split_once("&&")?;
    let target = plain_word(target.trim())?;
    APPLY
        .iter()
        .any(|name| rest.trim_start().starts_with(name))
        .then(|| full_path(directory, target).into_owned())
}

/// A word of a script without its quotes, if the shell does not change it.
fn plain_word(word: &str) -> Option<&str> {
    let quoted = |quote: char| {
        word.strip_prefix(quote)?
            .strip_suffix(quote)
            .filter(|inner| !inner.contains(quote))
    };
    let word = quoted('\'')
        .or_else(|| quoted('"').filter(|inner| !inner.contains(['$', '`', '\\'])))
        .or_else(|| {
            let is_plain = |sign: char| sign.is_alphanumeric() || "/._-+@%,:=".contains(sign);
            Some(word).filter(|word| word.chars().all(is_plain))
        })?;
    (!word.is_empty() && word != "-").then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_states_its_directory_or_not() {
        let directory = |script: &str| directory_of_script(script, "/p");
        assert_eq!(directory("apply_patch <<'E'\n").as_deref(), Some("/p"));
        assert_eq!(
            directory("cd src && apply_patch <<'E'\n").as_deref(),
            Some("/p/src")
        );
        assert_eq!(
            directory("cd 'a b' && applypatch <<E").as_deref(),
            Some("/p/a b")
        );
        assert_eq!(
            directory("mkdir -p x; apply_patch <<E").as_deref(),
            Some("/p")
        );
        for script in [
            "cd $X && apply_patch <<E",
            "cd a && ls && apply_patch <<E",
            "mkdir a && cd a && apply_patch <<E",
            "cd a; apply_patch <<E",
            "cd - && apply_patch",
        ] {
            assert_eq!(directory(script), None, "{script}");
        }
    }
}
