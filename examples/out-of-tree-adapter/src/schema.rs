//! The records of a session, borrowed from the line.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The first line. A field that is not listed here is of a schema that is not known.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header<'a> {
    #[serde(borrow)]
    pub working_dir: &'a RawValue,
    #[serde(borrow)]
    pub description: Option<&'a RawValue>,
    #[serde(borrow)]
    pub total_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    pub input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    pub output_tokens: Option<&'a RawValue>,
    #[serde(rename = "message_count")]
    _message_count: u64,
    #[serde(rename = "schedule_id")]
    _schedule_id: Option<&'a str>,
    #[serde(rename = "project_id")]
    _project_id: Option<&'a str>,
    #[serde(rename = "accumulated_total_tokens")]
    _accumulated_total_tokens: Option<i64>,
    #[serde(rename = "accumulated_input_tokens")]
    _accumulated_input_tokens: Option<i64>,
    #[serde(rename = "accumulated_output_tokens")]
    _accumulated_output_tokens: Option<i64>,
}

/// Every other line.
#[derive(Deserialize)]
pub struct Message<'a> {
    #[serde(borrow)]
    pub id: Option<&'a RawValue>,
    pub role: &'a str,
    pub created: i64,
    #[serde(borrow)]
    pub content: Vec<&'a RawValue>,
}

/// A piece of a message.
#[derive(Deserialize)]
pub struct Block<'a> {
    pub r#type: &'a str,
    #[serde(borrow)]
    pub text: Option<&'a RawValue>,
    #[serde(borrow)]
    pub thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow, rename = "toolCall")]
    pub tool_call: Option<Settled<'a>>,
    #[serde(borrow, rename = "toolResult")]
    pub tool_result: Option<Settled<'a>>,
}

/// A request or a response: a value, or an error.
#[derive(Deserialize)]
pub struct Settled<'a> {
    #[serde(borrow)]
    pub value: Option<&'a RawValue>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
}

/// What a request asks for.
#[derive(Deserialize)]
pub struct Call<'a> {
    #[serde(borrow)]
    pub name: &'a RawValue,
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
}

/// Seconds since 1970 as a tape spells time.
pub fn time(created: i64) -> Option<String> {
    Timestamp::from_second(created).ok().map(|time| format!("{time:.0}"))
}
