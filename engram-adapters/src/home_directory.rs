//! A directory or a file where a harness keeps its sessions: a row of an adapter's table, resolved for a system and its environment variables.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A kind of operating system, as far as directories are concerned.
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

/// The directory that a path of a table begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// The person's home directory.
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

/// One row of an adapter's table: a directory with sessions.
#[derive(Debug, Clone, Copy)]
pub struct HomeDirectory {
    base: Base,
    path: &'static str,
    variable: Option<Variable>,
}

/// What an environment variable does to a row.
#[derive(Debug, Clone, Copy)]
enum Variable {
    /// If it is set, the directory is this path in the directory that it names.
    Replaces(&'static str, &'static str),
    /// The row counts only if it is set: it names a file, which may be relative to the directory.
    NamesFile(&'static str),
}

impl HomeDirectory {
    /// The directory `path` in `base`.
    pub const fn new(base: Base, path: &'static str) -> HomeDirectory {
        HomeDirectory {
            base,
            path,
            variable: None,
        }
    }

    /// If this environment variable is set, the directory is `path` in the directory that it names.
    #[must_use]
    pub const fn unless_set(self, variable: &'static str, path: &'static str) -> HomeDirectory {
        HomeDirectory {
            variable: Some(Variable::Replaces(variable, path)),
            ..self
        }
    }

    /// The row is not the directory, but the file that this environment variable names, if it is set: an absolute path, or one in the directory.
    /// A database in memory (`:memory:`) is no file.
    #[must_use]
    pub const fn file_of(self, variable: &'static str) -> HomeDirectory {
        HomeDirectory {
            variable: Some(Variable::NamesFile(variable)),
            ..self
        }
    }

    /// True for the name of the directory in the person's home that a harness has for itself, such as `.gemini`.
    pub(crate) fn is_own(&self, name: &OsStr) -> bool {
        let first = self.path.split('/').next().unwrap_or_default();
        self.base == Base::Home && name == first && !matches!(first, ".config" | ".local")
    }

    /// The directory or file; `None` if there is none on this system.
    pub(crate) fn resolve(&self, surroundings: &Surroundings<'_>) -> Option<PathBuf> {
        let directory = || Some(below(&surroundings.base(self.base)?, self.path));
        match self.variable {
            Some(Variable::Replaces(variable, path)) => surroundings
                .directory(variable)
                .map_or_else(directory, |directory| Some(below(&directory, path))),
            Some(Variable::NamesFile(variable)) => {
                let file = surroundings.directory(variable)?;
                match file.is_absolute() {
                    true => Some(file),
                    false if file.as_os_str() == ":memory:" => None,
                    false => Some(directory()?.join(file)),
                }
            }
            None => directory(),
        }
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
    fn directory(&self, variable: &str) -> Option<PathBuf> {
        (self.variable)(variable)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    }

    fn home(&self) -> Option<PathBuf> {
        self.directory(if self.system == System::Windows {
            "USERPROFILE"
        } else {
            "HOME"
        })
    }

    /// The directory of an XDG variable. A relative path in it does not count.
    fn xdg(&self, variable: &str, default: &str) -> Option<PathBuf> {
        let set = self.directory(variable).filter(|path| path.is_absolute());
        set.or_else(|| Some(below(&self.home()?, default)))
    }

    fn base(&self, base: Base) -> Option<PathBuf> {
        match base {
            Base::Home => self.home(),
            Base::XdgData => self.xdg("XDG_DATA_HOME", ".local/share"),
            Base::XdgConfig if self.system != System::Windows => {
                self.xdg("XDG_CONFIG_HOME", ".config")
            }
            Base::ApplicationSupport if self.system == System::MacOs => {
                Some(below(&self.home()?, "Library/Application Support"))
            }
            Base::AppData if self.system == System::Windows => self.directory("APPDATA"),
            _ => None,
        }
    }
}

/// A path with `/` between its parts, below a directory.
fn below(directory: &Path, path: &str) -> PathBuf {
    path.split('/')
        .filter(|part| !part.is_empty())
        .fold(directory.to_owned(), |directory, part| directory.join(part))
}
