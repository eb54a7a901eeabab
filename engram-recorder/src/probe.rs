//! Asks a program for something that it prints or writes: its version, its help, its schemas. In private mounts, where they can be had.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::bounded;
use crate::isolation::{self, PASSWD, Places, give_away};
use crate::process::{End, Running};
use crate::program::{self, node_directory};
use crate::sandbox::write;
use crate::will::WorkFolder;

/// The most bytes of a file that it may write. Some programs unpack themselves before they say their version: Copilot CLI a file of 145 MB.
const MAX_WRITTEN: u64 = 256 << 20;
/// Stands in arguments for the work folder, as the program sees it.
pub const WORK: &str = "{work}";

/// A program that was asked.
pub struct Asked {
    work: WorkFolder,
    /// How it ended.
    pub end: End,
}

impl Asked {
    /// A file that it left in the work folder, at most so many bytes: `out` and `err` have what it printed. No link is followed.
    ///
    /// # Errors
    /// If the file cannot be read, or a part of the way to it is a link.
    pub fn read(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        bounded::read_below(self.work.path(), Path::new(name), most)
    }

    /// The names of the files below a directory of the work folder.
    pub fn files(&self, directory: &str) -> Vec<String> {
        let root = self.work.path();
        let files = engram_conformance::files(&root.join(directory)).into_iter();
        let below = files.filter_map(|path| path.strip_prefix(root).ok().map(Path::to_owned));
        below
            .filter_map(|path| path.to_str().map(str::to_owned))
            .collect()
    }
}

/// Asks a program. It sees a search path, an empty home, and nothing else.
///
/// # Errors
/// Why it cannot be started.
pub fn ask(exe: &Path, args: &[String], limit: Duration) -> Result<Asked, String> {
    let work = WorkFolder::make("engram-probe-", None).map_err(|error| error.what)?;
    let failed = |error: io::Error| format!("{}: {error}", exe.display());
    fs::create_dir_all(work.path().join("home/proj")).map_err(failed)?;
    let end = if isolation::refusal().is_none() {
        inside(work.path(), exe, args, limit)?
    } else {
        here(work.path(), exe, args, limit).map_err(failed)?
    };
    Ok(Asked { work, end })
}

/// Asks in private mounts. All that is left running ends with them.
fn inside(work: &Path, exe: &Path, args: &[String], limit: Duration) -> Result<End, String> {
    fs::create_dir(work.join("root")).map_err(|error| error.to_string())?;
    let ready = write(&work.join("passwd"), PASSWD.as_bytes());
    ready.map_err(|error| error.what)?;
    if rustix::process::getuid().is_root() {
        give_away(work).map_err(|error| error.to_string())?;
    }
    let places = Places::private();
    let root = program::root(exe).map_err(|error| error.what)?;
    let program = program::words(exe, &root, &places).map_err(|error| error.what)?;
    let work_inside = places.work.display().to_string();
    // In blocks of 512 bytes: a file that is too large is seen by its size.
    let script = format!(
        "ulimit -f {}; env -i \"$@\" > {work_inside}/out 2> {work_inside}/err < /dev/null",
        MAX_WRITTEN / 512
    );
    let home = format!("HOME={}", places.home.display());
    let path = format!(
        "PATH={}:/usr/local/bin:/usr/bin:/bin",
        places.node.display()
    );
    let words = ["-c", &script, "sh", &home, &path].map(OsString::from);
    let args = args.iter().map(|word| word.replace(WORK, &work_inside));
    let program = program.into_iter().chain(args).map(OsString::from);
    let words: Vec<OsString> = words.into_iter().chain(program).collect();
    let command = isolation::command(work, &root, &node_directory(), "/bin/sh".as_ref(), &words);
    let (end, said) = isolation::carry_out(command, limit, None)?;
    // The shell makes this file before it starts the program.
    match end {
        End::Exit(_) if work.join("out").symlink_metadata().is_err() => {
            Err(format!("private mounts: {}", said.trim()))
        }
        _ => Ok(end),
    }
}

/// Asks without private mounts. What is left running is ended by its home.
fn here(work: &Path, exe: &Path, args: &[String], limit: Duration) -> io::Result<End> {
    let (home, exe) = (work.join("home"), std::path::absolute(exe)?);
    let (out, err): (PathBuf, PathBuf) = (work.join("out"), work.join("err"));
    let work = work.to_string_lossy();
    let args = args.iter().map(|word| word.replace(WORK, &work));
    let argv: Vec<String> = [exe.to_string_lossy().into_owned()]
        .into_iter()
        .chain(args)
        .collect();
    let env = BTreeMap::from([
        ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
        ("HOME".to_owned(), home.to_string_lossy().into_owned()),
    ]);
    let stdout = Stdio::from(File::create(&out)?);
    let mut running = Running::start(&argv, &home, &env, stdout, &err)?;
    drop(running.words());
    let is_flood = || out.metadata().is_ok_and(|meta| meta.len() > MAX_WRITTEN);
    let end = running.wait(limit, &out, is_flood);
    crate::left::end_left(&home);
    end
}
