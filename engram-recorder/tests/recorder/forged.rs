//! Forged episodes: each hash and each sum is made again, so only what log, run, profile and receipt say can tell.

use std::fs;
use std::path::{Path, PathBuf};

use engram_profiles::{canonical, hash};
use engram_recorder::episode::{checks, journal, verify};
use engram_recorder::error::Fault;
use serde_json::{Value, json};

use super::episode::{WORK, profile, reader, run};

/// An episode that is changed and then made whole again, as far as hashes go.
struct Forged {
    out: PathBuf,
    lines: Vec<Value>,
}

impl Forged {
    fn copy(from: &Path, out: PathBuf) -> Forged {
        for path in engram_conformance::files(from) {
            let to = out.join(path.strip_prefix(from).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(&path, to).unwrap();
        }
        let ledger = fs::read_to_string(out.join(journal::LEDGER)).unwrap();
        let lines = ledger
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        Forged { out, lines }
    }

    /// The body of the `nth` line of this kind.
    fn body(&mut self, kind: &str, nth: usize) -> &mut Value {
        let line = self.lines.iter_mut().filter(|line| line["kind"] == kind);
        &mut line.into_iter().nth(nth).unwrap()["body"]
    }

    /// Puts other bytes in the place of an object that the end of the ledger names.
    fn object(&mut self, member: &str, file: &str, bytes: &[u8]) {
        let end = self.body("EpisodeEnded", 0);
        let old = std::mem::replace(&mut end[member], json!(hash::of_bytes(bytes)));
        fs::remove_file(journal::object(&self.out, old.as_str().unwrap())).unwrap();
        journal::keep(&self.out, bytes).unwrap();
        fs::write(self.out.join(file), bytes).unwrap();
    }

    fn log(&mut self, from: &str, to: &str) {
        let before = fs::read_to_string(self.out.join(journal::LOG)).unwrap();
        assert!(before.contains(from), "{from}");
        let after = before.replace(from, to);
        self.object("log_hash", journal::LOG, after.as_bytes());
        let [old, new] = [before, after].map(|log| checks::tape(log.as_bytes()).unwrap());
        fs::remove_file(journal::object(&self.out, &hash::of_bytes(&old))).unwrap();
        journal::keep(&self.out, &new).unwrap();
        fs::write(self.out.join(journal::TAPE), new).unwrap();
    }

    fn run(&mut self, member: &str, value: Value) {
        let text = fs::read(self.out.join(journal::RUN)).unwrap();
        let mut run: Value = serde_json::from_slice(&text).unwrap();
        run[member] = value;
        self.object("run_hash", journal::RUN, &canonical::to_vec(&run).unwrap());
    }

    /// A receipt in the place of the review, with these verdicts for P8.
    fn receipt(&mut self, p8: &str) {
        let tape = fs::read(self.out.join(journal::TAPE)).unwrap();
        let mut checks: serde_json::Map<String, Value> = (1..=10)
            .map(|number| (format!("P{number}"), json!("passed")))
            .collect();
        checks["P8"] = json!(p8);
        let index = self.body("EpisodeEnded", 0)["tool_log_index_hash"].clone();
        let last = self.lines.last_mut().unwrap();
        last["kind"] = json!("ReviewReceiptRecorded");
        last["body"] = json!({
            "checks": checks, "egress": "unknown", "episode_hash": "", "profile_hash": last["adapter_profile_hash"],
            "tape_hash": hash::of_bytes(&tape), "tool_log_index_hash": index, "version": "0.1.0",
        });
    }

    /// Chains the ledger and makes the sums. Returns what a verification says.
    fn said(mut self) -> Result<(), String> {
        let (mut prev, mut text) = ("0".repeat(64), Vec::new());
        for (seq, line) in self.lines.iter_mut().enumerate() {
            (line["seq"], line["prev"]) = (json!(seq), json!(prev));
            if line["kind"] == "ReviewReceiptRecorded" {
                line["body"]["episode_hash"] = json!(prev);
            }
            let bytes = canonical::to_vec(line).unwrap();
            prev = blake3::hash(&bytes).to_hex().to_string();
            text.extend_from_slice(&bytes);
            text.push(b'\n');
        }
        fs::write(self.out.join(journal::LEDGER), text).unwrap();
        let sums = self.out.join(journal::SUMS);
        fs::write(sums, journal::sums(&self.out).unwrap()).unwrap();
        match verify(&self.out) {
            Ok(_) => Ok(()),
            Err(error) if error.fault == Fault::Violation => Err(error.what),
            Err(error) => panic!("{error:?}"),
        }
    }
}

type Forgery = (&'static str, fn(&mut Forged));

/// What is forged, and what a verification says of it.
const FORGERIES: &[Forgery] = &[
    ("the decision on r1", |it| {
        it.body("ToolDecided", 0)["policy_snapshot"]["calls_left"] = json!(1000);
    }),
    ("the decision on r2", |it| {
        it.body("ToolDecided", 1)["policy_snapshot"]["tier"] = json!("full");
    }),
    ("the decision on r1", |it| it.run("tier", json!("observe"))),
    ("what ran is not", |it| it.run("egress", json!("refused"))),
    ("the time of line 6", |it| {
        it.lines[5]["t"] = json!("1999-01-01T00:00:00.000Z");
    }),
    ("the time of line 6", |it| {
        it.lines[5]["t"] = json!("yesterday")
    }),
    ("the time of line 1", |it| {
        it.run("times", json!("left_out"))
    }),
    ("its decisions are not", |it| {
        it.log(r#""decision":"deny""#, r#""decision":"allow""#);
    }),
    ("the answer to r1", |it| {
        it.log("notes.txt\\n", "other.txt\\n")
    }),
    ("its requests are not", |it| {
        it.log(" r3 shell ", " r3 shall ")
    }),
    ("its header is not that of the profile", |it| {
        it.log(r#""max_requests":64"#, r#""max_requests":640"#);
    }),
    ("its end is not", |it| {
        it.log(r#""status":"completed""#, r#""status":"stopped""#);
    }),
    ("the receipt is not", |it| it.receipt("passed")),
    ("the receipt is not", |it| {
        it.run("left_running", json!([]));
        it.run("reason", json!("ADAPTER_PROTOCOL_VIOLATION/stop"));
        it.receipt("skipped");
    }),
    ("the receipt is not", |it| {
        it.run("denials_unseen", json!(0));
        it.run("denials_unheard", json!(1));
        it.receipt("skipped");
    }),
];

#[test]
fn forged_episode_is_refused_though_every_hash_is_right() {
    let directory = tempfile::tempdir().unwrap();
    let (_, out) = run(
        &directory,
        &profile(|_| {}),
        &reader(directory.path(), WORK),
    );
    let forged = |number: usize| Forged::copy(&out, directory.path().join(number.to_string()));
    assert_eq!(forged(100).said(), Ok(()), "nothing is forged");
    let mut with_receipt = forged(101);
    with_receipt.receipt("skipped");
    assert_eq!(
        with_receipt.said(),
        Ok(()),
        "the evidence is that of a receipt"
    );
    for (number, (expected, forge)) in FORGERIES.iter().enumerate() {
        let mut it = forged(number);
        forge(&mut it);
        let said = it.said().expect_err(expected);
        assert!(said.contains(expected), "{number}, {expected}: {said}");
    }
}

#[test]
fn sums_that_name_another_file_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (_, out) = run(
        &directory,
        &profile(|_| {}),
        &reader(directory.path(), WORK),
    );
    let sums = out.join(journal::SUMS);
    let text = fs::read_to_string(&sums).unwrap();
    fs::write(&sums, format!("{text}{}  ../other\n", "0".repeat(64))).unwrap();
    let said = verify(&out).unwrap_err();
    assert!(
        said.what.contains("../other: there is no such file"),
        "{said:?}"
    );
    fs::write(&sums, text).unwrap();
    fs::remove_file(out.join(journal::LOG)).unwrap();
    assert!(verify(&out).is_ok(), "a copy may be missing");
}
