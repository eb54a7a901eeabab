//! Private mounts, processes and network for one recording: every run has the same paths, without a way to the network.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::fs::lchown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::process::{End, end_of, keep_files};
use crate::stop::{self, Stop};
use crate::will::Will;

/// The home in every recording.
pub const HOME: &str = "/home/dev";
/// The project in every recording.
pub const PROJECT: &str = "/home/dev/proj";
/// Where the work folder is inside.
const WORK: &str = "/home/work";
/// Where the installed harness is inside.
const HARNESS: &str = "/home/harness";
/// Where the directory of `node` is inside.
const NODE: &str = "/home/node";
/// Where the recorder's own program is inside.
const RECORDER: &str = "/home/recorder";
/// How often a command inside is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// The user inside, and outside too if the caller is root: some harnesses refuse to work for root.
pub const USER: u32 = 1000;

/// Makes the mounts, gives up all rights and becomes the recorder. What was mounted before is only read; a mount that
/// cannot be made so, other than `/`, belongs to the system. The terminal of the caller is not there: what is typed into it cannot be read, and
/// nothing can be typed into it. Arguments: work folder, harness, directory of node, recorder, what is
/// hidden besides, and the rest of the command line.
const SCRIPT: &str = "\
set -ef
ip link set lo up
root=$1/root
places=$(cut -d ' ' -f 5 /proc/self/mountinfo)
mount -t tmpfs none \"$root\"
mkdir \"$root/dev\" \"$root/work\" \"$root/harness\" \"$root/node\"
touch \"$root/recorder\"
mount --bind \"$1/home\" \"$root/dev\"
mount --bind \"$1\" \"$root/work\"
mount --bind \"$2\" \"$root/harness\"
mount --bind \"$3\" \"$root/node\"
mount --bind \"$4\" \"$root/recorder\"
mount --bind \"$1/passwd\" /etc/passwd
for place in harness node recorder; do mount -o remount,bind,ro \"$root/$place\"; done
mount -o remount,bind,ro /
for place in $places; do
    # The system writes spaces in names as escapes.
    case $place in /|/dev|/dev/*|/proc|/proc/*) ;; *) mount -o remount,bind,ro \"$(printf %b \"$place\")\" 2>&1 || : ;; esac
done
hidden=$5
shift 5
mount --rbind \"$root\" /home
[ ! -d \"$hidden\" ] || mount -t tmpfs none \"$hidden\"
for private in /tmp /var/tmp /dev/shm /run; do
    [ ! -d $private ] || mount -t tmpfs -o mode=1777 none $private
done
mount -t proc proc /proc
[ ! -d /dev/pts ] || mount -t devpts -o newinstance,ptmxmode=0666 none /dev/pts
cd /home/dev/proj
exec setsid setpriv --ambient-caps -all --inh-caps -all --bounding-set -all \"$@\"
";

/// The users that programs inside can look up.
pub const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\ndev:x:1000:1000:dev:/home/dev:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n";

/// How a recording is kept apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Isolation {
    /// Private mounts, processes and network. The command makes the recorder go on inside; the path of the plan is added to it.
    Private(Vec<OsString>),
    /// Nothing but a home of its own: paths are rewritten afterwards.
    None,
}

/// Where things are, as the harness sees them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Places {
    /// The home.
    pub home: PathBuf,
    /// The project.
    pub project: PathBuf,
    /// The work folder.
    pub work: PathBuf,
    /// The installed harness.
    pub harness: PathBuf,
    /// The directory of `node`.
    pub node: PathBuf,
}

impl Places {
    /// The places inside.
    pub fn private() -> Places {
        let [home, project, work, harness, node] =
            [HOME, PROJECT, WORK, HARNESS, NODE].map(PathBuf::from);
        Places {
            home,
            project,
            work,
            harness,
            node,
        }
    }

    /// The places of a work folder without private mounts.
    pub fn open(work: &Path, harness: &Path, node: &Path) -> Places {
        let home = work.join("home");
        Places {
            project: home.join("proj"),
            home,
            work: work.to_owned(),
            harness: harness.to_owned(),
            node: node.to_owned(),
        }
    }
}

/// The command that makes the recorder go on inside, with the plan in the work folder.
pub fn recorder(work: &Path, harness: &Path, node: &Path, inside: &[OsString]) -> Command {
    let plan = Path::new(WORK).join("plan.json").into_os_string();
    let (recorder, arguments) = inside
        .split_first()
        .map_or_else(Default::default, |(first, rest)| {
            (first.clone(), rest.to_vec())
        });
    let arguments: Vec<OsString> = arguments.into_iter().chain([plan]).collect();
    command(work, harness, node, &recorder, &arguments)
}

/// The command that runs a program inside.
pub fn command(
    work: &Path,
    harness: &Path,
    node: &Path,
    program: &OsStr,
    arguments: &[OsString],
) -> Command {
    let hidden = std::env::var_os("HOME").filter(|home| is_to_hide(Path::new(home)));
    let mut words: Vec<OsString> = user_words();
    words.extend(unshare_words());
    words.extend(["sh", "-c", SCRIPT, "sh"].map(OsString::from));
    words.extend([work, harness, node].map(|path| path.as_os_str().to_owned()));
    words.extend([
        program.to_owned(),
        hidden.unwrap_or_default(),
        OsString::from(RECORDER),
    ]);
    words.extend(arguments.iter().cloned());
    let mut command = Command::new(&words[0]);
    // What runs inside could be read there, and the caller's environment may have keys.
    command
        .args(&words[1..])
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command
}

/// Whether a home of the caller is not hidden already, with `/home`.
fn is_to_hide(home: &Path) -> bool {
    home.is_absolute() && home != Path::new("/") && !home.starts_with("/home")
}

/// Hides the memory and the environment of this process from programs of the same user: beside it works an agent.
pub fn hide() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Linux before 2.4 has no such setting, and no private mounts.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// Carries out such a command in at most this time, and returns how it ended and what it said as errors. Its processes end with it. It hears
/// of a wish to stop on standard input.
///
/// # Errors
/// If it cannot be started or waited for.
pub fn carry_out(
    mut command: Command,
    limit: Duration,
    stop: Option<&Stop>,
) -> Result<(End, String), String> {
    command
        .stdin(stop.map_or_else(Stdio::null, |_| Stdio::piped()))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0);
    let failed = |error: std::io::Error| format!("unshare: {error}");
    keep_files();
    let mut will = Will::for_group().map_err(failed)?;
    let mut child = command.spawn().map_err(failed)?;
    let _ = will.names(child.id());
    let begun = Instant::now();
    let mut untold = stop;
    let end = loop {
        if untold.is_some_and(Stop::is_asked) {
            untold = None;
            // An error means that the child has ended. A child that does not end in time is killed below.
            let words = child.stdin.as_mut();
            let _ = words.map_or(Ok(()), |words| words.write_all(stop::WORD.as_bytes()));
        }
        match child.try_wait() {
            Ok(Some(status)) => break end_of(status),
            Ok(None) if begun.elapsed() < limit => std::thread::sleep(LOOK),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                break End::Timeout;
            }
        }
    };
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    Ok((end, String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// Makes the user inside the owner of all files.
///
/// # Errors
/// Those of the file system.
pub fn give_away(directory: &Path) -> std::io::Result<()> {
    lchown(directory, Some(USER), Some(USER))?;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            give_away(&entry.path())?
        } else {
            lchown(entry.path(), Some(USER), Some(USER))?
        }
    }
    Ok(())
}

/// Root becomes an ordinary user first, here and for all that follows.
fn user_words() -> Vec<OsString> {
    if !rustix::process::getuid().is_root() {
        return Vec::new();
    }
    let user = USER.to_string();
    [
        "setpriv",
        "--reuid",
        &user,
        "--regid",
        &user,
        "--clear-groups",
    ]
    .map(OsString::from)
    .to_vec()
}

fn unshare_words() -> Vec<OsString> {
    let words = [
        "unshare",
        "--user",
        "--map-user=1000",
        "--map-group=1000",
        "--keep-caps",
        "--net",
        "--ipc",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
    ];
    words.map(OsString::from).to_vec()
}

/// Why private mounts cannot be had here; `None` if they can. Asked once.
pub fn refusal() -> Option<&'static str> {
    static REFUSAL: OnceLock<Option<String>> = OnceLock::new();
    let ask = || {
        let mut words = user_words();
        words.extend(unshare_words());
        words.extend(
            ["sh", "-c", "ip link set lo up && mount -o remount,bind,ro / && mount -t tmpfs none /tmp && mount -t proc proc /proc && setsid setpriv --version"]
                .map(OsString::from),
        );
        let output = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::null())
            .output();
        match output {
            Err(error) => Some(format!("{}: {error}", words[0].to_string_lossy())),
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    };
    REFUSAL.get_or_init(ask).as_deref()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_home_of_a_caller_is_hidden() {
        for home in ["/root", "/homes/a", "/home2/a", "/home.old", "/usr/home"] {
            assert!(is_to_hide(Path::new(home)), "{home}");
        }
        for home in ["", "/", "/home", "/home/a", "relative"] {
            assert!(!is_to_hide(Path::new(home)), "{home}");
        }
    }

    /// A directory for temporary files may have any name.
    #[test]
    fn work_folder_may_have_any_name() {
        if let Some(why) = refusal() {
            eprintln!("skipped: {why}");
            return;
        }
        let outer = tempfile::Builder::new()
            .prefix("a b\n*'\"")
            .tempdir()
            .unwrap();
        let work = outer.path().join("work");
        for directory in ["home/proj", "root"] {
            fs::create_dir_all(work.join(directory)).unwrap();
        }
        fs::write(work.join("passwd"), PASSWD).unwrap();
        if rustix::process::getuid().is_root() {
            give_away(outer.path()).unwrap();
        }
        let words = ["-c", "echo x > /home/work/out; exit 3"].map(OsString::from);
        let harness = Path::new("/usr");
        let command = command(&work, harness, harness, "/bin/sh".as_ref(), &words);
        let (end, said) = carry_out(command, Duration::from_secs(60), None).unwrap();
        assert_eq!(end, End::Exit(3), "{said}");
        assert_eq!(fs::read_to_string(work.join("out")).unwrap(), "x\n");
    }
}
