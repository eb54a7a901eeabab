//! `engram-lab record --live`, with a provider on loopback that wants a key of its own and refuses the fake one.

use std::io::Read;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use std::thread;

use engram_recorder::harness::FAKE_KEY;
use engram_recorder::isolation;
use engram_recorder::scenario::Scenario;
use engram_recorder::server::{Server, Stage};
use engram_recorder::tools::{OpTable, Place};

use super::*;

/// The key of the provider, and a part of it that is no key.
const KEY: &str = "real-key-of-a-live-smoke-test";
const PART: &str = "key-of-a-live-smoke";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What a provider does with a request that has its key.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Answers,
    Refuses,
    Stalls,
}

/// A scripted server behind a gate that looks at keys.
struct Provider {
    port: u16,
    asked: Arc<Mutex<u32>>,
    _server: Server,
}

impl Provider {
    fn start(family: &str, scenario: &Scenario, way: Way) -> Provider {
        let ops = repository().join(format!("scenarios/ops/{family}.json"));
        let place = Place {
            project: isolation::PROJECT.to_owned(),
            home: isolation::HOME.to_owned(),
        };
        let ops = OpTable::read(&ops).unwrap();
        let stage = Stage::new(scenario, ops, place, PathBuf::from("/nowhere"));
        let server = Server::start(Arc::new(stage), Vec::new()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, behind) = (listener.local_addr().unwrap().port(), server.port);
        let asked = Arc::new(Mutex::new(0));
        let count = Arc::clone(&asked);
        thread::spawn(move || {
            for line in listener.incoming().flatten() {
                *count.lock().unwrap() += 1;
                thread::spawn(move || gate(line, behind, way));
            }
        });
        Provider {
            port,
            asked,
            _server: server,
        }
    }
}

fn gate(mut line: TcpStream, behind: u16, way: Way) {
    let (mut head, mut piece) = (Vec::new(), [0; 4096]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let length = line.read(&mut piece).unwrap();
        assert!(length > 0);
        head.extend_from_slice(&piece[..length]);
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    if !text.contains(KEY) || text.contains(FAKE_KEY) || way == Way::Refuses {
        let answer = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 10\r\nconnection: close\r\n\r\nno account";
        let _ = line.write_all(answer.as_bytes());
        // What else comes is read, so that the answer is not lost with the connection.
        let _ = line.shutdown(Shutdown::Write);
        let _ = std::io::copy(&mut line, &mut std::io::sink());
        return;
    }
    if way == Way::Stalls {
        let _ = std::io::copy(&mut line, &mut std::io::sink());
        return;
    }
    let mut server = TcpStream::connect(("127.0.0.1", behind)).unwrap();
    server.write_all(&head).unwrap();
    let (mut from, mut to) = (line.try_clone().unwrap(), server.try_clone().unwrap());
    thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    let _ = std::io::copy(&mut server, &mut line);
    let _ = line.shutdown(Shutdown::Both);
}

/// A directory with the fake harness; `None` where it cannot run.
fn installed() -> Option<TempDir> {
    for program in ["python3", "git", "curl"] {
        if Command::new(program).arg("--version").output().is_err() {
            println!("skipped: there is no {program}");
            return None;
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let bin = directory
        .path()
        .join("claude-code/2.1.331/node_modules/.bin");
    fs::create_dir_all(&bin).unwrap();
    let fake = repository().join("engram-recorder/tests/fake-claude.py");
    fs::copy(fake, bin.join("claude")).unwrap();
    // Root becomes an ordinary user first.
    let open = || fs::Permissions::from_mode(0o755);
    fs::set_permissions(bin.join("claude"), open()).unwrap();
    fs::set_permissions(directory.path(), open()).unwrap();
    Some(directory)
}

/// The command, in private mounts where they can be had.
fn live(installed: &Path, out: &Path, env: &[(&str, &str)]) -> Output {
    let mut command = lab();
    // The home of the caller is hidden, so there must be one.
    command.env("HOME", std::env::var_os("HOME").unwrap_or("/tmp".into()));
    command.args(["record", "--live", "--installed", text(installed)]);
    command.args(["--scenarios", text(&repository().join("scenarios"))]);
    command.args(["--out", text(out)]);
    if isolation::refusal().is_some() {
        command.arg("--open");
    }
    for name in ["RUN_LIVE_TESTS", "ACK_ADAPTERS", "ACK_TIMEOUT"] {
        command.env_remove(name);
    }
    for family in ["ANTHROPIC", "OPENAI", "GEMINI"] {
        command.env_remove(format!("{family}_API_KEY"));
        command.env_remove(format!("{family}_BASE_URL"));
    }
    command.envs(env.iter().copied()).output().unwrap()
}

/// The same with the fake harness, a provider that says this, and its key.
fn live_with(out: &Path, script: &Value, way: Way, env: &[(&str, &str)]) -> Option<(String, i32)> {
    let installed = installed()?;
    let scenario = serde_json::json!({"id": "t", "about": "t", "shows": ["t"], "runs": [{"prompt": "[[main]]"}], "threads": {"main": script}});
    let scenario = serde_json::from_value(scenario).unwrap();
    let provider = Provider::start("claude-code", &scenario, way);
    let url = format!("http://127.0.0.1:{}", provider.port);
    let mut all = vec![
        ("RUN_LIVE_TESTS", "1"),
        ("ACK_ADAPTERS", "claude-code"),
        ("ACK_TIMEOUT", "60"),
        ("ANTHROPIC_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", url.as_str()),
    ];
    all.extend(env);
    let output = live(installed.path(), out, &all);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
    println!("{printed}");
    assert!(!printed.contains(KEY), "{printed}");
    Some((printed, code(&output)))
}

/// A script for both scenarios: an answer; a call that writes the file, and an answer.
fn script(command: &str) -> Value {
    serde_json::json!([[{"say": "It is 42."}], [{"shell": {"command": command, "about": "x"}}], [{"say": "It is done."}]])
}

fn session_texts(out: &Path) -> String {
    let files = engram_conformance::files(out);
    files
        .iter()
        .map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned())
        .collect()
}

#[test]
fn both_scenarios_pass_and_the_harness_never_sees_the_key() {
    let out = tempfile::tempdir().unwrap();
    let command = format!(
        "cat /proc/*/environ | tr '\\0' '\\n' | grep -c {PART}; echo 'it works' > live.txt"
    );
    let Some((printed, code)) = live_with(out.path(), &script(&command), Way::Answers, &[]) else {
        return;
    };
    assert_eq!(
        (printed.matches(" passed ").count(), code),
        (2, 0),
        "{printed}"
    );
    assert!(
        printed.contains("live l_call          passed  2 requests, 2 streamed answers"),
        "{printed}"
    );
    let recording = out.path().join("claude-code/2.1.331/l_call");
    assert!(
        !recording.join("truth.json").exists(),
        "nobody takes it for a recording"
    );
    let receipt = fs::read_to_string(recording.join("receipt.json")).unwrap();
    if isolation::refusal().is_none() {
        assert!(receipt.contains("\"egress\": \"relayed\""), "{receipt}");
        let log = session_texts(&recording.join("session"));
        assert!(
            log.contains(r#""stdout": "0""#),
            "a process inside has the key: {log}"
        );
    }
    let text = session_texts(out.path());
    assert!(!text.contains(KEY) && !text.contains(FAKE_KEY));
}

#[test]
fn call_that_did_not_write_its_file_fails() {
    let out = tempfile::tempdir().unwrap();
    for (command, what) in [
        ("echo live.txt", "live.txt was not written"),
        (
            "echo 'it works' > live.$(echo txt)",
            "no tape has a call for live.txt",
        ),
    ] {
        let Some((printed, code)) = live_with(out.path(), &script(command), Way::Answers, &[])
        else {
            return;
        };
        assert!(
            printed.contains(" passed ") && printed.contains(what) && code == 8,
            "{printed}"
        );
    }
}

#[test]
fn recording_with_a_key_is_not_kept() {
    let out = tempfile::tempdir().unwrap();
    for (key, name) in [(KEY, "the real key"), (FAKE_KEY, "the fake key")] {
        let said = serde_json::json!([[{"say": key}], [{"say": key}]]);
        let Some((printed, code)) = live_with(out.path(), &said, Way::Answers, &[]) else {
            return;
        };
        let what = format!("failed  ADAPTER_PROTOCOL_VIOLATION/live {name} is in ");
        assert_eq!((printed.matches(&what).count(), code), (2, 8), "{printed}");
        assert!(engram_conformance::files(out.path()).is_empty());
    }
}

#[test]
fn refusal_and_silence_of_the_provider_are_named() {
    let out = tempfile::tempdir().unwrap();
    let Some((printed, code)) = live_with(out.path(), &script("x"), Way::Refuses, &[]) else {
        return;
    };
    let what = "ADAPTER_MISCONFIGURED/provider the provider refused: 401 Unauthorized: no account";
    assert_eq!((printed.matches(what).count(), code), (2, 7), "{printed}");
    let other = [("ANTHROPIC_API_KEY", "another-key-that-is-none")];
    let (printed, _) = live_with(out.path(), &script("x"), Way::Answers, &other).unwrap();
    assert_eq!(printed.matches(what).count(), 2, "{printed}");
    let short = [("ACK_TIMEOUT", "3")];
    let (printed, code) = live_with(out.path(), &script("x"), Way::Stalls, &short).unwrap();
    assert_eq!(
        (printed.matches("a run ended with Timeout").count(), code),
        (2, 8),
        "{printed}"
    );
}

#[test]
fn what_is_missing_is_named_and_nobody_is_asked() {
    let Some(installed) = installed() else {
        return;
    };
    let out = tempfile::tempdir().unwrap();
    let scenario = Scenario::read(&repository().join("scenarios/a_qa.json")).unwrap();
    let provider = Provider::start("claude-code", &scenario, Way::Answers);
    let url = format!("http://127.0.0.1:{}", provider.port);
    let base = ("ANTHROPIC_BASE_URL", url.as_str());
    let (run, key) = (("RUN_LIVE_TESTS", "1"), ("ANTHROPIC_API_KEY", KEY));
    let said = |env: &[(&str, &str)]| {
        let output = live(installed.path(), out.path(), &[env, &[base]].concat());
        assert_eq!(code(&output), 0);
        String::from_utf8(output.stdout).unwrap()
    };
    let no_variable = said(&[key]);
    assert!(
        no_variable.contains(
            "claude-code            live a_qa            skipped RUN_LIVE_TESTS is not 1\n"
        ),
        "{no_variable}"
    );
    assert!(no_variable.contains("skipped RUN_LIVE_TESTS is not 1; OPENAI_API_KEY is not set\n"));
    let no_key = said(&[run]);
    assert!(
        no_key.contains("live l_call          skipped ANTHROPIC_API_KEY is not set\n"),
        "{no_key}"
    );
    let other = said(&[run, ("GEMINI_API_KEY", KEY), ("ACK_ADAPTERS", "gemini")]);
    assert!(
        other.contains("gemini is not installed") && !other.contains("claude"),
        "{other}"
    );
    assert_eq!(*provider.asked.lock().unwrap(), 0);
    // Scenarios are wanted only by what is run.
    let none = out.path().join("none");
    let mut command = lab();
    command.args(["record", "--live", "--installed", text(installed.path())]);
    command.args(["--scenarios", text(&none)]);
    let skipped = command.env_remove("RUN_LIVE_TESTS").output().unwrap();
    assert_eq!(code(&skipped), 0, "{}", stderr(&skipped));
}

/// `ENGRAM_HARNESSES` names a directory of `scripts/install-harness`: what is there runs against a scripted provider.
#[test]
fn installed_harnesses_pass() {
    let Some(installed) = std::env::var_os("ENGRAM_HARNESSES").map(PathBuf::from) else {
        println!("skipped: ENGRAM_HARNESSES is not set");
        return;
    };
    let out = tempfile::tempdir().unwrap();
    for (family, variable) in [
        ("claude-code", "ANTHROPIC"),
        ("codex", "OPENAI"),
        ("opencode", "OPENAI"),
        ("gemini", "GEMINI"),
    ] {
        if !installed.join(family).is_dir() {
            continue;
        }
        let scenarios = Scenario::read_all(&repository().join("scenarios")).unwrap();
        let mut scenario = scenarios["l_call"].clone();
        let first = scenarios["a_qa"].threads["main"].clone();
        scenario
            .threads
            .get_mut("main")
            .unwrap()
            .splice(0..0, first);
        let provider = Provider::start(family, &scenario, Way::Answers);
        let url = format!("http://127.0.0.1:{}", provider.port);
        let env = [
            ("RUN_LIVE_TESTS", "1"),
            ("ACK_ADAPTERS", family),
            (&*format!("{variable}_API_KEY"), KEY),
            (&*format!("{variable}_BASE_URL"), &url),
        ];
        let output = live(&installed, out.path(), &env);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
        println!("{printed}");
        assert_eq!(
            (printed.matches(" passed ").count(), code(&output)),
            (2, 0),
            "{printed}"
        );
    }
}
