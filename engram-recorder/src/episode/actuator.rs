//! What the driver does for an agent: decides, and lists, reads and writes in the sandbox.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use engram_core::tool_kind::ToolKind;
use engram_profiles::Profile;
use engram_profiles::episode::{Envelope, ToolStatus};
use engram_profiles::grammar::Request;
use engram_profiles::profile::Tier;
use serde::Deserialize;

/// No row of the capability map has this name.
pub const UNKNOWN_TOOL: &str = "UNKNOWN_TOOL";
/// The tier does not have it.
pub const NOT_IN_TIER: &str = "NOT_IN_TIER";
/// The driver has no code for this kind of tool.
pub const NO_EXECUTOR: &str = "NO_EXECUTOR";
/// The arguments are not those of the tool.
pub const BAD_ARGS: &str = "BAD_ARGS";
/// The path is absolute, has `..`, or leads through a link.
pub const OUTSIDE_SANDBOX: &str = "OUTSIDE_SANDBOX";
/// All calls of the budget are used up.
pub const BUDGET: &str = "BUDGET";

/// Something that the driver can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Lists a directory.
    List(PathBuf),
    /// Reads a file.
    Read(PathBuf),
    /// Writes a file.
    Write(PathBuf, String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct At {
    path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Write {
    path: String,
    text: String,
}

/// What is to be done for a request.
///
/// # Errors
/// Why it is denied.
pub fn decide(profile: &Profile, tier: Tier, sandbox: &Path, request: &Request) -> Result<Action, &'static str> {
    if profile.capability_map.iter().all(|row| row.intent != request.tool) {
        return Err(UNKNOWN_TOOL);
    }
    let kind = profile.tool_class(&request.tool);
    if tier < tier_of(kind) {
        return Err(NOT_IN_TIER);
    }
    let place = |path: &str| inside(sandbox, path).ok_or(OUTSIDE_SANDBOX);
    let at = || serde_json::from_str::<At>(&request.args).map_err(|_| BAD_ARGS);
    match kind {
        ToolKind::List => Ok(Action::List(place(&at()?.path)?)),
        ToolKind::Read => Ok(Action::Read(place(&at()?.path)?)),
        ToolKind::Write => {
            let Write { path, text } = serde_json::from_str(&request.args).map_err(|_| BAD_ARGS)?;
            Ok(Action::Write(place(&path)?, text))
        }
        _ => Err(NO_EXECUTOR),
    }
}

/// The lowest tier that has this kind of tool.
const fn tier_of(kind: ToolKind) -> Tier {
    match kind {
        ToolKind::Read | ToolKind::List | ToolKind::Search | ToolKind::Think | ToolKind::Plan => Tier::Observe,
        ToolKind::Edit | ToolKind::Write | ToolKind::Delete | ToolKind::Move => Tier::Edit,
        _ => Tier::Full,
    }
}

/// The place of a path in the sandbox; `None` if it is elsewhere or leads through a link.
fn inside(sandbox: &Path, path: &str) -> Option<PathBuf> {
    let mut place = sandbox.to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => place.push(name),
            _ => return None,
        }
        if place.symlink_metadata().is_ok_and(|meta| meta.is_symlink()) {
            return None;
        }
    }
    (!path.is_empty() && !path.contains('\0')).then_some(place)
}

/// Does it, in at most this time, with a result of at most so many bytes.
pub fn execute(action: Action, sandbox: &Path, most: usize, limit: Duration) -> Envelope {
    let sandbox = sandbox.to_owned();
    match within(limit, move || act(&action, &sandbox, most)) {
        Some(Ok(text)) => Envelope { status: ToolStatus::Ok, text },
        Some(Err(text)) => Envelope { status: ToolStatus::Error, text },
        None => Envelope { status: ToolStatus::Error, text: format!("not done after {} ms", limit.as_millis()) },
    }
}

/// What a function returns, if it returns in this time.
fn within<T: Send + 'static>(limit: Duration, act: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, result) = mpsc::channel();
    thread::spawn(move || {
        // The driver may have given up already.
        let _ = done.send(act());
    });
    result.recv_timeout(limit).ok()
}

fn act(action: &Action, sandbox: &Path, most: usize) -> Result<String, String> {
    let name = |place: &Path| {
        let below = place.strip_prefix(sandbox).unwrap_or(place).to_string_lossy().into_owned();
        if below.is_empty() { ".".to_owned() } else { below }
    };
    match action {
        Action::List(place) => list(place, most).map_err(|error| said(&name(place), &error)),
        Action::Read(place) => read(place, most).map_err(|error| said(&name(place), &error)),
        Action::Write(place, text) => {
            write(place, text).map(|()| format!("{} bytes written", text.len())).map_err(|error| said(&name(place), &error))
        }
    }
}

/// An error in words that are the same on every machine.
fn said(name: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("{name}: no such file"),
        io::ErrorKind::NotADirectory => format!("{name}: no directory"),
        io::ErrorKind::IsADirectory => format!("{name}: a directory"),
        io::ErrorKind::FileTooLarge | io::ErrorKind::InvalidData => format!("{name}: {error}"),
        kind => format!("{name}: {kind}"),
    }
}

fn too_large(most: usize) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {most} bytes"))
}

fn list(place: &Path, most: usize) -> io::Result<String> {
    let (mut names, mut size) = (Vec::new(), 0);
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        let mark = if entry.file_type()?.is_dir() { "/\n" } else { "\n" };
        let name = format!("{}{mark}", entry.file_name().to_string_lossy());
        size += name.len();
        if size > most {
            return Err(too_large(most));
        }
        names.push(name);
    }
    names.sort();
    Ok(names.concat())
}

fn read(place: &Path, most: usize) -> io::Result<String> {
    let meta = place.metadata()?;
    // Anything else, such as a pipe, could be waited for.
    if !meta.is_file() {
        let kind = if meta.is_dir() { io::ErrorKind::IsADirectory } else { io::ErrorKind::Unsupported };
        return Err(io::Error::from(kind));
    }
    let mut bytes = Vec::new();
    fs::File::open(place)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(too_large(most));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "no text in UTF-8"))
}

fn write(place: &Path, text: &str) -> io::Result<()> {
    if place.symlink_metadata().is_ok_and(|meta| !meta.is_file()) {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    place.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(place, text)
}

#[cfg(test)]
mod tests {
    use engram_profiles::registry;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    fn ask(sandbox: &Path, tier: Tier, tool: &str, args: &str) -> Result<Action, &'static str> {
        let shipped = registry::all().find(|shipped| shipped.profile.profile_id == "local-inference").unwrap();
        decide(&shipped.profile, tier, sandbox, &Request { id: "r".into(), tool: tool.into(), args: args.into() })
    }

    #[test]
    fn what_the_profile_or_the_tier_does_not_have_is_denied() {
        let sandbox = tempfile::tempdir().unwrap();
        let ask = |tier, tool, args| ask(sandbox.path(), tier, tool, args);
        assert_eq!(ask(Tier::Full, "shell", "{}"), Err(UNKNOWN_TOOL));
        assert_eq!(ask(Tier::Observe, "write", r#"{"path":"a","text":""}"#), Err(NOT_IN_TIER));
        assert!(ask(Tier::Edit, "write", r#"{"path":"a","text":""}"#).is_ok() && ask(Tier::Observe, "read", r#"{"path":"a"}"#).is_ok());
        for args in ["{}", r#"{"path":1}"#, r#"{"path":"a","more":1}"#] {
            assert_eq!(ask(Tier::Full, "read", args), Err(BAD_ARGS), "{args}");
        }
    }

    #[test]
    fn only_the_sandbox_can_be_reached() {
        let outer = tempfile::tempdir().unwrap();
        let sandbox = outer.path().join("sandbox");
        fs::create_dir(&sandbox).unwrap();
        fs::write(outer.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(outer.path(), sandbox.join("link")).unwrap();
        for path in ["/etc/passwd", "../secret", "a/../../secret", "link/secret", "link", "", "a\\u0000b"] {
            let args = format!(r#"{{"path":"{path}"}}"#);
            assert_eq!(ask(&sandbox, Tier::Full, "read", &args), Err(OUTSIDE_SANDBOX), "{path}");
        }
        assert_eq!(ask(&sandbox, Tier::Full, "list", r#"{"path":"./a"}"#), Ok(Action::List(sandbox.join("a"))));
    }

    #[test]
    fn files_are_listed_read_and_written() {
        let sandbox = tempfile::tempdir().unwrap();
        let root = sandbox.path();
        let done = |action| {
            let Envelope { status, text } = execute(action, root, 20, LIMIT);
            (status, text)
        };
        assert_eq!(done(Action::Write(root.join("d/b.txt"), "zwei ü".into())), (ToolStatus::Ok, "7 bytes written".to_owned()));
        fs::write(root.join("a.txt"), [b'x'; 30]).unwrap();
        fs::write(root.join("c"), b"\xff").unwrap();
        assert_eq!(done(Action::List(root.into())), (ToolStatus::Ok, "a.txt\nc\nd/\n".to_owned()));
        assert_eq!(done(Action::Read(root.join("d/b.txt"))), (ToolStatus::Ok, "zwei ü".to_owned()));
        for (action, said) in [
            (Action::Read(root.join("a.txt")), "a.txt: more than 20 bytes"),
            (Action::Read(root.join("c")), "c: no text in UTF-8"),
            (Action::Read(root.join("d")), "d: a directory"),
            (Action::Read(root.join("none")), "none: no such file"),
            (Action::List(root.join("c")), "c: no directory"),
            (Action::Write(root.join("d"), String::new()), "d: a directory"),
        ] {
            assert_eq!(done(action), (ToolStatus::Error, said.to_owned()));
        }
    }

    #[test]
    fn result_that_does_not_come_is_not_waited_for() {
        assert_eq!(within(LIMIT, || 1), Some(1));
        assert_eq!(within(Duration::from_millis(10), || thread::sleep(LIMIT)), None);
    }
}
