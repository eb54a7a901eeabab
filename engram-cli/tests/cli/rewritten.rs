//! A repository whose commits are of a person, with recorded sessions in between, before and after its history is written anew.
//!
//! What the sessions did is as recorded: their logs, and the files before and after. What the person does is random, with a seed.
//! `ENGRAM_FULL=1` asks about each of 200 commits, else about some of 40.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use engram_conformance::{Recording, Recordings, Truth};

use super::index::text_of;
use super::*;

#[path = "../../../engram-index/tests/index/blame.rs"]
mod real;

/// Who made a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    /// A call of a session.
    Agent,
    /// Somebody before the session, or nobody knows who.
    Older,
    Person,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    text: String,
    who: Who,
}

/// The files of a commit.
type Tree = BTreeMap<String, Vec<Line>>;

/// The commit that each run begins with is of this time, long after all sessions.
const FIRST: u64 = 1_900_000_000;
/// Lines that stand in many files.
const COMMON: [&str; 4] = ["}", "", "    return", "else:"];
/// Lines of an agent this near to an equal one of a person: nobody can tell which is whose.
const NEAR: usize = 8;
/// A session of which fewer lines are left tells little.
const MIN_LINES: usize = 4;

fn is_full() -> bool {
    std::env::var("ENGRAM_FULL").is_ok_and(|full| full == "1")
}

/// A recorded session: its files before and after.
struct Session {
    recording: Recording,
    before: Tree,
    after: Tree,
}

impl Session {
    /// `None` if hardly a line of an agent is left, or if its files are no plain text.
    fn of(recording: Recording, number: usize) -> Option<Session> {
        let truth: Truth =
            serde_json::from_value(serde_json::json!({"edits": recording.truth.get("edits")?}))
                .ok()?;
        let (mut before, mut after) = (Tree::new(), Tree::new());
        for file in real::real_files(&truth) {
            let is_plain = file.text.ends_with('\n') && !file.text.contains('\r');
            let first = file.turns.first().filter(|_| is_plain)?;
            let path = format!("r{number}/{}", file.name);
            let older = |text: &String| Line {
                text: text.clone(),
                who: Who::Older,
            };
            if first.file == file.name && !first.before.is_empty() {
                before.insert(path.clone(), first.before.iter().map(older).collect());
            }
            let line = |(text, made): (&String, &Option<std::rc::Rc<real::Turn>>)| Line {
                text: text.clone(),
                who: match made {
                    Some(turn) if turn.has_call() => Who::Agent,
                    _ => Who::Older,
                },
            };
            after.insert(
                path,
                file.lines.iter().zip(&file.made_in).map(line).collect(),
            );
        }
        let is_agents = |line: &&Line| line.who == Who::Agent;
        let of_agents = after.values().flatten().filter(is_agents).count();
        (of_agents >= MIN_LINES).then_some(Session {
            recording,
            before,
            after,
        })
    }
}

/// Recorded sessions of all harnesses that ran in one directory.
fn sessions(count: usize) -> Vec<Session> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let mut recordings = Recordings::undeclared(&root).unwrap().all;
    fastrand::Rng::with_seed(4).shuffle(&mut recordings);
    let mut found: Vec<Session> = Vec::new();
    for recording in recordings {
        let of_harness = |one: &&Session| one.recording.harness == recording.harness;
        if found.len() < count && found.iter().filter(of_harness).count() <= count / 4 {
            found.extend(Session::of(recording, found.len()));
        }
    }
    found
}

/// A person at work.
struct Person {
    random: fastrand::Rng,
    written: usize,
}

impl Person {
    fn lines(&mut self) -> Vec<Line> {
        let common = self.random.u8(..4) == 0;
        let count = self.random.usize(1..6);
        let line = |_| {
            self.written += 1;
            let n = self.written;
            let text = match (common, n % 3) {
                (true, _) => COMMON[n % COMMON.len()].to_owned(),
                (false, 0) => format!("w{n} = {n}"),
                (false, _) => format!("    by_hand_{n} = think_of(\"{n}\", and_write_it)"),
            };
            Line {
                text,
                who: Who::Person,
            }
        };
        (0..count).map(line).collect()
    }

    /// Changes one file, and renames it at times: nobody but the commit knows of that.
    fn work(&mut self, tree: &mut Tree) {
        if tree.is_empty() || self.random.u8(..12) == 0 {
            let new = self.lines();
            tree.insert(format!("own/n{}.py", self.written), new);
            return;
        }
        let at = self.random.usize(..tree.len());
        let Some((path, mut lines)) = tree
            .iter()
            .nth(at)
            .map(|(path, lines)| (path.clone(), lines.clone()))
        else {
            return;
        };
        let place = self.random.usize(..=lines.len());
        let end = (place + self.random.usize(1..4)).min(lines.len());
        match self.random.u8(..6) {
            0 => drop(lines.splice(place..end, [])),
            1 => lines.extend(self.lines()),
            2 if place < lines.len() => {
                lines[place]
                    .text
                    .push_str(&format!("  # by hand {}", self.written));
                lines[place].who = Who::Person;
                self.written += 1;
            }
            3 => {
                let moved: Vec<Line> = lines.splice(place..end, []).collect();
                let to = self.random.usize(..=lines.len());
                drop(lines.splice(to..to, moved));
            }
            _ => drop(lines.splice(place..place, self.lines())),
        }
        tree.remove(&path);
        let path = match self.random.u8(..10) {
            0 => path.replace(".py", &format!("_{}.py", self.written)),
            _ => path,
        };
        tree.insert(path, lines);
    }
}

/// A repository, its commits with what they are made of, and an index of the sessions.
struct World {
    directory: TempDir,
    commits: Vec<(String, Tree)>,
}

impl World {
    fn new(sessions: &[Session], count: usize) -> World {
        let directory = tempfile::tempdir().unwrap();
        let mut world = World {
            directory,
            commits: Vec::new(),
        };
        fs::create_dir_all(world.root()).unwrap();
        world.git(&["init", "--quiet", "-b", "main"], "");
        for (number, session) in sessions.iter().enumerate() {
            world.take_in(session, number);
        }
        let mut person = Person {
            random: fastrand::Rng::with_seed(9),
            written: 0,
        };
        let (mut tree, mut next) = (Tree::new(), sessions.iter());
        let every = (count / (sessions.len() + 1)).max(3);
        for at in 0..count {
            match (at % every, sessions.get(at / every)) {
                (0, Some(session)) => tree.extend(session.before.clone()),
                (1, Some(_)) => tree.extend(
                    next.next()
                        .map(|session| session.after.clone())
                        .unwrap_or_default(),
                ),
                _ => person.work(&mut tree),
            }
            world.commit(&tree);
        }
        world
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("repo")
    }

    fn place(&self, name: &str) -> String {
        text(&self.directory.path().join(name)).to_owned()
    }

    /// Converts a session, says that it ran in a folder of the repository, and indexes its tapes.
    fn take_in(&self, session: &Session, number: usize) {
        let tapes = self.place(&format!("tapes{number}"));
        let log = session.recording.directory.join("session");
        let out = engram()
            .args(["ingest", "--quiet", "--out", &tapes, text(&log)])
            .output()
            .unwrap();
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        let folder = self.root().join(format!("r{number}"));
        for tape in tape_files(Path::new(&tapes)) {
            let words = fs::read_to_string(&tape).unwrap();
            let words = words.replace("/private/home/dev/proj", "/home/dev/proj");
            fs::write(&tape, words.replace("/home/dev/proj", text(&folder))).unwrap();
        }
        let out = self.run(&["index", "--index", &self.place("index"), "add", &tapes]);
        assert_eq!(code(&out), 0, "{}: {}", log.display(), stderr(&out));
    }

    fn run(&self, args: &[&str]) -> Output {
        engram()
            .args(args)
            .current_dir(self.root())
            .output()
            .unwrap()
    }

    fn git(&self, args: &[&str], input: &str) -> String {
        let time = format!("{} +0000", FIRST + 60 * self.commits.len() as u64);
        let mut command = Command::new("git");
        for who in ["AUTHOR", "COMMITTER"] {
            let variables = [
                ("NAME", "a"),
                ("EMAIL", "a@example.org"),
                ("DATE", time.as_str()),
            ];
            for (name, value) in variables {
                command.env(format!("GIT_{who}_{name}"), value);
            }
        }
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        command
            .args(args)
            .current_dir(self.root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success(), "git {args:?}: {}", stderr(&out));
        text_of(&out).trim().to_owned()
    }

    fn commit(&mut self, tree: &Tree) {
        for entry in fs::read_dir(self.root()).unwrap().flatten() {
            if entry.file_name() != ".git" {
                fs::remove_dir_all(entry.path()).unwrap();
            }
        }
        for (path, lines) in tree {
            let path = self.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let lines: String = lines
                .iter()
                .map(|line| format!("{}\n", line.text))
                .collect();
            fs::write(path, lines).unwrap();
        }
        self.git(&["add", "--all"], "");
        self.git(&["commit", "--quiet", "--allow-empty", "-m", "x"], "");
        let id = self.git(&["rev-parse", "HEAD"], "");
        self.commits.push((id, tree.clone()));
    }

    /// What a question in JSON answers, by the number of the line.
    fn ask(&self, args: &[&str]) -> Vec<Value> {
        let bounds = ["--json", "--limit", "1000000", "--max-bytes", "100000000"];
        let index = self.place("index");
        let out = self.run(&[args, &["--index", &index], &bounds].concat());
        assert_eq!(code(&out), 0, "{args:?}: {}", stderr(&out));
        text_of(&out)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// `engram blame` of a file in a commit: for each line the call, if one is named.
    fn blame(&self, commit: &str, path: &str) -> Vec<Option<String>> {
        let answer = self.ask(&["blame", path, "--rev", commit]);
        let mut lines = Vec::new();
        for run in answer.iter().filter(|run| run["k"] != "end") {
            let count = run["lines"][1].as_u64().unwrap() - run["lines"][0].as_u64().unwrap() + 1;
            lines.extend((0..count).map(|_| call(run)));
        }
        lines
    }

    /// The names that `git` finds for a file in the commits before.
    fn earlier_names(&self, commit: &str, path: &str) -> BTreeSet<String> {
        let options = ["log", "--follow", "-M", "--diff-filter=R", "--format="];
        let out = self.git(
            &[&options[..], &["--name-status", commit, "--", path]].concat(),
            "",
        );
        let old = |line: &str| line.split('\t').nth(1).map(str::to_owned);
        out.lines().filter_map(old).collect()
    }

    /// `engram explain --commit`: the lines that a commit adds, by file and number, each with its call.
    fn added(&self, commit: &str) -> BTreeMap<(String, u64), Option<String>> {
        let mut added = BTreeMap::new();
        for item in self
            .ask(&["explain", "--commit", commit])
            .iter()
            .filter(|item| item["k"] != "end")
        {
            for run in item["lines"].as_array().unwrap() {
                for line in run[0].as_u64().unwrap()..=run[1].as_u64().unwrap() {
                    added.insert(
                        (item["path"].as_str().unwrap().to_owned(), line),
                        call(item),
                    );
                }
            }
        }
        added
    }
}

fn call(item: &Value) -> Option<String> {
    let call = item.get("call").filter(|call| !call.is_null())?;
    Some(format!("{}#{}", call["tape"].as_str()?, call["seq"]))
}

/// What was counted.
#[derive(Debug, Default)]
struct Tally {
    commits: usize,
    lines: usize,
    of_agents: usize,
    found: usize,
    of_people: usize,
    given: usize,
    added: usize,
    differences: usize,
    /// Lines whose call is unknown since the history no longer shows that their file was renamed.
    hidden: usize,
}

/// Whether a history shows all renames of a file that another one shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renames {
    Shown,
    /// A file that was added and renamed before the joined commit is one that the commit adds.
    Hidden,
}

impl Tally {
    /// Compares the answer for a file with who made its lines.
    fn judge(&mut self, lines: &[Line], answers: &[Option<String>], place: &str) {
        assert_eq!(lines.len(), answers.len(), "{place}");
        for (at, (line, answer)) in lines.iter().zip(answers).enumerate() {
            self.lines += 1;
            let near = at.saturating_sub(NEAR)..(at + NEAR + 1).min(lines.len());
            let is_agents = |other: &Line| other.who == Who::Agent && other.text == line.text;
            match line.who {
                Who::Agent => {
                    self.of_agents += 1;
                    self.found += usize::from(answer.is_some());
                }
                Who::Person => {
                    self.of_people += 1;
                    if answer.is_some() && !lines[near].iter().any(is_agents) {
                        self.given += 1;
                        println!("given: {place}:{} {:?} to {answer:?}", at + 1, line.text);
                    }
                }
                Who::Older => {}
            }
        }
    }

    /// Counts the lines for which two questions have other answers.
    fn compare<K: Ord + std::fmt::Debug>(
        &mut self,
        one: &BTreeMap<K, Option<String>>,
        other: &BTreeMap<K, Option<String>>,
        place: &str,
    ) {
        let all: BTreeSet<&K> = one.keys().chain(other.keys()).collect();
        for key in all {
            let place = format!("{place} {key:?}");
            self.compare_line(one.get(key), other.get(key), Renames::Shown, &place);
        }
    }

    /// Of a file whose rename the second history hides, a call may be unknown there. It may not be another one.
    fn compare_line(
        &mut self,
        one: Option<&Option<String>>,
        other: Option<&Option<String>>,
        renames: Renames,
        place: &str,
    ) {
        self.added += 1;
        match (one == other, renames, other) {
            (true, _, _) => {}
            (false, Renames::Hidden, Some(None)) => self.hidden += 1,
            _ => {
                self.differences += 1;
                println!("other: {place}: {one:?} and {other:?}");
            }
        }
    }
}

#[test]
fn answers_stay_when_commits_are_rebased_and_squashed() {
    if Command::new("git").arg("--version").output().is_err() {
        return eprintln!("skipped: git is not installed");
    }
    let (count, every, of_sessions) = if is_full() { (200, 1, 40) } else { (40, 13, 6) };
    let world = World::new(&sessions(of_sessions), count);
    let (mut before, mut after, mut squashed) =
        (Tally::default(), Tally::default(), Tally::default());
    // The same trees on another root, one by one and ten at a time.
    let root = world.git(&["hash-object", "-t", "tree", "-w", "--stdin"], "");
    let begin = |name: &str| world.git(&["commit-tree", &root, "-m", name], "");
    let (mut last, mut last_of_ten) = (begin("one"), begin("ten"));
    let mut known: HashMap<String, (Vec<Option<String>>, Renames)> = HashMap::new();
    for (at, (id, tree)) in world.commits.iter().enumerate() {
        let of_tree = format!("{id}^{{tree}}");
        last = world.git(&["commit-tree", &of_tree, "-p", &last, "-m", "rebased"], "");
        let ends_ten = at % 10 == 9;
        if ends_ten {
            last_of_ten = world.git(
                &[
                    "commit-tree",
                    &of_tree,
                    "-p",
                    &last_of_ten,
                    "-m",
                    "squashed",
                ],
                "",
            );
        }
        if at % every != 0 && !ends_ten {
            continue;
        }
        before.commits += 1;
        let added = world.added(id);
        before.compare(&added, &world.added(&last), "--commit after the rebase");
        // Files that did not change since the last commit that was asked for have the answers of then.
        let since = at.checked_sub(if ends_ten { 10 } else { 1 });
        let old = since.map(|at| &world.commits[at].1);
        let changed = |path: &&String| old.and_then(|old| old.get(*path)) != tree.get(*path);
        for path in tree.keys().filter(changed) {
            let answers = world.blame(id, path);
            before.judge(&tree[path], &answers, &format!("{at} {path}"));
            let numbered = |answers: &[Option<String>]| {
                (1_u64..)
                    .zip(answers.iter().cloned())
                    .collect::<BTreeMap<_, _>>()
            };
            let of_commit = |((of, line), call): (&(String, u64), &Option<String>)| {
                (of == path).then(|| (*line, call.clone()))
            };
            let of_commit: BTreeMap<u64, Option<String>> =
                added.iter().filter_map(of_commit).collect();
            let mut of_blame = numbered(&answers);
            of_blame.retain(|line, _| of_commit.contains_key(line));
            before.compare(&of_blame, &of_commit, "blame and --commit");
            let rebased = world.blame(&last, path);
            after.judge(&tree[path], &rebased, &format!("rebased {at} {path}"));
            after.compare(
                &numbered(&answers),
                &numbered(&rebased),
                &format!("rebased {at} {path}"),
            );
            if ends_ten {
                let joined = world.blame(&last_of_ten, path);
                let place = format!("squashed {at} {path}");
                squashed.judge(&tree[path], &joined, &place);
                let names = world.earlier_names(id, path);
                let renames = match names.is_subset(&world.earlier_names(&last_of_ten, path)) {
                    true => Renames::Shown,
                    false => Renames::Hidden,
                };
                for (number, (one, other)) in (1..).zip(answers.iter().zip(&joined)) {
                    let place = format!("{place} {number}");
                    squashed.compare_line(Some(one), Some(other), renames, &place);
                }
                known.insert(path.clone(), (answers, renames));
            }
        }
        if ends_ten {
            squashed.commits += 1;
            for ((path, line), call) in world.added(&last_of_ten) {
                let (answers, renames) = &known[&path];
                let of_blame = answers.get(line as usize - 1);
                let place = format!("--commit of the joined {path} {line}");
                squashed.compare_line(of_blame, Some(&call), *renames, &place);
            }
        }
    }
    for (name, tally) in [
        ("before", &before),
        ("rebased", &after),
        ("squashed", &squashed),
    ] {
        println!("{name}: {tally:?}");
        assert_eq!(
            tally.given, 0,
            "{name}: lines of a person were given to a call"
        );
        assert_eq!(tally.differences, 0, "{name}: answers differ");
    }
    assert!(
        before.found > 10 && before.of_people > 20,
        "hardly anything was asked"
    );
}
