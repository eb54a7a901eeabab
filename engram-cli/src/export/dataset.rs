//! `engram ingest --to parquet`: tables that grow. A run reads the logs that have changed, and writes the parts of the tables that have their
//! sessions; every other file stays as it is.
//!
//! The tapes are kept in `.tapes`, so that a part can be written again when one of its sessions has changed or its log is gone. The list of
//! parts, `dataset.jsonl`, gets its name after the new files have theirs and before the old ones go. A run that is killed leaves files that the
//! list does not have; the next one removes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use engram_command::exit::{Exit, Output, Tally};
use engram_command::output;
use engram_command::pool::in_order;
use engram_command::report::{Reporter, shown};
use engram_command::small_file;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::hash::Hash;
use engram_core::overview::Overview;
use engram_core::prices::Prices;
use engram_export::arrow::Table;
use engram_export::parquet::{EMPTY, FILE_ROWS, ParquetFiles, VERSION};
use serde::{Deserialize, Serialize};

use super::args::Partition;
use super::inputs::{TapeFile, tapes};
use super::parquet::{CHUNK_BYTES, SCHEMA_SQL, Work, chunks, export};
use super::place::temporary_beside;
use super::repeats::repeats;
use crate::args::Ingest;
use crate::tape_dir::Index;
use crate::tapes::tapes_in;
use engram_command::project::project_of;

/// The list of parts.
const LIST: &str = "dataset.jsonl";
/// The directory of tapes.
const TAPES: &str = ".tapes";
/// So many small parts of one partition are written again as one, so that a reader does not open a file for each run. A part is small if its
/// tapes have less than [`SMALL_BYTES`]: a part that was joined often enough stays for good.
const MANY_PARTS: usize = 16;
const SMALL_BYTES: u64 = CHUNK_BYTES / 2;
/// The value of a partition that is not known, as readers of Hive partitions expect it.
const UNKNOWN: &str = "__HIVE_DEFAULT_PARTITION__";

/// The first line of the list: what all parts have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    /// The version of the tables.
    tables: String,
    partition: Option<Partition>,
    /// A hash of the prices that costs were computed by.
    prices: String,
}

/// One part: rows of the same tapes in each table.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Part {
    /// A hash of everything that it is made of.
    part: String,
    /// The directory of its partition; empty without one.
    partition: String,
    /// The tapes with their states.
    tapes: BTreeMap<String, String>,
}

/// Everything that a run writes with.
struct Target<'t> {
    out: &'t Path,
    partition: Option<Partition>,
    prices: (&'t Prices, String),
    jobs: Option<NonZeroUsize>,
}

/// A tape with what decides about its part.
struct Known {
    tape: TapeFile,
    /// The hash of the tape; with the tape that it repeats, if it does.
    state: String,
    partition: String,
    /// The size of its file.
    bytes: u64,
}

/// What a run does with the parts of the last run.
struct Division {
    kept: Vec<Part>,
    /// The tapes that are written, new, changed or joined.
    new: Vec<Known>,
    /// How many parts are joined, and the tapes in them.
    joined: (usize, usize),
}

/// `engram ingest --to parquet`: converts what has changed, and writes the parts of the tables that have it.
///
/// # Errors
/// Never; as the other commands.
pub fn ingest(
    args: &Ingest,
    out: &Path,
    report: &Reporter,
    ingest: impl FnOnce(&Path, &Reporter) -> (Exit, Output),
) -> io::Result<Exit> {
    let is_new = !out.exists();
    let started = lock(out).and_then(|held| {
        let hash = args.prices.hash()?;
        Ok((held, args.prices.load()?, hash))
    });
    let (held, prices, prices_hash) = match started {
        Ok(started) => started,
        Err(error) => return Ok(report.failure(&error)),
    };
    let root = out.join(TAPES);
    let (exit, output) = ingest(&root, &report.silenced());
    // What could not be written is not the fault of a log: tables without it would look whole.
    if output == Output::Short || tapes_in(&root).is_empty() {
        if is_new {
            // Nothing of this run is worth keeping.
            drop(held);
            let _ = fs::remove_dir_all(out);
        }
        return Ok(exit);
    }
    let target = Target {
        out,
        partition: args.partition,
        prices: (&prices, prices_hash),
        jobs: args.conversion.jobs,
    };
    let written = update(&target, report);
    if is_new && !out.join(LIST).exists() {
        // All or nothing: without its list it is no dataset.
        drop(held);
        let _ = fs::remove_dir_all(out);
    }
    Ok(if written == Exit::Success {
        exit
    } else {
        written
    })
}

/// Makes the directory, or takes one that this command made.
///
/// # Errors
/// If something else is there, another run is at work, or as the file system gives them.
fn lock(out: &Path) -> Result<File, AdapterError> {
    let at = |error: io::Error| AdapterError::from(error).path(out.to_string_lossy());
    output::make_directory(out, true).map_err(at)?;
    let is_empty = fs::read_dir(out).map_err(at)?.next().is_none();
    let lock = out.join(".dataset.lock");
    if !is_empty && !lock.exists() {
        return Err(AdapterError::new(ErrorCode::Io)
            .expected("a directory that is empty, or that `engram ingest --to parquet` made")
            .found("other files")
            .path(out.to_string_lossy()));
    }
    if !lock.exists() {
        // Another run may make it just now.
        let _ = output::create(&lock);
    }
    let file = File::open(lock).map_err(at)?;
    file.lock().map_err(at)?;
    Ok(file)
}

/// Brings the tables to the state of the tapes.
fn update(target: &Target<'_>, report: &Reporter) -> Exit {
    let mut tally = Tally::default();
    match update_parts(target, &mut tally, report) {
        Ok(()) => tally.exit(),
        Err(error) => report.failure(&error),
    }
}

fn update_parts(
    target: &Target<'_>,
    tally: &mut Tally,
    report: &Reporter,
) -> Result<(), AdapterError> {
    let out = target.out;
    let at = |error: io::Error| AdapterError::from(error).path(out.to_string_lossy());
    let head = Head {
        tables: VERSION.1.to_owned(),
        partition: target.partition,
        prices: target.prices.1.clone(),
    };
    let found = tapes(&[out.join(TAPES)], report, tally);
    let repeats = repeats(&found, |_| true, target.jobs, report)?;
    let known = known(target, found, &repeats).map_err(at)?;
    let before = read(out, &head);
    let was = |it: &Known| {
        let mut parts = before.iter();
        parts.any(|part| part.tapes.get(&it.tape.name) == Some(&it.state))
    };
    let changed = known.iter().filter(|it| !was(it)).count();
    let Division { kept, new, joined } = divided(before, known);
    let (again, kept_parts) = (new.len() - changed - joined.1, kept.len());
    let (written, rows) = write_new(target, &head, &repeats, new)?;
    let parts: Vec<Part> = kept.into_iter().chain(written).collect();
    tally.success();
    save(out, &head, &parts).map_err(at)?;
    remove_others(out, &parts).map_err(at)?;
    ParquetFiles::add_empty(out, &Table::ALL).map_err(at)?;
    renew(&out.join("schema.sql"), SCHEMA_SQL).map_err(at)?;
    let small = match joined.0 {
        0 => String::new(),
        parts => format!("; {parts} small parts are joined"),
    };
    let again = match again {
        0 => String::new(),
        tapes => format!("; {tapes} others of their parts are written again"),
    };
    report.note(&format!(
        "tapes       {changed} new or changed; {kept_parts} of {} parts stay as they are{again}{small}",
        parts.len()
    ));
    for (table, rows) in Table::ALL.iter().zip(rows) {
        report.note(&format!("{:<11} {rows} rows written", table.as_str()));
    }
    report.note(&format!("written to  {}", shown(out)));
    Ok(())
}

/// The tapes with their states and partitions.
fn known(
    target: &Target<'_>,
    found: Vec<TapeFile>,
    repeats: &BTreeMap<String, String>,
) -> io::Result<Vec<Known>> {
    let root = target.out.join(TAPES);
    let index = Index::load(&root)?;
    let entries: BTreeMap<PathBuf, _> = index
        .entries()
        .filter_map(|entry| Some((root.join(entry.tape.as_ref()?), entry)))
        .collect();
    let of_tape = |tape: TapeFile| {
        let entry = entries.get(&tape.path)?;
        let hash = entry.tape_hash.clone()?;
        let repeated = repeats.get(&tape.name);
        Some(Known {
            state: repeated.map_or(hash.clone(), |of| format!("{hash} repeats {of}")),
            partition: partition(target.partition, entry.overview.as_ref()),
            bytes: tape.path.metadata().map_or(0, |metadata| metadata.len()),
            tape,
        })
    };
    Ok(found.into_iter().filter_map(of_tape).collect())
}

/// The directory of the partition that a tape belongs to.
fn partition(by: Option<Partition>, of: Option<&Overview>) -> String {
    match by {
        None => String::new(),
        Some(Partition::Day) => {
            let day = of.and_then(|of| of.start.as_deref()?.get(..10));
            // A tape of a log that states no day; a log may state any text.
            let day = day.filter(|day| {
                day.bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b'-')
            });
            format!("day={}", day.unwrap_or(UNKNOWN))
        }
        Some(Partition::Project) => {
            let project = of.and_then(|of| of.project.as_deref()).map(project_of);
            let key = project.as_deref().map(project_key);
            format!("project_key={}", key.as_deref().unwrap_or(UNKNOWN))
        }
    }
}

/// A name for a directory: the letters and digits of the last part of the project, and a hash of all of it.
fn project_key(project: &str) -> String {
    let last = project.rsplit(['/', '\\']).find(|part| !part.is_empty());
    let name: String = last
        .unwrap_or_default()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .take(40)
        .collect();
    format!("{name}-{}", short(&Hash::of_bytes(project.as_bytes()), 4))
}

/// The parts that stay, and the tapes that no such part has.
fn divided(parts: Vec<Part>, known: Vec<Known>) -> Division {
    let by_name: BTreeMap<&str, &Known> =
        known.iter().map(|it| (it.tape.name.as_str(), it)).collect();
    let is_current = |part: &Part| {
        let is = |(name, state): (&String, &String)| {
            by_name
                .get(name.as_str())
                .is_some_and(|it| it.state == *state && it.partition == part.partition)
        };
        part.tapes.iter().all(is)
    };
    let current: Vec<Part> = parts.into_iter().filter(is_current).collect();
    let is_small = |part: &Part| {
        let tapes = part.tapes.keys();
        let bytes = tapes.filter_map(|name| Some(by_name.get(name.as_str())?.bytes));
        bytes.fold(0, u64::saturating_add) < SMALL_BYTES
    };
    let mut small: BTreeMap<String, usize> = BTreeMap::new();
    for part in current.iter().filter(|part| is_small(part)) {
        *small.entry(part.partition.clone()).or_default() += 1;
    }
    let is_joined = |part: &Part| is_small(part) && small[&part.partition] >= MANY_PARTS;
    let (joined, kept): (Vec<Part>, Vec<Part>) = current.into_iter().partition(is_joined);
    let joined = (
        joined.len(),
        joined.iter().map(|part| part.tapes.len()).sum(),
    );
    let there: BTreeSet<&String> = kept.iter().flat_map(|part| part.tapes.keys()).collect();
    let new = known
        .into_iter()
        .filter(|it| !there.contains(&it.tape.name))
        .collect();
    Division { kept, new, joined }
}

/// The files of one part.
struct Written {
    part: Part,
    rows: [u64; Table::ALL.len()],
}

/// Writes the parts of these tapes, and gives their files their names.
fn write_new(
    target: &Target<'_>,
    head: &Head,
    repeats: &BTreeMap<String, String>,
    new: Vec<Known>,
) -> Result<(Vec<Part>, [u64; Table::ALL.len()]), AdapterError> {
    let (out, mut rows) = (target.out, [0; Table::ALL.len()]);
    if new.is_empty() {
        return Ok((Vec::new(), rows));
    }
    let at = |error: io::Error| AdapterError::from(error).path(out.to_string_lossy());
    let (temporary, _claim) = temporary_beside(&out.join(LIST)).map_err(at)?;
    let jobs = jobs(new);
    let work = |(partition, tapes): &(String, Vec<Known>)| {
        let work = Work {
            prices: target.prices.0,
            repeats,
            is_checked: true,
        };
        write_part(work, head, temporary.path(), partition, tapes)
    };
    let (mut parts, mut failed) = (Vec::new(), None);
    in_order(target.jobs, &jobs, work, |_, done| match done {
        Ok(Written { part, rows: more }) => {
            parts.push(part);
            rows.iter_mut()
                .zip(more)
                .for_each(|(sum, more)| *sum += more);
        }
        Err(error) => failed = Some(error),
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    for table in Table::ALL {
        move_files(
            &temporary.path().join(table.as_str()),
            &out.join(table.as_str()),
        )
        .map_err(at)?;
    }
    Ok((parts, rows))
}

/// Tapes of one partition, in parts of about equal size.
fn jobs(new: Vec<Known>) -> Vec<(String, Vec<Known>)> {
    let mut by_partition: BTreeMap<String, Vec<Known>> = BTreeMap::new();
    for it in new {
        by_partition
            .entry(it.partition.clone())
            .or_default()
            .push(it);
    }
    let mut jobs = Vec::new();
    for (partition, tapes) in by_partition {
        let parts = chunks(tapes, |it| it.tape.path.as_path());
        jobs.extend(parts.into_iter().map(|tapes| (partition.clone(), tapes)));
    }
    jobs
}

fn write_part(
    work: Work<'_>,
    head: &Head,
    directory: &Path,
    partition: &str,
    tapes: &[Known],
) -> Result<Written, AdapterError> {
    let states: BTreeMap<String, String> = tapes
        .iter()
        .map(|it| (it.tape.name.clone(), it.state.clone()))
        .collect();
    let made_of = serde_json::to_vec(&(head, partition, &states)).map_err(io::Error::from)?;
    let part = short(&Hash::of_bytes(&made_of), 8);
    let files = ParquetFiles::of_part(directory, Path::new(partition), &part, FILE_ROWS);
    let done = export(tapes.iter().map(|it| &it.tape), files, directory, work)?;
    if let Some(error) = done.refused.into_iter().next() {
        return Err(error);
    }
    Ok(Written {
        part: Part {
            part,
            partition: partition.to_owned(),
            tapes: states,
        },
        rows: done.rows,
    })
}

fn short(hash: &Hash, bytes: usize) -> String {
    let bytes = &hash.bytes()[..bytes];
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Moves the files below a directory to the same places below another one.
fn move_files(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return Ok(());
    }
    output::make_directory(to, true)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            move_files(&entry.path(), &place)?;
        } else {
            fs::rename(entry.path(), place)?;
        }
    }
    Ok(())
}

/// The parts of the last run; none if they were made in another way.
fn read(out: &Path, head: &Head) -> Vec<Part> {
    let text = fs::read_to_string(out.join(LIST)).unwrap_or_default();
    let mut lines = text.lines();
    let known: Option<Head> = lines
        .next()
        .and_then(|line| serde_json::from_str(line).ok());
    if known.as_ref() != Some(head) {
        return Vec::new();
    }
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn save(out: &Path, head: &Head, parts: &[Part]) -> io::Result<()> {
    let mut text = serde_json::to_string(head)? + "\n";
    for part in parts {
        text += &(serde_json::to_string(part)? + "\n");
    }
    renew(&out.join(LIST), &text)
}

/// Writes a file, unless it has this text: a run without news changes nothing.
fn renew(path: &Path, text: &str) -> io::Result<()> {
    match small_file::found(path, text.len() as u64) {
        Ok(there) if there == text => Ok(()),
        _ => output::write(path, |file| file.write_all(text.as_bytes())),
    }
}

/// Removes the files of the tables that belong to no part, and directories that have none. A table without rows keeps its empty file.
fn remove_others(out: &Path, parts: &[Part]) -> io::Result<()> {
    let names: BTreeSet<&str> = parts.iter().map(|part| part.part.as_str()).collect();
    let with_empty = names.iter().copied().chain([EMPTY]).collect();
    for table in Table::ALL {
        let directory = out.join(table.as_str());
        remove_below(&directory, &with_empty)?;
        let has_rows = directory.is_dir() && fs::read_dir(&directory)?.count() > 1;
        if has_rows {
            remove_below(&directory, &names)?;
        }
    }
    Ok(())
}

fn remove_below(directory: &Path, names: &BTreeSet<&str>) -> io::Result<()> {
    if !directory.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_below(&entry.path(), names)?;
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let part = name
            .strip_prefix("part-")
            .and_then(|name| name.split('-').next());
        if part.is_some_and(|part| !names.contains(part)) {
            fs::remove_file(entry.path())?;
        }
    }
    if fs::read_dir(directory)?.next().is_none() {
        fs::remove_dir(directory)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str, hash: &str, partition: &str) -> Known {
        Known {
            tape: TapeFile {
                name: name.to_owned(),
                path: PathBuf::new(),
                of: None,
            },
            state: hash.to_owned(),
            partition: partition.to_owned(),
            bytes: 1,
        }
    }

    #[test]
    fn many_small_parts_of_one_partition_are_joined() {
        let (mut parts, mut tapes) = (Vec::new(), Vec::new());
        for (partition, number) in [("day=1", MANY_PARTS), ("day=2", MANY_PARTS - 1)] {
            for at in 0..=number {
                let name = format!("{partition}/{at}");
                let mut tape = known(&name, "1", partition);
                // The last part of each partition is a large one.
                tape.bytes = if at == number { SMALL_BYTES } else { 1 };
                tapes.push(tape);
                parts.push(Part {
                    part: name.clone(),
                    partition: partition.to_owned(),
                    tapes: BTreeMap::from([(name, "1".to_owned())]),
                });
            }
        }
        let Division { kept, new, joined } = divided(parts, tapes);
        assert_eq!(joined, (MANY_PARTS, MANY_PARTS));
        assert_eq!(new.len(), MANY_PARTS);
        assert!(
            new.iter()
                .all(|it| it.partition == "day=1" && it.bytes == 1)
        );
        assert_eq!(kept.len(), MANY_PARTS + 1);
    }

    #[test]
    fn a_part_stays_while_all_its_tapes_do() {
        let part = |name: &str, tapes: &[(&str, &str)]| Part {
            part: name.to_owned(),
            partition: "day=1".to_owned(),
            tapes: tapes
                .iter()
                .map(|(name, hash)| ((*name).to_owned(), (*hash).to_owned()))
                .collect(),
        };
        let parts = vec![
            part("stays", &[("a", "1"), ("b", "1")]),
            part("changed", &[("c", "1"), ("d", "1")]),
            part("gone", &[("e", "1")]),
        ];
        let tapes = [("a", "1"), ("b", "1"), ("c", "2"), ("d", "1"), ("new", "1")];
        let tapes = tapes.map(|(name, hash)| known(name, hash, "day=1"));
        let Division { kept, new, .. } = divided(parts, tapes.into());
        let kept: Vec<&str> = kept.iter().map(|part| part.part.as_str()).collect();
        let new: Vec<&str> = new.iter().map(|it| it.tape.name.as_str()).collect();
        assert_eq!((kept, new), (vec!["stays"], vec!["c", "d", "new"]));
    }

    #[test]
    fn no_name_of_a_log_leads_out_of_the_dataset() {
        let of = |start: &str, project: &str| {
            let mut overview = Overview::default();
            overview.start = Some(start.to_owned());
            overview.project = Some(project.to_owned());
            [Partition::Day, Partition::Project].map(|by| partition(Some(by), Some(&overview)))
        };
        let [day, project] = of("2026-11-21T10:00:00Z", "/home/dev/my proj/");
        assert_eq!(day, "day=2026-11-21");
        assert!(project.starts_with("project_key=myproj-"), "{project}");
        let [day, project] = of("../../../x", "/a/../../..=/\u{202e}");
        assert_eq!(day, format!("day={UNKNOWN}"));
        assert!(
            !project.contains(['/', '\u{202e}']) && !project.contains(".."),
            "{project}"
        );
        assert_eq!(
            partition(Some(Partition::Day), None),
            format!("day={UNKNOWN}")
        );
    }
}
