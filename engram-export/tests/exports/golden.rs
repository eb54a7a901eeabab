//! The golden tapes of the repository: the snapshots of the gates.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A golden tape.
pub struct Golden {
    /// `<harness>/<version>.<scenario>.<file>`: a name as an export gives it.
    pub name: String,
    /// `<harness>/<version>/<scenario>`: the recording that it was made from.
    pub recording: String,
    /// Its text.
    pub text: String,
}

/// All golden tapes, in the order of their names.
pub static GOLDEN: LazyLock<Vec<Golden>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let mut tapes: Vec<Golden> = files
        .iter()
        .filter_map(|path| golden(&root, path))
        .collect();
    tapes.sort_by(|one, other| one.name.cmp(&other.name));
    assert!(
        tapes.len() > 500,
        "{} golden tapes below {}",
        tapes.len(),
        root.display()
    );
    tapes
});

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files)
        } else {
            files.push(path)
        }
    }
}

/// The tape in a snapshot file, if it has one. Large tapes are compressed beside a snapshot without text.
fn golden(root: &Path, path: &Path) -> Option<Golden> {
    let file = path.file_name()?.to_str()?;
    let session = file.strip_prefix("tape@")?;
    let text = if session.ends_with(".zst") {
        String::from_utf8(zstd::decode_all(fs::File::open(path).unwrap()).unwrap()).unwrap()
    } else {
        let snapshot = fs::read_to_string(path).unwrap();
        let (_, text) = snapshot
            .strip_prefix("---\n")?
            .split_once("\n---\n")
            .unwrap_or_default();
        text.to_owned()
    };
    let text = if text.ends_with('\n') || text.is_empty() {
        text
    } else {
        text + "\n"
    };
    let inside = path.strip_prefix(root).unwrap().parent()?.to_str()?;
    let (harness, rest) = inside.split_once('/')?;
    let session = session
        .trim_end_matches(".zst")
        .trim_end_matches(".jsonl")
        .trim_end_matches(".snap");
    let name = format!("{harness}/{}.{session}", rest.replace('/', "."));
    let recording = inside.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    text.starts_with("{\"seq\":0,").then_some(Golden {
        name,
        recording,
        text,
    })
}
