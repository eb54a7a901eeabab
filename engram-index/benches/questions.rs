//! What taking in and asking cost, on synthetic sessions. `ENGRAM_BENCH_SESSIONS` says how many; the goals are for 20,000.

mod synthetic;

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use divan::Bencher;
use divan::counter::BytesCount;
use engram_index::{About, Index, Keys, Next, Pattern, Query, Words, Writer};
use synthetic::{ROOT, Tape, code};

/// Files of the project that sessions change.
const FILES: usize = 400;
/// The file that is large, and its lines.
const LARGE: usize = 0;
const LARGE_LINES: usize = 5000;

fn main() {
    corpus();
    divan::main();
}

/// Tapes, an index over them, and the texts of the files at the end.
struct Corpus {
    directory: PathBuf,
    index: PathBuf,
    tapes: PathBuf,
    texts: Vec<String>,
}

fn sessions() -> usize {
    std::env::var("ENGRAM_BENCH_SESSIONS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(300)
}

fn path(file: usize) -> String {
    format!("src/f{file}.rs")
}

fn corpus() -> &'static Corpus {
    static CORPUS: OnceLock<Corpus> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let directory = std::env::temp_dir().join(format!("engram-index-bench-{}", std::process::id()));
        let (index, tapes) = (directory.join("index"), directory.join("tapes"));
        fs::create_dir_all(&tapes).unwrap();
        let texts = write_tapes(&tapes);
        let began = std::time::Instant::now();
        let added = Writer::open(&index, || ()).unwrap().add(std::slice::from_ref(&tapes), &mut |_| ()).unwrap();
        assert!(added.failed.is_empty(), "{:?}", added.failed.first());
        let status = Index::open(&index).unwrap().status().unwrap();
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "{} sessions, {} MB of tapes, index {} MB ({:.1} %), {} spans, first run {seconds:.1} s, {:.0} MB/s",
            status.tapes,
            status.tape_bytes >> 20,
            status.bytes >> 20,
            status.bytes as f64 * 100.0 / status.tape_bytes as f64,
            status.spans,
            status.tape_bytes as f64 / 1e6 / seconds
        );
        let before = written();
        add_one();
        println!("one new session of {} bytes: {} bytes written", one_session(1).len(), written() - before);
        Corpus { directory, index, tapes, texts }
    })
}

/// Bytes that this process has written to files, where the system tells.
fn written() -> u64 {
    let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
    io.lines()
        .find_map(|line| line.strip_prefix("wchar: "))
        .and_then(|bytes| bytes.parse().ok())
        .unwrap_or_default()
}

fn write_tapes(tapes: &std::path::Path) -> Vec<String> {
    let mut random = fastrand::Rng::with_seed(5);
    let mut texts = vec![String::new(); FILES];
    for session in 0..sessions() {
        let mut tape = Tape::new(
            &format!("session-{session:06}"),
            1_700_000_000_000 + session as i64 * 600_000,
        );
        for turn in 0..2 {
            tape.prompt(&format!(
                "please change the files of part {session}, step {turn}"
            ));
            for _ in 0..2 {
                let file = if random.u32(..40) == 0 {
                    LARGE
                } else {
                    random.usize(1..FILES)
                };
                tape.say("I look at it first, and then I make the change that was asked for.");
                let before = texts[file].clone();
                let after = changed(&before, file, &mut random);
                if before.is_empty() {
                    tape.edit(&path(file), None, &after);
                } else {
                    if file != LARGE {
                        tape.read(&path(file), &before);
                    }
                    tape.edit(&path(file), Some(&before), &after);
                }
                texts[file] = after;
            }
        }
        fs::write(tapes.join(format!("{session:06}.tape.jsonl")), tape.end()).unwrap();
    }
    texts
}

/// A new file, or one with a few other lines.
fn changed(before: &str, file: usize, random: &mut fastrand::Rng) -> String {
    if before.is_empty() {
        return code(
            if file == LARGE {
                LARGE_LINES
            } else {
                random.usize(60..300)
            },
            random,
        );
    }
    let lines: Vec<&str> = before.split_inclusive('\n').collect();
    let (count, at) = (random.usize(4..16), random.usize(..lines.len() - 20));
    format!(
        "{}{}{}",
        lines[..at].concat(),
        code(count, random),
        lines[at + count..].concat()
    )
}

fn one_session(number: i64) -> String {
    let mut random = fastrand::Rng::with_seed(number as u64 + 1000);
    let mut tape = Tape::new(
        &format!("later-{number}"),
        1_900_000_000_000 + number * 1000,
    );
    tape.prompt("one more");
    tape.edit(
        &format!("src/later{number}.rs"),
        None,
        &code(200, &mut random),
    );
    tape.end()
}

static NEXT: AtomicI64 = AtomicI64::new(100);

fn add_one() {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let directory = std::env::temp_dir().join(format!("engram-index-bench-{}", std::process::id()));
    let tape = directory.join(format!("one-{number}.tape.jsonl"));
    fs::write(&tape, one_session(number)).unwrap();
    Writer::open(&directory.join("index"), || ())
        .unwrap()
        .add(&[tape], &mut |_| ())
        .unwrap();
}

fn open() -> Index {
    Index::open(&corpus().index).unwrap()
}

fn question(file: usize) -> Query<'static> {
    Query::of_file(&format!("{ROOT}/{}", path(file)), &corpus().texts[file])
}

#[divan::bench(sample_count = 20)]
fn explain_30_lines(bencher: Bencher<'_, '_>) {
    let index = open();
    bencher.bench_local(|| {
        index
            .explain(&Query {
                range: Some((10, 40)),
                ..question(7)
            })
            .unwrap()
    });
}

#[divan::bench(sample_count = 20)]
fn explain_history(bencher: Bencher<'_, '_>) {
    let index = open();
    bencher.bench_local(|| index.history(&question(7)).unwrap());
}

#[divan::bench(sample_count = 20)]
fn explain_text(bencher: Bencher<'_, '_>) {
    let index = open();
    let text: String = corpus().texts[9]
        .split_inclusive('\n')
        .skip(20)
        .take(30)
        .collect();
    bencher.bench_local(|| index.explain(&Query::new(&text)).unwrap());
}

#[divan::bench(sample_count = 20)]
fn explain_text_removed(bencher: Bencher<'_, '_>) {
    let index = open();
    let text: String = corpus().texts[9]
        .split_inclusive('\n')
        .skip(20)
        .take(10)
        .collect();
    bencher.bench_local(|| index.removed(&Query::new(&text)).unwrap());
}

#[divan::bench(sample_count = 10)]
fn blame_5000_lines(bencher: Bencher<'_, '_>) {
    let index = open();
    bencher.bench_local(|| {
        index
            .explain(&Query {
                limit: usize::MAX,
                words: Words::Prompt,
                ..question(LARGE)
            })
            .unwrap()
    });
}

#[divan::bench(sample_count = 10)]
fn blame_5000_lines_without_state(bencher: Bencher<'_, '_>) {
    let index = open();
    let text = format!("{}a line of a person\n", corpus().texts[LARGE]);
    bencher.bench_local(|| {
        index
            .explain(&Query {
                text: &text,
                limit: usize::MAX,
                words: Words::Prompt,
                ..question(LARGE)
            })
            .unwrap()
    });
}

#[divan::bench(sample_count = 10)]
fn query_tokens(bencher: Bencher<'_, '_>) {
    let mut index = open();
    bencher.bench_local(|| {
        index
            .query(
                "SELECT model, sum(input), sum(output) FROM tokens GROUP BY model",
                Duration::from_secs(60),
                &mut |_, _| Next::Wanted,
            )
            .unwrap()
    });
}

/// SQLite alone, over the rows that `explain` and `history` read.
#[divan::bench(sample_count = 20)]
fn sqlite_rows_of_a_file(bencher: Bencher<'_, '_>) {
    let db = rusqlite::Connection::open(corpus().index.join("index.db")).unwrap();
    let sql = "SELECT * FROM span WHERE file = (SELECT id FROM file WHERE path = ?1) ORDER BY t";
    bencher.bench_local(|| {
        let mut rows = db.prepare_cached(sql).unwrap();
        rows.query_map([path(7)], |row| row.get::<_, i64>(0))
            .unwrap()
            .count()
    });
}

/// SQLite alone, writing the same rows in their order: the floor of a first run.
#[divan::bench(sample_count = 1)]
fn sqlite_copy_of_all_rows(bencher: Bencher<'_, '_>) {
    let copy = corpus().directory.join("copy.db");
    bencher.bench_local(|| {
        let _ = fs::remove_file(&copy);
        let db = rusqlite::Connection::open(corpus().index.join("index.db")).unwrap();
        db.execute("VACUUM INTO ?1", [copy.to_str().unwrap()])
            .unwrap()
    });
}

#[divan::bench(sample_count = 5)]
fn add_without_changes(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| {
        Writer::open(&corpus().index, || ())
            .unwrap()
            .add(std::slice::from_ref(&corpus().tapes), &mut |_| ())
            .unwrap()
    });
}

#[divan::bench(sample_count = 10)]
fn add_one_session(bencher: Bencher<'_, '_>) {
    bencher.bench_local(add_one);
}

/// 500 tapes are read again, whatever the number of sessions is.
#[divan::bench(sample_count = 1)]
fn verify(bencher: Bencher<'_, '_>) {
    let index = open();
    bencher.bench_local(|| {
        let verified = index.verify(500).unwrap();
        assert!(verified.faults.is_empty(), "{:?}", verified.faults.first());
    });
}

#[divan::bench(sample_count = 1)]
fn grep_all_tapes(bencher: Bencher<'_, '_>) {
    let (index, pattern) = (
        open(),
        Pattern::new("nobody says this", false, &[], Keys::Shown).unwrap(),
    );
    let bytes = u64::try_from(index.status().unwrap().tape_bytes).unwrap();
    bencher.counter(BytesCount::new(bytes)).bench_local(|| {
        index.tapes().unwrap().iter().for_each(|tape| {
            pattern
                .search(tape, &About::default, &mut |_| true)
                .unwrap()
        });
    });
}
