//! What an attacker, or a bad day, does to the command: signals, devices and links as outputs, rewritten logs, damaged directories, holes.
#![cfg(unix)]

use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::time::{Duration, Instant};

use super::killed::assert_whole_and_true;
use super::*;

/// A directory with this many small sessions.
pub fn many(sessions: usize) -> TempDir {
    let text: String = claude_session("ID-OF-IT")
        .split_inclusive('\n')
        .take(14)
        .collect();
    let files: Vec<(String, String)> = (0..sessions)
        .map(|n| {
            (
                format!("{n}.jsonl"),
                text.replace("ID-OF-IT", &format!("s{n}")),
            )
        })
        .collect();
    directory_of(
        &files
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect::<Vec<_>>(),
    )
}

fn signal(child: &std::process::Child, name: &str) {
    Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status()
        .unwrap();
}

/// Waits for the end, at most so long. `None` if the process hangs; then it is killed.
fn wait(child: &mut std::process::Child, most: Duration) -> Option<i32> {
    let until = Instant::now() + most;
    while Instant::now() < until {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.code().unwrap_or(-1));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

/// Interrupts runs at random instants. Returns how many ended because of it.
fn interrupted(rounds: u64, sessions: usize) -> usize {
    let input = many(sessions);
    let mut random = fastrand::Rng::with_seed(7);
    let began = Instant::now();
    assert_eq!(
        code(&run(&[
            "ingest",
            "-q",
            text(input.path()),
            "--out",
            text(&tempfile::tempdir().unwrap().path().join("o"))
        ])),
        0
    );
    let whole = began.elapsed();
    let mut interrupted = 0;
    for round in 0..rounds {
        let parent = tempfile::tempdir().unwrap();
        let out = parent.path().join("tapes");
        let mut command = engram();
        let mut child = command
            .args(["ingest", "-v", text(input.path()), "--out", text(&out)])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(whole.mul_f64(random.f64() * 1.1));
        signal(&child, ["INT", "TERM", "HUP"][round as usize % 3]);
        let exit = wait(&mut child, Duration::from_secs(20))
            .unwrap_or_else(|| panic!("round {round} hangs"));
        assert!([0, 130, -1].contains(&exit), "round {round}: {exit}");
        interrupted += usize::from(exit == 130);
        if out.exists() {
            assert_whole_and_true(&out);
        }
    }
    interrupted
}

#[test]
fn an_interrupt_at_any_instant_ends_the_run() {
    let interrupted = interrupted(12, 40);
    assert!(interrupted > 2, "{interrupted}");
}

#[test]
#[ignore = "takes minutes"]
fn two_hundred_interrupts() {
    let interrupted = interrupted(200, 120);
    println!("200 interrupts, {interrupted} of them before the end of the run, 0 hangs");
    assert!(interrupted > 50, "{interrupted}");
}

/// The output of the run is a pipe that nobody reads, so that it stands still whatever it waits for.
#[test]
fn a_second_signal_ends_a_process_that_stands_still() {
    let input = many(600);
    let parent = tempfile::tempdir().unwrap();
    let out = parent.path().join("tapes");
    let mut command = engram();
    let mut child = command
        .args(["ingest", "-v", text(input.path()), "--out", text(&out)])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let unread = child.stderr.take();
    let until = Instant::now() + Duration::from_secs(60);
    // Until tapes get their names, of which each is a line in the pipe.
    while tapes_of(&out) < 100 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "it stands still");
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(200));
    signal(&child, "TERM");
    let began = Instant::now();
    let exit = wait(&mut child, Duration::from_secs(10));
    assert_eq!(exit, Some(130), "it hangs");
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
    drop(unread);
    assert_whole_and_true(&out);
}

fn tapes_of(out: &Path) -> usize {
    fs::read_dir(out.join("claude-code")).map_or(0, |entries| {
        entries
            .filter(|entry| {
                entry
                    .as_ref()
                    .unwrap()
                    .file_name()
                    .to_string_lossy()
                    .ends_with(".tape.jsonl")
            })
            .count()
    })
}

#[test]
fn outputs_that_are_devices_or_pipes_are_written_into_and_links_are_replaced() {
    let log = claude_file();
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    assert!(
        Command::new("mkfifo")
            .arg(at("pipe"))
            .status()
            .unwrap()
            .success()
    );
    let out = at("tapes");
    for args in [
        vec!["show", text(&log), "--html"],
        vec!["ingest", "-q", text(&log), "--out", text(&out), "--summary"],
    ] {
        let run_to = |file: &Path| engram().args(&args).arg(file).output().unwrap();
        symlink("page", at("link")).unwrap();
        assert_eq!(code(&run_to(&at("link"))), 0);
        assert!(
            !at("link").is_symlink() && fs::read(at("link")).unwrap().len() > 100,
            "{args:?}"
        );
        assert!(!at("page").exists(), "a link is not followed: {args:?}");
        fs::remove_file(at("link")).unwrap();
        let pipe = at("pipe");
        let reader = std::thread::spawn(move || fs::read(pipe).unwrap().len());
        assert_eq!(code(&run_to(&at("pipe"))), 0);
        assert!(
            reader.join().unwrap() > 100
                && at("pipe").symlink_metadata().unwrap().file_type().is_fifo()
        );
        let full = run_to(Path::new("/dev/full"));
        assert_eq!(code(&full), 6, "{}", stderr(&full));
        assert!(
            stderr(&full).contains("the disk is full"),
            "{}",
            stderr(&full)
        );
        assert!(
            Path::new("/dev/full")
                .symlink_metadata()
                .unwrap()
                .file_type()
                .is_char_device()
        );
        let file = at("file");
        assert_eq!(code(&run_to(&file)), 0);
        assert_eq!(
            file.metadata().unwrap().permissions().mode() & 0o777,
            0o600,
            "{args:?}"
        );
    }
}

#[test]
fn an_output_that_is_an_input_is_refused() {
    let input = many(2);
    let log = input.path().join("0.jsonl");
    symlink(&log, input.path().join("link")).unwrap();
    let before = fs::read(&log).unwrap();
    let out = tempfile::tempdir().unwrap();
    let link = input.path().join("link");
    for args in [
        &["show", text(&log), "--html", text(&log)][..],
        &["show", text(&log), "--html", text(&link)],
        &["ingest", text(&log), "--summary", text(&log)],
        &[
            "ingest",
            text(input.path()),
            "--out",
            text(out.path()),
            "--summary",
            text(&log),
        ],
    ] {
        let refused = run(args);
        assert_eq!(code(&refused), 2, "{args:?} {}", stderr(&refused));
        assert!(fs::read(&log).unwrap() == before, "{args:?}");
    }
    for command in [&["show", text(&log)][..], &["ingest", text(&log)]] {
        let own = fs::File::options().append(true).open(&log).unwrap();
        assert_eq!(
            code(
                &engram()
                    .args(command)
                    .stdout(own)
                    .stderr(Stdio::null())
                    .output()
                    .unwrap()
            ),
            2
        );
        assert!(fs::read(&log).unwrap() == before, "{command:?}");
    }
}

#[test]
fn a_directory_that_is_gone_is_an_error_and_not_an_endless_search() {
    let gone = tempfile::tempdir().unwrap().keep();
    let script = format!("cd '{0}' && rmdir '{0}' && exec \"$@\"", text(&gone));
    for out in [".", "/proc/self"] {
        let mut command = Command::new("sh");
        fs::create_dir_all(&gone).unwrap();
        command.args([
            "-c",
            &script,
            "sh",
            env!("CARGO_BIN_EXE_engram"),
            "ingest",
            text(&claude_file()),
            "--out",
            out,
        ]);
        let mut child = command
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        assert_eq!(
            wait(&mut child, Duration::from_secs(20)),
            Some(3),
            "--out {out}"
        );
    }
}

#[test]
fn a_deleted_log_is_said_and_its_tape_stays() {
    let (input, out) = (many(3), tempfile::tempdir().unwrap());
    let ingest = || run(&["ingest", text(input.path()), "--out", text(out.path())]);
    assert_eq!(code(&ingest()), 0);
    let before = tapes(out.path());
    fs::remove_file(input.path().join("1.jsonl")).unwrap();
    for _ in 0..2 {
        let output = ingest();
        assert_eq!(code(&output), 0);
        assert!(
            stderr(&output).contains("1 tape whose log is gone"),
            "{}",
            stderr(&output)
        );
        assert_eq!(tapes(out.path()), before);
        let states: Vec<Value> = index(out.path())
            .into_iter()
            .map(|entry| entry["state"].clone())
            .collect();
        assert_eq!(states, ["current", "gone", "current"]);
    }
    for n in [0, 2] {
        fs::remove_file(input.path().join(format!("{n}.jsonl"))).unwrap();
    }
    let all_gone = ingest();
    assert!(
        stderr(&all_gone).contains("3 tapes whose log is gone"),
        "{}",
        stderr(&all_gone)
    );
    assert_eq!(tapes(out.path()), before);
}

#[test]
fn a_rewrite_with_the_same_size_and_time_is_read() {
    let (input, out) = (many(1), tempfile::tempdir().unwrap());
    let log = input.path().join("0.jsonl");
    let ingest = || {
        stderr(&run(&[
            "ingest",
            text(input.path()),
            "--out",
            text(out.path()),
        ]))
    };
    ingest();
    let (text_before, time) = (
        fs::read_to_string(&log).unwrap(),
        log.metadata().unwrap().modified().unwrap(),
    );
    fs::write(&log, text_before.replace("s0", "s9")).unwrap();
    fs::File::options()
        .write(true)
        .open(&log)
        .unwrap()
        .set_modified(time)
        .unwrap();
    assert!(ingest().contains("1 new"));
    assert!(ingest().contains("1 unchanged"));
}

#[test]
fn a_directory_is_compared_with_its_index_and_the_index_is_made_again() {
    let (input, out) = (many(4), tempfile::tempdir().unwrap());
    let ingest = || run(&["ingest", text(input.path()), "--out", text(out.path())]);
    let check = |more: &[&str]| run(&[&["check", text(out.path())], more].concat());
    ingest();
    assert_eq!(code(&check(&[])), 0);
    let tape = |n: usize| out.path().join(format!("claude-code/s{n}.tape.jsonl"));
    fs::remove_file(tape(0)).unwrap();
    let changed = fs::read_to_string(tape(1)).unwrap().replace("user", "used");
    fs::write(tape(1), changed).unwrap();
    fs::copy(tape(2), tape(9)).unwrap();
    let index_file = out.path().join("index.jsonl");
    fs::write(
        &index_file,
        fs::read_to_string(&index_file).unwrap() + "nonsense\n",
    )
    .unwrap();
    let found = check(&[]);
    let printed = String::from_utf8(found.stdout.clone()).unwrap();
    assert_eq!(code(&found), 1);
    for line in [
        "s0.tape.jsonl: the index has it, and it is missing",
        "s1.tape.jsonl: it is not as it was written",
        "s9.tape.jsonl: it is foreign",
    ] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
    assert!(
        printed.contains("index.jsonl, line 5: it is no line of an index"),
        "{printed}"
    );
    // A list of line ends alone is not printed to its end.
    let list = fs::read_to_string(&index_file).unwrap();
    fs::write(&index_file, list + &"\n".repeat(5000)).unwrap();
    let printed = String::from_utf8(check(&[]).stdout).unwrap();
    assert!(printed.lines().count() < 1100 && printed.contains(" more\n"));
    // From the tapes alone.
    fs::remove_file(tape(1)).unwrap();
    fs::remove_file(tape(9)).unwrap();
    fs::remove_file(&index_file).unwrap();
    let repaired = check(&["--repair"]);
    assert_eq!(
        code(&repaired),
        0,
        "{}{}",
        String::from_utf8_lossy(&repaired.stdout),
        stderr(&repaired)
    );
    assert_eq!(index(out.path()).len(), 2);
    assert!(
        index(out.path())
            .iter()
            .all(|entry| entry["state"] == "gone" && entry["overview"]["session_id"].is_string())
    );
    let again = ingest();
    assert!(
        stderr(&again).contains("2 new, 0 replaced, 2 unchanged"),
        "{}",
        stderr(&again)
    );
    assert_eq!(index(out.path()).len(), 4);
    assert!(
        index(out.path())
            .iter()
            .all(|entry| entry["state"] == "current" && entry["source"] != "unknown")
    );
    assert_eq!(code(&check(&[])), 0);
}

#[test]
fn a_bomb_is_refused_by_a_limit_that_has_a_name() {
    let line = claude_session("bomb").lines().nth(8).unwrap().to_owned() + "\n";
    let lines = line.repeat((1 << 20) / line.len() + 1);
    let mut bomb = zstd::Encoder::new(Vec::new(), 1).unwrap();
    for _ in 0..270 {
        bomb.write_all(lines.as_bytes()).unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bomb.jsonl.zst");
    fs::write(&path, bomb.finish().unwrap()).unwrap();
    let out = directory.path().join("tapes");
    let refused = run(&[
        "ingest",
        text(&path),
        "--out",
        text(&out),
        "--error-format",
        "json",
    ]);
    assert_eq!(code(&refused), 5, "{}", stderr(&refused));
    let errors = json_errors(&refused);
    assert_eq!(errors[0]["code"], "limit_exceeded");
    assert!(
        errors[0]["found"]
            .as_str()
            .unwrap()
            .contains("expansion_ratio"),
        "{errors:?}"
    );
    assert!(!out.exists() || tapes(&out).is_empty());
    let hole = directory.path().join("hole.jsonl");
    fs::write(&hole, claude_session("hole")).unwrap();
    fs::File::options()
        .write(true)
        .open(&hole)
        .unwrap()
        .set_len(20 << 30)
        .unwrap();
    let began = Instant::now();
    let refused = run(&["ingest", text(&hole), "--error-format", "json"]);
    assert_eq!(code(&refused), 5, "{}", stderr(&refused));
    assert!(
        json_errors(&refused)[0]["found"]
            .as_str()
            .unwrap()
            .contains("source_bytes"),
        "{}",
        stderr(&refused)
    );
    assert!(began.elapsed() < Duration::from_secs(20));
}

/// People exchange tapes: what is read of them has the limits of logs.
#[test]
fn a_tape_that_is_a_bomb_is_refused_by_each_command_that_reads_it() {
    let directory = tempfile::tempdir().unwrap();
    let tapes = directory.path().join("tapes");
    fs::create_dir(&tapes).unwrap();
    let mut bomb = zstd::Encoder::new(Vec::new(), 1).unwrap();
    bomb.write_all(b"{\"seq\":0,\"t\":\"").unwrap();
    let spaces = vec![b' '; 1 << 20];
    for _ in 0..270 {
        bomb.write_all(&spaces).unwrap();
    }
    let path = tapes.join("bomb.tape.jsonl.zst");
    fs::write(&path, bomb.finish().unwrap()).unwrap();
    let out = directory.path().join("out");
    for command in [
        &["check"][..],
        &["stats"],
        &["export", "otlp", "--out", text(&out)],
    ] {
        let refused = run(&[command, &["--error-format", "json", text(&path)]].concat());
        assert_eq!(code(&refused), 5, "{command:?}: {}", stderr(&refused));
        let error = &json_errors(&refused)[0];
        assert_eq!(error["code"], "limit_exceeded", "{command:?}");
        let found = error["found"].as_str().unwrap();
        assert!(found.contains("expansion_ratio"), "{command:?}: {found}");
    }
    assert!(!out.exists());
}

/// Synthetic: a model and a prompt with what moves a cursor, rings, or turns a line around.
#[test]
fn answers_of_the_index_have_no_control_characters() {
    let log = claude_session("odd").replace("claude-opus", "m\\u001b]0;own\\u0007\\u202e");
    assert!(log.contains("u001b"), "the session has a model");
    let directory = directory_of(&[("s.jsonl", &log)]);
    let (tapes, index) = (directory.path().join("tapes"), directory.path().join("i"));
    let source = directory.path().join("s.jsonl");
    let ingested = run(&["ingest", text(&source), "--out", text(&tapes)]);
    assert_eq!(code(&ingested), 0, "{}", stderr(&ingested));
    let added = run(&["index", "--index", text(&index), "add", text(&tapes)]);
    assert_eq!(code(&added), 0, "{}", stderr(&added));
    for question in [
        &["grep", "own"][..],
        &["query", "select distinct model from calls"],
        &["query", "--csv", "select distinct model from calls"],
        &["query", "--json", "select distinct model from calls"],
    ] {
        let answer = run(&[question, &["--index", text(&index)]].concat());
        assert_eq!(code(&answer), 0, "{question:?}: {}", stderr(&answer));
        let said = String::from_utf8(answer.stdout).unwrap();
        let is_unsafe = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        assert!(
            said.contains("own") && !said.contains(is_unsafe),
            "{question:?}: {said:?}"
        );
    }
}
