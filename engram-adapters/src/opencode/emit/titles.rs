//! Titles of a session that was renamed. Its own record has the last one; the table of events has each, with what came next.

use std::collections::VecDeque;

use engram_core::emit::RecordHeader;
use engram_core::event::{Meta, SessionFacts};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::opencode::readers::Info;
use crate::shared::value::{Field, Value, elements, non_empty_text, raw_str};

/// The titles that are still to come.
#[derive(Default)]
pub struct Titles {
    left: VecDeque<Title>,
}

struct Title {
    /// As raw JSON.
    text: String,
    /// The first message or part after it; empty if none came.
    before: String,
}

impl Titles {
    /// The title with which a session began, and those that replaced it.
    pub fn of<'a>(info: &Info<'a>) -> (Option<Text<'a>>, Titles) {
        let mut titles = elements(info.titles());
        let first = match titles.next() {
            Some(first) => first.member("title"),
            None => info.title(),
        };
        let left = titles.filter_map(Title::of).collect();
        (non_empty_text(first), Titles { left })
    }

    /// Notes that the message or part with this id comes next.
    pub fn reach(&mut self, id: &str, out: &mut Emitter<'_>) {
        if let Some(at) = self.left.iter().position(|title| title.before == id)
            && !id.is_empty()
        {
            self.left.drain(..=at).for_each(|title| title.emit(out));
        }
    }

    /// Emits those after which nothing came.
    pub fn end(&mut self, out: &mut Emitter<'_>) {
        self.left.drain(..).for_each(|title| title.emit(out));
    }
}

impl Title {
    fn of(value: Value<'_>) -> Option<Title> {
        let title: Field<'_> = value.member("title");
        non_empty_text(title)?;
        Some(Title {
            text: title?.raw().to_owned(),
            before: raw_str(value.member("before")).to_owned(),
        })
    }

    fn emit(&self, out: &mut Emitter<'_>) {
        let facts = SessionFacts {
            title: Some(Text::Token(&self.text)),
            ..SessionFacts::default()
        };
        out.of_record(0, RecordHeader::default(), |out| {
            out.emit(Meta::Session(facts), "/titles")
        });
    }
}
