//! Faults of the system around a run: a full disk, a kill in the middle of a write, missing rights, input that changes. The run says what
//! failed, leaves no part of a tape, and its index stays true.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};

use super::killed::{assert_same_tapes, assert_whole_and_true, leftovers};
use super::*;

/// A directory with some small sessions.
fn small_sessions(count: usize) -> TempDir {
    let text = |n: usize| {
        claude_session(&format!("s{n}"))
            .split_inclusive('\n')
            .take(12 + n)
            .collect::<String>()
    };
    let files: Vec<(String, String)> = (0..count)
        .map(|n| (format!("{n}.jsonl"), text(n)))
        .collect();
    directory_of(
        &files
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect::<Vec<_>>(),
    )
}

/// The binary with a limit on the size of each file that it writes, in blocks of 512 bytes. A write above it fails as on a full disk, or
/// kills the process.
fn with_file_limit(blocks: usize, kills: bool) -> Command {
    let ignored = if kills { "" } else { "trap '' XFSZ; " };
    let mut command = Command::new("sh");
    command.args([
        "-c",
        &format!("{ignored}ulimit -f {blocks} && exec \"$@\""),
        "sh",
        env!("CARGO_BIN_EXE_engram"),
    ]);
    command.stdin(Stdio::null());
    command
}

/// The limits that matter: none of a tape, a part of it, all of it but not of the index, and everything.
const LIMITS: [usize; 14] = [0, 1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 4096];

#[test]
fn a_full_disk_fails_with_a_reason_and_leaves_whole_tapes_and_a_true_index() {
    let input = small_sessions(12);
    let fresh = tempfile::tempdir().unwrap();
    assert_eq!(
        code(&run(&[
            "ingest",
            text(input.path()),
            "--out",
            text(fresh.path())
        ])),
        0
    );
    let mut exits = Vec::new();
    for blocks in LIMITS {
        let parent = tempfile::tempdir().unwrap();
        let out = parent.path().join("tapes");
        let mut limited = with_file_limit(blocks, false);
        let output = limited
            .args([
                "ingest",
                "--error-format",
                "json",
                text(input.path()),
                "--out",
                text(&out),
            ])
            .output()
            .unwrap();
        let exit = code(&output);
        exits.push(exit);
        assert_eq!(leftovers(&out), [""; 0], "{blocks} blocks");
        let states = assert_whole_and_true(&out);
        if exit != 0 {
            assert!([1, 6].contains(&exit), "{blocks} blocks: {exit}");
            let errors: Vec<Value> = json_errors(&output)
                .into_iter()
                .filter(|line| line["code"] == "io")
                .collect();
            assert!(
                !errors.is_empty()
                    && errors
                        .iter()
                        .all(|error| error["path"].as_str().unwrap().starts_with(text(&out))),
                "{errors:?}"
            );
        } else {
            assert_eq!(states, ["current".to_owned()].into(), "{blocks} blocks");
        }
        // There is room again.
        let again = run(&["ingest", text(input.path()), "--out", text(&out)]);
        assert_eq!(code(&again), 0, "{blocks} blocks: {}", stderr(&again));
        assert_whole_and_true(&out);
        assert_same_tapes(&out, fresh.path());
    }
    assert!(
        [0, 1, 6].iter().all(|exit| exits.contains(exit)),
        "each outcome is seen: {exits:?}"
    );
}

#[test]
fn an_old_tape_stays_when_the_disk_is_full() {
    let (input, out) = (small_sessions(3), tempfile::tempdir().unwrap());
    assert_eq!(
        code(&run(&[
            "ingest",
            text(input.path()),
            "--out",
            text(out.path())
        ])),
        0
    );
    let before: Vec<Vec<u8>> = tape_files(out.path())
        .iter()
        .map(|path| fs::read(path).unwrap())
        .collect();
    let log = claude_session("s0");
    fs::write(input.path().join("0.jsonl"), &log).unwrap();
    let output = with_file_limit(40, false)
        .args(["ingest", text(input.path()), "--out", text(out.path())])
        .output()
        .unwrap();
    assert_ne!(code(&output), 0);
    let after: Vec<Vec<u8>> = tape_files(out.path())
        .iter()
        .map(|path| fs::read(path).unwrap())
        .collect();
    assert!(before == after, "a tape has changed");
    assert_whole_and_true(out.path());
}

#[test]
fn a_limit_of_the_size_of_files_is_said_and_leaves_whole_tapes_and_a_true_index() {
    let input = small_sessions(12);
    let fresh = tempfile::tempdir().unwrap();
    run(&["ingest", text(input.path()), "--out", text(fresh.path())]);
    let mut said = 0;
    for blocks in LIMITS {
        let parent = tempfile::tempdir().unwrap();
        let out = parent.path().join("tapes");
        // The system would end the process without a word.
        let output = with_file_limit(blocks, true)
            .args(["ingest", text(input.path()), "--out", text(&out)])
            .output()
            .unwrap();
        assert_eq!(output.status.signal(), None, "{blocks} blocks");
        assert_eq!(leftovers(&out), [""; 0], "{blocks} blocks");
        let lines = stderr(&output).matches("ulimit -f").count();
        assert_eq!(
            lines > 0,
            code(&output) != 0,
            "{blocks} blocks: {}",
            stderr(&output)
        );
        assert!(lines <= 2, "each place once: {}", stderr(&output));
        said += usize::from(lines > 0);
        assert_whole_and_true(&out);
        let again = run(&["ingest", text(input.path()), "--out", text(&out)]);
        assert_eq!(code(&again), 0, "{blocks} blocks: {}", stderr(&again));
        assert_same_tapes(&out, fresh.path());
    }
    assert!(
        (5..LIMITS.len()).contains(&said),
        "{said} of {} runs had no room",
        LIMITS.len()
    );
}

#[test]
fn standard_output_on_a_full_disk_is_an_error() {
    let log = claude_file();
    let tape = directory_of(&[("a.tape.jsonl", "")]);
    let tape = tape.path().join("a.tape.jsonl");
    fs::write(&tape, run(&["ingest", text(&log)]).stdout).unwrap();
    for args in [
        &["ingest", text(&log)][..],
        &["ingest", text(&log), "--zstd"],
        &["list", text(&log)],
        &["list", text(&log), "--json"],
        &["detect", text(&log)],
        &["stats", text(&tape)],
        &["show", text(&log)],
        &["show", text(&log), "--html"],
        &["audit", text(&log)],
        &["check", text(&tape)],
        &["adapters"],
        &["schema"],
    ] {
        let quiet = engram().args(args).output().unwrap();
        if quiet.stdout.is_empty() {
            continue;
        }
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = engram()
            .args(args)
            .args(["--error-format", "json"])
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(code(&output), 6, "{args:?}: {}", stderr(&output));
        let errors: Vec<Value> = json_errors(&output)
            .into_iter()
            .filter(|line| line["code"] == "io")
            .collect();
        assert_eq!(errors.len(), 1, "{args:?}");
        assert_eq!(
            errors[0]["message"], "standard output: the disk is full",
            "{args:?}"
        );
    }
}

/// The binary as a user who is not root. None if this system does not allow it.
fn without_root() -> Option<Command> {
    if fs::metadata("/proc/self")
        .map(|own| std::os::unix::fs::MetadataExt::uid(&own))
        .ok()?
        != 0
    {
        return Some(engram());
    }
    let as_nobody = |command: &mut Command| {
        command
            .uid(65_534)
            .gid(65_534)
            .stdin(Stdio::null())
            .output()
    };
    let works = as_nobody(Command::new(env!("CARGO_BIN_EXE_engram")).arg("--version"))
        .is_ok_and(|output| output.status.success());
    if !works {
        eprintln!("skipped: root has all rights, and nobody may not run the binary");
        return None;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_engram"));
    command.uid(65_534).gid(65_534).stdin(Stdio::null());
    Some(command)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn an_output_directory_without_the_right_to_write_is_an_error_and_stays_as_it_is() {
    let Some(mut command) = without_root() else {
        return;
    };
    let (input, out) = (small_sessions(2), tempfile::tempdir().unwrap());
    assert_eq!(
        code(&run(&[
            "ingest",
            text(input.path()),
            "--out",
            text(out.path())
        ])),
        0
    );
    fs::write(input.path().join("0.jsonl"), claude_session("new")).unwrap();
    files(input.path())
        .iter()
        .chain(&files(out.path()))
        .for_each(|file| set_mode(file, 0o444));
    set_mode(input.path(), 0o555);
    set_mode(&out.path().join("claude-code"), 0o555);
    set_mode(out.path(), 0o555);
    let before = names(out.path());
    let output = command
        .args([
            "ingest",
            "--error-format",
            "json",
            text(input.path()),
            "--out",
            text(out.path()),
        ])
        .output()
        .unwrap();
    assert_eq!(code(&output), 6, "{}", stderr(&output));
    let errors = json_errors(&output);
    assert_eq!(
        (
            errors.len(),
            &errors[0]["code"],
            errors[0]["path"].as_str().unwrap()
        ),
        (1, &"io".into(), text(out.path()))
    );
    assert_eq!(names(out.path()), before);
    assert_whole_and_true(out.path());
    set_mode(out.path(), 0o755);
    set_mode(input.path(), 0o755);
    set_mode(&out.path().join("claude-code"), 0o755);
}

#[test]
fn a_log_without_the_right_to_read_is_an_error_and_the_others_are_converted() {
    let Some(mut command) = without_root() else {
        return;
    };
    let (input, out) = (small_sessions(3), tempfile::tempdir().unwrap());
    set_mode(input.path(), 0o755);
    set_mode(out.path(), 0o777);
    files(input.path())
        .iter()
        .for_each(|file| set_mode(file, 0o644));
    set_mode(&input.path().join("1.jsonl"), 0o000);
    let output = command
        .args([
            "ingest",
            "--error-format",
            "json",
            text(input.path()),
            "--out",
            text(out.path()),
        ])
        .output()
        .unwrap();
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let errors: Vec<Value> = json_errors(&output)
        .into_iter()
        .filter(|line| line["code"] == "io")
        .collect();
    assert_eq!(
        (errors.len(), errors[0]["path"].as_str().unwrap()),
        (1, text(&input.path().join("1.jsonl")))
    );
    assert_eq!(
        tapes(out.path()),
        ["claude-code/s0.tape.jsonl", "claude-code/s2.tape.jsonl"]
    );
    let states: Vec<Value> = index(out.path())
        .into_iter()
        .map(|entry| entry["state"].clone())
        .collect();
    assert_eq!(states, ["current", "failed", "current"]);
}

/// Standard input is converted first and does not end before `change` is done: the directory was searched, and nothing in it is read yet.
fn changed_before_it_is_read(input: &Path, out: &Path, change: impl FnOnce()) -> Output {
    let mut command = engram();
    command.args([
        "ingest",
        "--error-format",
        "json",
        "--jobs",
        "1",
        "-",
        text(input),
        "--out",
        text(out),
    ]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // More than a pipe holds: when all is taken, the search is over.
    let log = claude_session("first");
    while_written(&mut stdin, log.as_bytes());
    change();
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn while_written(stdin: &mut impl Write, log: &[u8]) {
    assert!(log.len() > 66_000, "a pipe holds {} bytes", log.len());
    stdin.write_all(log).unwrap();
}

#[test]
fn a_log_that_is_removed_between_search_and_reading_is_an_error() {
    let (input, out) = (small_sessions(2), tempfile::tempdir().unwrap());
    let gone = input.path().join("1.jsonl");
    let output =
        changed_before_it_is_read(input.path(), out.path(), || fs::remove_file(&gone).unwrap());
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let errors: Vec<Value> = json_errors(&output)
        .into_iter()
        .filter(|line| line["code"] == "not_found")
        .collect();
    assert_eq!(
        (errors.len(), errors[0]["path"].as_str().unwrap()),
        (1, text(&gone))
    );
    assert_eq!(
        tapes(out.path()),
        ["claude-code/first.tape.jsonl", "claude-code/s0.tape.jsonl"]
    );
    assert_whole_and_true(out.path());
}

#[test]
fn a_log_that_is_cut_between_search_and_reading_is_read_again_by_the_next_run() {
    let (input, out) = (small_sessions(2), tempfile::tempdir().unwrap());
    let cut = input.path().join("1.jsonl");
    let whole = fs::read_to_string(&cut).unwrap();
    let half: String = whole.split_inclusive('\n').take(6).collect();
    let output =
        changed_before_it_is_read(input.path(), out.path(), || fs::write(&cut, &half).unwrap());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_whole_and_true(out.path());
    fs::write(&cut, &whole).unwrap();
    assert_eq!(
        code(&run(&[
            "ingest",
            text(input.path()),
            "--out",
            text(out.path())
        ])),
        0
    );
    let fresh = tempfile::tempdir().unwrap();
    run(&["ingest", text(&cut), "--out", text(fresh.path())]);
    let tape = |out: &Path| fs::read(out.join("claude-code/s1.tape.jsonl")).unwrap();
    assert_same(&tape(out.path()), &tape(fresh.path()));
    assert_whole_and_true(out.path());
}

/// What can become of a log between the search that found it and the reading of it. Each is an error or a tape, and the next run is as if it
/// had always been so.
#[test]
fn a_log_that_becomes_something_else_between_its_two_reads_is_an_error_or_a_tape() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 5] = [
        ("empty", |log| fs::write(log, "").unwrap()),
        ("another session", |log| {
            fs::write(log, claude_session("other")).unwrap()
        }),
        ("no log", |log| fs::write(log, vec![0xff; 5000]).unwrap()),
        ("a directory", |log| {
            fs::remove_file(log).unwrap();
            fs::create_dir(log).unwrap();
        }),
        ("a link to nothing", |log| {
            fs::remove_file(log).unwrap();
            std::os::unix::fs::symlink("nothing", log).unwrap();
        }),
    ];
    for (name, change) in changes {
        let (input, out) = (small_sessions(3), tempfile::tempdir().unwrap());
        assert_eq!(
            code(&run(&[
                "ingest",
                text(input.path()),
                "--out",
                text(out.path())
            ])),
            0
        );
        let old = fs::read(out.path().join("claude-code/s1.tape.jsonl")).unwrap();
        let log = input.path().join("1.jsonl");
        let grown = fs::read_to_string(&log).unwrap()
            + claude_session("s1").split_inclusive('\n').nth(20).unwrap();
        fs::write(&log, grown).unwrap();
        let output = changed_before_it_is_read(input.path(), out.path(), || change(&log));
        assert!(
            [0, 1].contains(&code(&output)),
            "{name}: {}",
            stderr(&output)
        );
        assert_whole_and_true(out.path());
        assert_same(
            &fs::read(out.path().join("claude-code/s1.tape.jsonl")).unwrap(),
            &old,
        );
        run(&["ingest", text(input.path()), "--out", text(out.path())]);
        assert_whole_and_true(out.path());
        assert_same(
            &fs::read(out.path().join("claude-code/s1.tape.jsonl")).unwrap(),
            &old,
        );
        assert_eq!(leftovers(out.path()), [""; 0], "{name}");
    }
}
