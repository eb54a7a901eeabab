//! Tables of rows: the gaps of an adapter and the names of the harness's tools, in columns that tabs divide. `#` begins a comment.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::format::camel_case;

/// Code, fixture, reason.
pub const GAPS: &str = "gaps.tsv";
/// Name, kind.
pub const TOOLS: &str = "tools.tsv";

/// The constants of the tables that are in a directory. A directory below it is that of a dialect, whose gaps are `<DIALECT>_GAPS`.
pub fn code(directory: &Path) -> Result<String, Box<dyn Error>> {
    let mut out = String::new();
    let mut tables = vec![(String::new(), directory.to_owned())];
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if entry.path().is_dir() {
            tables.push((name + "_", entry.path()));
        }
    }
    tables.sort();
    for (dialect, directory) in &tables {
        let Some(gaps) = rows::<3>(&directory.join(GAPS))? else {
            continue;
        };
        let _ = writeln!(
            out,
            "\n/// Known losses.\npub(super) const {dialect}GAPS: &[engram_core::descriptor::Gap] = &["
        );
        for [code, fixture, reason] in gaps {
            let _ = writeln!(
                out,
                "    engram_core::descriptor::Gap {{ code: {code:?}, reason: {reason:?}, fixture: {fixture:?} }},"
            );
        }
        out.push_str("];\n");
    }
    if let Some(tools) = rows::<2>(&directory.join(TOOLS))? {
        out.push_str(
            "\n/// The names of tools, and their kinds.\npub(super) const TOOL_NAMES: &[(&str, engram_core::tool_kind::ToolKind)] = &[\n",
        );
        for [name, kind] in tools {
            let kind = camel_case(&kind);
            let _ = writeln!(
                out,
                "    ({name:?}, engram_core::tool_kind::ToolKind::{kind}),"
            );
        }
        out.push_str("];\n");
    }
    Ok(out)
}

/// The rows of a table. None if there is no such file.
fn rows<const N: usize>(path: &Path) -> Result<Option<Vec<[String; N]>>, Box<dyn Error>> {
    if !path.exists() {
        return Ok(None);
    }
    println!("cargo:rerun-if-changed={}", path.display());
    let text = fs::read_to_string(path)?;
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let row = |line: &str| {
        let columns: Vec<String> = line.split('\t').map(str::to_owned).collect();
        <[String; N]>::try_from(columns)
            .map_err(|_| format!("{}: not {N} columns: {line}", path.display()))
    };
    Ok(Some(lines.map(row).collect::<Result<_, _>>()?))
}
