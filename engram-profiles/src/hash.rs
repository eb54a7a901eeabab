//! The hash of a profile.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ProfileError;

/// What is hashed before a profile, so that its hash never equals that of a tape or a file.
const DOMAIN: &[u8] = b"engram.agent_adapter_profile/1";
/// What every hash begins with.
const PREFIX: &str = "blake3:";

/// BLAKE3 of a domain and a profile's canonical bytes, as `blake3:` and 64 hexadecimal digits.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct ProfileHash(#[schemars(regex(pattern = r"^blake3:[0-9a-f]{64}$"))] String);

impl ProfileHash {
    /// The hash of these canonical bytes.
    pub fn of(canonical: &[u8]) -> ProfileHash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(DOMAIN).update(&[0]).update(canonical);
        ProfileHash(format!("{PREFIX}{}", hasher.finalize().to_hex()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProfileHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ProfileHash {
    type Err = ProfileError;

    fn from_str(text: &str) -> Result<Self, ProfileError> {
        if is_hash(text) {
            Ok(ProfileHash(text.to_owned()))
        } else {
            Err(ProfileError::unknown(format!(
                "`{text}` is not {PREFIX} and 64 hexadecimal digits"
            )))
        }
    }
}

impl TryFrom<String> for ProfileHash {
    type Error = ProfileError;

    fn try_from(text: String) -> Result<Self, ProfileError> {
        text.parse()
    }
}

impl From<ProfileHash> for String {
    fn from(hash: ProfileHash) -> String {
        hash.0
    }
}

/// The plain BLAKE3 hash of bytes, as `blake3:` and 64 hexadecimal digits.
pub fn of_bytes(bytes: &[u8]) -> String {
    format!("{PREFIX}{}", blake3::hash(bytes).to_hex())
}

/// True for `blake3:` and 64 lower-case hexadecimal digits.
pub fn is_hash(text: &str) -> bool {
    text.strip_prefix(PREFIX)
        .is_some_and(|digits| digits.len() == 64 && digits.bytes().all(is_hex))
}

/// True for a lower-case hexadecimal digit.
pub(crate) fn is_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_of_a_profile_is_no_hash_of_its_bytes() {
        let hash = ProfileHash::of(b"{}");
        assert!(is_hash(hash.as_str()) && hash.as_str() != of_bytes(b"{}"));
        assert_eq!(
            hash.as_str(),
            of_bytes(b"engram.agent_adapter_profile/1\0{}")
        );
        assert_eq!(hash.as_str().parse::<ProfileHash>().unwrap(), hash);
        assert!(hash.as_str().to_uppercase().parse::<ProfileHash>().is_err());
    }
}
