//! `engram episode`: logs of episodes of black-box agents.

use std::io::{self, Read, Write, stdin, stdout};

use clap::{Args, Subcommand};
use engram_profiles::episode::Ids;
use engram_profiles::nonce::Nonce;
use engram_profiles::{ProfileError, hash, registry, wrap::wrap};

use crate::exit::Exit;
use crate::report::Reporter;

/// The most bytes of a transcript or a prompt.
const MAX_INPUT: u64 = 256 << 20;

/// Arguments of `engram episode`.
#[derive(Debug, Args)]
pub struct Episode {
    /// What to do
    #[command(subcommand)]
    pub action: Action,
}

/// What to do with episodes.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Make the log of an episode from a transcript on standard input
    ///
    /// A transcript has the lines of the agent, and between them the answers of the driver. `engram ingest` converts the log.
    Wrap(Wrap),
    /// Ask a model on loopback, as the profile `local-inference` does
    ///
    /// Reads a prompt from standard input, sends it to the server that `OPENAI_BASE_URL` names, and prints what the model says.
    Agent(Agent),
}

/// Arguments of `engram episode agent`.
#[derive(Debug, Args)]
pub struct Agent {
    /// The name of the model
    #[arg(long, value_name = "MODEL")]
    pub model: String,
}

/// Arguments of `engram episode wrap`.
#[derive(Debug, Args)]
pub struct Wrap {
    /// The nonce of the frames: 16 to 64 lower-case hexadecimal digits
    #[arg(long, value_name = "NONCE", value_parser = nonce)]
    pub nonce: Nonce,
    /// The hash of the shipped profile under which the agent ran
    #[arg(long, value_name = "HASH")]
    pub profile: String,
    /// The work that the episode is part of
    #[arg(long, value_name = "ID", default_value = "unknown")]
    pub work: String,
    /// The episode, and its session [default: made from the transcript]
    #[arg(long, value_name = "ID")]
    pub episode: Option<String>,
}

fn nonce(text: &str) -> Result<Nonce, &'static str> {
    Nonce::parse(text).ok_or("expected 16 to 64 lower-case hexadecimal digits")
}

/// Runs the command.
///
/// # Errors
/// When standard input cannot be read, or standard output not be written to.
pub fn run(args: &Episode, report: &Reporter) -> io::Result<Exit> {
    let mut bytes = Vec::new();
    stdin().lock().take(MAX_INPUT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_INPUT {
        report.finding("limit_exceeded", &format!("standard input has more than {MAX_INPUT} bytes"));
        return Ok(Exit::BadInput);
    }
    let input = String::from_utf8_lossy(&bytes);
    let text = match &args.action {
        Action::Wrap(args) => wrapped(args, &input).map_err(|error| {
            report.finding(error.fault.code(), &error.place_and_reason());
            Exit::Usage
        }),
        Action::Agent(args) => asked(args, &input).map_err(|error| {
            report.finding(error.fault.code(), &error.what);
            Exit::Misconfigured
        }),
    };
    match text {
        Ok(text) => {
            let mut out = stdout().lock();
            out.write_all(text.as_bytes())?;
            out.flush()?;
            Ok(Exit::Success)
        }
        Err(exit) => Ok(exit),
    }
}

fn asked(args: &Agent, prompt: &str) -> Result<String, engram_recorder::error::RecorderError> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let (base_url, key) = (variable("OPENAI_BASE_URL"), variable("OPENAI_API_KEY"));
    engram_recorder::agent::Model { base_url: &base_url, name: &args.model, key: &key }.ask(prompt)
}

fn wrapped(args: &Wrap, transcript: &str) -> Result<String, ProfileError> {
    let shipped = registry::by_hash(&args.profile.parse()?)?;
    let made = || hash::of_bytes(transcript.as_bytes()).replace("blake3:", "transcript-");
    let episode = args.episode.clone().unwrap_or_else(made);
    let ids =
        Ids { work_id: args.work.clone(), session_id: episode.clone(), episode_id: episode, adapter_profile_hash: shipped.hash.clone() };
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
        let ask = request_frame(&nonce, &Request { id: "r1".into(), tool: "read".into(), args: r#"{"path":"a"}"#.into() });
        let answer = response_frame(&nonce, &Response { id: "r1".into(), answer: Answer::Denied("NOT_ALLOWED".into()) });
        let args = Wrap { nonce, profile, work: "w1".into(), episode: None };
        let log = wrapped(&args, &format!("look\n{ask}{answer}done")).unwrap();
        let (options, mut tape) = (Options::default(), Vec::new());
        engram_adapters::ingest(Input::in_memory(&log, options.limits), &options, &mut JsonLines::new(&mut tape)).unwrap();
        let tape = String::from_utf8(tape).unwrap();
        for part in [r#""label":"episode","work_id":"w1","episode_id":"transcript-"#, r#""k":"tool.call""#, r#""status":"denied""#] {
            assert!(tape.contains(part), "{part}: {tape}");
        }
        let unknown = Wrap { profile: format!("blake3:{}", "0".repeat(64)), ..args };
        assert_eq!(wrapped(&unknown, "").unwrap_err().fault.code(), "unknown_profile");
    }
}
