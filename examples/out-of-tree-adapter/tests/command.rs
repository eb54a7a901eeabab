//! The command over the built-in adapters and this one, and what it says of a session of Goose.

use std::path::Path;
use std::process::{Command, ExitCode};

use engram_adapters::Registry;
use goose_adapter::REGISTRATION;

/// Set where this program is to be the command.
const IS_COMMAND: &str = "GOOSE_ADAPTER_IS_COMMAND";

fn main() -> ExitCode {
    if std::env::var_os(IS_COMMAND).is_some() {
        return engram_cli::run(Registry::builtin().with(&REGISTRATION));
    }
    let adapters = said(&["adapters"]);
    assert!(
        adapters.contains("goose") && adapters.contains("codex"),
        "{adapters}"
    );
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let out = tempfile::tempdir().expect("a directory");
    let (fixtures, out) = (
        fixtures.to_str().expect("UTF-8"),
        out.path().to_str().expect("UTF-8"),
    );
    let ingested = said(&["ingest", fixtures, "--out", out]);
    assert!(ingested.contains("2 new"), "{ingested}");
    let listed = said(&["list", out]);
    assert_eq!(listed.matches("goose").count(), 2, "{listed}");
    println!("test result: ok. 3 commands passed");
    ExitCode::SUCCESS
}

/// Runs the command, and returns all that it prints.
fn said(args: &[&str]) -> String {
    let command = std::env::current_exe().expect("this program");
    let home = tempfile::tempdir().expect("a home");
    let output = Command::new(command)
        .args(args)
        .env(IS_COMMAND, "1")
        .env("HOME", home.path())
        .output()
        .expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("UTF-8");
    assert!(output.status.success(), "{args:?}: {text}");
    text
}
