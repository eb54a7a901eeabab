//! The fields of events, each listed once: how a tape has them, how they are read again, their rows in the schema, and which may have a secret.
//!
//! A new field is a member of its struct and a name in [the list](fields). Its type says how a tape has it ([`Member`]); a few types are
//! written in two ways, and then the list names the form.

use std::borrow::Cow;

use super::error::InvalidEvent;
use super::jsonl::buffer::Buffer;
use super::jsonl::members::{key, push_number, word};
use super::object::{Member as Given, Object};
use crate::event::*;
use crate::event_schema::field::{Empty, Field, FieldType, Presence};
use crate::hash::Hash;
use crate::text::{Push as _, Text};
use crate::tool_kind::ToolKind;

/// A text that may have a secret. Ids, times, numbers and words of the format have none.
pub(crate) enum Slot<'s, 't> {
    Text(&'s mut Text<'t>),
    /// A JSON value.
    Json(&'s mut &'t str),
}

/// Receives such texts.
pub(crate) type Visit<'v, 't> = &'v mut dyn FnMut(Slot<'_, 't>);

/// The fields of one kind of event, of one label of `meta`, or of an object inside.
pub(crate) trait Fields<'t>: Sized {
    /// Their rows in the schema, in the order of a tape.
    const FIELDS: &'static [Field];

    /// Writes them.
    fn push(&self, out: &mut Buffer);

    /// Reads them.
    ///
    /// # Errors
    /// [`InvalidEvent`] if a required member is missing, or a value is not what the format allows.
    fn read(of: Object<'t, '_>) -> Result<Self, InvalidEvent>;

    /// Visits the texts that may have a secret, always in the same order.
    fn texts(&mut self, visit: Visit<'_, 't>);
}

/// A type of fields.
trait Member<'t>: Sized {
    const PRESENCE: Presence;
    const TYPE: FieldType;

    /// Writes the value, unless it is absent. `key` has a comma before it and a colon behind it.
    fn push(&self, out: &mut Buffer, key: &str);

    fn read(of: Given<'t, '_>) -> Result<Self, InvalidEvent>;

    fn texts(&mut self, visit: Visit<'_, 't>) {
        let _ = visit;
    }
}

/// How a field of type `T` is written.
trait Form<'t, T> {
    const PRESENCE: Presence;
    const TYPE: FieldType;
    /// The name on the tape, if it is not that of the field.
    const NAME: Option<&'static str> = None;

    fn push(value: &T, out: &mut Buffer, key: &str);

    fn read(of: Given<'t, '_>) -> Result<T, InvalidEvent>;

    fn texts(value: &mut T, visit: Visit<'_, 't>) {
        let _ = (value, visit);
    }
}

/// As its type says.
struct Plain;
/// A text that is left out if it is empty.
struct Named<const IS_ID: bool>;
type Name = Named<false>;
type Id = Named<true>;
/// `basis: "snippet"`.
struct Basis;
/// A boolean that is left out if it is true.
struct UnlessTrue;

impl<'t, T: Member<'t>> Form<'t, T> for Plain {
    const PRESENCE: Presence = T::PRESENCE;
    const TYPE: FieldType = T::TYPE;

    #[inline(always)]
    fn push(value: &T, out: &mut Buffer, key: &str) {
        value.push(out, key);
    }

    fn read(of: Given<'t, '_>) -> Result<T, InvalidEvent> {
        T::read(of)
    }

    fn texts(value: &mut T, visit: Visit<'_, 't>) {
        value.texts(visit);
    }
}

impl<'t, const IS_ID: bool> Form<'t, Option<Text<'t>>> for Named<IS_ID> {
    const PRESENCE: Presence = Presence::Stated;
    const TYPE: FieldType = FieldType::Name;

    #[inline(always)]
    fn push(value: &Option<Text<'t>>, out: &mut Buffer, key: &str) {
        out.name(key, value);
    }

    fn read(of: Given<'t, '_>) -> Result<Option<Text<'t>>, InvalidEvent> {
        of.text()
    }

    fn texts(value: &mut Option<Text<'t>>, visit: Visit<'_, 't>) {
        if !IS_ID {
            value.texts(visit);
        }
    }
}

impl<'t> Form<'t, bool> for Basis {
    const PRESENCE: Presence = Presence::Stated;
    const TYPE: FieldType = FieldType::Word(&["snippet"]);
    const NAME: Option<&'static str> = Some("basis");

    #[inline(always)]
    fn push(value: &bool, out: &mut Buffer, _: &str) {
        if *value {
            out.push_str(word!("basis", "snippet"));
        }
    }

    fn read(of: Given<'t, '_>) -> Result<bool, InvalidEvent> {
        Ok(of.maybe_word()? == Some("snippet"))
    }
}

impl<'t> Form<'t, bool> for UnlessTrue {
    const PRESENCE: Presence = Presence::Stated;
    const TYPE: FieldType = FieldType::Only(false);

    #[inline(always)]
    fn push(value: &bool, out: &mut Buffer, key: &str) {
        out.bool_if(key, *value, true);
    }

    fn read(of: Given<'t, '_>) -> Result<bool, InvalidEvent> {
        Ok(of.maybe_bool()? != Some(false))
    }
}

/// A type of fields: when it is present, its type in the schema, how it is written and read.
macro_rules! member {
    ($of:ty, $presence:ident, $schema:expr, |$value:ident, $out:ident, $key:ident| $push:expr, |$given:ident| $read:expr
        $(, |$text:ident, $visit:ident| $texts:expr)?) => {
        impl<'t> Member<'t> for $of {
            const PRESENCE: Presence = Presence::$presence;
            const TYPE: FieldType = $schema;

            #[inline(always)]
            fn push(&self, $out: &mut Buffer, $key: &str) {
                let $value = self;
                $push
            }

            fn read($given: Given<'t, '_>) -> Result<Self, InvalidEvent> {
                $read
            }

            $(fn texts(&mut self, $visit: Visit<'_, 't>) {
                let $text = self;
                $texts
            })?
        }
    };
}

/// Words, alone and where they may be absent.
macro_rules! words {
    ($($of:ident)+) => {$(
        member!($of, Always, FieldType::Word(&$of::WORDS), |word, out, key| out.ascii_str(key, word.as_str()),
            |of| of.one_of(&$of::ALL, $of::as_str));
        member!(Option<$of>, Stated, FieldType::Word(&$of::WORDS), |word, out, key| if let Some(word) = word {
            out.ascii_str(key, word.as_str());
        }, |of| of.maybe_one_of(&$of::ALL, $of::as_str));
    )+};
}

words! { Author Channel Decision EditOp Role Status ToolKind }

member! { Text<'t>, Always, FieldType::Text, |text, out, key| out.text(key, text), |of| of.required_text(),
|text, visit| visit(Slot::Text(text)) }
member! { Option<Text<'t>>, Stated, FieldType::Text, |text, out, key| out.text_if(key, text), |of| of.text(),
|text, visit| text.iter_mut().for_each(|text| visit(Slot::Text(text))) }
member! { Option<Cow<'t, str>>, Stated, FieldType::Text, |text, out, key| out.span_text(key, text.as_deref()), |of| of.span_text() }
member! { Option<&'t str>, Stated, FieldType::Json, |json, out, key| out.json(key, *json), |of| Ok(of.json()),
|json, visit| json.iter_mut().for_each(|json| visit(Slot::Json(json))) }
member! { Option<u64>, Stated, FieldType::Count, |count, out, key| out.number(key, *count), |of| of.count() }
member! { Option<Number<'t>>, Stated, FieldType::Number, |number, out, key| out.raw_number(key, *number), |of| of.number() }
member! { Option<Hash>, Stated, FieldType::Hash, |hash, out, key| out.hash(key, hash), |of| of.hash() }
member! { Option<Range>, Stated, FieldType::Range, |range, out, key| out.range(key, range), |of| of.range() }
member! { Vec<u64>, Stated, FieldType::Anchors, |anchors, out, key| out.anchors(key, anchors), |of| of.anchors() }
member! { bool, Stated, FieldType::Only(true), |flag, out, key| out.bool_if(key, *flag, false), |of| of.flag() }
member! { Option<i64>, Stated, FieldType::Integer,
    |number, out, key| if let Some(number) = number {
        out.push_str(key);
        if *number < 0 {
            out.ascii(b"-");
        }
        push_number(out, number.unsigned_abs());
    },
    |of| of.parsed("an integer", |value| value.raw().parse().ok())
}
member! { Option<SideFile<'t>>, Stated, FieldType::Object(SideFile::FIELDS),
    |file, out, key| if let Some(file) = file {
        out.object(key, |inner| file.push(inner));
    },
    |of| of.maybe_object()?.map(SideFile::read).transpose(),
    |file, visit| file.iter_mut().for_each(|file| Fields::texts(file, visit))
}
member! { Vec<Attachment<'t>>, Stated, FieldType::List(&FieldType::Object(Attachment::FIELDS), Empty::Omitted),
    |list, out, key| if !list.is_empty() {
        push_attachments(list, out, key)
    },
    |of| of.objects()?.into_iter().map(Attachment::read).collect(),
    |list, visit| list.iter_mut().for_each(|attachment| Fields::texts(attachment, visit))
}
// Without a count there is no object.
member! { Tokens, Stated, FieldType::Object(Tokens::FIELDS),
    |tokens, out, key| if *tokens != Tokens::default() {
        out.object(key, |inner| Fields::push(tokens, inner));
    },
    |of| of.maybe_object()?.map_or(Ok(Tokens::default()), Fields::read)
}

#[inline(never)]
fn push_attachments(list: &[Attachment<'_>], out: &mut Buffer, key: &str) {
    out.push_str(key);
    for (n, attachment) in list.iter().enumerate() {
        out.ascii(if n == 0 { b"[" } else { b"," });
        let start = out.len();
        attachment.push(out);
        out.wrap_object(start);
    }
    out.ascii(b"]");
}

/// The row of a field.
const fn field<'t, S, T, F: Form<'t, T>>(name: &'static str, _: fn(&S) -> &T) -> Field {
    Field {
        key: match F::NAME {
            Some(name) => name,
            None => name,
        },
        presence: F::PRESENCE,
        field_type: F::TYPE,
    }
}

/// The list of fields, in the order of a tape. Behind `;` are those that a tape does not have, and what they are when it is read.
macro_rules! fields {
    ($lt:lifetime; $($of:ident $(<$of_lt:lifetime>)? { $($field:ident $(: $form:ident)?),+ $(; $rest:ident = $value:expr)? })+) => {$(
        impl<$lt> Fields<$lt> for $of $(<$of_lt>)? {
            const FIELDS: &'static [Field] = &[
                $(field::<Self, _, form!($($form)?)>(stringify!($field), |of| &of.$field)),+
            ];

            #[inline(never)]
            fn push(&self, out: &mut Buffer) {
                let $of { $($field,)+ $($rest: _,)? } = self;
                $(<form!($($form)?) as Form<'_, _>>::push($field, out, key!($field));)+
            }

            fn read(of: Object<$lt, '_>) -> Result<Self, InvalidEvent> {
                let [$($field),+] = of.find(|n| Self::FIELDS[n].key);
                Ok($of {
                    $($field: <form!($($form)?) as Form<'_, _>>::read($field)?,)+
                    $($rest: $value,)?
                })
            }

            fn texts(&mut self, visit: Visit<'_, $lt>) {
                let $of { $($field,)+ $($rest: _,)? } = self;
                $(<form!($($form)?) as Form<'_, _>>::texts($field, visit);)+
            }
        }
    )+};
}

macro_rules! form {
    () => {
        Plain
    };
    ($form:ident) => {
        $form
    };
}

fields! { 't;
    MsgIn<'t> { role, by, text, attachments }
    MsgOut<'t> { text, channel, model: Name, message_id: Id, redacted }
    Attachment<'t> { media_type: Name, hash, bytes, name: Name }
    ToolCall<'t> { tool, server: Name, kind, call_id: Id, message_id: Id, args }
    ToolResult<'t> {
        tool: Name, call_id: Id, status, exit, stdout, stderr, truncated, artifact, attachments, duration_ms
    }
    SideFile<'t> { path, hash, bytes }
    CodeRead<'t> { call_id: Id, file, range, total_lines, hash, anchor_hashes, text }
    CodeEdit<'t> {
        call_id: Id, op, file, before_range, after_range, before_hash, after_hash, file_before_hash, file_after_hash,
        before_anchor_hashes, after_anchor_hashes, before_text, after_text, before_lines, after_lines, snippet: Basis,
        confirmed: UnlessTrue
    }
    SpanLink<'t> { from_file, from_range, to_file, to_range, note; call_id = None }
    SessionFacts<'t> {
        model: Name, provider: Name, repo_head: Name, repo_branch: Name, repo_url: Name, cwd: Name, title: Name,
        parent_session_id: Id, parent_call_id: Id, fork_of: Id, agent: Name, permission_mode: Name, effort: Name,
        cost_total_usd, context_tokens
    }
    EpisodeFacts<'t> {
        work_id: Id, episode_id: Id, session_id: Id, adapter_profile_hash: Id, agent: Name, agent_version: Name
    }
    Usage<'t> {
        message_id: Id, request_id: Id, model: Name, tokens, cost_usd, stop_reason: Name, service_tier: Name,
        provisional, part: Name
    }
    Tokens { input, cache_read, cache_write, cache_write_1h, output, reasoning }
    Permission<'t> { decision, tool: Name, call_id: Id, text }
    ImplicitInput<'t> { name, file: Name, hash, bytes, text }
}
