//! The script that lists and installs the published versions of harnesses.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use semver::Version;

use crate::bounded;
use crate::error::{Fault, RecorderError};
use crate::process::{End, Running};

/// Where packages that drive a harness are installed, below its version.
pub const DRIVERS: &str = "drivers/node_modules";
/// The longest that the script may take: a registry that does not answer must not stop a sweep.
const SCRIPT_LIMIT: Duration = Duration::from_secs(600);
/// The longest list of versions, or text of errors, of the script.
const MAX_LISTED: u64 = 1 << 20;
/// So many versions are tried for the newest that can be installed: a package for this platform may be missing.
const TRIES: usize = 5;

/// The script, and where it installs.
#[derive(Debug, Clone, Copy)]
pub struct Installer<'i> {
    /// `scripts/install-harness`, or a script with the same arguments.
    pub script: &'i Path,
    /// Where harnesses are installed: `DIR/<harness>/<version>/node_modules`.
    pub directory: &'i Path,
}

impl Installer<'_> {
    /// Where a version is, or will be.
    pub fn place(&self, family: &str, version: &Version) -> PathBuf {
        self.directory.join(family).join(version.to_string())
    }

    /// The published versions of a harness, each with its day.
    ///
    /// # Errors
    /// `adapter_misconfigured` if the script fails.
    pub fn list(&self, family: &str) -> Result<Vec<(Version, String)>, RecorderError> {
        let listed = says(self.script, &["--list", family], SCRIPT_LIMIT)?;
        let published = |line: &str| {
            let (version, published) = line.split_once('\t')?;
            Some((Version::parse(version).ok()?, published.to_owned()))
        };
        Ok(listed.lines().filter_map(published).collect())
    }

    /// Installs a version, and packages that drive it.
    ///
    /// # Errors
    /// `adapter_misconfigured` with what the script says.
    pub fn install(
        &self,
        family: &str,
        version: &Version,
        packages: BTreeSet<&str>,
    ) -> Result<(), RecorderError> {
        let (version, directory) = (version.to_string(), self.directory.to_string_lossy());
        let words = [family, &version, &directory];
        let words: Vec<&str> = words.into_iter().chain(packages).collect();
        says(self.script, &words, SCRIPT_LIMIT).map(drop)
    }

    /// The newest published version that is there or can be installed. `tell` gets the reason for each newer one that cannot be.
    ///
    /// # Errors
    /// `adapter_misconfigured` if the script lists none, or none of the newest ones can be installed.
    pub fn latest(
        &self,
        family: &str,
        mut tell: impl FnMut(&Version, &RecorderError),
    ) -> Result<Version, RecorderError> {
        let mut versions: Vec<Version> = self
            .list(family)?
            .into_iter()
            .map(|(version, _)| version)
            .collect();
        versions.sort_by(|one, other| other.cmp(one));
        let mut last = format!("{} lists no version", self.script.display());
        for version in versions.into_iter().take(TRIES) {
            if self.place(family, &version).join("node_modules").is_dir() {
                return Ok(version);
            }
            match self.install(family, &version, BTreeSet::new()) {
                Ok(()) => return Ok(version),
                Err(error) => {
                    tell(&version, &error);
                    last = error.what;
                }
            }
        }
        Err(RecorderError::new(Fault::Misconfigured, last))
    }
}

/// Runs the script and returns what it prints.
fn says(script: &Path, arguments: &[&str], limit: Duration) -> Result<String, RecorderError> {
    let io = |error: std::io::Error| RecorderError::io(script, &error);
    let directory = tempfile::tempdir().map_err(io)?;
    let (printed, errors) = (directory.path().join("out"), directory.path().join("err"));
    let program = script.to_string_lossy();
    let words = std::iter::once(program.as_ref()).chain(arguments.iter().copied());
    let argv: Vec<String> = words.map(str::to_owned).collect();
    let env = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let stdout = fs::File::create(&printed).map_err(io)?;
    let running =
        Running::start(&argv, Path::new("."), &env, stdout.into(), &errors).map_err(io)?;
    let end = running.wait(limit, &printed, || false).map_err(io)?;
    if end == End::Exit(0) {
        return bounded::read_text(&printed, MAX_LISTED).map_err(io);
    }
    let said = bounded::read_text(&errors, MAX_LISTED).unwrap_or_default();
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let last = lines[lines.len().saturating_sub(3)..].join("; ");
    let what = match end {
        End::Exit(_) if last.is_empty() => "no reason given".to_owned(),
        End::Exit(_) => last,
        End::Timeout => format!("it took longer than {} s", limit.as_secs()),
        other => format!("it ended by {other:?}"),
    };
    Err(RecorderError::new(
        Fault::Misconfigured,
        format!("install: {what}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(directory: &Path, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let script = directory.join("script");
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        script
    }

    #[test]
    fn script_that_does_not_end_or_fails_says_why() {
        let directory = tempfile::tempdir().unwrap();
        let text = "#!/bin/sh\ncase $1 in ok) echo 1.0.0 ;; no) printf 'a\\n\\nnone\\n' >&2; exit 1 ;; *) sleep 100 ;; esac\n";
        let script = script(directory.path(), text);
        let says = |word: &str, limit| {
            says(&script, &[word], Duration::from_millis(limit)).map_err(|error| error.what)
        };
        assert_eq!(says("ok", 20_000), Ok("1.0.0\n".to_owned()));
        assert_eq!(says("no", 20_000), Err("install: a; none".to_owned()));
        assert_eq!(
            says("hang", 100),
            Err("install: it took longer than 0 s".to_owned())
        );
    }

    #[test]
    fn latest_is_the_newest_that_can_be_installed() {
        let directory = tempfile::tempdir().unwrap();
        let text = "#!/bin/sh\n[ $1 = --list ] && { printf '1.9.0\\tx\\n1.10.0\\tx\\n1.8.0\\tx\\n'; exit; }\n[ $2 = 1.9.0 ] || { echo missing >&2; exit 1; }\n";
        let script = script(directory.path(), text);
        let installer = Installer {
            script: &script,
            directory: directory.path(),
        };
        let mut told = Vec::new();
        let found = installer.latest("h", |version, error| {
            told.push(format!("{version} {}", error.what))
        });
        assert_eq!(found.unwrap(), Version::new(1, 9, 0));
        assert_eq!(told, ["1.10.0 install: missing"]);
        fs::create_dir_all(directory.path().join("h/1.10.0/node_modules")).unwrap();
        let found = installer.latest("h", |_, _| {});
        assert_eq!(found.unwrap(), Version::new(1, 10, 0));
    }
}
