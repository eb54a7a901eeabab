//! Whether a profile is sound, and whether it is for the program that is installed: the checks P1 to P3. They fail closed: a check that
//! cannot begin is blocked, and one with nothing to look at is skipped with its reason.

use std::io;
use std::path::Path;
use std::time::Duration;

use engram_profiles::profile::{AdapterMode, Expected, Profile};
use engram_profiles::receipt::Verdict;
use engram_profiles::{ProfileHash, registry};
use serde::Serialize;

use crate::probe;
use crate::process::End;

/// The longest time that a program may take to say its version, and then its flags, if the caller says nothing else.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// The most bytes of a version or of the flags.
const MAX_PRINTED: u64 = 1 << 20;
/// The first check.
const CANONICAL: &str = "P1 profile.canonical";
const PROBE: &str = "P2 profile.probe";
const FLAGS: &str = "P3 profile.flags";

/// What became of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The check.
    pub check: &'static str,
    /// The verdict.
    pub verdict: Verdict,
    /// The stable code of a failure, such as `ADAPTER_MISCONFIGURED/version`.
    pub code: Option<&'static str>,
    /// What was found, or why nothing was looked at.
    pub what: String,
}

impl Outcome {
    /// The id of the check: `P1`.
    pub fn id(&self) -> &'static str {
        self.check.split(' ').next().unwrap_or_default()
    }

    /// The number of the check.
    pub fn number(&self) -> u32 {
        self.id()
            .trim_start_matches('P')
            .parse()
            .unwrap_or_default()
    }

    /// True if nothing can go on after it.
    pub fn prevents(&self) -> bool {
        matches!(self.verdict, Verdict::Failed | Verdict::Blocked)
    }

    /// The outcome in words: the verdict, the code, and what was found.
    pub fn words(&self) -> String {
        let code = self.code.map(|code| format!(" {code}")).unwrap_or_default();
        format!("{:<7}{code} {}", self.verdict.as_str(), self.what)
    }

    /// An outcome that is no failure.
    pub(crate) fn of(check: &'static str, verdict: Verdict, what: impl Into<String>) -> Outcome {
        Outcome {
            check,
            verdict,
            code: None,
            what: what.into(),
        }
    }

    /// A failure with its code.
    pub(crate) fn failed(
        check: &'static str,
        code: &'static str,
        what: impl Into<String>,
    ) -> Outcome {
        Outcome {
            code: Some(code),
            ..Outcome::of(check, Verdict::Failed, what)
        }
    }
}

/// Checks a profile; with a program also that the program is one that the profile is for.
///
/// `expected` is the hash that the profile must have. Without it, a profile with the id of a shipped one must be the shipped one. The program is
/// asked in private mounts, where they can be had.
pub fn check(
    bytes: &[u8],
    expected: Option<&ProfileHash>,
    exe: Option<&Path>,
    patience: Duration,
) -> Vec<Outcome> {
    let (profile, first) = canonical(bytes, expected);
    let Some(profile) = profile.filter(|_| first.verdict == Verdict::Passed) else {
        let blocked = |check| Outcome::of(check, Verdict::Blocked, "the profile is not sound");
        return vec![first, blocked(PROBE), blocked(FLAGS)];
    };
    let skipped = |why: &str| [PROBE, FLAGS].map(|check| Outcome::of(check, Verdict::Skipped, why));
    let rest = match exe {
        None => skipped("no program was named"),
        Some(_) if profile.adapter_mode == AdapterMode::HookedVendor => {
            skipped("this agent cannot be pointed at a model on loopback")
        }
        Some(exe) => program(&profile, exe, patience),
    };
    [first].into_iter().chain(rest).collect()
}

fn canonical(bytes: &[u8], expected: Option<&ProfileHash>) -> (Option<Profile>, Outcome) {
    const CODE: &str = "ADAPTER_MISCONFIGURED/profile";
    let (profile, hash) = match Profile::parse(bytes) {
        Ok(parsed) => parsed,
        Err(error) => return (None, Outcome::failed(CANONICAL, CODE, error.to_string())),
    };
    let shipped = registry::all()
        .find(|shipped| shipped.profile.profile_id == profile.profile_id)
        .map(|shipped| &shipped.hash);
    let outcome = match expected.or(shipped) {
        Some(other) if *other != hash => Outcome::failed(
            CANONICAL,
            CODE,
            format!("the hash is {hash}, and {other} was expected"),
        ),
        _ => Outcome::of(
            CANONICAL,
            Verdict::Passed,
            format!("{}: {hash}", profile.profile_id),
        ),
    };
    (Some(profile), outcome)
}

/// Asks the program for its version and its flags.
fn program(profile: &Profile, exe: &Path, patience: Duration) -> [Outcome; 2] {
    let first = probe(profile, exe, patience);
    if first.verdict != Verdict::Passed {
        return [
            first,
            Outcome::of(
                FLAGS,
                Verdict::Blocked,
                "the profile is not for this version",
            ),
        ];
    }
    [first, flags(profile, exe, patience)]
}

fn probe(profile: &Profile, exe: &Path, patience: Duration) -> Outcome {
    const CODE: &str = "ADAPTER_MISCONFIGURED/version";
    let printed = match printed(exe, &profile.version_probe.args, patience) {
        Ok(printed) => printed,
        Err(unsaid) => return unsaid.outcome(PROBE, CODE),
    };
    match profile.probed(&printed) {
        Some((version, Expected::Yes)) => Outcome::of(PROBE, Verdict::Passed, version),
        Some((version, Expected::No)) => Outcome::failed(
            PROBE,
            CODE,
            format!(
                "{version} is installed, and the profile is for {}",
                profile.version_probe.expect
            ),
        ),
        None => Outcome::failed(
            PROBE,
            CODE,
            format!(
                "no version in what it prints: {}",
                printed.lines().next().unwrap_or_default()
            ),
        ),
    }
}

fn flags(profile: &Profile, exe: &Path, patience: Duration) -> Outcome {
    const CODE: &str = "ADAPTER_MISCONFIGURED/flag";
    let is_word = |argument: &&String| !argument.starts_with(['-', '{']);
    let mut help: Vec<String> = profile
        .args_template
        .iter()
        .take_while(is_word)
        .cloned()
        .collect();
    help.push("--help".to_owned());
    let help = match printed(exe, &help, patience) {
        Ok(help) => help,
        Err(unsaid) => return unsaid.outcome(FLAGS, CODE),
    };
    let of_tiers = profile
        .permission_mode_map
        .iter()
        .flat_map(|row| &row.flags);
    let all: Vec<&String> = profile
        .args_template
        .iter()
        .chain(of_tiers)
        .filter(|argument| argument.starts_with('-'))
        .collect();
    let missing: Vec<&str> = all
        .iter()
        .filter(|flag| !names(&help, flag))
        .map(|flag| flag.as_str())
        .collect();
    if missing.is_empty() {
        return Outcome::of(FLAGS, Verdict::Passed, format!("{} flags", all.len()));
    }
    Outcome::failed(
        FLAGS,
        CODE,
        format!("--help does not name {}", missing.join(", ")),
    )
}

/// True if a text has this flag, not as the beginning or the end of another.
fn names(help: &str, flag: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '-';
    help.match_indices(flag).any(|(at, _)| {
        !help[..at].ends_with(is_part) && !help[at + flag.len()..].starts_with(is_part)
    })
}

/// Why a program did not say what it was asked for.
enum Unsaid {
    /// It could not be started, or did not end in time: it may be able to say it, so nothing is known.
    NotRun(String),
    /// It ran, and did not say it.
    Wrong(String),
}

impl Unsaid {
    fn outcome(self, check: &'static str, code: &'static str) -> Outcome {
        match self {
            Unsaid::NotRun(what) => Outcome::of(check, Verdict::Blocked, what),
            Unsaid::Wrong(what) => Outcome::failed(check, code, what),
        }
    }
}

/// What a program prints, and what it prints as errors: some have their help there.
fn printed(exe: &Path, args: &[String], patience: Duration) -> Result<String, Unsaid> {
    let asked = probe::ask(exe, args, patience).map_err(Unsaid::NotRun)?;
    let words = format!("`{} {}`", exe.display(), args.join(" "));
    let texts = ["out", "err"].map(|name| asked.read(name, MAX_PRINTED));
    let is_flood = |text: &io::Result<Vec<u8>>| {
        text.as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::FileTooLarge)
    };
    if texts.iter().any(is_flood) {
        let what = format!("{words} printed more than {MAX_PRINTED} bytes");
        return Err(Unsaid::Wrong(what));
    }
    match asked.end {
        End::Exit(0) => {
            let bytes = texts.into_iter().collect::<io::Result<Vec<_>>>();
            let bytes = bytes.map_err(|error| Unsaid::Wrong(format!("{words}: {error}")))?;
            Ok(String::from_utf8_lossy(&bytes.concat()).into_owned())
        }
        End::Timeout => Err(Unsaid::NotRun(format!(
            "{words} took longer than {} seconds; --patience says how long it may take",
            patience.as_secs()
        ))),
        end => Err(Unsaid::Wrong(format!("{words} ended with {end:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    const HELP: &str = "-p --tools --no-session-persistence --strict-mcp-config --setting-sources";

    /// A program that says this version and these flags.
    fn installed(directory: &Path, version: &str, help: &str) -> PathBuf {
        let path = directory.join("claude");
        let script =
            format!("#!/bin/sh\ncase \"$1\" in --version) {version} ;; *) echo '{help}' ;; esac\n");
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn bytes() -> &'static [u8] {
        registry::all()
            .find(|shipped| shipped.profile.profile_id == "claude-code-black-box")
            .unwrap()
            .canonical
            .as_bytes()
    }

    fn verdicts(outcomes: &[Outcome]) -> Vec<(Verdict, Option<&'static str>)> {
        outcomes
            .iter()
            .map(|outcome| (outcome.verdict, outcome.code))
            .collect()
    }

    fn with(version: &str, help: &str) -> Vec<(Verdict, Option<&'static str>)> {
        let directory = tempfile::tempdir().unwrap();
        verdicts(&check(
            bytes(),
            None,
            Some(&installed(directory.path(), version, help)),
            PATIENCE,
        ))
    }

    const PASSED: (Verdict, Option<&str>) = (Verdict::Passed, None);
    const BLOCKED: (Verdict, Option<&str>) = (Verdict::Blocked, None);

    #[test]
    fn installed_program_of_the_profile_passes() {
        assert_eq!(with("echo '2.1.330 (Claude Code)'", HELP), [PASSED; 3]);
        let as_errors = format!("{HELP}' >&2 '");
        assert_eq!(
            with("echo '2.1.330 (Claude Code)'", &as_errors),
            [PASSED; 3]
        );
    }

    #[test]
    fn profile_with_one_byte_changed_blocks_the_rest() {
        let changed = String::from_utf8_lossy(bytes()).replace("~2.1", "~2.2");
        let failed = (Verdict::Failed, Some("ADAPTER_MISCONFIGURED/profile"));
        assert_eq!(
            verdicts(&check(changed.as_bytes(), None, None, PATIENCE)),
            [failed, BLOCKED, BLOCKED]
        );
        assert_eq!(
            verdicts(&check(
                bytes(),
                Some(&ProfileHash::of(b"other")),
                None,
                PATIENCE
            )),
            [failed, BLOCKED, BLOCKED]
        );
        assert_eq!(
            verdicts(&check(b"{}", None, None, PATIENCE)),
            [failed, BLOCKED, BLOCKED]
        );
    }

    #[test]
    fn other_version_blocks_the_flags() {
        let failed = (Verdict::Failed, Some("ADAPTER_MISCONFIGURED/version"));
        for version in ["echo '2.2.0 (Claude Code)'", "echo 'who am I'", "exit 3"] {
            assert_eq!(with(version, HELP), [PASSED, failed, BLOCKED], "{version}");
        }
    }

    #[test]
    fn program_that_cannot_start_or_does_not_end_is_blocked() {
        let nobody = Path::new("/no/such/program");
        let outcomes = check(bytes(), None, Some(nobody), PATIENCE);
        assert_eq!(verdicts(&outcomes), [PASSED, BLOCKED, BLOCKED]);
        let directory = tempfile::tempdir().unwrap();
        let slow = installed(
            directory.path(),
            "sleep 2; echo '2.1.330 (Claude Code)'",
            HELP,
        );
        let with = |patience| verdicts(&check(bytes(), None, Some(&slow), patience));
        assert_eq!(with(Duration::from_millis(300)), [PASSED, BLOCKED, BLOCKED]);
        assert_eq!(with(PATIENCE), [PASSED; 3]);
    }

    #[test]
    fn flag_that_the_help_does_not_name_fails() {
        let help = HELP.replace("--tools", "--tools-of-old");
        let failed = (Verdict::Failed, Some("ADAPTER_MISCONFIGURED/flag"));
        assert_eq!(
            with("echo '2.1.330 (Claude Code)'", &help),
            [PASSED, PASSED, failed]
        );
    }

    #[test]
    fn check_without_a_program_is_skipped_and_says_why() {
        let outcomes = check(bytes(), None, None, PATIENCE);
        assert_eq!(
            verdicts(&outcomes),
            [PASSED, (Verdict::Skipped, None), (Verdict::Skipped, None)]
        );
        assert_eq!(outcomes[1].what, "no program was named");
        let cursor = registry::all()
            .find(|shipped| shipped.profile.profile_id == "cursor-hooked")
            .unwrap();
        let outcomes = check(
            cursor.canonical.as_bytes(),
            None,
            Some(Path::new("/bin/true")),
            PATIENCE,
        );
        assert!(
            outcomes[1].verdict == Verdict::Skipped && outcomes[1].what.contains("loopback"),
            "{outcomes:?}"
        );
    }
}
