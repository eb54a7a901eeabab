//! Writes one large artifact to standard output, for measuring memory: `corpus <harness> <MiB>`.

use std::io::{self, Write};

#[path = "../benches/corpus/mod.rs"]
mod corpus;

fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    let (Some(harness), Some(mib)) = (
        args.next(),
        args.next().and_then(|mib| mib.parse::<usize>().ok()),
    ) else {
        eprintln!("usage: corpus <harness> <MiB>");
        std::process::exit(2);
    };
    let Some(artifact) = corpus::one_artifact(&harness, mib << 20) else {
        eprintln!("fixtures/{harness} holds no artifact");
        std::process::exit(1);
    };
    io::stdout().lock().write_all(artifact.as_bytes())
}
