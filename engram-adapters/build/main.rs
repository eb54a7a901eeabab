//! Generates the code of each adapter from its member tables, `src/<adapter>/members/*.members`: record types, marks and rules
//! (`format.rs`), the views of objects (`readers.rs`), and the compiled table (`table.rs`). Each adapter includes them by `from_tables!`. Gaps and
//! names of tools may be tables, too (`gaps.tsv`, `tools.tsv`), and are then constants of `format.rs`.

mod format;
mod readers;
mod rows;
mod table;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use engram_core::members::MemberTable;

/// The files of an adapter that only this script reads: what its converter reads, and the rules that become constants.
const READERS: &str = "readers.members";
const OMISSIONS: &str = "omissions.members";
/// What the harness's own types declare: a table of its own, compiled when a log first has something that no other file names.
const DECLARED: &str = "declared.members";

fn main() -> Result<(), Box<dyn Error>> {
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo:rerun-if-changed=build");
    for adapter in fs::read_dir(package.join("src"))? {
        let adapter = adapter?.path();
        if adapter.join("members").is_dir() {
            println!(
                "cargo:rerun-if-changed={}",
                adapter.join("members").display()
            );
            let out = out.join(adapter.file_name().unwrap_or_default());
            fs::create_dir_all(&out)?;
            generate(&package, &adapter, &out)
                .map_err(|error| format!("{}: {error}", adapter.display()))?;
        }
    }
    Ok(())
}

/// Writes the code of one adapter.
fn generate(package: &Path, adapter: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    let mut files: Vec<PathBuf> = fs::read_dir(adapter.join("members"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    let declared = files.iter().find(|file| file.ends_with(DECLARED)).cloned();
    files.retain(|file| !file.ends_with(READERS) && !file.ends_with(DECLARED));
    files.sort();
    let text = files
        .iter()
        .map(fs::read_to_string)
        .collect::<Result<String, _>>()?;
    let table = MemberTable::parse(&text)?;
    files.retain(|file| !file.ends_with(OMISSIONS));
    let rows = rows::code(adapter)?;
    fs::write(out.join("format.rs"), format::code(&table) + &rows)?;
    let path = |file: &PathBuf| {
        Ok(file
            .strip_prefix(package)?
            .to_string_lossy()
            .replace('\\', "/"))
    };
    let files = files
        .iter()
        .map(path)
        .collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    let declared = declared.as_ref().map(path).transpose()?;
    if let Some(file) = &declared {
        MemberTable::parse(&fs::read_to_string(package.join(file))?)
            .map_err(|error| format!("{DECLARED}: {error}"))?;
    }
    fs::write(
        out.join("table.rs"),
        table::code(&table, &files, declared.as_deref()),
    )?;
    let readers = fs::read_to_string(adapter.join("members").join(READERS))?;
    let readers = engram_core::members::readers(&text, &readers)?;
    Ok(fs::write(out.join("readers.rs"), readers::code(&readers))?)
}
