//! The project of a session: the directory that it began in. A worktree of git belongs to the project of its repository.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use crate::small_file;

/// A file `.git` of a worktree is one line with a path.
const MAX_BYTES: u64 = 8192;

/// Where Claude Code makes worktrees, below the checkout of their repository (2.1.49 and later). It removes them when their session ends.
const WORKTREES: &str = "/.claude/worktrees/";

/// The directory that counts for a session that began in `directory`. For a worktree it is the same directory in the checkout of its
/// repository; else it is the directory itself. Of a worktree that is gone the path must say it.
pub fn project_of(directory: &str) -> Cow<'_, str> {
    main_checkout(Path::new(directory))
        .or_else(|| main_of_gone(directory))
        .map_or(Cow::Borrowed(directory), Cow::Owned)
}

/// The same for a worktree below the checkout.
fn main_of_gone(directory: &str) -> Option<String> {
    let (main, below) = directory.split_once(WORKTREES)?;
    let below = below.split_once('/').map(|(_, below)| below);
    Some(below.map_or_else(|| main.to_owned(), |below| format!("{main}/{below}")))
}

/// The same directory in the checkout that has the repository, for a directory in another worktree.
fn main_checkout(directory: &Path) -> Option<String> {
    if !directory.is_absolute() {
        return None;
    }
    let root = directory
        .ancestors()
        .find(|directory| fs::symlink_metadata(directory.join(".git")).is_ok())?;
    let link = root.join(".git");
    let text = small_file::found(&link, MAX_BYTES).ok()?;
    // `gitdir: /repository/.git/worktrees/name`; that of a submodule is below `.git/modules`.
    let git = Path::new(text.strip_prefix("gitdir:")?.trim());
    let worktrees = git.parent()?;
    let repository = worktrees.parent()?;
    let is_worktree = worktrees.ends_with("worktrees") && repository.ends_with(".git");
    let main = repository
        .parent()
        .filter(|main| is_worktree && main.is_absolute())?;
    let below = directory.strip_prefix(root).ok()?;
    let project = if below.as_os_str().is_empty() {
        main.to_owned()
    } else {
        main.join(below)
    };
    Some(project.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_is_the_project_of_its_repository() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let text = |name: &str| at(name).to_string_lossy().into_owned();
        for directory in [
            "main/.git/worktrees/tree",
            "main/src",
            "tree/src",
            "sub",
            "plain",
        ] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        let link = |from: &str, to: &str| {
            fs::write(
                at(from).join(".git"),
                format!("gitdir: {}\n", at(to).display()),
            )
            .unwrap();
        };
        link("tree", "main/.git/worktrees/tree");
        link("sub", "main/.git/modules/sub");
        assert_eq!(project_of(&text("tree")), text("main"));
        assert_eq!(project_of(&text("tree/src")), text("main/src"));
        for own in ["main", "main/src", "sub", "plain", "gone/away"] {
            assert_eq!(project_of(&text(own)), text(own));
        }
        assert_eq!(project_of("C:\\x"), "C:\\x");
        assert_eq!(
            project_of("/gone/shop/.claude/worktrees/feat"),
            "/gone/shop"
        );
        assert_eq!(
            project_of("/gone/shop/.claude/worktrees/feat/web"),
            "/gone/shop/web"
        );
    }
}
