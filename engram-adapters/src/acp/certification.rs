//! What the compatibility kit needs to know about the protocol.

use super::revisions::PROTOCOL;
use crate::certification::Certification;

/// See [`Certification`].
pub(super) const CERTIFICATION: Certification =
    Certification::new().with_unknown_version(next_protocol);

/// The log as a later version of the protocol would be.
fn next_protocol(text: &str) -> Option<String> {
    let versions = [": ", ":"].map(|colon| {
        let version = |version: u64| format!("\"protocolVersion\"{colon}{version}");
        (version(PROTOCOL), version(PROTOCOL + 1))
    });
    let next = versions
        .iter()
        .fold(text.to_owned(), |text, (now, next)| text.replace(now, next));
    (next != text).then_some(next)
}
