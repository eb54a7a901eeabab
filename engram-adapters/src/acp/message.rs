//! What all lines have: their type, their time, and the session that they belong to.

use engram_core::emit::Fault;
use engram_core::keys::hash64;

use super::format::{LogKind, MessageKind, PlainKind};
use crate::shared::time::from_seconds;
use crate::shared::value::{Field, Value, number, raw_str};

/// The most digits of the fraction of a time.
const FRACTION: usize = 9;
/// How methods of an agent's own begin: those of the protocol with `_`, those of Qwen Code as here (recorded).
const OWN: [&str; 3] = ["_", "craft/", "qwen/"];

/// The type of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A line of the recorder.
    Log(LogKind),
    /// A message with a handler.
    Message(MessageKind),
    /// A message of which the tape has the parameters.
    Plain(PlainKind),
    /// A method of an agent's own.
    Own,
    /// An answer.
    Answer,
}

impl Kind {
    /// The name of the type in the table.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Log(kind) => kind.name(),
            Kind::Message(kind) => kind.name(),
            Kind::Plain(kind) => kind.name(),
            Kind::Own => "_",
            Kind::Answer => "",
        }
    }
}

/// The value at a path of names below another one.
pub(super) fn at<'a>(value: Value<'a>, path: &str) -> Field<'a> {
    path.split('/')
        .try_fold(value, |value, name| value.member(name))
}

/// The type of a line.
///
/// # Errors
/// [`Fault::Unrecognized`] if it is not known, [`Fault::Malformed`] if it is no message.
pub(super) fn kind_of(record: Value<'_>) -> Result<Kind, Fault> {
    if let Some(log) = record.member("log") {
        let name = log.raw_str();
        let kind = LogKind::named(name).map(Kind::Log);
        return kind.ok_or_else(|| Fault::unrecognized(name));
    }
    let message = record.member("m").filter(|message| message.is_object());
    let message = message.ok_or_else(|| Fault::malformed("/m", "a message", "nothing"))?;
    if !matches!(raw_str(record.member("dir")), "in" | "out") {
        return Err(Fault::malformed("/dir", "`in` or `out`", "something else"));
    }
    let method = raw_str(message.member("method"));
    let update = raw_str(at(message, "params/update/sessionUpdate"));
    let name = match (method, update) {
        ("", "") => return Ok(Kind::Answer),
        ("", update) => update.to_owned(),
        (method, "") => method.to_owned(),
        (method, update) => format!("{method}/{update}"),
    };
    let of_session = name.strip_prefix("session/").and_then(MessageKind::named);
    let message = of_session.map(Kind::Message);
    message
        .or_else(|| PlainKind::named(&name).map(Kind::Plain))
        .or_else(|| {
            OWN.iter()
                .any(|own| name.starts_with(own))
                .then_some(Kind::Own)
        })
        .ok_or_else(|| Fault::unrecognized(&name))
}

/// The time of a line: seconds since 1970 with a fraction, in the form of a tape.
pub(super) fn time_of(record: Value<'_>) -> Option<String> {
    let seconds = number(record.member("t"))?.as_str();
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let is_plain = fraction.bytes().all(|byte| byte.is_ascii_digit());
    let time = from_seconds(whole.parse().ok().filter(|_| is_plain)?)?;
    let fraction = fraction.get(..FRACTION).unwrap_or(fraction);
    match fraction {
        "" => Some(time),
        _ => Some(format!("{}.{fraction}Z", time.strip_suffix('Z')?)),
    }
}

/// True for a message from the client to the agent.
pub(super) fn is_out(record: Value<'_>) -> bool {
    raw_str(record.member("dir")) == "out"
}

/// The session that a message names.
pub(super) fn session_of(record: Value<'_>) -> Field<'_> {
    at(record, "m/params/sessionId")
        .or_else(|| at(record, "m/result/sessionId"))
        .filter(|id| id.text().is_some_and(|id| !id.is_empty()))
}

/// The sub-agent whose update this is, where the agent says it: by its id (Copilot CLI 1.0.102: recorded), or by the call that started it
/// (claude-agent-acp 0.101.0: recorded).
pub(super) fn agent_of(record: Value<'_>) -> Field<'_> {
    let meta = at(record, "m/params/update/_meta")?;
    at(meta, "claudeCode/parentToolUseId")
        .or_else(|| meta.member("github.com/copilot")?.member("agentId"))
}

/// The key of a field: 0 if it is absent.
pub(super) fn key(field: Field<'_>) -> u64 {
    field.map_or(0, |value| hash64(value.raw()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::value::{StructuralIndex, parse};

    fn time(t: &str) -> Option<String> {
        let (line, mut index) = (format!("{{\"t\":{t}}}"), StructuralIndex::default());
        time_of(parse(&line, &mut index).unwrap())
    }

    #[test]
    fn a_time_has_the_digits_of_the_log() {
        let times = ["1795900441.82294", "1795900441", "1795900441.0123456789"].map(time);
        let expected = [
            "2026-11-28T21:14:01.82294Z",
            "2026-11-28T21:14:01Z",
            "2026-11-28T21:14:01.012345678Z",
        ];
        assert_eq!(times, expected.map(|time| Some(time.to_owned())));
        assert_eq!(
            [time("1.8e9"), time("\"1\""), time("-1.5e3")],
            [None, None, None]
        );
    }
}
