//! The Cursor adapter: which of its artifacts a head belongs to, and the converter of each.

mod clock;
mod descriptor;
mod detect;
mod edits;
mod hooks;
mod revisions;
pub(crate) mod store;
mod stream;
mod stream_called;
mod stream_calls;
mod stream_pieces;
mod stream_queries;
mod stream_results;
#[cfg(test)]
mod tests;
mod tools;
mod transcript;
mod transcript_json;

use std::borrow::Cow;
use std::path::Path;

use engram_core::adapter::{Evidence, Identity, Session, SessionInit, SideInfo, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::head::Head;
use engram_core::text::Text;

use crate::Entry;
use crate::shared::time;
use crate::shared::value::{Field, text};
use detect::Form;

/// The registry's row.
pub(crate) const ENTRY: Entry = Entry { adapter: &Cursor, tools: &tools::TOOLS, surroundings };

struct Cursor;

impl StreamAdapter for Cursor {
    fn describe(&self) -> &'static AdapterDescriptor {
        &descriptor::DESCRIPTOR
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        let (form, marks) = detect::form(head)?;
        Some(Evidence { marks, framing: form.framing() })
    }

    fn marks(&self) -> Vec<&'static str> {
        detect::MARKS.to_vec()
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        detect::identify(head)
    }

    fn session(&self, init: &SessionInit<'_>) -> Box<dyn Session> {
        match detect::form(init.head).map(|(form, _)| form) {
            Some(Form::TranscriptJson) => Box::new(transcript_json::Converter::new(init.context)),
            Some(Form::Stream) => Box::new(stream::Converter::default()),
            Some(Form::Rows | Form::Inline) => Box::<store::ide::Converter>::default(),
            Some(Form::Chat) => Box::new(store::chat::Converter::default()),
            Some(Form::Hooks) => Box::new(hooks::Converter::default()),
            Some(Form::Transcript) | None => Box::new(transcript::Converter::new(init.context)),
        }
    }
}

/// A sub-agent's transcript lies in `<parent session>/subagents/`: the only place that names its parent.
fn surroundings(path: &Path, _head: &Head<'_>) -> SideInfo {
    let folder = path.parent().filter(|folder| folder.file_name().is_some_and(|name| name == "subagents"));
    let parent = folder.and_then(Path::parent).and_then(Path::file_name);
    SideInfo { parent_session_id: parent.and_then(|name| name.to_str()).map(str::to_owned), ..SideInfo::default() }
}

/// The decoded text of a field, if it is a string.
fn decoded(field: Field<'_>) -> Option<Cow<'_, str>> {
    text(field).map(|text| text.decode_lossy())
}

/// The text of a field where it is a string, else its JSON as it stands. Nothing for an absent field.
fn text_or_json(field: Field<'_>) -> Option<Text<'_>> {
    text(field).or_else(|| field.map(|value| Text::Plain(value.raw())))
}

/// The time of a field that counts milliseconds, as a number or a string of digits.
fn millis(field: Field<'_>) -> Option<String> {
    time::from_millis(field?.raw().trim_matches('"').parse().ok()?)
}
