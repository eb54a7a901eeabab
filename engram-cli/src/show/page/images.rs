//! Pictures that a log has: a tape has only their hashes, so they are read from the log that it was made from.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engram_core::hash::Hash;

use crate::show::view::{Attached, Body, SessionView};

/// Shorter texts are no pictures.
const LEAST_BYTES: usize = 64;
/// Bytes of pictures on one page, as the log writes them.
const PAGE_BYTES: usize = 24 << 20;

/// The first bytes of pictures that every browser shows, and their types.
const TYPES: [(&[u8], &str); 5] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"RIFF", "image/webp"),
];

/// Pictures by the hash of their bytes.
#[derive(Debug, Default)]
pub struct Images(HashMap<String, Image>);

/// One picture.
#[derive(Debug)]
pub struct Image {
    pub media_type: &'static str,
    pub base64: String,
}

impl Images {
    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, attached: &Attached) -> Option<&Image> {
        self.0.get(attached.hash.as_ref()?)
    }

    /// Adds the pictures of a log that are wanted.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn read(&mut self, mut log: impl BufRead, wanted: &HashSet<String>) -> io::Result<()> {
        let mut line = Vec::new();
        let mut room = PAGE_BYTES;
        while log.read_until(b'\n', &mut line)? > 0 {
            let is_base64 =
                |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
            for text in line
                .split(|byte| !is_base64(byte))
                .filter(|text| text.len() >= LEAST_BYTES)
            {
                if text.len() > room {
                    continue;
                }
                let Ok(bytes) = STANDARD.decode(text) else {
                    continue;
                };
                let Some(media_type) = media_type(&bytes) else {
                    continue;
                };
                let hash = Hash::of_bytes(&bytes).to_string();
                if wanted.contains(&hash) && !self.0.contains_key(&hash) {
                    room -= text.len();
                    self.0.insert(
                        hash,
                        Image {
                            media_type,
                            base64: String::from_utf8_lossy(text).into_owned(),
                        },
                    );
                }
            }
            line.clear();
        }
        Ok(())
    }
}

fn media_type(bytes: &[u8]) -> Option<&'static str> {
    let (_, media_type) = TYPES.iter().find(|(first, _)| bytes.starts_with(first))?;
    (*media_type != "image/webp" || bytes.get(8..12) == Some(b"WEBP")).then_some(*media_type)
}

/// The hashes of everything that is attached in a view.
pub fn hashes(view: &SessionView) -> HashSet<String> {
    let attached = |body: &'_ Body| match body {
        Body::Message(message) => message.attachments.clone(),
        Body::Call(call) => call
            .result
            .as_ref()
            .map(|result| result.files.clone())
            .unwrap_or_default(),
        _ => Vec::new(),
    };
    let views = view.agents().into_iter().chain([view]);
    views
        .flat_map(|view| &view.items)
        .flat_map(|item| attached(&item.body))
        .filter_map(|attached| attached.hash)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pictures_that_the_session_names_are_taken() {
        let png = [TYPES[0].0, &[7; 80][..]].concat();
        let (wanted, other) = (
            Hash::of_bytes(&png).to_string(),
            Hash::of_bytes(b"x").to_string(),
        );
        let log = format!(
            "{{\"data\":\"{}\",\"text\":\"{}\"}}\n",
            STANDARD.encode(&png),
            STANDARD.encode([b'x'; 99])
        );
        let found = |hash: &String| {
            let mut images = Images::default();
            images
                .read(log.as_bytes(), &HashSet::from([hash.clone()]))
                .unwrap();
            images
                .get(&Attached {
                    label: String::new(),
                    hash: Some(wanted.clone()),
                })
                .map(|image| image.media_type)
        };
        assert_eq!((found(&wanted), found(&other)), (Some("image/png"), None));
    }
}
