//! `engram profile`: the shipped profiles, and whether a file is one.

use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use engram_profiles::registry::{self, Shipped};
use engram_profiles::{Profile as AgentProfile, ProfileError, ProfileHash};

use crate::exit::Exit;
use crate::report::{Reporter, printable};

/// Arguments of `engram profile`.
#[derive(Debug, Args)]
pub struct Profile {
    /// What to do
    #[command(subcommand)]
    pub action: Action,
}

/// What to do with profiles.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// List the shipped profiles: id, hash, mode, and the versions that each is for
    List,
    /// Print a shipped profile
    Show(Show),
    /// Print the hash of a profile in a file
    Hash(File),
    /// Check that a file is a profile: canonical bytes, known fields, every rule
    Check(Check),
}

/// Which shipped profile.
#[derive(Debug, Args)]
pub struct Show {
    /// Its hash; or its id, with `--expect`
    #[arg(value_name = "HASH")]
    pub which: String,
    /// The hash that the profile with this id must have
    #[arg(long, value_name = "HASH")]
    pub expect: Option<String>,
}

/// A file.
#[derive(Debug, Args)]
pub struct File {
    /// A profile
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
}

/// Arguments of `engram profile check`.
#[derive(Debug, Args)]
pub struct Check {
    /// A profile
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// The hash that it must have
    #[arg(long, value_name = "HASH")]
    pub expect: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Profile, report: &Reporter) -> io::Result<Exit> {
    let text = match &args.action {
        Action::List => Ok(registry::all().map(line).collect()),
        Action::Show(show) => chosen(&show.which, show.expect.as_deref()).map(|shipped| format!("{}\n", shipped.canonical)),
        Action::Hash(file) => match read(&file.path, report) {
            Ok(bytes) => AgentProfile::parse(&bytes).map(|(_, hash)| format!("{hash}\n")),
            Err(exit) => return Ok(exit),
        },
        Action::Check(check) => match read(&check.path, report) {
            Ok(bytes) => checked(&bytes, check.expect.as_deref()),
            Err(exit) => return Ok(exit),
        },
    };
    match text {
        Ok(text) => {
            let mut out = stdout().lock();
            out.write_all(text.as_bytes())?;
            out.flush()?;
            Ok(Exit::Success)
        }
        Err(error) => {
            report.finding(error.fault.code(), &error.place_and_reason());
            Ok(Exit::Usage)
        }
    }
}

fn read(path: &Path, report: &Reporter) -> Result<Vec<u8>, Exit> {
    std::fs::read(path).map_err(|error| {
        report.finding("io", &format!("{}: {error}", path.display()));
        Exit::Io
    })
}

fn line(shipped: &Shipped) -> String {
    let Shipped { profile, hash, .. } = shipped;
    let mode = serde_json::to_value(profile.adapter_mode).ok();
    let mode = mode.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
    format!("{:<22} {hash} {mode:<18} {}\n", profile.profile_id, profile.version_probe.expect)
}

/// The shipped profile with this hash, or with this id and the expected hash.
fn chosen(which: &str, expect: Option<&str>) -> Result<&'static Shipped, ProfileError> {
    match expect {
        Some(expect) => registry::by_id(which, &expect.parse()?),
        None => registry::by_hash(&which.parse()?),
    }
}

fn checked(bytes: &[u8], expect: Option<&str>) -> Result<String, ProfileError> {
    let (profile, hash) = AgentProfile::parse(bytes)?;
    let expected: Option<ProfileHash> = expect.map(str::parse).transpose()?;
    if let Some(expected) = expected.filter(|expected| *expected != hash) {
        return Err(ProfileError::unknown(format!("the profile has the hash {hash}, and {expected} was expected")));
    }
    Ok(format!("{}: {hash}\n", printable(&profile.profile_id)))
}
