//! Which files a conversion opens, as the operating system sees it: none outside of what the caller named. Needs `strace`.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

use super::*;

/// A copy of fixtures, in an ordinary run of one in four, in which every file and directory beside a session is a link to the same thing in another directory.
struct Hostile {
    _directory: TempDir,
    inside: PathBuf,
    outside: PathBuf,
    sessions: Vec<PathBuf>,
    links: usize,
}

impl Hostile {
    fn new() -> Hostile {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("inside"), root.join("outside"));
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
        let mut sessions = session_files(&fixtures);
        sessions.retain(|name| is_sampled(name));
        let directories: BTreeSet<&Path> = sessions
            .iter()
            .flat_map(|session| session.ancestors().skip(1))
            .collect();
        let mut links = 0;
        for name in names(&fixtures) {
            if !is_sampled(Path::new(&name)) {
                continue;
            }
            let target = outside.join(&name);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::copy(fixtures.join(&name), &target).unwrap();
            let name = Path::new(&name);
            let is_session = sessions.contains(name);
            // The outermost directory without a session in it becomes one link.
            let outermost = name
                .ancestors()
                .take_while(|part| !directories.contains(part))
                .last()
                .unwrap_or(name);
            let link = inside.join(outermost);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            if is_session {
                fs::copy(&target, inside.join(name)).unwrap();
            } else if link.symlink_metadata().is_err() {
                symlink(outside.join(outermost), link).unwrap();
                links += 1;
            }
        }
        let sessions = sessions.iter().map(|name| inside.join(name)).collect();
        Hostile {
            _directory: directory,
            inside,
            outside,
            sessions,
            links,
        }
    }

    /// The files and directories outside that a command opens.
    fn opened_outside(&self, args: &[&str], paths: &[PathBuf]) -> BTreeSet<String> {
        let log = self.outside.join("../strace.txt");
        let mut command = Command::new("strace");
        command.args([
            "-f",
            // Only the calls that are asked for stop the process.
            "--seccomp-bpf",
            "-y",
            "-qq",
            "-s",
            "4096",
            "-e",
            "trace=open,openat,openat2",
            "-o",
            text(&log),
        ]);
        command
            .arg(env!("CARGO_BIN_EXE_engram"))
            .args(args)
            .args(paths)
            .stdin(Stdio::null());
        command.output().unwrap();
        let log = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
        assert!(log.contains(text(&self.inside)), "nothing was opened");
        let opened = log.lines().filter_map(|line| {
            line.rsplit_once(" = ")?
                .1
                .split_once('<')?
                .1
                .strip_suffix('>')
        });
        opened
            .filter(|path| path.starts_with(text(&self.outside)))
            .map(str::to_owned)
            .collect()
    }
}

/// True for the files of one fixture in four, or of all with `ENGRAM_FULL`.
fn is_sampled(name: &Path) -> bool {
    let fixture: PathBuf = name.components().take(3).collect();
    let sum = text(&fixture).bytes().map(u32::from).sum::<u32>();
    std::env::var_os("ENGRAM_FULL").is_some() || sum.is_multiple_of(4)
}

/// The files that are sessions or stores by themselves, relative to the directory.
fn session_files(directory: &Path) -> BTreeSet<PathBuf> {
    let output = run(&["list", "--json", "--agents", text(directory)]);
    let listed = String::from_utf8(output.stdout).unwrap();
    let sources = listed.lines().map(|line| {
        serde_json::from_str::<Value>(line).unwrap()["path"]
            .as_str()
            .unwrap()
            .to_owned()
    });
    let files = sources.filter_map(|path| fs::canonicalize(path).ok());
    let root = directory.canonicalize().unwrap();
    files
        .filter(|path| path.is_file())
        .map(|path| path.strip_prefix(&root).unwrap().to_owned())
        .collect()
}

fn has_strace() -> bool {
    let found = Command::new("strace")
        .arg("-V")
        .output()
        .is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("strace is not installed: NOT checked");
    }
    found
}

#[test]
fn links_beside_sessions_and_in_directories_are_not_followed() {
    if !has_strace() {
        return;
    }
    let hostile = Hostile::new();
    assert!(
        hostile.links > 50 && hostile.sessions.len() > 100,
        "{} links, {} sessions",
        hostile.links,
        hostile.sessions.len()
    );
    let out = hostile.outside.join("../tapes");
    let directory = std::slice::from_ref(&hostile.inside);
    for (args, paths) in [
        (&["audit"][..], &hostile.sessions[..]),
        (&["audit"], directory),
        (&["ingest", "--quiet", "--out", text(&out)], directory),
        (&["stats"], directory),
    ] {
        assert_eq!(hostile.opened_outside(args, paths), BTreeSet::new());
    }
}

#[test]
fn links_out_of_the_directory_of_a_store_are_skipped_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let (inside, outside) = (
        directory.path().join("inside"),
        directory.path().join("outside"),
    );
    let home = fixture("opencode/1.2.27/upgrade").join("opencode");
    for name in names(&home) {
        let target = outside.join(&name);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(home.join(&name), target).unwrap();
    }
    fs::create_dir(&inside).unwrap();
    fs::copy(home.join("opencode.db"), inside.join("opencode.db")).unwrap();
    let links = ["storage", "project", "opencode-next.db"];
    for (name, target) in links.iter().zip(["storage", "project", "opencode.db"]) {
        symlink(outside.join(target), inside.join(name)).unwrap();
    }
    let out = directory.path().join("tapes");
    let output = run(&["ingest", "-v", "--out", text(&out), text(&inside)]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let printed = stderr(&output);
    let skipped: Vec<&str> = printed
        .lines()
        .filter(|line| line.contains("a link that leads out of the directory of the store"))
        .collect();
    assert!(
        links
            .iter()
            .all(|link| skipped.iter().any(|line| line.contains(link))),
        "{printed}"
    );
}

#[test]
fn a_file_outside_that_is_opened_is_noticed() {
    if !has_strace() {
        return;
    }
    let hostile = Hostile::new();
    let outside = hostile
        .outside
        .join(hostile.sessions[0].strip_prefix(&hostile.inside).unwrap());
    let named = [hostile.sessions[0].clone(), outside.clone()];
    assert!(
        hostile
            .opened_outside(&["audit"], &named)
            .contains(text(&outside))
    );
}
