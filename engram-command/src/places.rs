//! Where engram keeps what it makes, if the command line names no place: below the data directory of the platform.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// The variable that names the directory of tapes.
pub const TAPES: &str = "ENGRAM_TAPES";
/// The variable that names the directory of the index of tapes.
pub const INDEX: &str = "ENGRAM_INDEX";

/// The directory of a user's application data, as the platform has it: `$XDG_DATA_HOME` or `~/.local/share` on Linux,
/// `~/Library/Application Support` on macOS, `%LOCALAPPDATA%` on Windows. `None` if the environment does not say where the home is.
pub fn data_dir() -> Option<PathBuf> {
    data_dir_of(env::consts::OS, &|name| env::var_os(name))
}

/// The home directory, by the variable that the platform has for it.
pub fn home() -> Option<PathBuf> {
    let variable = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

/// The directory of tapes: `$ENGRAM_TAPES`, else `engram/tapes` in the data directory.
pub fn tapes_dir() -> Option<PathBuf> {
    place(TAPES, "tapes")
}

/// The directory of the index of tapes: `$ENGRAM_INDEX`, else `engram/index` in the data directory.
pub fn index_dir() -> Option<PathBuf> {
    place(INDEX, "index")
}

fn place(variable: &str, name: &str) -> Option<PathBuf> {
    let named = env::var_os(variable)
        .filter(|path| !path.is_empty())
        .map(PathBuf::from);
    named.or_else(|| data_dir().map(|data| data.join("engram").join(name)))
}

/// A variable that is empty or relative says nothing, as the XDG specification wants it.
fn data_dir_of(system: &str, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    match system {
        "windows" => absolute("LOCALAPPDATA")
            .or_else(|| Some(absolute("USERPROFILE")?.join("AppData").join("Local"))),
        "macos" => Some(
            absolute("HOME")?
                .join("Library")
                .join("Application Support"),
        ),
        _ => absolute("XDG_DATA_HOME")
            .or_else(|| Some(absolute("HOME")?.join(".local").join("share"))),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn of(system: &str, variables: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| OsString::from(value))
        };
        data_dir_of(system, &variable).map(|path| path.to_string_lossy().into_owned())
    }

    #[test]
    fn each_platform_has_its_directory() {
        assert_eq!(
            of("linux", &[("HOME", "/h")]).as_deref(),
            Some("/h/.local/share")
        );
        assert_eq!(
            of("linux", &[("HOME", "/h"), ("XDG_DATA_HOME", "/data")]).as_deref(),
            Some("/data")
        );
        assert_eq!(
            of("linux", &[("HOME", "/h"), ("XDG_DATA_HOME", "data")]).as_deref(),
            Some("/h/.local/share")
        );
        assert_eq!(
            of("macos", &[("HOME", "/h"), ("XDG_DATA_HOME", "/data")]).as_deref(),
            Some("/h/Library/Application Support")
        );
        // The paths of this test's own platform stand for those of Windows.
        assert_eq!(
            of("windows", &[("LOCALAPPDATA", "/l"), ("USERPROFILE", "/u")]).as_deref(),
            Some("/l")
        );
        assert_eq!(
            of("windows", &[("USERPROFILE", "/u")]).as_deref(),
            Some("/u/AppData/Local")
        );
        assert_eq!(of("linux", &[("HOME", "")]), None);
    }
}
