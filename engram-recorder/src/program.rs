//! The program of an installed agent, as it is called.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::RecorderError;
use crate::isolation::Places;

/// The directory that a program needs: the one with `node_modules` if the program is below it, else its own.
///
/// # Errors
/// `io` if the program is not there.
pub fn root(exe: &Path) -> Result<PathBuf, RecorderError> {
    let io = |error: std::io::Error| RecorderError::io(exe, &error);
    let given = std::path::absolute(exe).map_err(io)?;
    let path = exe.canonicalize().map_err(io)?;
    let modules = given
        .ancestors()
        .find(|above| above.file_name().is_some_and(|name| name == "node_modules"));
    let root = modules
        .and_then(Path::parent)
        .or(path.parent())
        .unwrap_or(Path::new("/"));
    root.canonicalize().map_err(io)
}

/// How a program is called: `node` before a script.
///
/// # Errors
/// `io` if the program is not there.
pub fn words(exe: &Path, root: &Path, places: &Places) -> Result<Vec<String>, RecorderError> {
    let path = exe
        .canonicalize()
        .map_err(|error| RecorderError::io(exe, &error))?;
    let root = root
        .canonicalize()
        .map_err(|error| RecorderError::io(root, &error))?;
    let inside = path
        .strip_prefix(&root)
        .map_or_else(|_| path.clone(), |below| places.harness.join(below));
    let head = read_head(&path);
    let is_script = head.starts_with("#!")
        && head
            .lines()
            .next()
            .is_some_and(|line| line.contains("node"));
    let mut words = Vec::new();
    if is_script {
        words.extend([
            places.node.join("node").to_string_lossy().into_owned(),
            "--no-warnings".to_owned(),
        ]);
    }
    words.push(inside.to_string_lossy().into_owned());
    Ok(words)
}

fn read_head(path: &Path) -> String {
    let mut head = [0_u8; 128];
    let count = File::open(path)
        .and_then(|mut file| file.read(&mut head))
        .unwrap_or_default();
    String::from_utf8_lossy(&head[..count]).into_owned()
}

/// The directory of the `node` of the caller's path.
pub fn node_directory() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).find(|directory| directory.join("node").is_file());
    found
        .and_then(|directory| {
            directory
                .join("node")
                .canonicalize()
                .ok()?
                .parent()
                .map(Path::to_owned)
        })
        .unwrap_or_else(|| PathBuf::from("/usr/bin"))
}
