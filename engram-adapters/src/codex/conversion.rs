//! The conversion of one file: a rollout, or what `exec --json` has printed.

use engram_core::adapter::SessionInit;
use engram_core::emit::{Fault, Pointer};
use engram_core::ledger::Outcome;
use engram_core::steps::{Check, Conversion, Emitter, Item, Record};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::shared::value::Value;

use super::check::Checker;
use super::dispatch;
use super::emit::State;
use super::plan::Plan;
use super::records::STATE;
use super::revisions::EXEC_JSON;
use super::source::cut_line::is_cut_record;

/// One file under conversion.
pub(super) struct CodexConversion {
    checker: Checker,
    state: State,
    is_printed: bool,
}

impl CodexConversion {
    /// A conversion before its first record.
    pub fn new(init: &SessionInit<'_>) -> Self {
        let is_printed = init.identity.schema == Some(EXEC_JSON);
        CodexConversion {
            checker: Checker::default(),
            state: State::new(init.context),
            is_printed,
        }
    }
}

impl Conversion for CodexConversion {
    fn repeats_are_exact(&self) -> bool {
        true
    }

    /// A rollout is one session, whatever was copied into it. Several runs may have printed to one file.
    fn sessions_are_apart(&self) -> bool {
        self.is_printed
    }

    /// A line of the bare form that has only the id of the last response (0.8 to 0.29). Two of them are around every request.
    fn omitted(&self, text: &str) -> Option<Outcome> {
        let id = text
            .strip_prefix(r#"{"record_type":"state","previous_response_id":"#)?
            .strip_suffix('}')?;
        let is_plain = |id: &str| {
            id.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let is_id = id == "null"
            || id
                .strip_prefix('"')
                .and_then(|id| id.strip_suffix('"'))
                .is_some_and(is_plain);
        is_id.then_some(STATE)
    }

    /// A resume appends to the line that a kill cut (up to 0.142), or to the next line.
    fn cut_record(&self, text: &str) -> Option<&'static str> {
        is_cut_record(text).then_some("cut_record")
    }

    /// The TypeScript document is rewritten in place and not truncated to its new length. Behind a shorter version remain the items that it
    /// lacks: they were recorded, so they are converted as its next items.
    fn mended(&self, text: &str) -> Option<String> {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Document<'_>>();
        let document = values.next()?.ok()?;
        let mut rest = text.get(values.byte_offset()..)?.trim_ascii();
        let mut items: Vec<&str> = document.items.iter().map(|item| item.get()).collect();
        while rest.starts_with('{') {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
            let item = values.next()?.ok()?;
            items.push(item.get());
            rest = rest.get(values.byte_offset()..)?.trim_ascii();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_ascii();
        }
        let is_closing = rest
            .bytes()
            .all(|byte| matches!(byte, b']' | b'}') || byte.is_ascii_whitespace());
        is_closing.then(|| {
            format!(
                "{{\"session\":{},\"items\":[{}]}}",
                document.session.get(),
                items.join(",")
            )
        })
    }

    fn items<'a>(
        &mut self,
        document: Value<'a>,
        check: &mut Check<'_>,
    ) -> Result<Vec<Item<'a>>, Fault> {
        let is_document = document.member("session").is_some_and(Value::is_object);
        let Some(list) = document
            .member("items")
            .filter(|items| is_document && items.is_array())
        else {
            return Err(Fault::malformed(
                "/items",
                "a session and its items",
                "nothing",
            ));
        };
        check.document(document);
        let items = list
            .elements()
            .enumerate()
            .map(|(n, item)| Item::of_list(item, "/items", n));
        Ok(std::iter::once(Item {
            base: Pointer::Root,
            ..Item::header(document, "items")
        })
        .chain(items)
        .collect())
    }

    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        dispatch::check(&mut self.checker, record, check)
    }

    fn decide(&mut self) {
        let Checker { notes, .. } = std::mem::take(&mut self.checker);
        self.state.plan = Plan::of(&notes);
        self.state.notes = notes;
    }

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        dispatch::emit(&mut self.state, record, out)
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        self.state.set_envelope(record.value, out);
    }
}

/// The TypeScript document (0.1).
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    session: &'a RawValue,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}
