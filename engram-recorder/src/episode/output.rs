//! The text of an agent in what it prints: all of it, or the text blocks of its lines of JSON.

use engram_profiles::profile::{HarnessName, OutputMode};
use serde_json::Value;

use crate::server::message::{list_at, text_at};

/// After so many bytes of text the log gets them, at the end of a line: what is kept is counted, and no record is much larger.
const MAX_BLOCK: usize = 256 << 10;

/// Text of an agent that is not in the log yet.
#[derive(Debug, Default)]
pub struct Block {
    text: String,
    bytes: u64,
}

impl Block {
    /// Adds text.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.bytes += text.bytes().map(in_json).sum::<u64>();
    }

    /// The bytes that the log will have of it: up to six times those of the text.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it is large enough to be a record.
    pub fn is_full(&self) -> bool {
        self.text.len() >= MAX_BLOCK && self.text.ends_with('\n')
    }

    /// Takes all of it.
    pub fn take(&mut self) -> String {
        self.bytes = 0;
        std::mem::take(&mut self.text)
    }
}

/// The bytes that a byte of text has in a string of JSON.
const fn in_json(byte: u8) -> u64 {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        0..=31 => 6,
        _ => 1,
    }
}

/// A part of an agent's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Some of the text of a block.
    Text(Vec<u8>),
    /// A block ends: no frame goes on in the next one.
    EndOfBlock,
    /// The agent has said its last word of this turn.
    EndOfTurn,
}

/// Finds the text, however the bytes come in.
#[derive(Debug)]
pub struct Decoder {
    mode: OutputMode,
    harness: HarnessName,
    line: Vec<u8>,
    most: usize,
}

/// A line or a value of JSON that is longer than the profile allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

impl Decoder {
    /// A decoder for one run. Lines of JSON have at most so many bytes.
    pub fn new(mode: OutputMode, harness: HarnessName, most: usize) -> Decoder {
        Decoder {
            mode,
            harness,
            line: Vec::new(),
            most,
        }
    }

    /// Takes further bytes.
    ///
    /// # Errors
    /// If a line or a value of JSON is too long.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Part>) -> Result<(), TooLong> {
        match self.mode {
            OutputMode::Raw => out.push(Part::Text(bytes.to_vec())),
            OutputMode::Json => {
                self.line.extend_from_slice(bytes);
                if self.line.len() > self.most {
                    return Err(TooLong);
                }
            }
            OutputMode::Jsonl | OutputMode::StreamJson => {
                for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
                    self.line.extend_from_slice(piece);
                    if self.line.ends_with(b"\n") {
                        let line = std::mem::take(&mut self.line);
                        self.value(&line, out);
                    }
                    if self.line.len() > self.most {
                        return Err(TooLong);
                    }
                }
            }
        }
        Ok(())
    }

    /// The run has ended.
    pub fn end(&mut self, out: &mut Vec<Part>) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.value(&line, out);
        }
        out.push(Part::EndOfBlock);
    }

    /// The text of one JSON value. What is no JSON is what a harness says of itself, and no text of its agent.
    fn value(&self, line: &[u8], out: &mut Vec<Part>) {
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            return;
        };
        let mut block =
            |text: &str| out.extend([Part::Text(text.as_bytes().to_vec()), Part::EndOfBlock]);
        let kind = text_at(&value, "type");
        if self.mode == OutputMode::Json {
            return block(text_at(
                &value,
                if self.harness == HarnessName::GeminiCli {
                    "response"
                } else {
                    "result"
                },
            ));
        }
        match (self.harness, kind) {
            (HarnessName::ClaudeCode | HarnessName::Cursor, "assistant") => {
                let texts = list_at(&value["message"], "content")
                    .iter()
                    .filter(|block| text_at(block, "type") == "text");
                texts.for_each(|text| block(text_at(text, "text")));
            }
            (HarnessName::CodexCli, "item.completed")
                if text_at(&value["item"], "type") == "agent_message" =>
            {
                block(text_at(&value["item"], "text"));
            }
            (HarnessName::Opencode | HarnessName::Kilo, "text") => {
                block(text_at(&value["part"], "text"))
            }
            (HarnessName::GeminiCli, "message") if text_at(&value, "role") == "assistant" => {
                // Pieces of one block, until something else comes.
                out.push(Part::Text(text_at(&value, "content").as_bytes().to_vec()));
            }
            (HarnessName::ClaudeCode | HarnessName::Cursor | HarnessName::GeminiCli, "result")
            | (HarnessName::CodexCli, "turn.completed") => {
                out.extend([Part::EndOfBlock, Part::EndOfTurn]);
            }
            _ => out.push(Part::EndOfBlock),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_counts_what_the_log_will_have() {
        let mut block = Block::default();
        let text: String = ('\0'..='\u{100}')
            .chain(['\u{2028}', '\u{10ffff}'])
            .collect();
        block.push(&text);
        block.push(&text);
        let written = serde_json::to_string(&format!("{text}{text}")).unwrap();
        assert_eq!(block.bytes(), written.len() as u64 - 2);
        assert_eq!((block.take().len(), block.bytes()), (2 * text.len(), 0));
    }

    /// The blocks of some output, and how often a turn ends.
    fn blocks(
        harness: HarnessName,
        mode: OutputMode,
        printed: &str,
        chunk: usize,
    ) -> (Vec<String>, usize) {
        let (mut decoder, mut parts) = (Decoder::new(mode, harness, 10_000), Vec::new());
        printed
            .as_bytes()
            .chunks(chunk)
            .for_each(|bytes| decoder.push(bytes, &mut parts).unwrap());
        decoder.end(&mut parts);
        let (mut blocks, mut turns) = (vec![Vec::new()], 0);
        for part in parts {
            match part {
                Part::Text(text) => blocks.last_mut().unwrap().extend(text),
                Part::EndOfBlock => blocks.push(Vec::new()),
                Part::EndOfTurn => turns += 1,
            }
        }
        (
            blocks
                .into_iter()
                .filter(|block| !block.is_empty())
                .map(|block| String::from_utf8(block).unwrap())
                .collect(),
            turns,
        )
    }

    #[test]
    fn blocks_are_those_of_the_assistant() {
        let of = |harness, printed: &str| {
            let found = blocks(harness, OutputMode::StreamJson, printed, 7);
            assert_eq!(
                found,
                blocks(harness, OutputMode::Jsonl, printed, printed.len())
            );
            found
        };
        let claude = concat!(
            r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"x"},{"type":"text","text":"quoted"}]}}"#,
            "\n",
            r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"a\nb"},{"type":"text","text":"ü"}]}}"#,
            "\n",
            r#"{"type":"result","result":"ü"}"#
        );
        assert_eq!(
            of(HarnessName::ClaudeCode, claude),
            (vec!["a\nb".to_owned(), "ü".to_owned()], 1)
        );
        let codex = concat!(
            r#"{"type":"item.completed","item":{"type":"reasoning","text":"x"}}"#,
            "\n",
            r#"{"type":"item.completed","item":{"type":"agent_message","text":"a"}}"#,
            "\n",
            r#"{"type":"turn.completed"}"#
        );
        assert_eq!(of(HarnessName::CodexCli, codex), (vec!["a".to_owned()], 1));
        let gemini = concat!(
            r#"{"type":"message","role":"user","content":"x"}"#,
            "\n",
            r#"{"type":"message","role":"assistant","content":"a","delta":true}"#,
            "\n",
            r#"{"type":"message","role":"assistant","content":"b","delta":true}"#,
            "\n",
            r#"{"type":"result","status":"success"}"#
        );
        assert_eq!(
            of(HarnessName::GeminiCli, gemini),
            (vec!["ab".to_owned()], 1)
        );
        let opencode = "warning\n{\"type\":\"tool_use\",\"part\":{\"text\":\"x\"}}\n{\"type\":\"text\",\"part\":{\"text\":\"a\"}}\n";
        assert_eq!(
            of(HarnessName::Opencode, opencode),
            (vec!["a".to_owned()], 0)
        );
    }

    #[test]
    fn one_value_and_raw_text_are_one_block() {
        assert_eq!(
            blocks(
                HarnessName::ClaudeCode,
                OutputMode::Json,
                "{\"result\":\"a\\nb\"}\n",
                3
            )
            .0,
            ["a\nb"]
        );
        assert_eq!(
            blocks(
                HarnessName::GeminiCli,
                OutputMode::Json,
                "{\"response\":\"a\"}",
                3
            )
            .0,
            ["a"]
        );
        assert_eq!(
            blocks(HarnessName::ClaudeCode, OutputMode::Raw, "a\nb", 1).0,
            ["a\nb"]
        );
    }

    #[test]
    fn line_of_json_without_an_end_is_refused() {
        let mut decoder = Decoder::new(OutputMode::Jsonl, HarnessName::ClaudeCode, 10);
        assert_eq!(decoder.push(b"{\"a\":1}\n{\"b\"", &mut Vec::new()), Ok(()));
        assert_eq!(decoder.push(b":11111111", &mut Vec::new()), Err(TooLong));
        let mut decoder = Decoder::new(OutputMode::Json, HarnessName::ClaudeCode, 10);
        assert_eq!(decoder.push(b"{\"a\":1111}", &mut Vec::new()), Ok(()));
        assert_eq!(decoder.push(b"\n", &mut Vec::new()), Err(TooLong));
    }
}
