//! The files in which a harness keeps its sessions: a row of an adapter's table. A file of this place and name that no adapter recognises
//! is damaged or of an unknown version, and not any other file.

use std::path::Path;

/// Endings of compressed files.
const COMPRESSED: [&str; 2] = [".zst", ".gz"];

/// The lengths of the groups of a UUID.
const UUID: [usize; 5] = [8, 4, 4, 4, 12];

/// The files of sessions below a directory.
#[derive(Debug, Clone, Copy)]
pub struct SessionFile {
    /// The name of a directory above them.
    pub directory: &'static str,
    /// The most levels that it is above them.
    pub levels: usize,
    /// The beginning of their names. The rest of the name must be an id or a time; without a beginning, a UUID.
    pub prefix: &'static str,
    /// The end of their names. If it is empty, the beginning is the whole name.
    pub ending: &'static str,
}

impl SessionFile {
    /// The files with these names in a directory, or at most so many levels below it.
    pub const fn new(
        (directory, levels): (&'static str, usize),
        prefix: &'static str,
        ending: &'static str,
    ) -> SessionFile {
        SessionFile {
            directory,
            levels,
            prefix,
            ending,
        }
    }

    /// True if a file at this path is one of these.
    pub fn matches(&self, path: &Path) -> bool {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return false;
        };
        let name = COMPRESSED
            .iter()
            .find_map(|ending| name.strip_suffix(ending))
            .unwrap_or(name);
        let Some(id) = name
            .strip_suffix(self.ending)
            .and_then(|name| name.strip_prefix(self.prefix))
        else {
            return false;
        };
        let is_directory = |directory: &Path| {
            directory
                .file_name()
                .is_some_and(|name| name == self.directory)
        };
        let mut above = path.ancestors().skip(1).take(self.levels);
        match (self.prefix, self.ending) {
            // A UUID is the name of many files, so the place of one must be exact.
            ("", _) => is_uuid(id) && above.last().is_some_and(is_directory),
            (_, "") => id.is_empty() && above.any(is_directory),
            _ => is_id(id) && above.any(is_directory),
        }
    }
}

/// True for hexadecimal digits and times, as harnesses name files: `2026-11-21T10-24-30-01a1fda2`.
fn is_id(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b'-' | b'_' | b'T' | b'Z');
    text.bytes().all(is_part) && text.bytes().any(|byte| byte.is_ascii_digit())
}

fn is_uuid(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
        && text.split('-').map(str::len).eq(UUID)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_and_name_decide() {
        let (by_id, by_prefix) = (
            SessionFile::new(("projects", 2), "", ".jsonl"),
            SessionFile::new(("sessions", 4), "rollout-", ".jsonl"),
        );
        let id = "52d6066f-4c7c-4785-b969-b694dc6e991d";
        let (file, archived) = (
            format!("/h/projects/p/{id}.jsonl"),
            format!("projects/p/{id}.jsonl.zst"),
        );
        assert!(by_id.matches(Path::new(&file)) && by_id.matches(Path::new(&archived)));
        for other in [
            &format!("/h/{id}.jsonl"),
            &format!("/h/projects/p/q/{id}.jsonl"),
            &format!("/h/projects/{id}.json"),
            "/h/projects/p/data.jsonl",
            "/h/projects/p/.jsonl",
        ] {
            assert!(!by_id.matches(Path::new(other)), "{other}");
        }
        assert!(by_prefix.matches(Path::new(
            "/h/sessions/2026/11/rollout-2026-11-21T10-24-30-01a1fda2.jsonl"
        )));
        assert!(
            !by_prefix.matches(Path::new("/h/sessions/1.jsonl"))
                && !by_prefix.matches(Path::new("/h/sessions/rollout-.jsonl"))
        );
        assert!(!by_prefix.matches(Path::new("/h/sessions/rollout-config.jsonl")));
        let by_name = SessionFile::new(("state", 2), "events.jsonl", "");
        assert!(by_name.matches(Path::new("/h/state/s/events.jsonl.gz")));
        assert!(!by_name.matches(Path::new("/h/state/s/events.jsonl.old")));
    }
}
