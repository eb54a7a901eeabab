//! Peak memory of a run: at most 1.5 times its largest record, plus 64 MiB.
#![cfg(target_os = "linux")]

use std::io::Read;

use tempfile::NamedTempFile;

use super::*;

/// The size of the large text: a second copy of it exceeds the bound.
const TEXT_BYTES: usize = 144 << 20;
/// The memory that a run may take besides the record.
const BASE_KIB: usize = 64 << 10;

/// Parts of a text: with canonical escapes, and with others, which are as long.
const PIECES: [&str; 2] = [r"line of text \n\t\u001f x ", r"line of text \u000A \u001F "];

/// A fixture in which a text of many pieces has replaced the place that `mark` names.
fn with_large_text(log: &Path, mark: &str, piece: &str) -> NamedTempFile {
    let text = fs::read_to_string(log).unwrap();
    let (before, after) = text.split_once(mark).unwrap();
    let mut file = NamedTempFile::new().unwrap();
    let large = piece.repeat(TEXT_BYTES / piece.len());
    for part in [before, mark, large.as_str(), after] {
        file.write_all(part.as_bytes()).unwrap();
    }
    file
}

/// The peak of the memory of a run, when the complete tape is about to be written.
fn peak_kib(log: &Path) -> usize {
    let mut run = engram().args(["ingest", text(log)]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut tape = run.stdout.take().unwrap();
    // The tape is longer than what a pipe holds, so the process is still there.
    tape.read_exact(&mut [0]).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", run.id())).unwrap();
    std::io::copy(&mut tape, &mut std::io::sink()).unwrap();
    assert!(run.wait().unwrap().success());
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_large_record_is_in_memory_once() {
    let opencode = only_file(&fixture("opencode/1.3.2/main").join("export"), ".json");
    for (log, mark) in [(claude_file(), r#""stdout":""#), (opencode, r#""output": ""#)] {
        for piece in PIECES {
            let large = with_large_text(&log, mark, piece);
            let bound = large.path().metadata().unwrap().len() as usize / 1024 * 3 / 2 + BASE_KIB;
            let peak = peak_kib(large.path());
            assert!(peak < bound, "{}, {piece}: {peak} KiB of {bound} KiB", log.display());
        }
    }
}
