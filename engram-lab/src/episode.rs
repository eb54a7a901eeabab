//! `engram-lab episode`: runs black-box agents, and checks what their episodes left.

use std::ffi::OsString;
use std::io::{self, Read, stdin};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use engram_command::exit::Exit;
use engram_command::interrupt;
use engram_command::output;
use engram_command::report::{Reporter, printable};
use engram_profiles::episode::Ids;
use engram_profiles::nonce::Nonce;
use engram_profiles::profile::{HarnessName, Tier};
use engram_profiles::{Profile, ProfileError, hash, registry, wrap::wrap};
use engram_recorder::episode::{self as driver, Job, Proof, Review, Script, Times};
use engram_recorder::error::{Fault, RecorderError};
use engram_recorder::stop::Stop;

use crate::profile::Patience;
use crate::verdict::{exit_of, line_of};
use crate::{profile_file, record};

/// The most bytes of a transcript or a prompt.
const MAX_INPUT: u64 = 256 << 20;

/// The most bytes of an id.
const MAX_ID: usize = 256;

/// Arguments of `engram-lab episode`.
#[derive(Debug, Args)]
pub struct Episode {
    /// What to do
    #[command(subcommand)]
    pub action: Action,
}

/// What to do with episodes.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Run a black-box agent against a scripted model on loopback, and keep its log, ledger, tape and receipts
    ///
    /// The agent has no tools of its own and asks for them in frames. The driver decides, lists, reads and writes in a sandbox, and answers.
    /// Without a failure it then proves that the driver was the only one who could act: the agent's own tools do nothing (P4), and the driver
    /// sees misbehaviour (P7). The exit code is 0 with a receipt; without one it is 7 or 8, and the ledger has the reason.
    Run(Run),
    /// Check that an episode is whole: every hash, the chain of its ledger, its receipts, its tape
    Verify(Verify),
    /// Carry out the plan of an episode; the command calls itself so
    #[command(hide = true)]
    Inside(Inside),
    /// Make the log of an episode from a transcript on standard input
    ///
    /// A transcript has the lines of the agent, and between them the answers of the driver. `engram ingest` converts the log.
    Wrap(Wrap),
    /// Ask a model on loopback, as the profile `local-inference` does
    ///
    /// Reads a prompt from standard input, sends it to the server that `OPENAI_BASE_URL` names, and prints what the model says.
    Agent(Agent),
}

/// Arguments of `engram-lab episode run`.
#[derive(Debug, Args)]
pub struct Run {
    /// The profile: the hash of a shipped one, or a file; or an id, with `--expect`
    #[arg(long, value_name = "HASH|PATH")]
    pub profile: String,
    /// The hash that the profile must have
    #[arg(long, value_name = "HASH")]
    pub expect: Option<String>,
    /// The program [default: the profile's command on the search path; this one for `local-inference`]
    #[arg(long, value_name = "PATH")]
    pub exe: Option<PathBuf>,
    /// The new directory for the episode
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// What the model says: the name of a shipped script, or a file
    #[arg(long, value_name = "ID|PATH", default_value = "look_and_write")]
    pub scenario: String,
    /// What the driver does for the agent
    #[arg(long, value_enum, default_value_t = TierName::Edit)]
    pub tier: TierName,
    /// The work that the episode is part of
    #[arg(long, value_name = "ID", default_value = "unknown", value_parser = id)]
    pub work: String,
    #[command(flatten)]
    pub patience: Patience,
    /// Leave out all times: a repeated episode then has the same ledger, log and tape
    #[arg(long)]
    pub no_times: bool,
    /// Run without private mounts and network: nothing keeps bytes from leaving
    #[arg(long)]
    pub open: bool,
}

/// How much the driver does for the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TierName {
    /// Lists and reads.
    Observe,
    /// Also writes.
    Edit,
    /// Everything that it can.
    Full,
}

/// Arguments of `engram-lab episode verify`.
#[derive(Debug, Args)]
pub struct Verify {
    /// The directory of an episode
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

/// Arguments of `engram-lab episode inside`.
#[derive(Debug, Args)]
pub struct Inside {
    /// The plan
    #[arg(value_name = "FILE")]
    pub plan: PathBuf,
}

/// Arguments of `engram-lab episode agent`.
#[derive(Debug, Args)]
pub struct Agent {
    /// The name of the model
    #[arg(long, value_name = "MODEL")]
    pub model: String,
}

/// Arguments of `engram-lab episode wrap`.
#[derive(Debug, Args)]
pub struct Wrap {
    /// The nonce of the frames: 16 to 64 lower-case hexadecimal digits
    #[arg(long, value_name = "NONCE", value_parser = nonce)]
    pub nonce: Nonce,
    /// The hash of the shipped profile under which the agent ran
    #[arg(long, value_name = "HASH")]
    pub profile: String,
    /// The work that the episode is part of
    #[arg(long, value_name = "ID", default_value = "unknown", value_parser = id)]
    pub work: String,
    /// The episode, and its session [default: made from the transcript]
    #[arg(long, value_name = "ID", value_parser = id)]
    pub episode: Option<String>,
}

fn nonce(text: &str) -> Result<Nonce, &'static str> {
    Nonce::parse(text).ok_or("expected 16 to 64 lower-case hexadecimal digits")
}

/// Every line of a ledger has it.
fn id(text: &str) -> Result<String, &'static str> {
    let is_id = (1..=MAX_ID).contains(&text.len()) && !text.chars().any(char::is_control);
    if is_id {
        Ok(text.to_owned())
    } else {
        Err("expected 1 to 256 bytes without control characters")
    }
}

/// Runs the command.
///
/// # Errors
/// When standard input cannot be read, or standard output not be written to.
pub fn run(args: &Episode, report: &Reporter) -> io::Result<Exit> {
    let done = match &args.action {
        Action::Run(args) => episode(args, report),
        Action::Verify(args) => verified(args),
        Action::Inside(args) => {
            driver::run_file(&args.plan).map(|()| (String::new(), Exit::Success))
        }
        Action::Wrap(args) => {
            let Some(input) = input(report)? else {
                return Ok(Exit::BadInput);
            };
            match wrapped(args, &input) {
                Ok(text) => Ok((text, Exit::Success)),
                Err(error) => return Ok(profile_file::failure(&error, report)),
            }
        }
        Action::Agent(args) => {
            let Some(input) = input(report)? else {
                return Ok(Exit::BadInput);
            };
            asked(args, &input).map(|text| (text, Exit::Success))
        }
    };
    match done {
        Ok((text, exit)) => output::print(&text).map(|_| exit),
        Err(error) => Ok(record::failure(&error, report)),
    }
}

/// Standard input, if it is not too large.
fn input(report: &Reporter) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    stdin().lock().take(MAX_INPUT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_INPUT {
        report.finding(
            "limit_exceeded",
            &format!("standard input has more than {MAX_INPUT} bytes"),
        );
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Runs an episode, and prints the verdicts of its checks.
fn episode(args: &Run, report: &Reporter) -> Result<(String, Exit), RecorderError> {
    let bytes = match profile_file::bytes(&args.profile, args.expect.as_deref(), report) {
        Ok(bytes) => bytes,
        Err(exit) => return Ok((String::new(), exit)),
    };
    let script = Script::find(&args.scenario)?;
    let exe = program(&bytes, args.exe.as_deref())?;
    let isolation = record::isolation(args.open, report, &["episode", "inside"]);
    let stop = Stop::default();
    let agent = std::env::current_exe().map_err(|error| RecorderError::new(Fault::Io, error))?;
    let tier = match args.tier {
        TierName::Observe => Tier::Observe,
        TierName::Edit => Tier::Edit,
        TierName::Full => Tier::Full,
    };
    let times = if args.no_times {
        Times::LeftOut
    } else {
        Times::Kept
    };
    let (out, work) = (&args.out, &args.work);
    let job = Job {
        profile: &bytes,
        exe: &exe,
        script: &script,
        tier,
        work,
        times,
        limit_ms: None,
        out,
        isolation: &isolation,
        proof: Proof::Own(&agent),
        patience: args.patience.time(),
        stop: &stop,
    };
    let asked = stop.clone();
    interrupt::stops_with(move || asked.ask());
    let done = job.run()?;
    let mut text: String = done.outcomes.iter().map(line_of).collect();
    let exit = match &done.reason {
        None => {
            text.push_str(&format!("receipt: {}\n", args.out.display()));
            Exit::Success
        }
        Some(reason) => {
            text.push_str(&format!("blocked: {}\n", printable(reason)));
            if stop.is_asked() {
                Exit::Interrupted
            } else {
                exit_of(reason)
            }
        }
    };
    Ok((text, exit))
}

/// The program of a profile: the one that the caller names, or its command on the search path.
fn program(bytes: &[u8], named: Option<&std::path::Path>) -> Result<PathBuf, RecorderError> {
    if let Some(exe) = named {
        return Ok(exe.to_owned());
    }
    let parsed = Profile::parse(bytes).map(|(profile, _)| profile).ok();
    let Some(profile) = parsed else {
        return Ok(PathBuf::new());
    };
    if profile.harness == HarnessName::LocalInference {
        return std::env::current_exe().map_err(|error| RecorderError::new(Fault::Io, error));
    }
    let path: OsString = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|directory| directory.join(&profile.command))
        .find(|path| path.is_file());
    let missing = || {
        format!(
            "no `{}` is on the search path; name the program with --exe",
            profile.command
        )
    };
    found.ok_or_else(|| RecorderError::new(Fault::HarnessNotFound, missing()))
}

fn verified(args: &Verify) -> Result<(String, Exit), RecorderError> {
    let found = driver::verify(&args.directory)?;
    let ids = &found.ids;
    let whole = format!(
        "{} {} {}: whole, {} lines, {} objects",
        ids.work_id, ids.episode_id, ids.session_id, found.lines, found.objects
    );
    Ok(match found.review {
        Review::Receipt(_) => (format!("{}; receipt\n", printable(&whole)), Exit::Success),
        Review::Blocked(reason) => (
            printable(&format!("{whole}; blocked: {reason}")).into_owned() + "\n",
            exit_of(&reason),
        ),
    })
}

fn asked(args: &Agent, prompt: &str) -> Result<String, RecorderError> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let (base_url, key) = (variable("OPENAI_BASE_URL"), variable("OPENAI_API_KEY"));
    engram_recorder::agent::Model {
        base_url: &base_url,
        name: &args.model,
        key: &key,
    }
    .ask(prompt)
}

fn wrapped(args: &Wrap, transcript: &str) -> Result<String, ProfileError> {
    let shipped = registry::by_hash(&args.profile.parse()?)?;
    let made = || hash::of_bytes(transcript.as_bytes()).replace("blake3:", "transcript-");
    let episode = args.episode.clone().unwrap_or_else(made);
    let ids = Ids {
        work_id: args.work.clone(),
        session_id: episode.clone(),
        episode_id: episode,
        adapter_profile_hash: shipped.hash.clone(),
    };
    wrap(transcript, &args.nonce, &shipped.profile, ids)
}

#[cfg(test)]
mod tests {
    use engram_core::pipeline::{Input, Options};
    use engram_core::tape::JsonLines;
    use engram_profiles::grammar::{Answer, Request, Response, request_frame, response_frame};

    use super::*;

    #[test]
    fn wrapped_transcript_becomes_a_tape() {
        let nonce = Nonce::scripted("tests", "e1");
        let profile = registry::all().next().unwrap().hash.to_string();
        let ask = request_frame(
            &nonce,
            &Request {
                id: "r1".into(),
                tool: "read".into(),
                args: r#"{"path":"a"}"#.into(),
            },
        );
        let answer = response_frame(
            &nonce,
            &Response {
                id: "r1".into(),
                answer: Answer::Denied("NOT_ALLOWED".into()),
            },
        );
        let args = Wrap {
            nonce,
            profile,
            work: "w1".into(),
            episode: None,
        };
        let log = wrapped(&args, &format!("look\n{ask}{answer}done")).unwrap();
        let (options, mut tape) = (Options::default(), Vec::new());
        engram_adapters::ingest(
            Input::in_memory(&log, options.limits),
            &options,
            &mut JsonLines::new(&mut tape),
        )
        .unwrap();
        let tape = String::from_utf8(tape).unwrap();
        for part in [
            r#""label":"episode","work_id":"w1","episode_id":"transcript-"#,
            r#""k":"tool.call""#,
            r#""status":"denied""#,
        ] {
            assert!(tape.contains(part), "{part}: {tape}");
        }
        let unknown = Wrap {
            profile: format!("blake3:{}", "0".repeat(64)),
            ..args
        };
        assert_eq!(
            wrapped(&unknown, "").unwrap_err().fault.code(),
            "unknown_profile"
        );
    }
}
