//! The packages of a release: made by its script from this build, and installed from their own files. What needs a program that is not there is
//! skipped, and says so.

use super::*;

/// The target of the packages. The binary of the test stands for it.
const TARGET: &str = if cfg!(target_arch = "aarch64") {
    "aarch64-unknown-linux-musl"
} else {
    "x86_64-unknown-linux-musl"
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn has(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if found.is_err() {
        eprintln!("skipped: there is no {program}");
    }
    found.is_ok()
}

/// Runs a program that must succeed, and returns what it prints.
fn output(command: &mut Command) -> String {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{command:?}: {}", stderr(&done));
    String::from_utf8(done.stdout).unwrap()
}

fn packages() -> TempDir {
    let out = tempfile::tempdir().unwrap();
    let built = format!("{TARGET}={}", env!("CARGO_BIN_EXE_engram"));
    output(
        Command::new(root().join("scripts/package"))
            .arg(out.path())
            .arg(built),
    );
    out
}

fn version_line() -> String {
    output(Command::new(env!("CARGO_BIN_EXE_engram")).arg("--version"))
}

#[test]
fn each_package_is_installed_from_its_own_file() {
    let out = packages();
    let archive = format!("engram-{}-{TARGET}.tgz", env!("CARGO_PKG_VERSION"));
    assert!(
        names(out.path()).contains(&archive),
        "{:?}",
        names(out.path())
    );
    is_the_name_for_binstall(&archive);
    installer(out.path(), &archive);
    formula(out.path());
    npm(out.path());
}

/// `cargo binstall` asks for the archive by the name that the manifest has.
fn is_the_name_for_binstall(archive: &str) {
    let manifest = fs::read_to_string(root().join("engram-cli/Cargo.toml")).unwrap();
    let url = manifest
        .lines()
        .find_map(|line| line.strip_prefix("pkg-url = "))
        .unwrap();
    let name = url.trim_matches('"').rsplit('/').next().unwrap();
    let asked = name
        .replace("{ version }", env!("CARGO_PKG_VERSION"))
        .replace("{ target }", TARGET)
        .replace("{ archive-suffix }", ".tgz");
    assert_eq!(asked, archive);
}

fn installer(packages: &Path, archive: &str) {
    let prefix = tempfile::tempdir().unwrap();
    let install = || {
        let mut command = Command::new("sh");
        command
            .arg(packages.join("install.sh"))
            .env("ENGRAM_FROM", packages)
            .env("ENGRAM_PREFIX", prefix.path());
        command
    };
    let said = output(&mut install());
    assert!(
        said.starts_with(&version_line().trim_end().to_owned()),
        "{said}"
    );
    assert!(prefix.path().join("share/man/man1/engram.1").is_file());
    assert_eq!(
        output(Command::new(prefix.path().join("bin/engram")).arg("--version")),
        version_line()
    );
    // An archive that somebody changed is not installed.
    fs::remove_file(prefix.path().join("bin/engram")).unwrap();
    let at = packages.join(archive);
    let whole = fs::read(&at).unwrap();
    fs::write(&at, [&whole[..], b"x"].concat()).unwrap();
    let refused = install().output().unwrap();
    assert!(!refused.status.success());
    assert!(
        stderr(&refused).contains("SHA256SUMS says"),
        "{}",
        stderr(&refused)
    );
    assert!(!prefix.path().join("bin/engram").exists());
    fs::write(&at, whole).unwrap();
}

fn formula(packages: &Path) {
    let formula = fs::read_to_string(packages.join("engram-tape.rb")).unwrap();
    assert!(
        formula.contains("on_linux do") && !formula.contains("on_macos do"),
        "{formula}"
    );
    if has("ruby") {
        let checked = output(
            Command::new("ruby")
                .arg("-c")
                .arg(packages.join("engram-tape.rb")),
        );
        assert_eq!(checked, "Syntax OK\n");
    }
}

fn npm(packages: &Path) {
    if !has("npm") {
        return;
    }
    let prefix = tempfile::tempdir().unwrap();
    let of_npm = names(packages)
        .into_iter()
        .filter(|name| name.starts_with("engram-tape-") && name.ends_with(".tgz"));
    let files: Vec<PathBuf> = of_npm.map(|name| packages.join(name)).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    output(
        Command::new("npm")
            .args([
                "install",
                "--offline",
                "--no-audit",
                "--no-fund",
                "--prefix",
            ])
            .arg(prefix.path())
            .args(&files),
    );
    assert_eq!(
        output(Command::new(prefix.path().join("node_modules/.bin/engram")).arg("--version")),
        version_line()
    );
}
