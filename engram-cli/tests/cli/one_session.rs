//! `engram ingest` of one session: to standard output, whole or not at all.

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;

use super::*;

#[test]
fn the_tape_goes_to_standard_output_and_the_summary_does_not() {
    let output = run(&["ingest", text(&claude_file())]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_checked(&output.stdout);
    let summary = stderr(&output);
    assert_eq!(summary.lines().count(), 1, "{summary}");
    for word in [
        CLAUDE_ID,
        "claude-code 2.1.329",
        "events",
        "msg.in",
        "coverage",
        "omitted",
    ] {
        assert!(summary.contains(word), "{word} in {summary}");
    }
}

#[test]
fn quiet_says_nothing() {
    let output = run(&["ingest", "--quiet", text(&claude_file())]);
    assert_eq!((code(&output), stderr(&output)), (0, String::new()));
}

#[test]
fn standard_input_gives_the_same_tape_as_the_file() {
    let file = only_file(&fixture(CODEX), ".jsonl");
    let from_file = run(&["ingest", text(&file)]);
    let from_stdin = run_with_input(&["ingest", "-"], &fs::read(file).unwrap());
    assert_eq!(code(&from_stdin), 0);
    assert_same(&from_file.stdout, &from_stdin.stdout);
}

#[test]
fn compressed_input_gives_the_tape_of_what_it_holds() {
    let file = claude_file();
    let frame = zstd::encode_all(fs::File::open(&file).unwrap(), 0).unwrap();
    let directory = tempfile::tempdir().unwrap();
    // The name says nothing: the content does.
    let compressed = directory.path().join("session.log");
    fs::write(&compressed, &frame).unwrap();
    let plain = run(&["ingest", text(&file)]).stdout;
    assert_same(&run(&["ingest", text(&compressed)]).stdout, &plain);
    assert_same(&run_with_input(&["ingest", "-"], &frame).stdout, &plain);
}

#[test]
fn a_text_transcript_gives_one_tape_however_it_is_saved() {
    let directory = fixture("cursor/sdk-1.0.32/legacy_text").join("agent-transcripts");
    let original =
        fs::read_to_string(directory.join("0339e525-4ff5-4e05-a2e3-5b54a309ab7a.txt")).unwrap();
    let (out, saved) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = |name: &str| saved.path().join(name);
    fs::write(path("plain.txt"), &original).unwrap();
    let plain = run(&["ingest", text(&path("plain.txt"))]);
    assert_eq!(code(&plain), 0, "{}", stderr(&plain));
    let windows = format!("\u{feff}{}", original.replace('\n', "\r\n"));
    fs::write(path("windows.txt"), &windows).unwrap();
    fs::write(
        path("packed.txt.zst"),
        zstd::encode_all(original.as_bytes(), 0).unwrap(),
    )
    .unwrap();
    for name in ["windows.txt", "packed.txt.zst"] {
        assert_same(&run(&["ingest", text(&path(name))]).stdout, &plain.stdout);
    }
    for bytes in [
        original.as_bytes(),
        windows.as_bytes(),
        &fs::read(path("packed.txt.zst")).unwrap(),
    ] {
        assert_same(
            &run_with_input(&["ingest", "-"], bytes).stdout,
            &plain.stdout,
        );
    }
    assert_eq!(
        code(&run(&[
            "ingest",
            text(saved.path()),
            "--out",
            text(out.path())
        ])),
        0
    );
    assert_eq!(index(out.path()).len(), 3);
}

#[test]
fn a_compressed_tape_is_the_same_tape() {
    let file = claude_file();
    let plain = run(&["ingest", text(&file)]).stdout;
    let compressed = run(&["ingest", "--zstd", text(&file)]).stdout;
    assert_same(&zstd::decode_all(&compressed[..]).unwrap(), &plain);
    assert_checked(&compressed);
}

#[test]
fn a_path_given_twice_is_one_session() {
    let file = claude_file();
    let twice = run(&["ingest", text(&file), text(&file)]);
    assert_eq!(code(&twice), 0, "{}", stderr(&twice));
    assert_same(&twice.stdout, &run(&["ingest", text(&file)]).stdout);
}

#[test]
fn a_named_adapter_is_asked_even_if_the_content_does_not_show_it() {
    let chosen = run(&["ingest", "--adapter", "claude-code", text(&claude_file())]);
    assert_same(
        &chosen.stdout,
        &run(&["ingest", text(&claude_file())]).stdout,
    );
    let forced = run_with_input(
        &["ingest", "--adapter", "codex", "-"],
        b"{\"strange\":true}\n",
    );
    assert_eq!(code(&forced), 0);
    assert!(stderr(&forced).contains("warning"), "{}", stderr(&forced));
    assert_checked(&forced.stdout);
}

#[test]
fn one_session_goes_to_a_directory_if_there_is_one() {
    let out = tempfile::tempdir().unwrap();
    let output = run(&["ingest", text(&claude_file()), "--out", text(out.path())]);
    assert_eq!((code(&output), output.stdout.len()), (0, 0));
    assert_eq!(
        tapes(out.path()),
        [format!("claude-code/{CLAUDE_ID}.tape.jsonl")]
    );
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let mut child = engram()
        .args(["ingest", text(&claude_file())])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 16];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0);
    assert!(!stderr(&output).contains("error"), "{}", stderr(&output));
}

#[test]
fn what_is_written_while_it_is_read_waits_for_the_next_time() {
    // A pipe has no length, so all of it is read, however slowly it comes.
    let whole = fs::read(claude_file()).unwrap();
    let (first, rest) = whole.split_at(whole.len() / 2);
    let mut child = engram()
        .args(["ingest", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let (first, rest) = (first.to_owned(), rest.to_owned());
    let feeder = std::thread::spawn(move || {
        stdin.write_all(&first).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        stdin.write_all(&rest).unwrap();
    });
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    assert_same(
        &output.stdout,
        &run(&["ingest", text(&claude_file())]).stdout,
    );
}
