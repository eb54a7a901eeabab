//! Which session started a sub-agent. The runtime writes the transcripts of all its sub-agents into `subagents/` of the session at the root,
//! those of agents that another sub-agent started, too (SDK 1.0.32), and no record names the parent: the prompt of a call does.

use std::path::Path;

use engram_core::head::Head;
use engram_core::keys::hash64;

use crate::cursor::readers::{TranscriptLine, TranscriptMessage, TranscriptPart};
use crate::cursor::wrappers::words_of;
use crate::shared::neighbours::Neighbours;
use crate::shared::remembered::LineFacts;
use crate::shared::value::{Field, StructuralIndex, Value, elements, parse, text};

/// The directory of sub-agents.
pub(super) const SUBAGENTS: &str = "subagents";
/// The end of the names of transcripts.
const ENDING: &str = ".jsonl";
/// The most transcripts of other sub-agents that are searched.
const MAX_SEARCHED: usize = 64;

/// The prompts of calls in a transcript, by their keys.
static PROMPTS: LineFacts<()> = LineFacts::new(&["\"prompt\""], add_prompts);

/// The session below `root` whose call has the first prompt of the sub-agent `own`. None if no transcript has such a call; if several have
/// it, the session at the root if that is one of them.
pub(super) fn parent_session(
    files: &Neighbours,
    (root, own): (&str, &str),
    head: &Head<'_>,
) -> Option<String> {
    let key = first_prompt(head)?;
    let has_call = |path: &Path| files.line_fact(path, &PROMPTS, &key).is_some();
    if has_call(Path::new(&format!("{root}{ENDING}"))) {
        return Some(root.to_owned());
    }
    let directory = Path::new(SUBAGENTS);
    let names = files.names_ending(directory, ENDING);
    let others = names.iter().filter_map(|name| name.strip_suffix(ENDING));
    let mut others = others
        .filter(|session| *session != own)
        .take(MAX_SEARCHED)
        .filter(|session| has_call(&directory.join(format!("{session}{ENDING}"))));
    let parent = others.next()?;
    others.next().is_none().then(|| parent.to_owned())
}

/// The key of the words that a transcript begins with.
fn first_prompt(head: &Head<'_>) -> Option<String> {
    let mut index = StructuralIndex::default();
    let line = parse(head.lines().next()?, &mut index).ok()?;
    let content = content(line)?;
    let first = content
        .text()
        .or_else(|| text(TranscriptPart::lenient(content.elements().next()?).text()))?;
    Some(key(words_of(&first.decode_lossy())))
}

/// Adds the prompts of the calls in a line.
fn add_prompts(line: &str, add: &mut dyn FnMut(String, ())) {
    let mut index = StructuralIndex::default();
    let content = parse(line, &mut index).ok().and_then(content);
    for part in elements(content) {
        let input = TranscriptPart::lenient(part).input();
        let prompt = input.and_then(|input| text(input.first_member("prompt")));
        if let Some(prompt) = prompt {
            add(key(&prompt.decode_lossy()), ());
        }
    }
}

fn content(line: Value<'_>) -> Field<'_> {
    TranscriptMessage::lenient(TranscriptLine::lenient(line).message()?).content()
}

fn key(words: &str) -> String {
    format!("{:016x}", hash64(words))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_parent_is_the_session_whose_call_has_the_prompt() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        fs::create_dir_all(root.join(SUBAGENTS)).unwrap();
        let prompt = |words: &str| {
            format!(
                r#"{{"role":"user","message":{{"content":[{{"type":"text","text":"<user_query>\n{words}\n</user_query>"}}]}}}}"#
            )
        };
        let call = |words: &str| {
            format!(
                r#"{{"role":"assistant","message":{{"content":[{{"type":"tool_use","name":"Task","input":{{"prompt":"{words}"}}}}]}}}}"#
            )
        };
        let write = |name: &str, lines: &[String]| {
            fs::write(root.join(name), lines.join("\n")).unwrap();
        };
        write(
            "root.jsonl",
            &[prompt("begin"), call("outer"), call("same")],
        );
        write(
            "subagents/outer.jsonl",
            &[prompt("outer"), call("inner"), call("same"), call("twice")],
        );
        write("subagents/other.jsonl", &[prompt("same"), call("twice")]);
        write("subagents/own.jsonl", &[call("cut off")]);
        let parent = |words: &str| {
            let first = prompt(words);
            let files = Neighbours::open(&root, &root.join("subagents/own.jsonl"))?;
            parent_session(&files, ("root", "own"), &Head::new(first.as_bytes(), true))
        };
        assert_eq!(parent("outer").as_deref(), Some("root"));
        assert_eq!(parent("inner").as_deref(), Some("outer"));
        assert_eq!(parent("same").as_deref(), Some("root"));
        // Two sub-agents have such a call; no other transcript has one.
        assert_eq!(parent("twice"), None);
        assert_eq!(parent("cut off"), None);
    }
}
