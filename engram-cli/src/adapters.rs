//! `engram adapters`: the registry.

use std::io::{self, Write, stdout};

use engram_adapters::{REGISTRY, tables};

use crate::args::Adapters;
use crate::exit::Exit;

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Adapters) -> io::Result<Exit> {
    let mut out = stdout().lock();
    if args.json {
        let descriptors: Vec<_> = REGISTRY.iter().map(|entry| entry.adapter.describe()).collect();
        serde_json::to_writer_pretty(&mut out, &descriptors)?;
        out.write_all(b"\n")?;
    } else if args.markdown {
        out.write_all(tables::support(REGISTRY).markdown().as_bytes())?;
    } else {
        write!(out, "{}\n{}", tables::adapters(REGISTRY).text(), tables::support(REGISTRY).text())?;
    }
    out.flush()?;
    Ok(Exit::Success)
}
