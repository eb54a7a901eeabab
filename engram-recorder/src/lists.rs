//! The lists that a version's own reader has: types of lines, variants of its schemas, columns of its tables. They are read from its program,
//! so they name what no recording has shown yet.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use memchr::memmem;
use semver::Version;
use serde_json::Value;

use crate::error::RecorderError;
use crate::probe;
use crate::table_file;

/// The first line of a file.
const HEAD: &str = "list\tentry\tvalue";
/// The member of Claude Code's table of line types that no other table has.
const LINE_TYPES_ANCHOR: &[u8] = b"\"file-history-snapshot\":\"";
/// The longest table that is looked at.
const MAX_TABLE: usize = 8192;
/// The beginning of a definition of a table of OpenCode.
const TABLE: &[u8] = b"CREATE TABLE `";

/// How long the schemas may take, and the most bytes of one.
const SCHEMAS: Duration = Duration::from_secs(60);
const MAX_SCHEMA: u64 = 64 << 20;

/// Entries of lists: list and entry, with its value.
pub type Lists = BTreeMap<(String, String), String>;

/// The lists of an installed version; empty where nothing is known to have them.
///
/// # Errors
/// If its program cannot be read.
pub fn of_installed(harness: &str, installed: &Path) -> Result<Lists, RecorderError> {
    let program = match harness {
        "claude-code" => "claude",
        "opencode" => "opencode",
        "codex" => return Ok(codex(installed)),
        _ => return Ok(Lists::new()),
    };
    let link = installed.join("node_modules/.bin").join(program);
    let path = link
        .canonicalize()
        .map_err(|error| RecorderError::io(&link, &error))?;
    let bytes = fs::read(&path).map_err(|error| RecorderError::io(&path, &error))?;
    Ok(if harness == "opencode" {
        tables(&bytes)
    } else {
        line_types(&bytes)
    })
}

/// The table of line types: the largest object of words around the anchor.
fn line_types(bytes: &[u8]) -> Lists {
    let mut found = Lists::new();
    for at in memmem::find_iter(bytes, LINE_TYPES_ANCHOR) {
        let from = bytes[at.saturating_sub(MAX_TABLE)..at]
            .iter()
            .rposition(|byte| *byte == b'{')
            .map(|open| at.saturating_sub(MAX_TABLE) + open);
        let to = bytes[at..]
            .iter()
            .take(MAX_TABLE)
            .position(|byte| *byte == b'}')
            .map(|close| at + close);
        let (Some(from), Some(to)) = (from, to) else {
            continue;
        };
        let pairs = words(&bytes[from + 1..to]);
        // Other tables of the program have some of the types.
        if pairs.len() > found.len() {
            found = pairs
                .into_iter()
                .map(|(entry, value)| (("line_types".to_owned(), entry), value))
                .collect();
        }
    }
    found
}

/// `name:"word","other-name":"word"`; empty if it is anything else.
fn words(text: &[u8]) -> BTreeMap<String, String> {
    let Ok(text) = std::str::from_utf8(text) else {
        return BTreeMap::new();
    };
    let is_word = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let pair = |pair: &str| {
        let (name, value) = pair.split_once(':')?;
        let (name, value) = (
            name.trim_matches('"'),
            value.strip_prefix('"')?.strip_suffix('"')?,
        );
        (is_word(name) && is_word(value)).then(|| (name.to_owned(), value.to_owned()))
    };
    text.split(',')
        .map(pair)
        .collect::<Option<_>>()
        .unwrap_or_default()
}

/// The columns of all tables that are created anywhere.
fn tables(bytes: &[u8]) -> Lists {
    let mut found = Lists::new();
    for at in memmem::find_iter(bytes, TABLE) {
        let rest = &bytes[at + TABLE.len()..(at + TABLE.len() + MAX_TABLE).min(bytes.len())];
        let text = String::from_utf8_lossy(rest);
        let Some((name, body)) = text.split_once('`') else {
            continue;
        };
        let body = body
            .split(");")
            .next()
            .unwrap_or_default()
            .replace("\\n", "\n")
            .replace("\\t", " ");
        let list = format!("table:{}", name.trim_start_matches("__new_"));
        for column in body
            .split([',', '\n', '('])
            .filter_map(|part| part.trim().strip_prefix('`'))
        {
            let Some((column, kind)) = column.split_once('`') else {
                continue;
            };
            let kind = kind.split_whitespace().next().unwrap_or_default();
            // Names in keys and references have no type.
            if !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_lowercase()) {
                found.insert((list.clone(), column.to_owned()), kind.to_owned());
            }
        }
    }
    found
}

/// Codex writes its own schemas: each definition with variants is a list of their types. Versions before the command have none to give.
fn codex(installed: &Path) -> Lists {
    let out = format!("{}/schemas", probe::WORK);
    let words = ["app-server", "generate-json-schema", "--out", &out].map(str::to_owned);
    let exe = installed.join("node_modules/.bin/codex");
    let mut found = Lists::new();
    let Ok(asked) = probe::ask(&exe, &words, SCHEMAS) else {
        return found;
    };
    let files = asked.files("schemas").into_iter();
    for name in files.filter(|name| name.ends_with(".json")) {
        let text = asked.read(&name, MAX_SCHEMA).unwrap_or_default();
        if let Ok(schema) = serde_json::from_slice::<Value>(&text) {
            variants(&schema, &mut found);
        }
    }
    found
}

fn variants(schema: &Value, found: &mut Lists) {
    for (name, definition) in schema["definitions"].as_object().into_iter().flatten() {
        for variant in definition["oneOf"].as_array().into_iter().flatten() {
            let Some(kind) = variant
                .pointer("/properties/type/enum/0")
                .and_then(Value::as_str)
            else {
                continue;
            };
            let members: BTreeSet<&str> = variant["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| name.as_str())
                .filter(|name| *name != "type")
                .collect();
            found.insert(
                (format!("schema:{name}"), kind.to_owned()),
                members.into_iter().collect::<Vec<_>>().join(" "),
            );
        }
    }
}

/// The file of a version.
fn file(directory: &Path, harness: &str, version: &Version) -> PathBuf {
    directory.join(harness).join(format!("{version}.tsv"))
}

/// Writes the lists of a version. Nothing is written where there are none.
///
/// # Errors
/// Those of the file system.
pub fn keep(
    directory: &Path,
    harness: &str,
    version: &Version,
    lists: &Lists,
) -> Result<(), RecorderError> {
    if lists.is_empty() {
        return Ok(());
    }
    let lines: String = lists
        .iter()
        .map(|((list, entry), value)| format!("{list}\t{entry}\t{value}\n"))
        .collect();
    table_file::replace(
        &file(directory, harness, version),
        &format!("{HEAD}\n{lines}"),
    )
}

/// The lists of a version that are kept; empty if there are none.
///
/// # Errors
/// Those of the file system.
pub fn kept(directory: &Path, harness: &str, version: &Version) -> Result<Lists, RecorderError> {
    let path = file(directory, harness, version);
    let Some(text) = table_file::read(&path)? else {
        return Ok(Lists::new());
    };
    let entry = |line: &str| {
        let (list, rest) = line.split_once('\t')?;
        let (entry, value) = rest.split_once('\t')?;
        Some(((list.to_owned(), entry.to_owned()), value.to_owned()))
    };
    Ok(text.lines().skip(1).filter_map(entry).collect())
}

/// The entries that the lists of the next older version have not: `list/entry`. Nothing if no older version has lists.
///
/// # Errors
/// Those of the file system.
pub fn new_entries(
    directory: &Path,
    harness: &str,
    version: &Version,
    lists: &Lists,
) -> Result<Vec<String>, RecorderError> {
    let older = fs::read_dir(directory.join(harness))
        .into_iter()
        .flatten()
        .flatten();
    let older = older
        .filter_map(|entry| Version::parse(entry.file_name().to_str()?.strip_suffix(".tsv")?).ok());
    let Some(older) = older.filter(|other| other < version).max() else {
        return Ok(Vec::new());
    };
    let known = kept(directory, harness, &older)?;
    Ok(lists
        .keys()
        .filter(|entry| !known.contains_key(*entry))
        .map(|(list, entry)| format!("{list}/{entry}"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_table_of_words_around_the_anchor_is_taken() {
        let program = b"x={\"file-history-snapshot\":\"always\"};y={user:\"transcript\",\"file-history-snapshot\":\"boundary-cleared\",tag:\"last-wins\"};\
            z={\"file-history-snapshot\":\"a b\",c:d}";
        let lists = line_types(program);
        let entries: Vec<(&str, &str)> = lists
            .iter()
            .map(|((_, entry), value)| (entry.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            entries,
            [
                ("file-history-snapshot", "boundary-cleared"),
                ("tag", "last-wins"),
                ("user", "transcript")
            ]
        );
    }

    #[test]
    fn columns_are_read_and_keys_are_not() {
        let program = br#"run("CREATE TABLE `part` (\n  `id` text PRIMARY KEY,\n  `seq` integer NOT NULL,\n CONSTRAINT `k` FOREIGN KEY (`id`) REFERENCES `x`(`id`)\n );")"#;
        let columns: Vec<String> = tables(program)
            .into_iter()
            .map(|((list, entry), value)| format!("{list} {entry} {value}"))
            .collect();
        assert_eq!(columns, ["table:part id text", "table:part seq integer"]);
    }

    #[test]
    fn entry_that_the_older_version_lacks_is_new() {
        let directory = tempfile::tempdir().unwrap();
        let lists = |names: &[&str]| {
            names
                .iter()
                .map(|name| (("l".to_owned(), (*name).to_owned()), String::new()))
                .collect::<Lists>()
        };
        let (old, new) = (Version::new(1, 9, 0), Version::new(1, 10, 0));
        keep(directory.path(), "h", &old, &lists(&["a", "b"])).unwrap();
        assert_eq!(
            new_entries(directory.path(), "h", &new, &lists(&["a", "b", "c"])).unwrap(),
            ["l/c"]
        );
        assert!(
            new_entries(directory.path(), "h", &old, &lists(&["z"]))
                .unwrap()
                .is_empty()
        );
    }
}
