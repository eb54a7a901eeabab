//! The JSON form of OTLP: ids are lower-case hex, 64-bit numbers are strings, enums are numbers, keys are in lower camel case.

use serde::Serialize;
use serde::ser::Serializer;

#[derive(Debug, Serialize)]
pub(super) struct Resource {
    pub(super) attributes: Vec<KeyValue>,
}

#[derive(Debug, Serialize)]
pub(super) struct Scope {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) attributes: Vec<KeyValue>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Span {
    pub(super) trace_id: String,
    pub(super) span_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) parent_span_id: String,
    pub(super) name: String,
    pub(super) kind: u8,
    #[serde(serialize_with = "as_string")]
    pub(super) start_time_unix_nano: i64,
    #[serde(serialize_with = "as_string")]
    pub(super) end_time_unix_nano: i64,
    pub(super) attributes: Vec<KeyValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) events: Vec<SpanEvent>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) links: Vec<Link>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<Status>,
}

/// A span inside of a process.
pub(super) const INTERNAL: u8 = 1;
/// A span that waits for another service.
pub(super) const CLIENT: u8 = 3;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SpanEvent {
    #[serde(serialize_with = "as_string")]
    pub(super) time_unix_nano: i64,
    pub(super) name: &'static str,
    pub(super) attributes: Vec<KeyValue>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Link {
    pub(super) trace_id: String,
    pub(super) span_id: String,
    pub(super) attributes: Vec<KeyValue>,
}

#[derive(Debug, Serialize)]
pub(super) struct Status {
    pub(super) code: u8,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
}

/// The status of what failed.
pub(super) fn failed(message: &str) -> Option<Status> {
    Some(Status {
        code: 2,
        message: message.to_owned(),
    })
}

#[derive(Debug, Serialize)]
pub(super) struct KeyValue {
    pub(super) key: String,
    pub(super) value: Value,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::enum_variant_names, reason = "the names of the protocol")]
pub(super) enum Value {
    StringValue(String),
    BoolValue(bool),
    #[serde(serialize_with = "as_string")]
    IntValue(i64),
    DoubleValue(f64),
    ArrayValue(Array),
}

#[derive(Debug, Serialize)]
pub(super) struct Array {
    values: Vec<Value>,
}

// Serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn as_string<S: Serializer>(number: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::StringValue(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::StringValue(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::BoolValue(value)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::IntValue(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::IntValue(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::DoubleValue(number)
    }
}

impl From<Vec<String>> for Value {
    fn from(texts: Vec<String>) -> Value {
        Value::ArrayValue(Array {
            values: texts.into_iter().map(Value::StringValue).collect(),
        })
    }
}

/// Attributes, in the order in which they are set.
#[derive(Debug, Default)]
pub(super) struct Attributes(pub(super) Vec<KeyValue>);

impl Attributes {
    /// Sets an attribute.
    pub(super) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.0.push(KeyValue {
            key: key.to_owned(),
            value: value.into(),
        });
    }

    /// Sets an attribute that may be unknown.
    pub(super) fn maybe(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(key, value);
        }
    }
}
