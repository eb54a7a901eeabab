//! Where a view goes: a pager if standard output is a terminal, else standard output itself.

use std::env;
use std::io::{self, BufWriter, IsTerminal, Write, stdout};
use std::process::{Child, Command, Stdio};

/// Writes to the pager or to standard output. A reader that leaves early is no failure.
///
/// # Errors
/// When standard output cannot be written to.
pub fn page(
    wants_pager: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let pager = if wants_pager && stdout().is_terminal() {
        start()
    } else {
        None
    };
    let Some(mut pager) = pager else {
        let mut out = BufWriter::new(stdout().lock());
        return write(&mut out).and_then(|()| out.flush());
    };
    let written = match pager.stdin.take() {
        Some(stdin) => {
            let mut out = BufWriter::new(stdin);
            write(&mut out).and_then(|()| out.flush())
        }
        None => Ok(()),
    };
    pager.wait()?;
    written
}

/// The pager that `PAGER` names, else `less`. `None` if there is none, or `PAGER` is empty.
fn start() -> Option<Child> {
    let pager = env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    let mut words = pager.split_whitespace();
    let mut command = Command::new(words.next()?);
    // Colours stay, and a text that fits on the screen is printed as it is.
    if env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    command.args(words).stdin(Stdio::piped()).spawn().ok()
}
