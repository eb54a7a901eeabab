//! What the driver does for an agent: decides, and lists, reads and writes in the sandbox.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use engram_core::tool_kind::ToolKind;
use engram_profiles::Profile;
use engram_profiles::episode::{Envelope, ToolStatus};
use engram_profiles::grammar::Request;
use engram_profiles::profile::Tier;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use serde::Deserialize;

/// No row of the capability map has this name.
pub const UNKNOWN_TOOL: &str = "UNKNOWN_TOOL";
/// The tier does not have it.
pub const NOT_IN_TIER: &str = "NOT_IN_TIER";
/// The driver has no code for this kind of tool.
pub const NO_EXECUTOR: &str = "NO_EXECUTOR";
/// The arguments are not those of the tool.
pub const BAD_ARGS: &str = "BAD_ARGS";
/// The path is absolute, has `..`, is too deep, or leads through a link or to a file that has other names.
pub const OUTSIDE_SANDBOX: &str = "OUTSIDE_SANDBOX";
/// All calls of the budget are used up.
pub const BUDGET: &str = "BUDGET";

/// The most parts of a path.
const MAX_DEPTH: usize = 64;
/// How a directory on the way is opened: the last thing that is looked at is what is used.
const WAY: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The sandbox, as an open directory: what its name leads to may change while the agent runs.
#[derive(Debug, Clone)]
pub struct Sandbox(Arc<OwnedFd>);

impl Sandbox {
    /// The sandbox in this directory.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn open(directory: &Path) -> io::Result<Sandbox> {
        Ok(Sandbox(Arc::new(rustix::fs::open(
            directory,
            WAY,
            Mode::empty(),
        )?)))
    }

    /// Whether a place leads through a link, or is a file that may be elsewhere too.
    fn leads_elsewhere(&self, place: &Path) -> bool {
        let is_elsewhere = |place: &Path| {
            let Ok(stat) = rustix::fs::statat(&*self.0, place, AtFlags::SYMLINK_NOFOLLOW) else {
                return false;
            };
            let kind = FileType::from_raw_mode(stat.st_mode);
            kind == FileType::Symlink || (kind == FileType::RegularFile && stat.st_nlink > 1)
        };
        place
            .ancestors()
            .filter(|above| !above.as_os_str().is_empty())
            .any(is_elsewhere)
    }
}

/// Something that the driver can do. Paths are below the sandbox, and have no other parts than names.
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
pub fn decide(
    profile: &Profile,
    tier: Tier,
    sandbox: &Sandbox,
    request: &Request,
) -> Result<Action, &'static str> {
    let action = wanted(profile, tier, request)?;
    let (Action::List(place) | Action::Read(place) | Action::Write(place, _)) = &action;
    match sandbox.leads_elsewhere(place) {
        true => Err(OUTSIDE_SANDBOX),
        false => Ok(action),
    }
}

/// What a request is for, as far as profile, tier and arguments tell: also without the sandbox, when an episode is verified.
///
/// # Errors
/// Why it is denied.
pub fn wanted(profile: &Profile, tier: Tier, request: &Request) -> Result<Action, &'static str> {
    if profile
        .capability_map
        .iter()
        .all(|row| row.intent != request.tool)
    {
        return Err(UNKNOWN_TOOL);
    }
    let kind = profile.tool_class(&request.tool);
    if tier < tier_of(kind) {
        return Err(NOT_IN_TIER);
    }
    let place = |path: &str| below(path).ok_or(OUTSIDE_SANDBOX);
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
        ToolKind::Read | ToolKind::List | ToolKind::Search | ToolKind::Think | ToolKind::Plan => {
            Tier::Observe
        }
        ToolKind::Edit | ToolKind::Write | ToolKind::Delete | ToolKind::Move => Tier::Edit,
        _ => Tier::Full,
    }
}

/// A path that has only names, relative to the sandbox; `None` if it is absolute, has `..`, or is too deep.
fn below(path: &str) -> Option<PathBuf> {
    if path.is_empty() || path.contains('\0') {
        return None;
    }
    let mut place = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => place.push(name),
            _ => return None,
        }
    }
    (place.components().count() <= MAX_DEPTH).then_some(place)
}

/// Does it, in at most this time, with a result of at most so many bytes.
pub fn execute(action: Action, sandbox: &Sandbox, most: usize, limit: Duration) -> Envelope {
    let sandbox = sandbox.clone();
    match within(limit, move || act(&action, &sandbox, most)) {
        Some(Ok(text)) => Envelope {
            status: ToolStatus::Ok,
            text,
        },
        Some(Err(text)) => Envelope {
            status: ToolStatus::Error,
            text,
        },
        None => Envelope {
            status: ToolStatus::Error,
            text: format!("not done after {} ms", limit.as_millis()),
        },
    }
}

/// What a function returns, if it returns in this time.
fn within<T: Send + 'static>(
    limit: Duration,
    act: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, result) = mpsc::channel();
    thread::spawn(move || {
        // The driver may have given up already.
        let _ = done.send(act());
    });
    result.recv_timeout(limit).ok()
}

fn act(action: &Action, sandbox: &Sandbox, most: usize) -> Result<String, String> {
    let (place, done) = match action {
        Action::List(place) => (place, list(sandbox, place, most)),
        Action::Read(place) => (place, read(sandbox, place, most)),
        Action::Write(place, text) => (
            place,
            write(sandbox, place, text).map(|()| format!("{} bytes written", text.len())),
        ),
    };
    let name = if place.as_os_str().is_empty() {
        ".".into()
    } else {
        place.to_string_lossy()
    };
    done.map_err(|error| said(&name, &error))
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
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("more than {most} bytes"),
    )
}

/// Opens a directory of the sandbox, one part of its path after the other, so that nobody can put a link in between. Missing ones are made
/// on demand.
fn directory(sandbox: &Sandbox, place: &Path, makes: bool) -> io::Result<OwnedFd> {
    let mut at = sandbox.0.try_clone()?;
    for part in place.components() {
        let name = part.as_os_str();
        let next = match rustix::fs::openat(&at, name, WAY, Mode::empty()) {
            Err(rustix::io::Errno::NOENT) if makes => {
                rustix::fs::mkdirat(&at, name, Mode::from_raw_mode(0o777))?;
                rustix::fs::openat(&at, name, WAY, Mode::empty())
            }
            other => other,
        };
        at = next?;
    }
    Ok(at)
}

/// Opens a file of the sandbox. A pipe is not waited for.
fn file(sandbox: &Sandbox, place: &Path, flags: OFlags) -> io::Result<File> {
    let Some(name) = place.file_name() else {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    };
    let above = directory(
        sandbox,
        place.parent().unwrap_or(Path::new("")),
        flags.contains(OFlags::CREATE),
    )?;
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(
        above.as_fd(),
        name,
        flags,
        Mode::from_raw_mode(0o666),
    )?);
    let stat = rustix::fs::fstat(&file)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if stat.st_nlink == 1 => Ok(file),
        FileType::RegularFile => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it has other names, which may be elsewhere",
        )),
        FileType::Directory => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        _ => Err(io::Error::from(io::ErrorKind::Unsupported)),
    }
}

fn list(sandbox: &Sandbox, place: &Path, most: usize) -> io::Result<String> {
    let directory = directory(sandbox, place, false)?;
    let (mut names, mut size) = (Vec::new(), 0);
    for entry in rustix::fs::Dir::read_from(&directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => FileType::from_raw_mode(
                rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode,
            ),
            kind => kind,
        };
        let name = format!(
            "{}{}",
            name.to_string_lossy(),
            if kind == FileType::Directory {
                "/\n"
            } else {
                "\n"
            }
        );
        size += name.len();
        if size > most {
            return Err(too_large(most));
        }
        names.push(name);
    }
    names.sort();
    Ok(names.concat())
}

fn read(sandbox: &Sandbox, place: &Path, most: usize) -> io::Result<String> {
    let mut bytes = Vec::new();
    file(sandbox, place, OFlags::RDONLY)?
        .take(most as u64 + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(too_large(most));
    }
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "no text in UTF-8"))
}

fn write(sandbox: &Sandbox, place: &Path, text: &str) -> io::Result<()> {
    let mut file = file(sandbox, place, OFlags::WRONLY | OFlags::CREATE)?;
    // Only now, when it is known which file it is.
    file.set_len(0)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use engram_profiles::registry;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    fn ask(sandbox: &Path, tier: Tier, tool: &str, args: &str) -> Result<Action, &'static str> {
        let shipped = registry::all()
            .find(|shipped| shipped.profile.profile_id == "local-inference")
            .unwrap();
        decide(
            &shipped.profile,
            tier,
            &Sandbox::open(sandbox).unwrap(),
            &Request {
                id: "r".into(),
                tool: tool.into(),
                args: args.into(),
            },
        )
    }

    #[test]
    fn what_the_profile_or_the_tier_does_not_have_is_denied() {
        let sandbox = tempfile::tempdir().unwrap();
        let ask = |tier, tool, args| ask(sandbox.path(), tier, tool, args);
        assert_eq!(ask(Tier::Full, "shell", "{}"), Err(UNKNOWN_TOOL));
        assert_eq!(
            ask(Tier::Observe, "write", r#"{"path":"a","text":""}"#),
            Err(NOT_IN_TIER)
        );
        assert!(
            ask(Tier::Edit, "write", r#"{"path":"a","text":""}"#).is_ok()
                && ask(Tier::Observe, "read", r#"{"path":"a"}"#).is_ok()
        );
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
        symlink(outer.path(), sandbox.join("link")).unwrap();
        fs::hard_link(outer.path().join("secret"), sandbox.join("hard")).unwrap();
        let deep = "a/".repeat(MAX_DEPTH + 1);
        for path in [
            "/etc/passwd",
            "../secret",
            "a/../../secret",
            "link/secret",
            "link",
            "hard",
            "",
            "a\\u0000b",
            &deep,
        ] {
            let args = format!(r#"{{"path":"{path}"}}"#);
            assert_eq!(
                ask(&sandbox, Tier::Full, "read", &args),
                Err(OUTSIDE_SANDBOX),
                "{path}"
            );
        }
        assert_eq!(
            ask(&sandbox, Tier::Full, "list", r#"{"path":"./a"}"#),
            Ok(Action::List("a".into()))
        );
    }

    /// What was decided about a path may be wrong when the path is used.
    #[test]
    fn what_is_put_in_between_is_not_followed() {
        let outer = tempfile::tempdir().unwrap();
        let (root, secret) = (outer.path().join("sandbox"), outer.path().join("secret"));
        fs::create_dir(&root).unwrap();
        fs::write(&secret, "x").unwrap();
        let sandbox = Sandbox::open(&root).unwrap();
        let [directory, file] = ["d/secret", "secret"].map(|path| below(path).unwrap());
        symlink(outer.path(), root.join("d")).unwrap();
        fs::hard_link(&secret, root.join("secret")).unwrap();
        for place in [&directory, &file] {
            for action in [
                Action::Read(place.clone()),
                Action::Write(place.clone(), "evil".to_owned()),
            ] {
                assert_eq!(
                    execute(action.clone(), &sandbox, 20, LIMIT).status,
                    ToolStatus::Error,
                    "{action:?}"
                );
            }
        }
        fs::remove_file(root.join("secret")).unwrap();
        symlink(&secret, root.join("secret")).unwrap();
        assert_eq!(
            execute(
                Action::Write(file.clone(), "evil".to_owned()),
                &sandbox,
                20,
                LIMIT
            )
            .status,
            ToolStatus::Error
        );
        fs::remove_file(root.join("secret")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("secret"), Mode::RWXU).unwrap();
        for action in [
            Action::Read(file.clone()),
            Action::Write(file.clone(), "evil".to_owned()),
        ] {
            assert_eq!(
                execute(action, &sandbox, 20, LIMIT).status,
                ToolStatus::Error
            );
        }
        // The sandbox stays what it was, whatever has its name now.
        fs::rename(&root, outer.path().join("moved")).unwrap();
        symlink(outer.path(), &root).unwrap();
        assert_eq!(
            execute(
                Action::Write("new".into(), "in".to_owned()),
                &sandbox,
                20,
                LIMIT
            )
            .status,
            ToolStatus::Ok
        );
        assert_eq!(
            fs::read_to_string(outer.path().join("moved/new")).unwrap(),
            "in"
        );
        assert_eq!(fs::read_to_string(&secret).unwrap(), "x");
    }

    #[test]
    fn files_are_listed_read_and_written() {
        let sandbox = tempfile::tempdir().unwrap();
        let root = sandbox.path();
        let open = Sandbox::open(root).unwrap();
        let done = |action| {
            let Envelope { status, text } = execute(action, &open, 20, LIMIT);
            (status, text)
        };
        assert_eq!(
            done(Action::Write("d/b.txt".into(), "zwei ü".into())),
            (ToolStatus::Ok, "7 bytes written".to_owned())
        );
        fs::write(root.join("a.txt"), [b'x'; 30]).unwrap();
        fs::write(root.join("c"), b"\xff").unwrap();
        assert_eq!(
            done(Action::List(PathBuf::new())),
            (ToolStatus::Ok, "a.txt\nc\nd/\n".to_owned())
        );
        assert_eq!(
            done(Action::Read("d/b.txt".into())),
            (ToolStatus::Ok, "zwei ü".to_owned())
        );
        for (action, said) in [
            (Action::Read("a.txt".into()), "a.txt: more than 20 bytes"),
            (Action::Read("c".into()), "c: no text in UTF-8"),
            (Action::Read("d".into()), "d: a directory"),
            (Action::Read("none".into()), "none: no such file"),
            (Action::List("c".into()), "c: no directory"),
            (Action::Write("d".into(), String::new()), "d: a directory"),
        ] {
            assert_eq!(done(action), (ToolStatus::Error, said.to_owned()));
        }
    }

    #[test]
    fn result_that_does_not_come_is_not_waited_for() {
        assert_eq!(within(LIMIT, || 1), Some(1));
        assert_eq!(
            within(Duration::from_millis(10), || thread::sleep(LIMIT)),
            None
        );
    }
}
