//! Programs that read exports. A test that needs one which is not there is skipped, and says so.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs a script of `tests/python` with the Python that `ENGRAM_PYTHON` names, and shows what it prints. It is skipped if Python or one of
/// the modules is not there.
pub fn python(script: &str, modules: &[&str], args: &[&Path]) {
    let Some(output) = run(script, modules, args) else {
        return;
    };
    let (out, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{script}\n{out}\n{errors}");
    eprint!("{out}");
}

/// As [`python`], but the script must find a fault.
pub fn fails(script: &str, modules: &[&str], args: &[&Path]) {
    let Some(output) = run(script, modules, args) else {
        return;
    };
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("AssertionError"),
        "{script} finds no fault"
    );
}

fn run(script: &str, modules: &[&str], args: &[&Path]) -> Option<Output> {
    let python = std::env::var_os("ENGRAM_PYTHON").unwrap_or_else(|| "python3".into());
    let imports = modules
        .iter()
        .map(|module| format!("import {module}"))
        .collect::<Vec<_>>()
        .join("\n");
    match Command::new(&python).args(["-c", &imports]).output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let error = String::from_utf8_lossy(&output.stderr)
                .trim_end()
                .lines()
                .last()
                .unwrap_or_default()
                .to_owned();
            eprintln!(
                "skipped: {script}: {error} (ENGRAM_PYTHON names a Python with {})",
                modules.join(", ")
            );
            return None;
        }
        Err(error) => {
            eprintln!("skipped: {script}: {}: {error}", python.display());
            return None;
        }
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/python")
        .join(script);
    Some(Command::new(&python).arg(path).args(args).output().unwrap())
}
