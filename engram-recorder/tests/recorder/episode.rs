//! Episodes of small agents: shell scripts that print frames.

use std::fs;
use std::num::NonZeroU64;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use engram_profiles::canonical;
use engram_profiles::ledger::{self, Entry};
use engram_profiles::profile::{AdapterMode, Continuation, HarnessName, OutputMode, Profile, Tier};
use engram_profiles::receipt::Verdict;
use engram_profiles::registry;
use engram_recorder::conform::{Outcome, PATIENCE};
use engram_recorder::episode::evidence::Run;
use engram_recorder::episode::{
    Job, Proof, Report, Review, Script, Times, UNPROVEN, journal, powerless, review, verify,
};
use engram_recorder::error::Fault;
use engram_recorder::isolation::Isolation;
use engram_recorder::stop::Stop;

/// Ends the work.
pub(super) const DONE: &str = r#"printf '%s\n' '{"status":"done","summary":"x"}'"#;

/// A script that says a version and flags, and otherwise does this. `$p` is the prompt, `ask ID TOOL ARGS` prints a frame.
pub(super) fn agent(directory: &Path, body: &str) -> PathBuf {
    let path = directory.join("agent.sh");
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in *--version*) echo 'engram-lab 0.1.0'; exit;; *--help*) echo '--model --session'; exit;; esac\n\
         nonce() {{ n=$(printf '%s' \"$1\" | sed -n 's/.*TI1 \\([0-9a-f]*\\)⟧ ID.*/\\1/p'); }}\n\
         ask() {{ printf '⟦TI1 %s⟧ %s %s %s\\n' \"$n\" \"$1\" \"$2\" \"$(printf '%s' \"$3\" | base64 -w0 | tr '+/' '-_' | tr -d =)\"; }}\n{body}\n"
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// An agent that reads its prompt first.
pub(super) fn reader(directory: &Path, body: &str) -> PathBuf {
    agent(directory, &format!("p=$(cat); nonce \"$p\"\n{body}"))
}

fn few(milliseconds: u64) -> NonZeroU64 {
    NonZeroU64::new(milliseconds).unwrap()
}

pub(super) fn profile(change: impl Fn(&mut Profile)) -> Vec<u8> {
    let shipped = registry::all()
        .find(|shipped| shipped.profile.profile_id == "local-inference")
        .unwrap();
    let mut profile = shipped.profile.clone();
    profile.profile_id = "test".to_owned();
    change(&mut profile);
    let bytes = canonical::to_vec(&profile).unwrap();
    Profile::parse(&bytes).unwrap();
    bytes
}

pub(super) fn run_with(out: &Path, profile: &[u8], exe: &Path, times: Times) -> Report {
    run_until(out, profile, exe, times, &Stop::default())
}

/// Runs an episode that this wish ends.
pub(super) fn run_until(
    out: &Path,
    profile: &[u8],
    exe: &Path,
    times: Times,
    stop: &Stop,
) -> Report {
    let script = Script::find("look_and_write").unwrap();
    let job = Job {
        profile,
        exe,
        script: &script,
        tier: Tier::Edit,
        work: "w1",
        times,
        limit_ms: None,
        out,
        isolation: &Isolation::None,
        proof: Proof::Absent,
        patience: PATIENCE,
        stop,
    };
    job.run().unwrap()
}

/// Runs an episode, and returns its report and its directory.
pub(super) fn run(directory: &tempfile::TempDir, profile: &[u8], exe: &Path) -> (Report, PathBuf) {
    let out = directory.path().join("out");
    (run_with(&out, profile, exe, Times::Kept), out)
}

/// All that one episode shows of itself holds. What needs more is not proven here.
pub(super) fn holds(report: &Report) {
    assert_eq!(report.reason.as_deref(), Some(UNPROVEN), "{report:?}");
    assert!(!report.outcomes.iter().any(Outcome::prevents), "{report:?}");
}

fn verdict<'r>(report: &'r Report, id: &str) -> &'r Outcome {
    report
        .outcomes
        .iter()
        .find(|outcome| outcome.id() == id)
        .unwrap()
}

pub(super) fn entries(out: &Path) -> Vec<Entry> {
    ledger::verify(&fs::read(out.join(journal::LEDGER)).unwrap())
        .unwrap()
        .into_iter()
        .map(|line| line.entry)
        .collect()
}

/// The reason of an episode of an agent that does this, under this profile.
pub(super) fn reason(body: &str, change: impl Fn(&mut Profile)) -> String {
    let directory = tempfile::tempdir().unwrap();
    let (report, out) = run(&directory, &profile(change), &agent(directory.path(), body));
    let found = verify(&out).unwrap();
    let reason = report.reason.expect(body);
    assert_eq!(found.review, Review::Blocked(reason.clone()));
    let entries = entries(&out);
    assert!(
        !entries
            .iter()
            .any(|entry| matches!(entry, Entry::ReviewReceiptRecorded(_)))
    );
    assert!(matches!(
        entries.last(),
        Some(Entry::ReviewBlockedRecorded(_))
    ));
    reason
}

/// Lists, writes, asks for what it cannot have, and ends.
pub(super) const WORK: &str = r#"case "$p" in
    *"r3 denied UNKNOWN_TOOL"*) echo finished; printf '%s\n' '{"status":"done","summary":"x"}';;
    *"r2 ok"*) ask r3 shell '{"command":"rm"}';;
    *"r1 ok"*"notes.txt"*) ask r2 write '{"path":"new.txt","text":"hello"}';;
    *) echo look; ask r1 list '{"path":"."}';;
esac"#;

#[test]
pub(super) fn agent_asks_and_the_driver_acts_and_keeps_the_receipts() {
    let directory = tempfile::tempdir().unwrap();
    let (report, out) = run(
        &directory,
        &profile(|_| {}),
        &reader(directory.path(), WORK),
    );
    holds(&report);
    for (id, expected) in [
        ("P1", Verdict::Passed),
        ("P5", Verdict::Passed),
        ("P6", Verdict::Passed),
        ("P9", Verdict::Passed),
        ("P10", Verdict::Passed),
    ] {
        assert_eq!(verdict(&report, id).verdict, expected, "{report:?}");
    }
    // It asked no model, so nobody saw that the denial reached one.
    assert!(
        verdict(&report, "P8").verdict == Verdict::Skipped
            && verdict(&report, "P8").what.contains("asked no model")
    );
    let names: Vec<String> = entries(&out)
        .iter()
        .map(|entry| {
            serde_json::to_value(entry).unwrap()["kind"]
                .as_str()
                .unwrap()
                .replace("Tool", "")
        })
        .collect();
    let expected = "EpisodeStarted Requested Decided Started Executed Requested Decided Started Executed Requested Decided EpisodeEnded ReviewBlockedRecorded";
    assert_eq!(names.join(" "), expected);
    let tape = fs::read_to_string(out.join(journal::TAPE)).unwrap();
    assert!(
        tape.contains(r#""stdout":"5 bytes written""#) && tape.contains(r#""status":"denied""#),
        "{tape}"
    );
    let found = verify(&out).unwrap();
    assert!(
        found.review == Review::Blocked(UNPROVEN.to_owned()) && found.lines == 13,
        "nothing proves that the agent cannot act by itself: {found:?}"
    );
}

#[test]
fn episode_without_times_is_the_same_twice() {
    let directory = tempfile::tempdir().unwrap();
    let (profile, exe) = (profile(|_| {}), reader(directory.path(), WORK));
    let outs = ["a", "b"].map(|name| directory.path().join(name));
    for out in &outs {
        holds(&run_with(out, &profile, &exe, Times::LeftOut));
    }
    let [first, second] = outs.map(|out| {
        let files = engram_conformance::files(&out);
        files
            .iter()
            .map(|path| {
                (
                    path.strip_prefix(&out).unwrap().to_owned(),
                    fs::read(path).unwrap(),
                )
            })
            .collect::<Vec<_>>()
    });
    assert!(first == second && first.len() > 8);
}

#[test]
fn change_of_a_byte_in_any_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (_, out) = run(
        &directory,
        &profile(|_| {}),
        &reader(directory.path(), WORK),
    );
    assert!(verify(&out).is_ok());
    let sums = out.join(journal::SUMS);
    let all = fs::read(&sums).unwrap();
    for path in engram_conformance::files(&out) {
        let before = fs::read(&path).unwrap();
        // In the first line of a ledger, in the middle of the others; an empty object gets a byte.
        let mut bytes = before.clone();
        let at = bytes.len() / 2;
        let at = if path.ends_with(journal::LEDGER) {
            100
        } else {
            at
        };
        match bytes.get_mut(at) {
            Some(byte) => *byte ^= 1,
            None => bytes.push(b'x'),
        }
        fs::write(&path, &bytes).unwrap();
        assert_eq!(
            verify(&out).unwrap_err().fault,
            Fault::Violation,
            "{}",
            path.display()
        );
        // Someone who makes the sums again changes nothing about that.
        if !path.ends_with(journal::SUMS) {
            fs::write(&sums, journal::sums(&out).unwrap()).unwrap();
            assert_eq!(
                verify(&out).unwrap_err().fault,
                Fault::Violation,
                "{}",
                path.display()
            );
            let failed = review::judge(&out).unwrap();
            let receipt = failed.iter().find(|outcome| outcome.id() == "P9").unwrap();
            assert_eq!(
                receipt.code,
                Some("ADAPTER_PROTOCOL_VIOLATION/receipt"),
                "{}",
                path.display()
            );
        }
        fs::write(&path, &before).unwrap();
        fs::write(&sums, &all).unwrap();
    }
    // Ledger and objects prove everything; all else are copies of what they say.
    let alone = directory.path().join("alone");
    fs::create_dir_all(alone.join(journal::OBJECTS)).unwrap();
    for path in engram_conformance::files(&out.join(journal::OBJECTS))
        .into_iter()
        .chain([out.join(journal::LEDGER)])
    {
        fs::copy(&path, alone.join(path.strip_prefix(&out).unwrap())).unwrap();
    }
    assert_eq!(verify(&alone).unwrap(), verify(&out).unwrap());
    fs::create_dir(alone.join("empty")).unwrap();
    assert!(verify(&alone).unwrap_err().what.contains("no such file"));
    let object = engram_conformance::files(&out.join(journal::OBJECTS)).remove(0);
    let more = out.join("cas").join("0".repeat(64));
    fs::write(&more, "more").unwrap();
    fs::write(&sums, journal::sums(&out).unwrap()).unwrap();
    assert!(verify(&out).unwrap_err().what.contains("nothing names it"));
    fs::remove_file(more).unwrap();
    fs::remove_file(object).unwrap();
    fs::write(&sums, journal::sums(&out).unwrap()).unwrap();
    assert!(verify(&out).is_err());
}

#[test]
fn result_reaches_the_agent_as_its_profile_says() {
    let resume = r#"p=$(cat); f=$HOME/$2
        if [ ! -e "$f" ]; then nonce "$p"; echo "$n" > "$f"; ask r1 list '{"path":"."}'
        else n=$(cat "$f"); case "$p" in *"Task:"*) exit 5;; *"r1 ok"*) printf '%s\n' '{"status":"done","summary":"x"}';; esac; fi"#;
    let stream = r#"while read -r line; do case "$line" in
            *"⟧ ID"*) nonce "$line";;
            Task:*) echo look; ask r1 list '{"path":"."}';;
            *"r1 ok"*) ask r2 read '{"path":"notes.txt"}';;
            *"r2 ok"*) printf '%s\n' '{"status":"done","summary":"x"}'; exit;;
        esac; done"#;
    let none = format!("p=$(cat); nonce \"$p\"; ask r1 list '{{\"path\":\".\"}}'; {DONE}");
    for (continuation, body, runs) in [
        (Continuation::Resume, resume, 2),
        (Continuation::Stream, stream, 1),
        (Continuation::None, none.as_str(), 1),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let profile = profile(|profile| {
            profile.tool_bridge.as_mut().unwrap().continuation = continuation;
            profile.args_template = vec!["--session".to_owned(), "{session}".to_owned()];
        });
        let (report, out) = run(&directory, &profile, &agent(directory.path(), body));
        holds(&report);
        assert_eq!(
            Run::read(&out).unwrap().runs.len(),
            runs,
            "{continuation:?}"
        );
    }
}

/// A profile whose agent prints lines of JSON.
fn json_lines(profile: &mut Profile) {
    (profile.harness, profile.output_mode) = (HarnessName::ClaudeCode, OutputMode::StreamJson);
    // It has a model by itself.
    profile.args_template = Vec::new();
}

#[test]
fn frames_stand_in_blocks_of_text() {
    let block = r#"block() { printf '{"type":"assistant","message":{"content":[%s]}}\n' "$1"; }
        text() { printf '{"type":"text","text":"%s"}' "$1"; }
        p=$(cat); nonce "$p"; frame="⟦TI1 $n⟧ r1 list eyJwYXRoIjoiLiJ9""#;
    let whole = format!(
        "{block}\ncase \"$p\" in *'r1 ok'*) block \"$(text '{{\\\"status\\\":\\\"done\\\",\\\"summary\\\":\\\"x\\\"}}')\";;\n\
         *) block \"$(text \"look\\\\n$frame\")\";; esac"
    );
    let directory = tempfile::tempdir().unwrap();
    let (report, _) = run(
        &directory,
        &profile(json_lines),
        &agent(directory.path(), &whole),
    );
    holds(&report);
    let split =
        format!("{block}\nblock \"$(text \"⟦TI1 $n⟧ r1 \"),$(text 'list eyJwYXRoIjoiLiJ9')\"");
    assert_eq!(
        reason(&split, json_lines),
        "ADAPTER_PROTOCOL_VIOLATION/fields"
    );
    // What a tool returned is no text of the agent.
    let quoted = format!(
        "{block}\nprintf '{{\"type\":\"user\",\"message\":{{\"content\":[%s]}}}}\\n' \"$(text \"$frame\")\"\n\
         block \"$(text '{{\\\"status\\\":\\\"done\\\",\\\"summary\\\":\\\"x\\\"}}')\""
    );
    assert_eq!(
        reason(&quoted, json_lines),
        "ADAPTER_PROTOCOL_VIOLATION/no_intent"
    );
    let after = format!(
        "{block}\nblock \"$(text '{{\\\"status\\\":\\\"done\\\",\\\"summary\\\":\\\"x\\\"}}')\"; block \"$(text \"$frame\")\""
    );
    assert_eq!(
        reason(&after, json_lines),
        "ADAPTER_PROTOCOL_VIOLATION/after_end"
    );
    assert_eq!(
        reason("head -c 3000000 /dev/zero | tr '\\0' x", json_lines),
        "ADAPTER_PROTOCOL_VIOLATION/line_size"
    );
}

#[test]
pub(super) fn agent_that_does_not_end_well_has_no_receipt() {
    let ask = r#"p=$(cat); nonce "$p"; ask r1 list '{"path":"."}'"#;
    assert_eq!(
        reason(&format!("{ask}; exit 3"), |_| {}),
        "ADAPTER_PROTOCOL_VIOLATION/end"
    );
    assert_eq!(
        reason("cat > /dev/null; echo 'I am done.'", |_| {}),
        "ADAPTER_PROTOCOL_VIOLATION/end"
    );
    assert_eq!(
        reason(&format!("cat > /dev/null; {DONE}"), |_| {}),
        "ADAPTER_PROTOCOL_VIOLATION/no_intent"
    );
    assert_eq!(
        reason("kill -9 $$", |_| {}),
        "ADAPTER_PROTOCOL_VIOLATION/end"
    );
}

#[test]
fn bounds_stop_an_agent() {
    let bridge = |profile: &mut Profile, most| {
        profile.tool_bridge.as_mut().unwrap().max_requests = few(most)
    };
    assert_eq!(
        reason("sleep 60", |profile| profile.health_checks.start_ms =
            few(200)),
        "ADAPTER_MISCONFIGURED/start"
    );
    let stall = |profile: &mut Profile| {
        (
            profile.health_checks.stall_ms,
            profile.health_checks.max_stalls,
        ) = (few(150), 2)
    };
    assert_eq!(
        reason("echo hello; sleep 60", stall),
        "ADAPTER_PROTOCOL_VIOLATION/stall"
    );
    let soon = |profile: &mut Profile| profile.budget_defaults.wall_clock_ms = few(400);
    assert_eq!(
        reason("while :; do echo x; sleep 0.05; done", soon),
        "ADAPTER_PROTOCOL_VIOLATION/budget_wall_clock"
    );
    let small = |profile: &mut Profile| profile.budget_defaults.evidence_bytes = few(100_000);
    assert_eq!(
        reason("yes", small),
        "ADAPTER_PROTOCOL_VIOLATION/budget_evidence"
    );
    let two = format!(
        "p=$(cat); nonce \"$p\"; ask r1 list '{{\"path\":\".\"}}'; ask r2 list '{{\"path\":\".\"}}'; {DONE}"
    );
    assert_eq!(
        reason(&two, |profile| bridge(profile, 1)),
        "ADAPTER_PROTOCOL_VIOLATION/too_many"
    );
}

#[test]
fn calls_beyond_the_budget_are_denied() {
    let directory = tempfile::tempdir().unwrap();
    let body = format!(
        "case \"$p\" in *'r2 denied BUDGET'*) {DONE};; *) ask r1 list '{{\"path\":\".\"}}'; ask r2 list '{{\"path\":\".\"}}';; esac"
    );
    let one = profile(|profile| profile.budget_defaults.tool_calls = few(1));
    let (report, out) = run(&directory, &one, &reader(directory.path(), &body));
    holds(&report);
    assert_eq!(
        entries(&out)
            .iter()
            .filter(|entry| matches!(entry, Entry::ToolExecuted(_)))
            .count(),
        1
    );
}

#[test]
fn no_process_of_the_group_survives() {
    let directory = tempfile::tempdir().unwrap();
    let body = format!(
        "case \"$p\" in *'r1 ok'*) ({{ trap '' TERM; sleep 71.5; }} > /dev/null 2>&1 &); {DONE};; *) ask r1 list '{{\"path\":\".\"}}';; esac"
    );
    let hasty = profile(|profile| profile.health_checks.stop_grace_ms = few(100));
    let (report, out) = run(&directory, &hasty, &reader(directory.path(), &body));
    holds(&report);
    assert_eq!(Run::read(&out).unwrap().runs[1].survivors, 0);
    let is_alive = |process: fs::DirEntry| {
        fs::read(process.path().join("cmdline")).is_ok_and(|line| line == b"sleep\x0071.5\0")
    };
    assert!(!fs::read_dir("/proc").unwrap().flatten().any(is_alive));
}

#[test]
pub(super) fn agent_that_the_profile_is_not_for_is_blocked_before_it_begins() {
    let directory = tempfile::tempdir().unwrap();
    let other = profile(|profile| profile.version_probe.expect = "~9.9".to_owned());
    let (report, out) = run(&directory, &other, &reader(directory.path(), WORK));
    assert_eq!(
        report.reason.as_deref(),
        Some("ADAPTER_MISCONFIGURED/version")
    );
    assert_eq!(entries(&out).len(), 1, "nothing but the reason");
    let names: Vec<PathBuf> = engram_conformance::files(&out)
        .into_iter()
        .map(|path| path.strip_prefix(&out).unwrap().to_owned())
        .collect();
    assert_eq!(
        names,
        [Path::new(journal::LEDGER), Path::new(journal::SUMS)]
    );
    let again = out.join("new");
    let job_in_place = std::panic::catch_unwind(|| run_with(&out, &other, &again, Times::Kept));
    assert!(job_in_place.is_err(), "an episode is never written over");
}

#[test]
fn mode_without_episodes_is_refused_by_its_name() {
    for mode in [
        AdapterMode::StructuredOutput,
        AdapterMode::McpBridge,
        AdapterMode::HookedVendor,
    ] {
        let directory = tempfile::tempdir().unwrap();
        let other = profile(|profile| {
            (profile.adapter_mode, profile.tool_bridge) = (mode, None);
        });
        let (report, out) = run(&directory, &other, &reader(directory.path(), WORK));
        let reason = "ADAPTER_MISCONFIGURED/mode";
        assert_eq!(report.reason.as_deref(), Some(reason));
        assert_eq!(entries(&out).len(), 1, "nothing was started");
        let why = mode.without_episodes().unwrap();
        assert_eq!(verdict(&report, "P5").what, why);
        let name = serde_json::to_value(mode).unwrap();
        assert!(why.contains(name.as_str().unwrap()), "{why}");
    }
}

#[test]
pub(super) fn agent_that_cannot_be_called_is_blocked_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let nothing = profile(|profile| profile.args_template = vec!["{mcp_config}".to_owned()]);
    let (report, _) = run(&directory, &nothing, &reader(directory.path(), WORK));
    assert_eq!(
        report.reason.as_deref(),
        Some("ADAPTER_MISCONFIGURED/start")
    );
    let end = verdict(&report, "P6");
    assert!(
        end.verdict == Verdict::Blocked && end.what.contains("/args_template/0"),
        "{end:?}"
    );
}

/// An agent that keeps its own tools although the profile takes them away.
#[test]
fn tool_that_acts_fails_p4() {
    if std::process::Command::new("python3")
        .arg("--version")
        .output()
        .is_err()
    {
        println!("skipped: there is no python3");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let exe = directory.path().join("claude");
    symlink(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake-claude.py"),
        &exe,
    )
    .unwrap();
    let shipped = registry::all()
        .find(|shipped| shipped.profile.profile_id == "claude-code-black-box")
        .unwrap();
    let script = Script::find("look_and_write").unwrap();
    let job = Job {
        profile: shipped.canonical.as_bytes(),
        exe: &exe,
        script: &script,
        tier: Tier::Edit,
        work: "w1",
        times: Times::Kept,
        limit_ms: None,
        out: &directory.path().join("out"),
        isolation: &Isolation::None,
        proof: Proof::Absent,
        patience: PATIENCE,
        stop: &Stop::default(),
    };
    let outcome = job.powerless(&[]).unwrap();
    assert_eq!(
        (outcome.check, outcome.verdict, outcome.code),
        (
            powerless::CHECK,
            Verdict::Failed,
            Some("ADAPTER_MISCONFIGURED/native_tool")
        ),
        "{outcome:?}"
    );
}
