//! The texts and files of one result, in every form that a log has for them.

use std::borrow::Cow;

use engram_core::event::Attachment;
use engram_core::text::{Text, push_text};

use super::state::attachment;
use crate::gemini::readers::{Call, FunctionResponse, Part, Response};
use crate::gemini::schema::parts;
use crate::shared::value::{Field, Value, elements, raw_str, text};

/// The texts of one result, as raw JSON, and its files.
#[derive(Default)]
pub(super) struct ResultTexts<'a> {
    pub(super) output: Texts<'a>,
    pub(super) error: Texts<'a>,
    pub(super) attachments: Vec<Attachment<'a>>,
}

impl<'a> ResultTexts<'a> {
    /// The texts of the result of a call.
    pub(super) fn of_call(call: &Call<'a>) -> Self {
        let mut texts = ResultTexts::default();
        let response = call.response_at();
        for (n, part) in parts(call.result()).enumerate() {
            match part.response().map(FunctionResponse::lenient) {
                Some(response) => texts.add_response(&response),
                // A person wrote it while the tool ran.
                None if n < response && part.plain_text().is_some() => {}
                None => texts.add_part(&part),
            }
        }
        if texts.output.first.is_none() && texts.error.first.is_none() {
            // A call that never ran has no result, only the text that the terminal shows.
            let shown = call.display().filter(|shown| shown.text().is_some());
            if call.succeeded() {
                texts.output.add(shown)
            } else {
                texts.error.add(shown)
            }
        }
        texts
    }

    /// The texts of a response.
    pub(super) fn of_response(response: &FunctionResponse<'a>) -> Self {
        let mut texts = ResultTexts::default();
        texts.add_response(response);
        texts
    }

    /// Adds output, error and files of a response. Without output and error the whole response is the output, unless it is empty.
    fn add_response(&mut self, response: &FunctionResponse<'a>) {
        let content = Response::lenient_opt(response.response());
        self.output.add(content.output());
        self.error.add(content.error());
        if content.output().is_none() && content.error().is_none() {
            // Third-party tools may respond in another form.
            self.output.add(
                response
                    .response()
                    .filter(|content| !content.is_empty_object() && content.raw() != "\"\""),
            );
        }
        let files = elements(response.parts()).filter_map(|part| Part::lenient(part).inline_data());
        self.attachments.extend(files.map(attachment));
    }

    /// Adds a text or file next to the response.
    pub(super) fn add_part(&mut self, part: &Part<'a>) {
        self.output.add(part.plain_text());
        self.attachments
            .extend(part.inline_data().or(part.file_data()).map(attachment));
    }
}

/// Texts in their order. Almost always there is one, which needs no allocation.
#[derive(Default)]
pub(super) struct Texts<'a> {
    pub(super) first: Field<'a>,
    others: Vec<Value<'a>>,
}

impl<'a> Texts<'a> {
    /// Adds a text.
    fn add(&mut self, text: Field<'a>) {
        match self.first {
            None => self.first = text,
            Some(_) => self.others.extend(text),
        }
    }

    /// All texts.
    pub(super) fn iter(&self) -> impl Iterator<Item = Value<'a>> {
        self.first.into_iter().chain(self.others.iter().copied())
    }

    /// The texts as one, separated by line ends. Several are joined in `scratch`.
    pub(super) fn joined<'t>(&self, scratch: &'t mut String) -> Option<Text<'t>>
    where
        'a: 't,
    {
        let single = text(self.first).filter(|_| self.others.is_empty());
        if single.is_none() && self.first.is_some() {
            *scratch = self.join();
            return Some(Text::Token(scratch));
        }
        single
    }

    #[cold]
    fn join(&self) -> String {
        let mut joined = String::from("\"");
        for (n, value) in self.iter().enumerate() {
            joined.push_str(if n > 0 { "\\n" } else { "" });
            joined.push_str(&unquoted(value));
        }
        joined.push('"');
        joined
    }
}

/// A text without its quotes, in canonical form. Another value as the text that its JSON is.
fn unquoted(value: Value<'_>) -> Cow<'_, str> {
    match value.text() {
        Some(_) => Cow::Borrowed(raw_str(Some(value))),
        None => {
            let mut quoted = String::new();
            push_text(&mut quoted, value.json());
            Cow::Owned(quoted[1..quoted.len() - 1].to_owned())
        }
    }
}
