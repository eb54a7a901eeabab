//! A file system without room, and a limit of the size of files: a named error, no half tape, and the work goes on when there is room again.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use engram_index::{Index, Writer};

use crate::recorded::{Made, fixtures, made};

/// Tells a copy of this test program what to do, and where.
const PLACE: &str = "ENGRAM_INDEX_TEST_FULL";

/// Not a test of its own: takes in tapes where there is too little room, looks at what is there, and goes on with room.
#[test]
fn child() {
    let Some(place) = std::env::var_os(PLACE) else {
        return;
    };
    let place = Path::new(&place);
    let tapes = [place.join("tapes")];
    let index = place.join("disk/index");
    let first = Writer::open(&index, || ()).and_then(|mut writer| writer.add(&tapes, &mut |_| ()));
    let whole = match Index::open(&index) {
        Ok(opened) => {
            let verified = opened.verify(usize::MAX).unwrap();
            assert_eq!(verified.faults, Vec::<String>::new());
            verified.compared
        }
        Err(error) => {
            println!("without an index: {}", error.code());
            0
        }
    };
    println!(
        "state {} with {whole} tapes",
        first
            .as_ref()
            .map_or_else(engram_index::Error::code, |_| "ok")
    );
    let room = Command::new("mount")
        .args(["-o", "remount,size=64m"])
        .arg(place.join("disk"))
        .output();
    if room.is_ok_and(|out| out.status.success()) {
        Writer::open(&index, || ())
            .unwrap()
            .add(&tapes, &mut |_| ())
            .unwrap();
        let opened = Index::open(&index).unwrap();
        assert!(opened.verify(usize::MAX).unwrap().faults.is_empty());
        println!("then {} tapes", opened.status().unwrap().tapes);
    }
}

fn some_tapes() -> Made {
    let recordings = fixtures("");
    let made = made(&recordings.iter().step_by(60).collect::<Vec<_>>());
    std::fs::create_dir(made.directory.path().join("disk")).unwrap();
    made
}

/// Runs the child by a shell script, whose `$0` is the place and whose arguments are the program.
fn run(made: &Made, program: &[&str], script: &str) -> Output {
    let test: PathBuf = std::env::current_exe().unwrap();
    let mut command = Command::new(program[0]);
    command
        .args(&program[1..])
        .args(["sh", "-c", script])
        .arg(made.directory.path().join("disk"))
        .arg(test);
    command
        .args(["--exact", "full_disk::child", "--nocapture"])
        .env(PLACE, made.directory.path())
        .output()
        .unwrap()
}

fn states(out: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(
        out.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&out.stderr)
    );
    // The harness of tests writes the name of the test before the first line.
    text.lines()
        .filter_map(|line| {
            line.find("state ")
                .or(line.find("then "))
                .map(|at| line[at..].to_owned())
        })
        .collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_system_without_room_is_a_named_error_and_loses_nothing() {
    let is_allowed = Command::new("unshare")
        .args(["-rm", "sh", "-c", "mount -t tmpfs none /tmp"])
        .output();
    if !is_allowed.is_ok_and(|out| out.status.success()) {
        return eprintln!("skipped: no file system can be mounted here");
    }
    let made = some_tapes();
    let expected = made.open().status().unwrap().tapes;
    let mut full = 0;
    for kib in [16, 64, 128, 256, 512, 1024, 2048] {
        let out = run(
            &made,
            &["unshare", "-rm"],
            &format!("mount -t tmpfs -o size={kib}k none \"$0\" && exec \"$@\""),
        );
        let states = states(&out);
        println!("{kib} KiB: {}", states.join(", "));
        assert!(
            states[0].starts_with("state index_full ") || states[0].starts_with("state ok "),
            "{kib} KiB: {states:?}"
        );
        assert_eq!(states[1], format!("then {expected} tapes"), "{kib} KiB");
        full += usize::from(states[0].contains("index_full"));
    }
    assert!(full >= 3, "the file system had room");
}

#[test]
#[cfg(target_os = "linux")]
fn a_limit_of_the_size_of_files_is_a_named_error() {
    let made = some_tapes();
    for blocks in [16, 64, 256] {
        let disk = made.directory.path().join("disk/index");
        let _ = std::fs::remove_dir_all(&disk);
        let out = run(
            &made,
            &["env"],
            &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""),
        );
        let states = states(&out);
        println!("{blocks} blocks: {}", states.join(", "));
        assert!(
            states[0].starts_with("state index_full "),
            "{blocks} blocks: {states:?}"
        );
    }
}
