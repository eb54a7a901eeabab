//! Peak memory of a run: at most three times its largest record, plus 64 MiB.
#![cfg(target_os = "linux")]

use std::io::Read;

use tempfile::NamedTempFile;

use super::*;

/// The size of the large text: more than the memory that a run may take besides it and does not, so that a further copy exceeds the bound.
const TEXT_BYTES: usize = 48 << 20;
/// The memory that a run may take besides the record.
const BASE_KIB: usize = 64 << 10;

/// Parts of a text: with canonical escapes, and with others, which are as long.
const PIECES: [&str; 2] = [
    r"line of text \n\t\u001f x ",
    r"line of text \u000A \u001F ",
];

/// Where fixtures get a large text: the fixture, the ending of the file, and what is directly before each large text.
const PLACES: &[(&str, &str, &[&str])] = &[
    (CLAUDE, ".jsonl", &[r#""stdout":""#]),
    (CLAUDE, ".jsonl", &[r#""role":"user","content":""#]),
    // A prompt behind a rewind waits for the next line.
    (
        "claude-code/2.1.329/n_tui2",
        "4f975b10-b26a-4b20-83ac-96113e244e93.jsonl",
        &[r#""content":"LAB tui after rewind"#],
    ),
    // Arguments of a call that has no result yet.
    (CLAUDE, ".jsonl", &[r#""old_string":""#]),
    (
        SUB_AGENTS,
        "69a38eaa-79ad-4865-bd62-78e0d1276315.jsonl",
        &[r#""prompt":""#],
    ),
    (
        "opencode/1.3.2/main",
        "export/ses_e0262ac77ffe1739GenJMa6wLZ.json",
        &[r#""output": ""#],
    ),
    // A message and the event that repeats it.
    (
        "codex/0.125.0/main",
        ".jsonl",
        &[r#""text":"Please do"#, r#""message":"Please do"#],
    ),
    ("gemini/0.61.0/a_qa", ".jsonl", &[r#""text":"LAB what"#]),
];

/// A log in which a text of many pieces follows each of these marks.
fn with_large_text(log: &Path, marks: &[&str], piece: &str) -> NamedTempFile {
    let large = piece.repeat(TEXT_BYTES / piece.len());
    let mut file = NamedTempFile::new().unwrap();
    let mut rest = fs::read_to_string(log).unwrap();
    for mark in marks {
        let at = rest
            .find(mark)
            .unwrap_or_else(|| panic!("{} has no {mark}", log.display()))
            + mark.len();
        let after = rest.split_off(at);
        file.write_all(rest.as_bytes()).unwrap();
        file.write_all(large.as_bytes()).unwrap();
        rest = after;
    }
    file.write_all(rest.as_bytes()).unwrap();
    file
}

/// The peak of the memory of a run, when the complete tape is about to be written.
fn peak_kib(log: &Path) -> usize {
    let mut run = engram()
        .args(["ingest", text(log)])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut tape = run.stdout.take().unwrap();
    // The tape is longer than what a pipe holds, so the process is still there.
    tape.read_exact(&mut [0]).unwrap();
    let mut peak = 0;
    let mut chunk = vec![0; 1 << 20];
    // The peak is reached while the tape is written, if the log has several large records.
    while {
        let status = fs::read_to_string(format!("/proc/{}/status", run.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak = line.map_or(peak, |kib| {
            kib.trim().trim_end_matches(" kB").parse().unwrap()
        });
        tape.read(&mut chunk).unwrap() > 0
    } {}
    assert!(run.wait().unwrap().success());
    peak
}

/// Checks the bound for a log whose largest record has this size.
fn check_bound(log: &Path, record_bytes: usize, what: &str) {
    let bound = record_bytes / 1024 * 3 + BASE_KIB;
    let peak = peak_kib(log);
    assert!(peak < bound, "{what}: {peak} KiB of {bound} KiB");
}

#[test]
fn a_large_record_is_in_memory_once() {
    for (name, ending, marks) in PLACES {
        let log = only_file(&fixture(name), ending);
        for piece in PIECES {
            check_bound(
                with_large_text(&log, marks, piece).path(),
                TEXT_BYTES,
                &format!("{name}, {marks:?}, {piece}"),
            );
        }
    }
}

#[test]
fn records_that_wait_are_bounded_together() {
    const TITLES: usize = 40;
    const TITLE_BYTES: usize = 6 << 20;
    let mut log = NamedTempFile::new().unwrap();
    log.write_all(fs::read_to_string(claude_file()).unwrap().as_bytes())
        .unwrap();
    for n in 0..TITLES {
        let title = format!("{n} ").repeat(TITLE_BYTES / 3);
        writeln!(log, r#"{{"type":"summary","summary":"{title}","leafUuid":"00000000-0000-4000-8000-{n:012}"}}"#).unwrap();
    }
    check_bound(log.path(), TITLE_BYTES, "titles of other sessions");
}
