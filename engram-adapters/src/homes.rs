//! Where all registered harnesses keep their sessions on a system.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use crate::home_directory::{Base, HomeDirectory, Surroundings, System};
use crate::registry::Registry;

/// A directory where a harness may have sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The harness.
    pub harness: &'static str,
    /// The directory. It need not exist.
    pub path: PathBuf,
}

/// The directories of all registered harnesses, each once, in the order of the registry.
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
        adapter.homes().iter().filter_map(move |row| {
            Some(Home {
                harness,
                path: row.resolve(surroundings)?,
            })
        })
    });
    rows.filter(|home| seen.insert(home.path.clone())).collect()
}

/// Programs whose sessions no adapter reads, with the directory below the home directory where recordings of them have their sessions.
const UNREAD: &[(&str, &str)] = &[("TRAE CLI", ".trae/cli/sessions")];

/// The programs that have sessions below this home directory, and that are not read.
pub fn unread_programs(home: &Path) -> Vec<(&'static str, PathBuf)> {
    let there = UNREAD.iter().map(|(name, below)| (*name, home.join(below)));
    there.filter(|(_, path)| path.is_dir()).collect()
}

/// The program that is not read and that has this file among its sessions.
pub fn unread_program_of(path: &Path) -> Option<&'static str> {
    let path = path.to_string_lossy().replace('\\', "/");
    let is_below = |below: &str| path.contains(&format!("/{below}/"));
    UNREAD
        .iter()
        .find(|(_, below)| is_below(below))
        .map(|(name, _)| *name)
}

#[cfg(all(
    test,
    feature = "claude-code",
    feature = "codex",
    feature = "opencode",
    feature = "gemini",
    feature = "cursor",
    feature = "pi",
    feature = "copilot",
    feature = "qwen",
    feature = "acp"
))]
mod tests {
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn a_file_of_a_program_that_is_not_read_names_the_program() {
        let of = |path: &str| unread_program_of(Path::new(path));
        assert_eq!(of("/home/dev/.qwen/projects/p/chats/a.jsonl"), None);
        assert_eq!(
            of("/home/dev/.trae/cli/sessions/2026/10/01/rollout-1.jsonl"),
            Some("TRAE CLI")
        );
        assert_eq!(of("/home/dev/.gemini/tmp/p/chats/a.jsonl"), None);
    }

    fn found(system: System, variables: &[(&str, &str)]) -> Vec<String> {
        let variable = |name: &str| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| OsString::from(value))
        };
        let surroundings = Surroundings {
            system,
            variable: &variable,
        };
        homes(&Registry::builtin(), &surroundings)
            .iter()
            .map(|home| format!("{} {}", home.harness, home.path.display()))
            .collect()
    }

    #[test]
    fn linux_uses_the_home_directory_and_the_xdg_directories() {
        let expected = [
            "claude-code /h/.claude",
            "claude-code /h/.config/claude",
            "claude-code /h/.config/Claude/local-agent-mode-sessions",
            "codex /h/.codex",
            "opencode /h/.local/share/opencode",
            "kilo /h/.local/share/kilo",
            "gemini /h/.gemini",
            "cursor /h/.cursor",
            "cursor /h/.config/cursor",
            "cursor /h/.config/Cursor/User/globalStorage",
            "cursor /h/.config/Cursor/User/workspaceStorage",
            "pi /h/.pi/agent/sessions",
            "openclaw /h/.openclaw/agents",
            "copilot /h/.copilot/session-state",
            "qwen /h/.qwen/projects",
            "acp /h/.local/share/engram/acp",
        ];
        assert_eq!(found(System::Linux, &[("HOME", "/h")]), expected);
        let moved = found(
            System::Linux,
            &[
                ("HOME", "/h"),
                ("XDG_DATA_HOME", "/d"),
                ("XDG_CONFIG_HOME", "relative"),
            ],
        );
        assert!(
            moved.contains(&"opencode /d/opencode".to_owned()),
            "{moved:?}"
        );
        assert!(
            moved.contains(&"claude-code /h/.config/claude".to_owned()),
            "{moved:?}"
        );
    }

    #[test]
    fn a_variable_of_a_harness_takes_the_place_of_its_home() {
        let variables = [
            ("HOME", "/h"),
            ("CLAUDE_CONFIG_DIR", "/c"),
            ("CODEX_HOME", "/x"),
            ("GEMINI_CLI_HOME", "/g"),
            ("CURSOR_DATA_DIR", "/u"),
            ("PI_CODING_AGENT_DIR", "/p"),
        ];
        let moved = found(System::Linux, &variables);
        assert_eq!(
            moved[..4],
            [
                "claude-code /c",
                "claude-code /h/.config/Claude/local-agent-mode-sessions",
                "codex /x",
                "opencode /h/.local/share/opencode",
            ]
        );
        assert!(
            moved.contains(&"pi /p/sessions".to_owned())
                && moved.contains(&"cursor /u".to_owned())
                && moved.contains(&"cursor /h/.cursor".to_owned()),
            "{moved:?}"
        );
        assert_eq!(
            found(System::Linux, &[("HOME", "/h"), ("CODEX_HOME", "")]),
            found(System::Linux, &[("HOME", "/h")])
        );
    }

    #[test]
    fn a_database_that_a_variable_names_is_searched_beside_the_home() {
        let database = |value| {
            let found = found(System::Linux, &[("HOME", "/h"), ("OPENCODE_DB", value)]);
            assert!(found.contains(&"opencode /h/.local/share/opencode".to_owned()));
            found
                .into_iter()
                .filter(|home| home.starts_with("opencode ") && home.ends_with(".db"))
                .collect::<Vec<_>>()
        };
        assert_eq!(database("/mnt/work.db"), ["opencode /mnt/work.db"]);
        assert_eq!(
            database("work.db"),
            ["opencode /h/.local/share/opencode/work.db"]
        );
        assert_eq!(database(":memory:"), [""; 0]);
        assert_eq!(database(""), [""; 0]);
    }

    #[test]
    fn mac_and_windows_keep_editors_elsewhere() {
        let mac = found(System::MacOs, &[("HOME", "/h")]);
        assert!(
            mac.contains(
                &"cursor /h/Library/Application Support/Cursor/User/globalStorage".to_owned()
            ),
            "{mac:?}"
        );
        assert!(
            mac.contains(&"opencode /h/.local/share/opencode".to_owned()),
            "{mac:?}"
        );
        let windows = found(
            System::Windows,
            &[("USERPROFILE", "/u"), ("APPDATA", "/a"), ("HOME", "/other")],
        );
        assert!(
            windows.contains(&"cursor /a/Cursor/User/workspaceStorage".to_owned()),
            "{windows:?}"
        );
        assert!(
            windows.contains(&"claude-code /u/.claude".to_owned()),
            "{windows:?}"
        );
        assert!(
            windows
                .iter()
                .all(|home| !home.contains("Library") && !home.contains(".config")),
            "{windows:?}"
        );
    }

    #[test]
    fn without_a_home_directory_only_variables_count() {
        assert_eq!(found(System::Linux, &[("CODEX_HOME", "/x")]), ["codex /x"]);
        assert_eq!(found(System::Windows, &[]), [""; 0]);
    }
}
