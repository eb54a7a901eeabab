//! Agents that attack the driver: the files that it opens, the processes that it ends, the episode that it writes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::Duration;

use engram_profiles::episode::EndStatus;
use engram_profiles::ledger::{self, Entry};
use engram_profiles::receipt::{Egress, ReviewReceipt, Verdict};
use engram_profiles::{ProfileHash, hash};
use engram_recorder::episode::evidence::Run;
use engram_recorder::episode::{Review, Times, journal, verify};
use engram_recorder::process::End;
use engram_recorder::stop::Stop;
use engram_recorder::{isolation, probe};

use super::episode::{
    DONE, agent, entries, holds, profile, reader, reason, run, run_until, run_with,
};

/// Asks once, and does something on the way.
fn asks(first: &str, then: &str) -> String {
    format!(
        "case \"$p\" in *'r1 '*) {then}; {DONE};; *) {first}; ask r1 list '{{\"path\":\".\"}}';; esac"
    )
}

/// Whether a process with this word in its command line goes on.
fn goes_on(word: &str) -> bool {
    let is_alive = |process: fs::DirEntry| {
        fs::read(process.path().join("cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(word))
    };
    fs::read_dir("/proc").unwrap().flatten().any(is_alive)
}

#[test]
fn nothing_outside_of_the_sandbox_is_touched() {
    for first in [
        "ln \"$OUTSIDE/victim\" h; ask r2 write '{\"path\":\"h\",\"text\":\"evil\"}'; ask r3 read '{\"path\":\"h\"}'",
        "mv \"$HOME/proj\" \"$HOME/moved\"; ln -s \"$OUTSIDE\" \"$HOME/proj\"; ask r2 write '{\"path\":\"victim\",\"text\":\"evil\"}'",
        "ln -s \"$OUTSIDE/victim\" \"$HOME/../run1.err\"",
        "ln -s \"$OUTSIDE/victim\" \"$HOME/../episode/tape.jsonl\"; ln -s \"$OUTSIDE/victim\" \"$HOME/../episode/sums.txt\"",
        "ln -s \"$OUTSIDE/victim\" \"$HOME/../episode/run.json\"",
        "mv \"$HOME/../episode\" \"$HOME/../other\"; ln -s \"$OUTSIDE\" \"$HOME/../episode\"",
        "mv \"$HOME/../episode/cas\" \"$HOME/../episode/other\"; ln -s \"$OUTSIDE\" \"$HOME/../episode/cas\"",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let outside = directory.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("victim"), "whole").unwrap();
        let body = asks(first, ":").replace("$OUTSIDE", outside.to_str().unwrap());
        let (_, out) = run(
            &directory,
            &profile(|_| {}),
            &reader(directory.path(), &body),
        );
        assert_eq!(
            fs::read_to_string(outside.join("victim")).unwrap(),
            "whole",
            "{first}"
        );
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "{first}");
        let kept = engram_conformance::files(&out).iter().any(|path| {
            fs::read(path)
                .unwrap()
                .windows(5)
                .any(|text| text == b"whole")
        });
        assert!(!kept, "{first}");
    }
}

#[test]
fn what_is_put_under_the_name_of_a_file_of_the_driver_is_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        symlink(".", directory.path().join(name)).unwrap();
    }
    assert_eq!(
        engram_conformance::files(directory.path()),
        Vec::<PathBuf>::new(),
        "links to directories are no way"
    );
    let pipe = asks("mkfifo \"$HOME/../run1.err\"", ":");
    assert_eq!(
        reason(&format!("p=$(cat); nonce \"$p\"; {pipe}"), |_| {}),
        "ADAPTER_MISCONFIGURED/start"
    );
    let sparse = asks(
        "truncate -s 1T big; ask r2 read '{\"path\":\"big\"}'; mkfifo pipe; ask r3 read '{\"path\":\"pipe\"}'",
        ":",
    );
    let directory = tempfile::tempdir().unwrap();
    holds(
        &run(
            &directory,
            &profile(|_| {}),
            &reader(directory.path(), &sparse),
        )
        .0,
    );
}

#[test]
fn log_and_ledger_that_the_agent_changes_have_no_receipt() {
    for (file, from, to) in [
        ("episode.jsonl", "preamble", "preambl3"),
        ("ledger.jsonl", "r1", "r2"),
    ] {
        let edit = format!(
            "f=\"$HOME/../episode/{file}\"; t=$(sed 's/{from}/{to}/' \"$f\"; echo x); printf '%s' \"${{t%x}}\" 1<>\"$f\""
        );
        let body = format!("p=$(cat); nonce \"$p\"; {}", asks(":", &edit));
        assert_eq!(
            reason(&body, |_| {}),
            "ADAPTER_PROTOCOL_VIOLATION/receipt",
            "{file}"
        );
    }
    let large = asks(":", "truncate -s 300M \"$HOME/../episode/cas/large\"");
    let directory = tempfile::tempdir().unwrap();
    let exe = reader(directory.path(), &large);
    let (report, _) = run(&directory, &profile(|_| {}), &exe);
    assert!(
        format!("{report:?}").contains("cas/large: more than"),
        "{report:?}"
    );
    let body = format!(
        "p=$(cat); nonce \"$p\"; {}",
        asks(":", "rm -rf \"$HOME/../episode\"")
    );
    assert_eq!(reason(&body, |_| {}), "ADAPTER_MISCONFIGURED/start");
}

/// The episode of an honest run is whole. Another run puts it in the place of its own, which has a request more.
#[test]
fn another_whole_episode_in_the_place_of_the_own_one_has_no_receipt() {
    let directory = tempfile::tempdir().unwrap();
    let (profile, forged) = (profile(|_| {}), directory.path().join("forged"));
    let honest = reader(directory.path(), &asks(":", ":"));
    holds(&run_with(&forged, &profile, &honest, Times::LeftOut));
    let ledger = fs::read_to_string(forged.join(journal::LEDGER)).unwrap();
    let (driven, _) = ledger.trim_end().rsplit_once('\n').unwrap();
    fs::write(forged.join(journal::LEDGER), format!("{driven}\n")).unwrap();
    for name in [journal::SUMS, journal::TAPE] {
        fs::remove_file(forged.join(name)).unwrap();
    }
    let swap = format!(
        "mv \"$HOME/../episode\" \"$HOME/../real\"; cp -r {} \"$HOME/../episode\"",
        forged.display()
    );
    let liar = format!(
        "case \"$p\" in *'r2 '*) {swap}; {DONE};; *'r1 '*) ask r2 write '{{\"path\":\"a\",\"text\":\"b\"}}';; *) ask r1 list '{{\"path\":\".\"}}';; esac"
    );
    let out = directory.path().join("out");
    let exe = reader(directory.path(), &liar);
    let report = run_with(&out, &profile, &exe, Times::LeftOut);
    assert_eq!(
        report.reason.as_deref(),
        Some("ADAPTER_PROTOCOL_VIOLATION/receipt"),
        "{report:?}"
    );
}

#[test]
fn process_that_leaves_group_and_environment_is_ended() {
    let directory = tempfile::tempdir().unwrap();
    let body = asks(
        ":",
        "setsid env -i sleep 71.25 > /dev/null 2>&1 & sleep 0.3",
    );
    let (report, out) = run(
        &directory,
        &profile(|_| {}),
        &reader(directory.path(), &body),
    );
    holds(&report);
    assert!(!goes_on("71.25"));
    assert!(
        Run::read(&out)
            .unwrap()
            .left_running
            .contains(&"sleep".to_owned())
    );
}

#[test]
fn program_that_floods_or_leaves_something_when_it_is_asked_for_its_version_is_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("agent.sh");
    for (version, word) in [
        ("exec yes engram-flood", "printed more than"),
        ("setsid sleep 71.75 & exit 3", "ended with"),
    ] {
        fs::write(&path, format!("#!/bin/sh\n{version}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let outcomes = engram_recorder::conform::check(
            &profile(|_| {}),
            None,
            Some(&path),
            engram_recorder::conform::PATIENCE,
        );
        assert!(
            outcomes[1].verdict == Verdict::Failed && outcomes[1].what.contains(word),
            "{outcomes:?}"
        );
        assert!(!goes_on("71.75") && !goes_on("engram-flood"));
    }
}

#[test]
fn program_that_is_asked_for_its_version_sees_and_changes_nothing() {
    if let Some(why) = isolation::refusal() {
        println!("skipped: no private mounts here: {why}");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("victim"), "whole").unwrap();
    let path = directory.path().join("agent.sh");
    let outside = outside.path().display();
    let script = format!(
        "#!/bin/sh\nenv; tr '\\0' '\\n' < /proc/1/environ; cat {outside}/victim; echo x > \"$0.new\"; echo x > /var/tmp/engram-probe-test\n\
         for place in / /usr /etc /var; do touch $place/engram-probe-test && echo wrote $place; done; ls /run /dev/shm; echo end\n"
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let asked = probe::ask(&path, &[], Duration::from_secs(60)).unwrap();
    let said = String::from_utf8(asked.read("out", 1 << 20).unwrap()).unwrap();
    assert_eq!(asked.end, End::Exit(0), "{said}");
    assert!(
        said.contains("HOME=/home/dev\n") && said.ends_with("end\n"),
        "{said}"
    );
    for word in ["CARGO_", "whole", "wrote"] {
        assert!(!said.contains(word), "{said}");
    }
    assert!(!directory.path().join("agent.sh.new").exists());
    assert!(!PathBuf::from("/var/tmp/engram-probe-test").exists());
}

/// Sums made again, so that only the rules of an episode are left.
fn verdict_on(out: &std::path::Path, change: impl FnOnce()) -> String {
    change();
    fs::write(
        out.join(journal::SUMS),
        journal::sums(out).unwrap_or_default(),
    )
    .unwrap();
    verify(out).unwrap_err().to_string()
}

#[test]
fn file_that_no_episode_has_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (report, out) = run(
        &directory,
        &profile(|_| {}),
        &reader(directory.path(), &asks(":", ":")),
    );
    holds(&report);
    let nested = out.join("cas/more");
    for (path, word) in [
        (out.join("more.txt"), "no such file"),
        (nested.join("x"), "no such file"),
    ] {
        let said = verdict_on(&out, || {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "x").unwrap();
        });
        assert!(said.contains(word), "{said}");
        fs::remove_file(&path).unwrap();
    }
    fs::remove_dir(&nested).unwrap();
    let tape = out.join(journal::TAPE);
    let elsewhere = directory.path().join("tape");
    let said = verdict_on(&out, || {
        fs::rename(&tape, &elsewhere).unwrap();
        symlink(&elsewhere, &tape).unwrap();
    });
    assert!(said.starts_with("adapter_protocol_violation"), "{said}");
}

/// The receipt that an episode would have if P4 and P7 were proven.
fn sound_receipt(entries: &[Entry], before: &str, tape: &[u8]) -> ReviewReceipt {
    let (Some(Entry::EpisodeStarted(started)), Some(Entry::EpisodeEnded(ended))) =
        (entries.first(), entries.iter().rev().nth(1))
    else {
        panic!("{entries:?}")
    };
    let last = before.rsplit('\n').next().unwrap();
    let verdict = |number| match number {
        8 => Verdict::Skipped,
        _ => Verdict::Passed,
    };
    ReviewReceipt {
        profile_hash: ProfileHash::of(&profile(|_| {})),
        version: started.version.clone(),
        episode_hash: blake3::hash(last.as_bytes()).to_hex().to_string(),
        tool_log_index_hash: ended.tool_log_index_hash.clone(),
        tape_hash: hash::of_bytes(tape),
        checks: (1..=10)
            .map(|number| (format!("P{number}"), verdict(number)))
            .collect(),
        egress: Egress::Unknown,
    }
}

/// What an agent prints is bounded before anything of it is judged, whatever it is made of.
#[test]
fn flood_of_short_lines_ends_the_episode_within_its_budget() {
    const MOST: u64 = 2_000_000;
    let directory = tempfile::tempdir().unwrap();
    let small =
        profile(|profile| profile.budget_defaults.evidence_bytes = MOST.try_into().unwrap());
    let flood = agent(directory.path(), "cat > /dev/null; yes ''");
    let (report, out) = run(&directory, &small, &flood);
    let reason = "ADAPTER_PROTOCOL_VIOLATION/budget_evidence";
    assert_eq!(report.reason.as_deref(), Some(reason));
    let is_stopped = |entry: &Entry| matches!(entry, Entry::EpisodeEnded(ended) if ended.status == EndStatus::Stopped);
    assert!(entries(&out).iter().any(is_stopped));
    assert_eq!(
        verify(&out).unwrap().review,
        Review::Blocked(reason.to_owned())
    );
    let log = fs::read_to_string(out.join(journal::LOG)).unwrap();
    assert!(log.len() as u64 <= MOST && log.lines().all(|line| line.len() < 1_000_000));
}

#[test]
fn stop_ends_the_agent_and_nothing_is_carried_out_after_it() {
    let directory = tempfile::tempdir().unwrap();
    let stop = Stop::default();
    let body = "ask r1 list '{\"path\":\".\"}'; echo > \"$HOME/begun\"; trap '' TERM; sleep 60";
    let exe = agent(
        directory.path(),
        &format!("p=$(cat); nonce \"$p\"; {body}").replace(
            "$HOME/begun",
            &format!("{}/begun", directory.path().display()),
        ),
    );
    let (out, begun) = (directory.path().join("out"), directory.path().join("begun"));
    let profile = profile(|profile| {
        profile.health_checks.stop_grace_ms = 100.try_into().unwrap();
    });
    let report = std::thread::scope(|scope| {
        let driven = scope.spawn(|| run_until(&out, &profile, &exe, Times::Kept, &stop));
        while !begun.exists() {
            std::thread::sleep(Duration::from_millis(20));
        }
        stop.ask();
        driven.join().unwrap()
    });
    let reason = "ADAPTER_PROTOCOL_VIOLATION/stop";
    assert_eq!(report.reason.as_deref(), Some(reason));
    assert_eq!(
        verify(&out).unwrap().review,
        Review::Blocked(reason.to_owned())
    );
    let entries = entries(&out);
    let ran = |entry: &Entry| matches!(entry, Entry::ToolStarted(_) | Entry::ToolExecuted(_));
    assert!(!entries.iter().any(ran), "{entries:?}");
    let is_stopped = |entry: &Entry| matches!(entry, Entry::EpisodeEnded(ended) if ended.status == EndStatus::Stopped);
    assert!(entries.iter().any(is_stopped), "{entries:?}");
    // A wish that is stated before anything begins leaves the reason alone.
    let early = directory.path().join("early");
    let report = run_until(&early, &profile, &exe, Times::Kept, &stop);
    assert_eq!(report.reason.as_deref(), Some(reason));
    assert!(verify(&early).is_ok());
}

#[test]
fn receipt_without_all_checks_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (_, out) = run(
        &directory,
        &profile(|_| {}),
        &reader(directory.path(), &asks(":", ":")),
    );
    let path = out.join(journal::LEDGER);
    let whole = fs::read_to_string(&path).unwrap();
    let (before, _) = whole.trim_end().rsplit_once('\n').unwrap();
    let tape = fs::read(out.join(journal::TAPE)).unwrap();
    let sound = sound_receipt(&entries(&out), before, &tape);
    let with = |change: fn(&mut ReviewReceipt)| {
        let mut receipt = sound.clone();
        change(&mut receipt);
        let mut ledger = ledger::Ledger::resume(format!("{before}\n").as_bytes()).unwrap();
        let entry = Entry::ReviewReceiptRecorded(Box::new(receipt));
        let time = Some("2099-01-01T00:00:00.000Z");
        format!("{before}\n{}", ledger.line(time, entry).unwrap())
    };
    fs::write(&path, with(|_| {})).unwrap();
    fs::remove_file(out.join(journal::SUMS)).unwrap();
    assert!(matches!(verify(&out).unwrap().review, Review::Receipt(_)));
    let forged = |change| verdict_on(&out, || fs::write(&path, with(change)).unwrap());
    for change in [
        (|receipt| receipt.checks.clear()) as fn(&mut ReviewReceipt),
        |receipt| receipt.checks.retain(|check, _| check != "P6"),
        |receipt| receipt.checks.extend([("P5".to_owned(), Verdict::Skipped)]),
        |receipt| receipt.checks.extend([("P4".to_owned(), Verdict::Skipped)]),
        |receipt| receipt.checks.extend([("P7".to_owned(), Verdict::Skipped)]),
        |receipt| receipt.checks.extend([("P11".to_owned(), Verdict::Passed)]),
        |receipt| receipt.version.push('x'),
    ] {
        assert!(forged(change).contains("the receipt is not that of this episode"));
    }
}

#[test]
fn two_drivers_of_one_directory_leave_one_whole_episode() {
    let directory = tempfile::tempdir().unwrap();
    let (profile, exe) = (
        profile(|_| {}),
        agent(
            directory.path(),
            &format!("p=$(cat); nonce \"$p\"; {}", asks("sleep 0.2", ":")),
        ),
    );
    let out = directory.path().join("out");
    let done = std::thread::scope(|scope| {
        let drive =
            || std::panic::catch_unwind(|| run_with(&out, &profile, &exe, Times::Kept)).is_ok();
        let drivers = [scope.spawn(drive), scope.spawn(drive)];
        drivers.map(|driver| driver.join().unwrap())
    });
    assert_eq!(done.iter().filter(|done| **done).count(), 1, "{done:?}");
    assert!(matches!(verify(&out).unwrap().review, Review::Blocked(_)));
    let names: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
}
