//! The shipped profiles. One is chosen by its hash, never by its name alone, and none is the default.

use std::sync::LazyLock;

use crate::error::ProfileError;
use crate::hash::ProfileHash;
use crate::profile::Profile;

/// The files of `profiles/`, by id.
const FILES: &[(&str, &str)] = &[
    (
        "claude-code-black-box",
        include_str!("../profiles/claude-code-black-box.json"),
    ),
    (
        "claude-code-record",
        include_str!("../profiles/claude-code-record.json"),
    ),
    (
        "codex-cli-black-box",
        include_str!("../profiles/codex-cli-black-box.json"),
    ),
    (
        "codex-cli-record",
        include_str!("../profiles/codex-cli-record.json"),
    ),
    (
        "copilot-black-box",
        include_str!("../profiles/copilot-black-box.json"),
    ),
    (
        "copilot-record",
        include_str!("../profiles/copilot-record.json"),
    ),
    (
        "cursor-hooked",
        include_str!("../profiles/cursor-hooked.json"),
    ),
    (
        "gemini-cli-black-box",
        include_str!("../profiles/gemini-cli-black-box.json"),
    ),
    (
        "gemini-cli-record",
        include_str!("../profiles/gemini-cli-record.json"),
    ),
    (
        "kilo-black-box",
        include_str!("../profiles/kilo-black-box.json"),
    ),
    ("kilo-record", include_str!("../profiles/kilo-record.json")),
    (
        "local-inference",
        include_str!("../profiles/local-inference.json"),
    ),
    (
        "openclaw-black-box",
        include_str!("../profiles/openclaw-black-box.json"),
    ),
    (
        "openclaw-record",
        include_str!("../profiles/openclaw-record.json"),
    ),
    (
        "opencode-black-box",
        include_str!("../profiles/opencode-black-box.json"),
    ),
    (
        "opencode-record",
        include_str!("../profiles/opencode-record.json"),
    ),
    (
        "pi-black-box",
        include_str!("../profiles/pi-black-box.json"),
    ),
    ("pi-record", include_str!("../profiles/pi-record.json")),
    (
        "qwen-black-box",
        include_str!("../profiles/qwen-black-box.json"),
    ),
    ("qwen-record", include_str!("../profiles/qwen-record.json")),
];

/// The hash of each file, one line each. A change of a profile must change this file too.
const HASHES: &str = include_str!("../profiles/hashes.tsv");

/// A shipped profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shipped {
    /// The profile.
    pub profile: Profile,
    /// Its hash.
    pub hash: ProfileHash,
    /// Its canonical bytes.
    pub canonical: &'static str,
}

static ALL: LazyLock<Vec<Shipped>> = LazyLock::new(|| {
    FILES
        .iter()
        .filter_map(|(id, text)| load(id, text).ok())
        .collect()
});

/// Every shipped profile, by id.
pub fn all() -> impl Iterator<Item = &'static Shipped> {
    ALL.iter()
}

/// The shipped profile with this hash.
///
/// # Errors
/// `unknown_profile`.
pub fn by_hash(hash: &ProfileHash) -> Result<&'static Shipped, ProfileError> {
    all().find(|shipped| shipped.hash == *hash).ok_or_else(|| {
        ProfileError::unknown(format!(
            "no shipped profile has the hash {hash}; `engram-lab profile list` has them"
        ))
    })
}

/// The shipped profile with this id, if it has this hash.
///
/// # Errors
/// `unknown_profile` if no shipped profile has this id, or if its hash is another one.
pub fn by_id(id: &str, expected: &ProfileHash) -> Result<&'static Shipped, ProfileError> {
    let shipped = all().find(|shipped| shipped.profile.profile_id == id);
    let shipped = shipped.ok_or_else(|| {
        ProfileError::unknown(format!(
            "no shipped profile is called `{id}`; `engram-lab profile list` has them"
        ))
    })?;
    if shipped.hash == *expected {
        return Ok(shipped);
    }
    Err(ProfileError::unknown(format!(
        "`{id}` has the hash {}, and {expected} was expected",
        shipped.hash
    )))
}

/// Reads the bytes of a profile that must have this hash.
///
/// # Errors
/// `unknown_profile` if they have another hash; `profile_invalid` if they are no profile.
pub fn checked(bytes: &[u8], expected: &ProfileHash) -> Result<Profile, ProfileError> {
    let hash = ProfileHash::of(bytes);
    if hash != *expected {
        return Err(ProfileError::unknown(format!(
            "the profile has the hash {hash}, and {expected} was expected"
        )));
    }
    Profile::parse(bytes).map(|(profile, _)| profile)
}

/// Reads a shipped file and compares it with its line of hashes.
fn load(id: &str, text: &'static str) -> Result<Shipped, ProfileError> {
    let line = HASHES
        .lines()
        .find_map(|line| line.strip_prefix(id)?.strip_prefix('\t'));
    let hash: ProfileHash = line
        .ok_or_else(|| {
            ProfileError::unknown(format!("profiles/hashes.tsv has no line for `{id}`"))
        })?
        .parse()?;
    let profile = checked(text.as_bytes(), &hash)?;
    if profile.profile_id != id {
        return Err(ProfileError::invalid(
            "/profile_id",
            format!("expected the name of the file, `{id}`"),
        ));
    }
    Ok(Shipped {
        profile,
        hash,
        canonical: text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_file_is_a_profile_with_its_hash() {
        for (id, text) in FILES {
            let loaded = load(id, text);
            assert!(loaded.is_ok(), "{id}: {}", loaded.unwrap_err());
        }
        assert_eq!(HASHES.lines().count(), FILES.len());
        let hashes: std::collections::BTreeSet<_> = all().map(|shipped| &shipped.hash).collect();
        assert_eq!(hashes.len(), FILES.len());
    }

    #[test]
    fn name_is_no_choice_without_its_hash() {
        let shipped = all().next().unwrap();
        assert_eq!(
            by_id(&shipped.profile.profile_id, &shipped.hash).unwrap(),
            shipped
        );
        let other = ProfileHash::of(b"other");
        for error in [
            by_id(&shipped.profile.profile_id, &other).unwrap_err(),
            by_id("nobody", &shipped.hash).unwrap_err(),
            by_hash(&other).unwrap_err(),
        ] {
            assert_eq!(error.fault.code(), "unknown_profile");
        }
    }
}
