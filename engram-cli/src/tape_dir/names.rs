//! Names of tapes: safe on every file system, whatever the ids of sessions are.

use engram_core::hash::Hash;

/// The longest stem of a file name, in bytes. With ending and number it stays well below the common limit of 255.
const STEM_BYTES: usize = 160;
/// The longest part of a stem that has two parts.
const PART_BYTES: usize = 79;

/// Names that some systems reserve, with any ending.
const RESERVED: &[&str] = &["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Endings of tapes.
pub const ENDINGS: [&str; 2] = [".tape.jsonl", ".tape.jsonl.zst"];

/// The stem of a tape's name: session and agent.
pub fn tape_stem(session: &str, agent: Option<&str>) -> String {
    // The session of a sub-agent of its own has the agent's id.
    match agent.filter(|agent| !agent.is_empty() && *agent != session) {
        Some(agent) => format!(
            "{}.{}",
            stem_of(session, PART_BYTES),
            stem_of(agent, PART_BYTES)
        ),
        None => stem(session),
    }
}

/// An id as the stem of a file name: ASCII letters, digits, `_` and `-` are kept, and every other byte becomes `%` and two
/// digits. So does the first letter of a reserved name. An overlong id is cut and ends with a part of its hash.
pub fn stem(id: &str) -> String {
    stem_of(id, STEM_BYTES)
}

fn stem_of(id: &str, limit: usize) -> String {
    let is_kept = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_reserved = is_reserved(id);
    let mut name = String::new();
    for (at, byte) in id.bytes().take(limit + 1).enumerate() {
        if is_kept(byte) && !(at == 0 && is_reserved) {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    if name.len() > limit {
        let hash = Hash::of_bytes(id.as_bytes()).to_string();
        let digits: String = hash
            .chars()
            .skip_while(|c| *c != ':')
            .skip(1)
            .take(16)
            .collect();
        name.truncate(limit - digits.len() - 1);
        name.push('-');
        name.push_str(&digits);
    }
    name
}

/// The name with this number among those that have one stem: `stem`, `stem-2`, `stem-3`.
pub fn numbered(stem: &str, number: u64, ending: &str) -> String {
    if number == 1 {
        format!("{stem}{ending}")
    } else {
        format!("{stem}-{number}{ending}")
    }
}

/// True for a path that a tape can have, from the directory of tapes: `<harness>/<name>`. An index can be anybody's, so what it names
/// must not lead elsewhere.
pub fn is_tape_path(path: &str) -> bool {
    let is_plain = |name: &str| {
        let is_kept = |byte: u8| byte.is_ascii_alphanumeric() || b"-_%.".contains(&byte);
        !name.is_empty() && !name.starts_with('.') && name.len() <= 255 && name.bytes().all(is_kept)
    };
    let Some((directory, name)) = path.split_once('/') else {
        return false;
    };
    is_plain(directory) && is_plain(name) && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn is_reserved(id: &str) -> bool {
    if id.len() > 8 {
        return false;
    }
    let id = id.to_ascii_lowercase();
    let numbered = |port: &str| {
        id.strip_prefix(port)
            .is_some_and(|number| number.len() == 1 && number.as_bytes()[0].is_ascii_digit())
    };
    RESERVED.contains(&id.as_str()) || numbered("com") || numbered("lpt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_are_names_inside_the_directory() {
        assert_eq!(stem("019a-Bc_1"), "019a-Bc_1");
        assert_eq!(stem("../../x"), "%2E%2E%2F%2E%2E%2Fx");
        assert_eq!(stem("a\0b\\c:é"), "a%00b%5Cc%3A%C3%A9");
        assert_eq!(stem("NUL"), "%4EUL");
        assert_eq!(stem("com1"), "%63om1");
        assert_eq!(stem("nully"), "nully");
    }

    #[test]
    fn overlong_ids_are_cut_and_stay_apart() {
        let (one, other) = (stem(&"x".repeat(5000)), stem(&"x".repeat(5001)));
        assert_eq!(one.len(), STEM_BYTES);
        assert_ne!(one, other);
        let long = "é".repeat(5000);
        let name = numbered(&tape_stem(&long, Some(&long)), 1_000_000, ENDINGS[1]);
        assert!(name.len() < 200, "{} bytes", name.len());
        assert_eq!(tape_stem("a", Some("b/c")), "a.b%2Fc");
        assert_eq!(tape_stem("a", Some("")), "a");
    }

    #[test]
    fn a_path_in_an_index_cannot_lead_elsewhere() {
        assert!(is_tape_path("codex/019a-%2F.agent-2.tape.jsonl.zst"));
        for path in [
            "../codex/a.tape.jsonl",
            "a.tape.jsonl",
            "/etc/a.tape.jsonl",
            "codex/x/a.tape.jsonl",
            "codex/..\\a.tape.jsonl",
            ".engram/a.tape.jsonl",
            "codex/.tape.jsonl",
            "codex/index.jsonl",
            "codex/C:a.tape.jsonl",
        ] {
            assert!(!is_tape_path(path), "{path}");
        }
    }
}
