//! `engram-lab episode` and tier 4: episodes of the loop of `engram-lab episode agent`, with a scripted model.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use super::*;

/// The canonical bytes of a shipped profile.
fn shipped(id: &str) -> Vec<u8> {
    fs::read(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("../engram-profiles/profiles/{id}.json")),
    )
    .unwrap()
}

fn episode(out: &Path, more: &[&str]) -> Output {
    let profile = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../engram-profiles/profiles/local-inference.json");
    run(&[
        &[
            "episode",
            "run",
            "--open",
            "--no-times",
            "--profile",
            text(&profile),
            "--out",
            text(out),
        ],
        more,
    ]
    .concat())
}

fn verify(directory: &Path) -> (i32, String) {
    let output = run(&["episode", "verify", text(directory)]);
    (
        code(&output),
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
    )
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A program that does this with the arguments, unless it is asked for its version or its flags.
fn wrapper(directory: &Path, body: &str) -> PathBuf {
    // Private mounts hide directories as `/tmp`, where this repository may be; the program's own directory is there.
    let (path, engram) = (directory.join("agent"), directory.join("engram"));
    if !engram.exists() {
        let built = env!("CARGO_BIN_EXE_engram-lab");
        fs::hard_link(built, &engram)
            .or_else(|_| fs::copy(built, &engram).map(drop))
            .unwrap();
    }
    let text = format!(
        "#!/bin/sh\nengram=$(dirname \"$0\")/engram\ncase \"$*\" in *--version*|*--help*) exec \"$engram\" \"$@\";; esac\n{body}\n"
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A script of the model in a file.
fn script(directory: &Path, steps: Value) -> PathBuf {
    let path = directory.join("script.json");
    let script = serde_json::json!({"id": "s", "about": "x", "task": "do it", "files": {"a.txt": "a\n"}, "steps": steps});
    fs::write(&path, script.to_string()).unwrap();
    path
}

#[test]
fn episode_has_a_receipt_and_is_the_same_twice() {
    let directory = tempfile::tempdir().unwrap();
    let outs = ["a", "b"].map(|name| directory.path().join(name));
    for out in &outs {
        let output = episode(out, &[]);
        assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
        assert!(
            stdout(&output)
                .contains("P8 episode.deny      passed  1 denied, none executed, all told\n"),
            "{}",
            stdout(&output)
        );
        let (exit, said) = verify(out);
        assert!(
            exit == 0 && said.contains("whole, 21 lines") && said.ends_with("; receipt\n"),
            "{exit} {said}"
        );
    }
    let [first, second] = outs.map(|out| fs::read(out.join("sums.txt")).unwrap());
    assert!(first == second && !first.is_empty());
}

#[test]
fn changed_episode_is_refused_with_8() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("a");
    assert_eq!(code(&episode(&out, &[])), 0);
    let tape = out.join("tape.jsonl");
    let mut bytes = fs::read(&tape).unwrap();
    bytes[40] ^= 1;
    fs::write(&tape, bytes).unwrap();
    let (exit, said) = verify(&out);
    assert!(
        exit == 8 && said.contains("tape.jsonl: it is not the file that the sums name"),
        "{exit} {said}"
    );
    assert_eq!(
        code(&episode(&out, &[])),
        6,
        "an episode is never written over"
    );
}

#[test]
fn reason_of_a_missing_receipt_is_the_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    let changed = String::from_utf8(shipped("local-inference"))
        .unwrap()
        .replace("~0.1", "~0.2")
        .replace("\"local-inference\",\"req", "\"mine\",\"req");
    fs::write(place("changed.json"), changed).unwrap();
    let run_with = |profile: &Path, out: &Path| {
        run(&[
            "episode",
            "run",
            "--open",
            "--profile",
            text(profile),
            "--out",
            text(out),
        ])
    };
    let output = run_with(&place("changed.json"), &place("version"));
    assert!(
        code(&output) == 7 && stdout(&output).ends_with("blocked: ADAPTER_MISCONFIGURED/version\n"),
        "{}",
        stdout(&output)
    );
    assert_eq!(verify(&place("version")).0, 7);
    let ledger = fs::read_to_string(place("version/ledger.jsonl")).unwrap();
    assert!(
        ledger.lines().count() == 1 && ledger.contains("ReviewBlockedRecorded"),
        "{ledger}"
    );
    let silent = script(
        directory.path(),
        serde_json::json!([[{"say": "Nothing to do.\n{\"status\":\"done\",\"summary\":\"x\"}\n"}]]),
    );
    let output = episode(&place("silent"), &["--scenario", text(&silent)]);
    assert!(
        code(&output) == 8
            && stdout(&output)
                .contains("P5 episode.intent    failed  ADAPTER_PROTOCOL_VIOLATION/no_intent")
    );
    assert_eq!(verify(&place("silent")).0, 8);
    assert_eq!(code(&episode(&place("none"), &["--scenario", "nobody"])), 2);
    assert_eq!(
        code(&run(&[
            "episode",
            "run",
            "--profile",
            "local-inference",
            "--out",
            text(&place("none"))
        ])),
        2,
        "a name chooses none"
    );
}

#[test]
fn tier_says_what_the_driver_does() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("a");
    assert_eq!(code(&episode(&out, &["--tier", "observe"])), 0);
    let log = fs::read_to_string(out.join("episode.jsonl")).unwrap();
    assert!(
        log.contains("r4 denied NOT_IN_TIER") && log.contains("r5 denied UNKNOWN_TOOL"),
        "{log}"
    );
}

#[test]
fn agent_that_hides_a_denial_from_its_model_fails_p8() {
    let directory = tempfile::tempdir().unwrap();
    let deaf = wrapper(directory.path(), "grep -v ' denied ' | \"$engram\" \"$@\"");
    let output = episode(&directory.path().join("a"), &["--exe", text(&deaf)]);
    assert_eq!(code(&output), 8, "{}", stdout(&output));
    assert!(
        stdout(&output).contains("P8 episode.deny      failed  ADAPTER_PROTOCOL_VIOLATION/deny"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn tokens_of_the_model_are_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let small = String::from_utf8(shipped("local-inference"))
        .unwrap()
        .replace("\"tokens\":1000000", "\"tokens\":100");
    let small = small.replace(
        "\"profile_id\":\"local-inference\"",
        "\"profile_id\":\"small\"",
    );
    let profile = directory.path().join("small.json");
    fs::write(&profile, small).unwrap();
    let asks = script(
        directory.path(),
        serde_json::json!([[{"intent": {"id": "r1", "tool": "list", "args": {"path": "."}}}], [{"sleep": {"ms": 3000}}, {"say": "x"}]]),
    );
    let out = directory.path().join("a");
    let output = run(&[
        "episode",
        "run",
        "--open",
        "--profile",
        text(&profile),
        "--scenario",
        text(&asks),
        "--out",
        text(&out),
    ]);
    assert!(
        code(&output) == 8 && stdout(&output).ends_with("/budget_tokens\n"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn tier_4_passes_for_the_loop_and_skips_what_is_not_installed() {
    let nowhere = tempfile::tempdir().unwrap();
    let conform = |adapters: &str, more: &[&str]| {
        let mut command = lab();
        command
            .env("ACK_ADAPTERS", adapters)
            .args([
                "profile",
                "conform",
                "--open",
                "--installed",
                text(nowhere.path()),
            ])
            .args(more);
        command.output().unwrap()
    };
    // One of the caller's own, so that it is not one of the shipped ones that is proven.
    let own = nowhere.path().join("mine.json");
    let mine = String::from_utf8(shipped("local-inference")).unwrap();
    fs::write(
        &own,
        mine.replace(
            "\"profile_id\":\"local-inference\"",
            "\"profile_id\":\"mine\"",
        ),
    )
    .unwrap();
    let output = conform("", &["--json", "--profile", text(&own)]);
    let column: Value = serde_json::from_slice(&output.stdout).unwrap();
    let outcomes = column["outcomes"].as_array().unwrap();
    let passed: Vec<&Value> = outcomes
        .iter()
        .filter(|outcome| outcome["verdict"] == "passed")
        .collect();
    assert_eq!(
        (code(&output), passed.len(), outcomes.len()),
        (0, 10, 11),
        "{column:#}"
    );
    let output = conform("codex,cursor", &[]);
    let table = stdout(&output);
    println!("{table}");
    assert!(
        code(&output) == 0
            && table.contains(
                "codex-cli-black-box P5 episode.intent: skipped codex is not installed below"
            ),
        "{table}"
    );
    assert!(table.contains("cursor-hooked P4 profile.powerless: skipped mode hooked_vendor: this agent cannot be pointed at a model on loopback"), "{table}");
    assert_eq!(code(&conform("nobody", &[])), 7);
    // What is named must be there, and must be of a mode that has episodes.
    for (id, why) in [
        ("codex-cli-black-box", "codex is not installed below"),
        ("codex-cli-record", "mode structured_output"),
    ] {
        fs::write(&own, shipped(id)).unwrap();
        let output = conform("", &["--profile", text(&own)]);
        let table = stdout(&output);
        assert!(
            code(&output) == 7 && table.contains(&format!("P5 episode.intent: blocked {why}")),
            "{table}"
        );
    }
}

#[test]
fn shown_profile_has_the_hash_that_it_is_shown_by() {
    let list = stdout(&run(&["profile", "list"]));
    let directory = tempfile::tempdir().unwrap();
    for line in list.lines() {
        let hash = line.split_whitespace().nth(1).unwrap();
        let path = directory.path().join("profile.json");
        fs::write(&path, run(&["profile", "show", hash]).stdout).unwrap();
        let again = stdout(&run(&["profile", "hash", text(&path)]));
        assert_eq!(again.trim_end(), hash, "{line}");
    }
}

#[test]
fn agent_that_acts_by_itself_has_no_receipt() {
    let directory = tempfile::tempdir().unwrap();
    let acts = wrapper(
        directory.path(),
        "\"$engram\" \"$@\"; echo acted > acted.txt",
    );
    let out = directory.path().join("a");
    let output = episode(&out, &["--exe", text(&acts)]);
    let said = stdout(&output);
    assert!(
        code(&output) == 7
            && said.contains("P9 episode.receipt   passed")
            && said.ends_with("blocked: ADAPTER_MISCONFIGURED/native_tool\n"),
        "{said}{}",
        stderr(&output)
    );
    assert_eq!(verify(&out).0, 7);
}

#[test]
fn runtime_contract_has_a_row_for_each_demand() {
    let nowhere = tempfile::tempdir().unwrap();
    let mut command = lab();
    command
        .env("ACK_ADAPTERS", "local-inference,gemini")
        .env("ACK_TIMEOUT", "60");
    command.args([
        "profile",
        "conform",
        "--contract",
        "--open",
        "--json",
        "--installed",
        text(nowhere.path()),
    ]);
    let output = command.output().unwrap();
    let columns: Vec<Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |profile: &str| {
        let column = columns
            .iter()
            .find(|column| column["profile"] == profile)
            .unwrap();
        let outcomes = column["outcomes"].as_array().unwrap();
        outcomes
            .iter()
            .map(|outcome| {
                format!(
                    "{} {}",
                    outcome["check"].as_str().unwrap(),
                    outcome["verdict"].as_str().unwrap()
                )
            })
            .collect::<Vec<_>>()
    };
    let rows = of("local-inference");
    let skipped: Vec<&String> = rows
        .iter()
        .filter(|row| !row.ends_with(" passed"))
        .collect();
    assert_eq!(
        (code(&output), rows.len(), skipped),
        (0, 11, vec![&"mcp_transport skipped".to_owned()]),
        "{columns:#?}"
    );
    assert!(
        of("gemini-cli-black-box")
            .iter()
            .all(|row| row.ends_with(" skipped"))
    );
}

#[test]
fn signal_ends_the_agent_too() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| text(&directory.path().join(name)).to_owned();
    let agent = wrapper(
        directory.path(),
        &format!(
            "trap '' TERM; echo $$ > {}; while :; do sleep 1; done",
            place("pid")
        ),
    );
    let profile = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../engram-profiles/profiles/local-inference.json");
    let mut command = lab();
    command.args([
        "episode",
        "run",
        "--open",
        "--profile",
        text(&profile),
        "--exe",
        text(&agent),
        "--out",
        &place("out"),
    ]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid = loop {
        match fs::read_to_string(place("pid")) {
            Ok(pid) if pid.ends_with('\n') => break pid.trim().to_owned(),
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
        let ended = child.try_wait().unwrap();
        assert_eq!(ended, None, "the episode ended before its agent began");
    };
    assert!(
        Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let is_alive = || {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !state.is_empty()
            && !state
                .rsplit(')')
                .next()
                .unwrap_or_default()
                .trim_start()
                .starts_with(['Z', 'X'])
    };
    let (exit, said) = verify(&directory.path().join("out"));
    assert!(
        exit == 8 && said.contains("whole") && said.contains("ADAPTER_PROTOCOL_VIOLATION/stop"),
        "{exit} {said}"
    );
    let ledger = fs::read_to_string(directory.path().join("out/ledger.jsonl")).unwrap();
    assert!(
        ledger.contains("\"kind\":\"EpisodeEnded\"") && ledger.contains("\"status\":\"stopped\""),
        "{ledger}"
    );
    // A process that got KILL is still there for a moment. Left alone, this one never ends.
    let begun = Instant::now();
    while is_alive() {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the agent goes on"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// An open directory of the caller would lead out of private mounts, and a process that nothing shows would write after the driver.
#[test]
fn no_file_of_the_caller_comes_in_and_no_process_outlives_the_driver() {
    let directory = tempfile::tempdir().unwrap();
    let exe = wrapper(
        directory.path(),
        "for file in /proc/self/fd/*; do case $(readlink $file) in *engram-open*) exit 9;; esac; done\n\
         (cd /; exec env -i setsid sh -c 'while [ ! -e /home/work/episode/run.json ]; do sleep 0.01; done; echo x > /home/work/episode/hidden' > /dev/null 2>&1 < /dev/null) &\n\
         exec \"$engram\" \"$@\"",
    );
    let (open, out) = (
        directory.path().join("engram-open"),
        directory.path().join("out"),
    );
    fs::create_dir(&open).unwrap();
    let profile = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../engram-profiles/profiles/local-inference.json");
    let output = Command::new("sh")
        .args(["-c", "exec 9< \"$0\"; exec \"$@\"", text(&open)])
        .arg(env!("CARGO_BIN_EXE_engram-lab"))
        .args(["episode", "run", "--profile", text(&profile)])
        .args(["--exe", text(&exe), "--out", text(&out)])
        .output()
        .unwrap();
    let said = stdout(&output) + &stderr(&output);
    if said.contains("no private mounts here") {
        println!("skipped: {said}");
        return;
    }
    assert_eq!(code(&output), 0, "{said}");
    assert!(!out.join("hidden").exists());
}
