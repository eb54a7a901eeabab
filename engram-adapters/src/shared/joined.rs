//! A text that a log has in pieces.

use engram_core::text::Text;

/// Pieces of a text, joined as they are written: a piece may end within a character, with one half of a surrogate pair.
#[derive(Debug)]
pub struct Joined(String);

impl Default for Joined {
    fn default() -> Self {
        Joined("\"\"".to_owned())
    }
}

impl Joined {
    /// Appends a piece, which is a string of the log.
    pub fn push(&mut self, piece: Text<'_>) {
        let token = piece.token().unwrap_or("\"\"");
        self.0.pop();
        self.0.push_str(token.get(1..).unwrap_or_default());
    }

    /// The pieces as one text.
    pub fn text(&self) -> Text<'_> {
        Text::Token(&self.0)
    }
}

impl<'a> FromIterator<Text<'a>> for Joined {
    fn from_iter<I: IntoIterator<Item = Text<'a>>>(pieces: I) -> Self {
        let mut joined = Joined::default();
        pieces.into_iter().for_each(|piece| joined.push(piece));
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_may_end_within_a_character() {
        let pieces = [r#""a\ud83d""#, r#""\ude00 b""#, r#""\ud83d""#].map(Text::Token);
        let joined: Joined = pieces.into_iter().collect();
        assert_eq!(joined.text().decode_lossy(), "a\u{1f600} b\u{fffd}");
        assert!(Joined::default().text().is_empty());
    }
}
