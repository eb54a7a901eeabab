//! Input of the model: prompts, notices, the system prompt.

use engram_core::emit::Pointer;
use engram_core::event::{Attachment, Author, ImplicitInput, Meta, MsgIn};
use engram_core::hash::Hash;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::state::State;
use crate::copilot::readers::{Attachment as File, Prompt, Skill};
use crate::shared::media::base64_hash;
use crate::shared::value::{Field, Value, elements, is_true, non_empty_text, raw_str, text};

const CONTENT: Pointer<'static> = Pointer::At("/data/content");
const TRANSFORMED: Pointer<'static> = Pointer::At("/data/transformedContent");
/// How the source of a message begins that another agent wrote (`session-events.schema.json`).
const AGENT: &str = "agent-";
/// The source of a message that the person wrote.
const USER: &str = "user";

/// A message to the model, with what the harness put around it.
pub fn prompt(state: &State, data: Value<'_>, is_of_agent: bool, out: &mut Emitter<'_>) {
    let prompt = Prompt::lenient(data);
    let words = text(prompt.content());
    let whole = text(prompt.transformed()).map(|text| text.decode_lossy());
    let decoded = words.map(|words| words.decode_lossy()).unwrap_or_default();
    let (before, after) = around(whole.as_deref().unwrap_or_default(), &decoded);
    context(before, out);
    let by = author(&prompt, is_of_agent);
    let files = elements(prompt.attachments()).map(|file| attachment(state, file));
    out.emit(MsgIn::user(by, words).with(files.collect()), CONTENT);
    context(after, out);
}

/// Who wrote a message. `source` names all who are no person.
fn author(prompt: &Prompt<'_>, is_of_agent: bool) -> Author {
    let source = raw_str(prompt.source());
    if is_of_agent || source.starts_with(AGENT) {
        Author::Agent
    } else if is_true(prompt.is_continuation()) || !(source.is_empty() || source == USER) {
        Author::Harness
    } else {
        Author::Person
    }
}

/// What stands before and behind the words. Nothing if they are not in the text as they are.
fn around<'t>(whole: &'t str, words: &str) -> (&'t str, &'t str) {
    match whole.find(words).filter(|_| !words.is_empty()) {
        Some(at) => (whole[..at].trim(), whole[at + words.len()..].trim()),
        None => (whole, ""),
    }
}

fn context(text: &str, out: &mut Emitter<'_>) {
    if !text.is_empty() {
        let input = ImplicitInput::of_text("prompt", Some(Text::Plain(text)));
        out.emit(Meta::Context(input), TRANSFORMED);
    }
}

/// A file of a prompt: its bytes, or the id of a record with them.
fn attachment<'a>(state: &State, value: Value<'a>) -> Attachment<'a> {
    let file = File::lenient(value);
    let own = text(file.data()).and_then(base64_hash);
    let (hash, bytes) = own.or_else(|| state.image(file.asset())).unzip();
    Attachment {
        media_type: non_empty_text(file.media_type()),
        hash,
        bytes,
        name: non_empty_text(file.path()).or(non_empty_text(file.name())),
    }
}

/// A notice of the harness to the model.
pub fn notice(data: Value<'_>, out: &mut Emitter<'_>) {
    let words = text(Prompt::lenient(data).content());
    out.emit(MsgIn::user(Author::Harness, words), CONTENT);
}

/// A skill that the model gets: its file, and what it says.
pub fn skill(data: Value<'_>, out: &mut Emitter<'_>) {
    let skill = Skill::lenient(data);
    let input = ImplicitInput {
        file: non_empty_text(skill.path()),
        ..ImplicitInput::of_text("skill", text(skill.content()))
    };
    out.emit(Meta::Context(input), CONTENT);
}

/// The system prompt, as a hash.
pub fn system(data: Value<'_>, out: &mut Emitter<'_>) {
    let content: Field<'_> = Prompt::lenient(data).content();
    let text = text(content)
        .map(|text| text.decode_lossy())
        .unwrap_or_default();
    let hash = Hash::of_bytes(text.as_bytes());
    let input = ImplicitInput::of_hash("system_prompt", Some(hash), Some(text.len() as u64));
    out.emit(Meta::Context(input), CONTENT);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_stand_among_what_the_harness_adds() {
        let whole =
            "<current_datetime>x</current_datetime>\n\nfix it\n\n<reminder>\ny\n</reminder>";
        let parts = (
            "<current_datetime>x</current_datetime>",
            "<reminder>\ny\n</reminder>",
        );
        assert_eq!(around(whole, "fix it"), parts);
        assert_eq!(around("other", "fix it"), ("other", ""));
        assert_eq!(around("", "fix it"), ("", ""));
    }
}
