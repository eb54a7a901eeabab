//! `engram adapters`: lists the registered adapters.

use std::io::{self, Write, stdout};

use engram_adapters::{Registry, tables};
use engram_command::exit::Exit;

use crate::args::Adapters;

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Adapters, registry: &Registry) -> io::Result<Exit> {
    let mut out = stdout().lock();
    if args.json {
        let descriptors: Vec<_> = registry
            .adapters()
            .map(|registration| registration.descriptor())
            .collect();
        serde_json::to_writer_pretty(&mut out, &descriptors)?;
        out.write_all(b"\n")?;
    } else if args.markdown {
        out.write_all(tables::support(registry).markdown().as_bytes())?;
    } else {
        write!(
            out,
            "{}\n{}",
            tables::adapters(registry).text(),
            tables::support(registry).text()
        )?;
    }
    out.flush()?;
    Ok(Exit::Success)
}
