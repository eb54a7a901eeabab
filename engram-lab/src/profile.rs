//! `engram-lab profile`: the shipped profiles, and whether a file is one.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use engram_command::exit::Exit;
use engram_command::output;
use engram_command::report::{Reporter, printable};
use engram_profiles::Profile as AgentProfile;
use engram_profiles::ProfileHash;
use engram_profiles::registry::{self, Shipped};
use engram_recorder::conform::{self, Outcome, PATIENCE};
use engram_recorder::episode::suite::{self, Settings, Subject, Suite};
use engram_recorder::error::{Fault, RecorderError};

use crate::profile_file::{bytes, chosen, failure, read};
use crate::record;
use crate::verdict::{exit_of, line_of};

/// Where harnesses are installed by default.
const INSTALLED: &str = "harnesses";

/// Arguments of `engram-lab profile`.
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
    /// Print a shipped profile: its canonical bytes, without a line end
    Show(Show),
    /// Print the hash of a profile in a file
    Hash(File),
    /// Check that a file is a sound profile, and with `--exe` that it is for this program
    Check(Check),
    /// Run tier 4 of the compatibility kit: the checks P1 to P10, one column for each shipped profile, or for one of your own
    ///
    /// What is not installed is skipped, and says so; a profile that is named with --profile is blocked then. `ACK_ADAPTERS` names harnesses or profiles, separated by commas; `ACK_TIMEOUT` is the
    /// most seconds of an episode; a real provider is never asked.
    Conform(Conform),
}

/// Arguments of `engram-lab profile conform`.
#[derive(Debug, Args)]
pub struct Conform {
    /// Where harnesses are installed: `DIR/<harness>/<version>/node_modules`
    #[arg(long, value_name = "DIR", default_value = INSTALLED)]
    pub installed: PathBuf,
    /// Judge this profile alone: the hash of a shipped one, or a file; or an id, with `--expect`
    #[arg(long, value_name = "HASH|PATH")]
    pub profile: Option<String>,
    /// The hash that the profile must have
    #[arg(long, value_name = "HASH", requires = "profile")]
    pub expect: Option<String>,
    /// The program of the profile [default: of the installed versions the newest that it is for]
    #[arg(long, value_name = "PATH", requires = "profile")]
    pub exe: Option<PathBuf>,
    /// Run without private mounts and network: nothing keeps bytes from leaving
    #[arg(long)]
    pub open: bool,
    /// Print one JSON object for each profile
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub patience: Patience,
    /// Run the runtime contract instead: streaming, approve, deny, cancel, hidden input, calls at once, restriction, deadline, budget
    #[arg(long)]
    pub contract: bool,
}

impl Conform {
    /// What `engram-lab conform --tier 4` runs: all shipped profiles, each with what is installed for it.
    pub fn of_kit(json: bool) -> Conform {
        Conform {
            installed: PathBuf::from(INSTALLED),
            profile: None,
            expect: None,
            exe: None,
            open: false,
            json,
            patience: Patience {
                patience: PATIENCE.as_secs() as u16,
            },
            contract: false,
        }
    }
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

/// Arguments of `engram-lab profile check`.
#[derive(Debug, Args)]
pub struct Check {
    /// A profile
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// The hash that it must have
    #[arg(long, value_name = "HASH")]
    pub expect: Option<String>,
    /// The program that it must be for: its version and its flags
    #[arg(long, value_name = "PATH")]
    pub exe: Option<PathBuf>,
    #[command(flatten)]
    pub patience: Patience,
}

/// How long a program is waited for.
#[derive(Debug, Args)]
pub struct Patience {
    /// The most seconds that a program may take to say its version, and its flags
    #[arg(long, value_name = "SECONDS", default_value_t = PATIENCE.as_secs() as u16, value_parser = clap::value_parser!(u16).range(1..))]
    patience: u16,
}

impl Patience {
    /// As a time.
    pub fn time(&self) -> Duration {
        Duration::from_secs(self.patience.into())
    }
}

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Profile, report: &Reporter) -> io::Result<Exit> {
    let done = match &args.action {
        Action::List => Ok((registry::all().map(line).collect(), Exit::Success)),
        Action::Show(show) => {
            let shipped = chosen(&show.which, show.expect.as_deref());
            shipped
                .map(|shipped| (shipped.canonical.to_owned(), Exit::Success))
                .map_err(|error| failure(&error, report))
        }
        Action::Hash(file) => read(&file.path, report).and_then(|bytes| {
            let parsed = AgentProfile::parse(&bytes);
            parsed
                .map(|(_, hash)| (format!("{hash}\n"), Exit::Success))
                .map_err(|error| failure(&error, report))
        }),
        Action::Check(args) => check(args, report),
        Action::Conform(args) => own(args, report).and_then(|own| {
            tier4(args, own.as_ref(), report).map_err(|error| record::failure(&error, report))
        }),
    };
    match done {
        Ok((text, exit)) => output::print(&text).map(|_| exit),
        Err(exit) => Ok(exit),
    }
}

fn line(shipped: &Shipped) -> String {
    let Shipped { profile, hash, .. } = shipped;
    let mode = serde_json::to_value(profile.adapter_mode).ok();
    let mode = mode
        .as_ref()
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default();
    format!(
        "{:<22} {hash} {mode:<18} {}\n",
        profile.profile_id, profile.version_probe.expect
    )
}

/// The profile of the caller, with its bytes.
type Own = (AgentProfile, Vec<u8>);

fn own(args: &Conform, report: &Reporter) -> Result<Option<Own>, Exit> {
    let Some(which) = &args.profile else {
        return Ok(None);
    };
    let bytes = bytes(which, args.expect.as_deref(), report)?;
    let parsed = AgentProfile::parse(&bytes);
    let (profile, _) = parsed.map_err(|error| failure(&error, report))?;
    Ok(Some((profile, bytes)))
}

/// The table of tier 4, or its columns as JSON.
fn tier4(
    args: &Conform,
    own: Option<&Own>,
    report: &Reporter,
) -> Result<(String, Exit), RecorderError> {
    let settings = Settings {
        patience: args.patience.time(),
        ..Settings::of(|name| std::env::var(name).ok())?
    };
    let agent = std::env::current_exe().map_err(|error| RecorderError::new(Fault::Io, error))?;
    let isolation = record::isolation(args.open, report, &["episode", "inside"]);
    let suite = Suite {
        installed: &args.installed,
        agent: &agent,
        isolation: &isolation,
        settings,
        own: own.map(|(profile, bytes)| Subject {
            profile,
            bytes,
            hash: None,
            exe: args.exe.as_deref(),
        }),
    };
    let note = |id: &str| report.note(id);
    let columns = if args.contract {
        suite.contract(note)?
    } else {
        suite.run(note)?
    };
    let json = |column| {
        serde_json::to_string(column)
            .map(|text| text + "\n")
            .map_err(|error| RecorderError::new(Fault::Io, error))
    };
    let text = if args.json {
        columns
            .iter()
            .map(json)
            .collect::<Result<String, RecorderError>>()?
    } else {
        printable(&suite::table(&columns)).into_owned()
    };
    let failure = suite::first_failure(&columns);
    Ok((
        text,
        failure.map_or(Exit::Success, |outcome| {
            exit_of(outcome.code.unwrap_or("ADAPTER_MISCONFIGURED"))
        }),
    ))
}

/// A line for each check, with its verdict.
fn check(args: &Check, report: &Reporter) -> Result<(String, Exit), Exit> {
    let bytes = read(&args.path, report)?;
    let expected: Option<ProfileHash> = args
        .expect
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(|error| failure(&error, report))?;
    let (exe, patience) = (args.exe.as_deref(), args.patience.time());
    let outcomes = conform::check(&bytes, expected.as_ref(), exe, patience);
    let has_failed = outcomes.iter().any(Outcome::prevents);
    Ok((
        outcomes.iter().map(line_of).collect(),
        if has_failed {
            Exit::Misconfigured
        } else {
            Exit::Success
        },
    ))
}
