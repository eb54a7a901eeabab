//! Where harnesses keep their sessions: one table per adapter, resolved for a system and its environment variables.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::registry::Registry;

/// A kind of operating system, as far as folders are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux and other systems that follow the XDG directories.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl System {
    /// The system that this program was built for.
    pub const fn current() -> System {
        if cfg!(windows) {
            System::Windows
        } else if cfg!(target_os = "macos") {
            System::MacOs
        } else {
            System::Linux
        }
    }
}

/// The folder that a path of a table begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// The person's home folder.
    Home,
    /// `XDG_DATA_HOME`, else `~/.local/share`; on every system, for harnesses that use it everywhere.
    XdgData,
    /// `XDG_CONFIG_HOME`, else `~/.config`; not on Windows.
    XdgConfig,
    /// `~/Library/Application Support`; on macOS only.
    ApplicationSupport,
    /// `%APPDATA%`; on Windows only.
    AppData,
    /// Nowhere: the row counts only if its variable is set.
    Nowhere,
}

/// One row of an adapter's table: a folder with sessions.
#[derive(Debug, Clone, Copy)]
pub struct HomeFolder {
    base: Base,
    path: &'static str,
    variable: Option<(&'static str, &'static str)>,
}

impl HomeFolder {
    /// The folder `path` in `base`.
    pub const fn new(base: Base, path: &'static str) -> HomeFolder {
        HomeFolder { base, path, variable: None }
    }

    /// If this environment variable is set, the folder is `path` in the folder that it names.
    #[must_use]
    pub const fn unless_set(self, variable: &'static str, path: &'static str) -> HomeFolder {
        HomeFolder { variable: Some((variable, path)), ..self }
    }

    fn resolve(&self, surroundings: &Surroundings<'_>) -> Option<PathBuf> {
        if let Some((variable, path)) = self.variable
            && let Some(folder) = surroundings.folder(variable)
        {
            return Some(below(&folder, path));
        }
        Some(below(&surroundings.base(self.base)?, self.path))
    }
}

/// The system and its environment variables.
pub struct Surroundings<'e> {
    /// The system.
    pub system: System,
    /// The value of an environment variable.
    pub variable: &'e dyn Fn(&str) -> Option<OsString>,
}

impl Surroundings<'_> {
    fn folder(&self, variable: &str) -> Option<PathBuf> {
        (self.variable)(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    fn home(&self) -> Option<PathBuf> {
        self.folder(if self.system == System::Windows { "USERPROFILE" } else { "HOME" })
    }

    /// The folder of an XDG variable. A relative path in it does not count.
    fn xdg(&self, variable: &str, default: &str) -> Option<PathBuf> {
        let set = self.folder(variable).filter(|path| path.is_absolute());
        set.or_else(|| Some(below(&self.home()?, default)))
    }

    fn base(&self, base: Base) -> Option<PathBuf> {
        match base {
            Base::Home => self.home(),
            Base::XdgData => self.xdg("XDG_DATA_HOME", ".local/share"),
            Base::XdgConfig if self.system != System::Windows => self.xdg("XDG_CONFIG_HOME", ".config"),
            Base::ApplicationSupport if self.system == System::MacOs => Some(below(&self.home()?, "Library/Application Support")),
            Base::AppData if self.system == System::Windows => self.folder("APPDATA"),
            _ => None,
        }
    }
}

/// A path with `/` between its parts, below a folder.
fn below(folder: &Path, path: &str) -> PathBuf {
    path.split('/').filter(|part| !part.is_empty()).fold(folder.to_owned(), |folder, part| folder.join(part))
}

/// A folder where a harness may have sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The harness.
    pub harness: &'static str,
    /// The folder. It need not exist.
    pub path: PathBuf,
}

/// The folders of all registered harnesses, each once, in the order of the registry.
///
/// ```
/// use engram_adapters::Registry;
/// use engram_adapters::homes::{Surroundings, System, homes};
///
/// let variable = |name: &str| (name == "HOME").then(|| "/home/dev".into());
/// let found = homes(&Registry::builtin(), &Surroundings { system: System::Linux, variable: &variable });
/// assert!(found.iter().any(|home| home.path.ends_with(".codex")));
/// ```
pub fn homes(registry: &Registry, surroundings: &Surroundings<'_>) -> Vec<Home> {
    let mut seen = BTreeSet::new();
    let rows = registry.adapters().flat_map(|adapter| {
        let harness = adapter.descriptor().harness_family;
        adapter.homes().iter().filter_map(move |row| Some(Home { harness, path: row.resolve(surroundings)? }))
    });
    rows.filter(|home| seen.insert(home.path.clone())).collect()
}

#[cfg(all(test, feature = "claude-code", feature = "codex", feature = "opencode", feature = "gemini", feature = "cursor"))]
mod tests {
    use super::*;

    fn found(system: System, variables: &[(&str, &str)]) -> Vec<String> {
        let variable = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        let surroundings = Surroundings { system, variable: &variable };
        homes(&Registry::builtin(), &surroundings).iter().map(|home| format!("{} {}", home.harness, home.path.display())).collect()
    }

    #[test]
    fn linux_uses_the_home_folder_and_the_xdg_folders() {
        let expected = [
            "claude-code /h/.claude",
            "claude-code /h/.config/claude",
            "codex /h/.codex",
            "opencode /h/.local/share/opencode",
            "gemini /h/.gemini",
            "cursor /h/.cursor",
            "cursor /h/.config/cursor",
            "cursor /h/.config/Cursor/User/globalStorage",
            "cursor /h/.config/Cursor/User/workspaceStorage",
        ];
        assert_eq!(found(System::Linux, &[("HOME", "/h")]), expected);
        let moved = found(System::Linux, &[("HOME", "/h"), ("XDG_DATA_HOME", "/d"), ("XDG_CONFIG_HOME", "relative")]);
        assert!(moved.contains(&"opencode /d/opencode".to_owned()), "{moved:?}");
        assert!(moved.contains(&"claude-code /h/.config/claude".to_owned()), "{moved:?}");
    }

    #[test]
    fn a_variable_of_a_harness_takes_the_place_of_its_home() {
        let variables =
            [("HOME", "/h"), ("CLAUDE_CONFIG_DIR", "/c"), ("CODEX_HOME", "/x"), ("GEMINI_CLI_HOME", "/g"), ("CURSOR_DATA_DIR", "/u")];
        let moved = found(System::Linux, &variables);
        assert_eq!(moved[..4], ["claude-code /c", "codex /x", "opencode /h/.local/share/opencode", "gemini /g/.gemini"]);
        assert!(moved.contains(&"cursor /u".to_owned()) && moved.contains(&"cursor /h/.cursor".to_owned()), "{moved:?}");
        assert_eq!(found(System::Linux, &[("HOME", "/h"), ("CODEX_HOME", "")]), found(System::Linux, &[("HOME", "/h")]));
    }

    #[test]
    fn mac_and_windows_keep_editors_elsewhere() {
        let mac = found(System::MacOs, &[("HOME", "/h")]);
        assert!(mac.contains(&"cursor /h/Library/Application Support/Cursor/User/globalStorage".to_owned()), "{mac:?}");
        assert!(mac.contains(&"opencode /h/.local/share/opencode".to_owned()), "{mac:?}");
        let windows = found(System::Windows, &[("USERPROFILE", "/u"), ("APPDATA", "/a"), ("HOME", "/other")]);
        assert!(windows.contains(&"cursor /a/Cursor/User/workspaceStorage".to_owned()), "{windows:?}");
        assert!(windows.contains(&"claude-code /u/.claude".to_owned()), "{windows:?}");
        assert!(windows.iter().all(|home| !home.contains("Library") && !home.contains(".config")), "{windows:?}");
    }

    #[test]
    fn without_a_home_folder_only_variables_count() {
        assert_eq!(found(System::Linux, &[("CODEX_HOME", "/x")]), ["codex /x"]);
        assert_eq!(found(System::Windows, &[]), [""; 0]);
    }
}
