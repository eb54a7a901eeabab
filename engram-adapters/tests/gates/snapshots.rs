//! Snapshots with `insta`: tapes and the contract, compared byte for byte. A big tape is stored compressed, with a readable excerpt.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use insta::{Settings, assert_binary_snapshot, assert_snapshot};

use crate::excerpt::excerpt;
use crate::tree::{files, root};

/// Tapes up to this size in bytes are stored as text.
pub const TEXT_BYTES: usize = 48 << 10;
/// The zstd level for other tapes. High, as they are rarely written.
const LEVEL: i32 = 19;
/// The extension of the compressed form. `insta` adds a file with its own metadata.
const COMPRESSED: &str = "jsonl.zst";

/// The directory of the snapshots, beside the fixtures.
pub fn directory() -> PathBuf {
    root().join("snapshots")
}

/// The directory of a tape's snapshots, and the session that their names end in.
fn directory_and_session<'n>(snapshots: &Path, tape_name: &'n str) -> (PathBuf, &'n str) {
    let (directory, session) = tape_name.rsplit_once('/').unwrap_or(("", tape_name));
    (snapshots.join(directory), session)
}

/// The snapshot files of a tape.
pub fn files_of_tape(snapshots: &Path, tape_name: &str, tape: &str) -> Vec<PathBuf> {
    let (directory, session) = directory_and_session(snapshots, tape_name);
    let mut kept = vec![directory.join(format!("tape@{session}.snap"))];
    if tape.len() > TEXT_BYTES {
        kept.push(directory.join(format!("tape@{session}.snap.{COMPRESSED}")));
        kept.push(directory.join(format!("excerpt@{session}.snap")));
    }
    kept
}

/// Compares a tape with its snapshots. Another tape by the same version of the adapter is refused, whatever the environment asks for: who reads
/// a log again only where the version has changed would keep the old tape.
pub fn compare_tape(snapshots: &Path, tape_name: &str, tape: &str) -> Vec<String> {
    let (directory, session) = directory_and_session(snapshots, tape_name);
    if let Some(version) = version_of_another_tape(&directory, session, tape) {
        return vec![format!(
            "{tape_name}: another tape by {version}; increase the adapter's version in its descriptor, once for all changes: restore the snapshots of the \
             version before (`git checkout <commit> -- snapshots`), and accept all changes together"
        )];
    }
    if tape.len() <= TEXT_BYTES {
        return Vec::from_iter(compare_text(&directory, "tape", Some(session), tape));
    }
    let compressed = compare_compressed(&directory, session, tape);
    compressed
        .into_iter()
        .chain(compare_text(
            &directory,
            "excerpt",
            Some(session),
            &excerpt(tape),
        ))
        .collect()
}

/// The adapter and its version, if they made the tape and the kept one, and these differ.
fn version_of_another_tape(directory: &Path, session: &str, tape: &str) -> Option<String> {
    let kept = kept_tape(directory, session)?;
    let version = adapter_of(&kept).filter(|version| adapter_of(tape).as_ref() == Some(version));
    version.filter(|_| kept != tape)
}

/// The tape that the snapshots have.
fn kept_tape(directory: &Path, session: &str) -> Option<String> {
    let compressed = fs::read(directory.join(format!("tape@{session}.snap.{COMPRESSED}")));
    let text = match compressed {
        Ok(bytes) => String::from_utf8(zstd::decode_all(bytes.as_slice()).ok()?).ok()?,
        Err(_) => fs::read_to_string(directory.join(format!("tape@{session}.snap"))).ok()?,
    };
    match text.strip_prefix("---\n") {
        Some(rest) => rest.split_once("\n---\n").map(|(_, tape)| tape.to_owned()),
        None => Some(text),
    }
}

/// The adapter that made a tape, with its version.
fn adapter_of(tape: &str) -> Option<String> {
    let start: serde_json::Value = serde_json::from_str(tape.lines().next()?).ok()?;
    let member = |name: &str| start.pointer(&format!("/adapter/{name}"))?.as_str();
    Some(format!("{} {}", member("id")?, member("version")?))
}

/// Compares a part of the contract with its snapshot.
pub fn compare_contract(name: &str, text: &str) -> Option<String> {
    assert!(
        CONTRACT.contains(&name),
        "`{name}` is not in the list of snapshots"
    );
    compare_text(&directory().join("_contract"), name, None, text)
}

/// The snapshots of the contract.
const CONTRACT: [&str; 5] = [
    "conformance",
    "coverage",
    "descriptors",
    "detection-matrix",
    "errors",
];

/// The snapshot files of the contract.
pub fn files_of_contract() -> Vec<PathBuf> {
    CONTRACT
        .iter()
        .map(|name| directory().join(format!("_contract/{name}.snap")))
        .collect()
}

fn settings(directory: &Path, session: Option<&str>) -> Settings {
    let mut settings = Settings::new();
    settings.set_snapshot_path(directory);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    if let Some(session) = session {
        settings.set_snapshot_suffix(session);
    }
    settings
}

/// Turns a failed assertion into a finding, so that one changed snapshot does not hide the next.
fn finding(path: &Path, settings: &Settings, assertion: impl FnOnce()) -> Option<String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| settings.bind(assertion)));
    outcome
        .err()
        .map(|_| format!("{} is missing, or has other content", path.display()))
}

fn compare_text(directory: &Path, name: &str, session: Option<&str>, text: &str) -> Option<String> {
    let path = directory.join(session.map_or(format!("{name}.snap"), |session| {
        format!("{name}@{session}.snap")
    }));
    finding(&path, &settings(directory, session), || {
        assert_snapshot!(name, text)
    })
    .or_else(|| compare_exactly(&path, text))
}

/// Compares exactly: `insta` treats `\r\n` as `\n`, and ignores white space at the end.
fn compare_exactly(path: &Path, text: &str) -> Option<String> {
    if path.with_extension("snap.new").exists() {
        // The text differs, and the change is pending review.
        return None;
    }
    let kept = fs::read_to_string(path).unwrap_or_default();
    let content = kept
        .strip_prefix("---\n")
        .and_then(|kept| Some(kept.split_once("\n---\n")?.1));
    (content != Some(text)).then(|| {
        format!(
            "{} differs in line ends or in white space at its end; INSTA_UPDATE=force rewrites it",
            path.display()
        )
    })
}

/// Compares a tape with its compressed snapshot. A snapshot that decompresses to the tape is compared with itself, so that another
/// version of the compressor causes no difference.
fn compare_compressed(directory: &Path, session: &str, tape: &str) -> Option<String> {
    let path = directory.join(format!("tape@{session}.snap.{COMPRESSED}"));
    let decompressed = |kept: &Vec<u8>| {
        zstd::bulk::decompress(kept, tape.len()).is_ok_and(|kept| kept == tape.as_bytes())
    };
    let kept = fs::read(&path).ok().filter(decompressed);
    let bytes = kept.unwrap_or_else(|| {
        zstd::bulk::compress(tape.as_bytes(), LEVEL).expect("memory can be compressed")
    });
    finding(&path, &settings(directory, Some(session)), || {
        assert_binary_snapshot!(&format!("tape.{COMPRESSED}"), bytes)
    })
}

/// The files that no test uses.
pub fn orphans(snapshots: &Path, needed: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let is_needed = |path: &PathBuf| {
        // A change pending review belongs to its snapshot.
        needed.contains(path)
            || needed.contains(Path::new(
                &path.to_string_lossy().replace(".snap.new", ".snap"),
            ))
    };
    files(snapshots)
        .into_iter()
        .filter(|path| !is_needed(path))
        .collect()
}

/// Reports the files that no test uses, or removes them if the environment asks to rewrite all snapshots.
pub fn remove_or_report(orphans: &[PathBuf]) -> Vec<String> {
    let is_removed = std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always");
    let mut findings = Vec::new();
    for path in orphans {
        if is_removed {
            fs::remove_file(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        } else {
            findings.push(format!(
                "{} belongs to no fixture; delete it",
                path.display()
            ));
        }
    }
    findings
}
