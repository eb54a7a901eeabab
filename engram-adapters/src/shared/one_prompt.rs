//! One prompt of a person that a client sent as several texts: it is one `msg.in`.

use engram_core::text::Text;

/// The texts of one prompt.
#[derive(Default)]
pub struct OnePrompt {
    /// The place of the first text.
    first: usize,
    /// The places of the others, whose words stand in the event of the first.
    others: Vec<usize>,
    /// The words of all on lines of their own, as a JSON token; empty if there is one text.
    token: String,
}

impl OnePrompt {
    /// The texts that a person sent together, each with its place.
    pub fn of<'a>(texts: impl Iterator<Item = (usize, Text<'a>)>) -> OnePrompt {
        let mut prompt = OnePrompt::default();
        let mut texts = texts.filter_map(|(at, text)| Some((at, text.token()?)));
        let Some((first, words)) = texts.next() else {
            return prompt;
        };
        prompt.first = first;
        for (at, more) in texts {
            if prompt.token.is_empty() {
                prompt.token.push_str(words);
            }
            prompt.others.push(at);
            prompt.token.pop();
            prompt.token.push_str("\\n");
            prompt
                .token
                .push_str(more.strip_prefix('"').unwrap_or(more));
        }
        prompt
    }

    /// True if the words of the text at this place stand in the event of the first one.
    pub fn is_joined(&self, at: usize) -> bool {
        self.others.contains(&at)
    }

    /// The words of the event of the text at this place.
    pub fn words<'t>(&'t self, at: usize, text: Text<'t>) -> Text<'t> {
        match at == self.first && !self.others.is_empty() {
            true => Text::Token(&self.token),
            false => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_text_has_the_words_of_all() {
        let texts = [
            (1, Text::Token(r#""a \"b\"""#)),
            (3, Text::Token(r#""c""#)),
            (4, Text::Token(r#""""#)),
        ];
        let prompt = OnePrompt::of(texts.into_iter());
        let joined: Vec<usize> = (0..5).filter(|at| prompt.is_joined(*at)).collect();
        assert_eq!(joined, [3, 4]);
        assert_eq!(prompt.words(1, texts[0].1).decode_lossy(), "a \"b\"\nc\n");
        let alone = OnePrompt::of(texts.into_iter().take(1));
        assert!(!alone.is_joined(1) && alone.words(1, texts[0].1).eq_str("a \"b\""));
    }
}
