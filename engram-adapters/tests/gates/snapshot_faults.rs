//! Every fault of a snapshot is a finding: changed, missing, damaged, or without a fixture. `insta` reads its settings from the
//! environment, so each comparison runs in a process of its own.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::snapshots::{TEXT_BYTES, compare_tape, files_of_tape, orphans, remove_or_report};
use crate::tree::{files, root};

/// The environment variable that names the directory for [`comparison_of_a_child`].
const CHILD: &str = "ENGRAM_SNAPSHOTS_CHILD";
/// Begins a line that a child prints.
const MARK: &str = "finding: ";
/// The only tape of these tests.
const NAME: &str = "harness/1.0.0/main/session.jsonl";
/// Variables from which `insta` would take other settings.
const SETTINGS: [&str; 7] = [
    "CI",
    "INSTA_UPDATE",
    "INSTA_FORCE_PASS",
    "INSTA_OUTPUT",
    "INSTA_PENDING_DIR",
    "INSTA_SNAPSHOT_REFERENCES_FILE",
    "INSTA_REQUIRE_FULL_MATCH",
];

#[test]
#[ignore = "the other tests run it in its own process"]
fn comparison_of_a_child() {
    let directory = PathBuf::from(std::env::var_os(CHILD).expect("the parent sets it"));
    let tape = fs::read_to_string(directory.join("tape.jsonl")).expect("the parent wrote it");
    let snapshots = directory.join("snapshots");
    let needed = files_of_tape(&snapshots, NAME, &tape)
        .into_iter()
        .collect::<BTreeSet<_>>();
    let mut findings = compare_tape(&snapshots, NAME, &tape);
    findings.extend(remove_or_report(&orphans(&snapshots, &needed)));
    for finding in findings {
        println!("\n{MARK}{}", finding.replace('\n', " "));
    }
}

/// A directory with a tape and its accepted snapshots.
struct Accepted {
    directory: TempDir,
    tape: String,
}

impl Accepted {
    fn of(tape: &str) -> Accepted {
        let accepted = Accepted {
            directory: tempfile::tempdir().expect("temporary directories can be made"),
            tape: tape.to_owned(),
        };
        assert_eq!(
            accepted.findings(tape, &[("INSTA_UPDATE", "always")]),
            Vec::<String>::new()
        );
        assert_eq!(
            accepted.findings(tape, &[("INSTA_UPDATE", "no")]),
            Vec::<String>::new(),
            "an accepted tape has no findings"
        );
        accepted
    }

    fn snapshots(&self) -> PathBuf {
        self.directory.path().join("snapshots")
    }

    /// The file whose name begins with `start` and ends with `end`.
    fn file(&self, start: &str, end: &str) -> PathBuf {
        let matches = |path: &PathBuf| {
            path.file_name().is_some_and(|name| {
                let name = name.to_string_lossy();
                name.starts_with(start) && name.ends_with(end)
            })
        };
        files(&self.snapshots())
            .into_iter()
            .find(matches)
            .expect("the snapshots have it")
    }

    /// The findings if the tape is replaced by another one.
    fn findings(&self, tape: &str, variables: &[(&str, &str)]) -> Vec<String> {
        fs::write(self.directory.path().join("tape.jsonl"), tape)
            .expect("a temporary directory takes files");
        let mut child = Command::new(std::env::current_exe().expect("a test knows its program"));
        child.args([
            "--exact",
            "snapshot_faults::comparison_of_a_child",
            "--ignored",
            "--nocapture",
        ]);
        SETTINGS.iter().for_each(|name| {
            child.env_remove(name);
        });
        child
            .env("INSTA_WORKSPACE_ROOT", root())
            .env(CHILD, self.directory.path())
            .envs(variables.iter().copied());
        let output = child.output().expect("a test can start itself");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        text.lines()
            .filter_map(|line| Some(line.strip_prefix(MARK)?.to_owned()))
            .collect()
    }

    /// As `findings`, with `INSTA_UPDATE=no`. Checks that nothing is written.
    fn findings_without_update(&self, tape: &str) -> Vec<String> {
        let before = contents(&self.snapshots());
        let findings = self.findings(tape, &[("INSTA_UPDATE", "no")]);
        assert!(
            before == contents(&self.snapshots()),
            "INSTA_UPDATE=no writes nothing"
        );
        findings
    }
}

fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    files(directory)
        .into_iter()
        .map(|path| (path.clone(), fs::read(&path).expect("it was listed")))
        .collect()
}

/// A tape with one message, by a version of an adapter.
fn by_version(version: &str, message: &str) -> String {
    format!(
        "{{\"seq\":0,\"k\":\"meta\",\"adapter\":{{\"id\":\"toy\",\"version\":\"{version}\"}}}}\n{{\"seq\":1,\"text\":\"{message}\"}}\n"
    )
}

#[test]
fn another_tape_by_the_same_version_of_the_adapter_is_refused() {
    let long = "a long message ".repeat(TEXT_BYTES / 10);
    for message in ["hello", &long] {
        let accepted = Accepted::of(&by_version("1", message));
        let before = contents(&accepted.snapshots());
        let findings = accepted.findings(&by_version("1", "bye"), &[("INSTA_UPDATE", "always")]);
        assert!(
            findings.len() == 1 && findings[0].contains("another tape by toy 1"),
            "{findings:?}"
        );
        assert!(
            before == contents(&accepted.snapshots()),
            "nothing is accepted"
        );
        let findings = accepted.findings(&by_version("2", "bye"), &[("INSTA_UPDATE", "always")]);
        assert_eq!(findings, Vec::<String>::new());
    }
}

fn small() -> String {
    "{\"seq\":0,\"k\":\"meta\"}\n{\"seq\":1,\"k\":\"msg.in\",\"text\":\"hello\"}\n".to_owned()
}

/// A tape whose snapshot is compressed.
fn big() -> String {
    format!(
        "{}{{\"seq\":2,\"k\":\"msg.out\",\"text\":\"{}\"}}\n",
        small(),
        "words ".repeat(TEXT_BYTES / 6)
    )
}

/// The number of findings that contain a text.
fn about(findings: &[String], text: &str) -> usize {
    findings
        .iter()
        .filter(|finding| finding.contains(text))
        .count()
}

#[test]
fn changed_byte_is_a_finding() {
    let accepted = Accepted::of(&small());
    let findings = accepted.findings_without_update(&small().replace("hello", "hallo"));
    assert_eq!(
        (findings.len(), about(&findings, "other content")),
        (1, 1),
        "{findings:?}"
    );
}

#[test]
fn changed_line_ends_are_a_finding() {
    let accepted = Accepted::of(&small());
    for changed in [
        small().replace('\n', "\r\n"),
        small().trim_end().to_owned(),
        small() + "\n",
    ] {
        let findings = accepted.findings_without_update(&changed);
        assert_eq!(
            (findings.len(), about(&findings, "line ends")),
            (1, 1),
            "{changed:?} {findings:?}"
        );
    }
    let path = accepted.file("tape@", ".snap");
    let text = fs::read_to_string(&path).expect("it was listed");
    fs::write(&path, text + "\n").expect("a temporary directory takes files");
    assert_eq!(
        about(
            &accepted.findings_without_update(&accepted.tape),
            "line ends"
        ),
        1
    );
}

#[test]
fn changed_byte_of_a_big_tape_is_a_finding_in_both_forms() {
    let accepted = Accepted::of(&big());
    let (before, end) = accepted.tape.split_at(accepted.tape.len() - 10);
    let findings = accepted.findings_without_update(&format!("{before}{}", end.replace('w', "W")));
    assert_eq!(
        (
            findings.len(),
            about(&findings, "tape@"),
            about(&findings, "excerpt@")
        ),
        (2, 1, 1),
        "{findings:?}"
    );
}

#[test]
fn missing_snapshot_is_a_finding() {
    for (tape, start, end) in [
        (small(), "tape@", ".snap"),
        (big(), "tape@", ".snap"),
        (big(), "tape@", ".zst"),
        (big(), "excerpt@", ".snap"),
    ] {
        let accepted = Accepted::of(&tape);
        fs::remove_file(accepted.file(start, end)).expect("it was listed");
        let findings = accepted.findings_without_update(&tape);
        assert_eq!(
            (findings.len(), about(&findings, start)),
            (1, 1),
            "{start}{end}: {findings:?}"
        );
    }
}

#[test]
fn damaged_compressed_bytes_are_a_finding_but_another_compression_level_is_not() {
    let accepted = Accepted::of(&big());
    let path = accepted.file("tape@", ".zst");
    let another =
        zstd::bulk::compress(accepted.tape.as_bytes(), 1).expect("memory can be compressed");
    assert_ne!(another, fs::read(&path).expect("it was listed"));
    fs::write(&path, &another).expect("a temporary directory takes files");
    assert!(accepted.findings_without_update(&accepted.tape).is_empty());
    for damaged in [
        another[..another.len() - 1].to_vec(),
        [another.as_slice(), b"\n"].concat(),
        Vec::new(),
    ] {
        fs::write(&path, damaged).expect("a temporary directory takes files");
        assert_eq!(
            about(&accepted.findings_without_update(&accepted.tape), "tape@"),
            1
        );
    }
}

#[test]
fn orphan_snapshot_is_a_finding_until_all_are_rewritten() {
    let accepted = Accepted::of(&big());
    let findings = accepted.findings_without_update(&small());
    assert_eq!(
        about(&findings, "belongs to no fixture"),
        2,
        "the compressed form and the excerpt: {findings:?}"
    );
    assert!(
        accepted
            .findings(&small(), &[("INSTA_UPDATE", "always")])
            .is_empty()
    );
    assert_eq!(files(&accepted.snapshots()).len(), 1);

    let stray = accepted
        .snapshots()
        .join("harness/1.0.0/removed/tape@session.jsonl.snap");
    fs::create_dir_all(stray.parent().expect("it is in a directory"))
        .expect("a temporary directory takes directories");
    fs::write(stray.with_extension("snap.new"), "").expect("a temporary directory takes files");
    fs::write(stray, "").expect("a temporary directory takes files");
    assert_eq!(
        about(
            &accepted.findings_without_update(&small()),
            "belongs to no fixture"
        ),
        2
    );
}

#[test]
fn nothing_is_written_with_ci_set() {
    let accepted = Accepted::of(&big());
    let before = contents(&accepted.snapshots());
    assert_eq!(
        accepted
            .findings(&big().replace("hello", "hallo"), &[("CI", "true")])
            .len(),
        2
    );
    assert!(before == contents(&accepted.snapshots()));
}

#[test]
fn change_pending_review_is_no_orphan() {
    for tape in [small(), big()] {
        let accepted = Accepted::of(&tape);
        let before = contents(&accepted.snapshots());
        let review = [("INSTA_UPDATE", "new"), ("INSTA_FORCE_PASS", "1")];
        assert!(
            accepted
                .findings(&tape.replace("hello", "hallo"), &review)
                .is_empty(),
            "`cargo insta test` lets it pass"
        );
        let after = contents(&accepted.snapshots());
        assert!(
            before.iter().all(|file| after.contains(file)),
            "the accepted snapshots are unchanged"
        );
        assert!(after.len() > before.len(), "the changed ones are added");
        assert_eq!(accepted.findings(&tape, &[]), Vec::<String>::new());
        assert!(
            before == contents(&accepted.snapshots()),
            "the tape is as it was, so no review is pending any more"
        );
    }
}
