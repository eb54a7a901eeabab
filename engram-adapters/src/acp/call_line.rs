//! The call that a line is about, of the current line or of another one.

use engram_core::steps::Record;

use super::message::at;
use super::readers::Call;
use crate::shared::value::Value;

/// The call that a line is about.
pub fn call_of(value: Value<'_>) -> Call<'_> {
    let call = at(value, "m/params/update").or_else(|| at(value, "m/params/toolCall"));
    Call::lenient_opt(call)
}

/// Reads the call of a line: of the current one, or of another one.
pub fn read<T>(
    record: &Record<'_>,
    number: Option<usize>,
    then: impl FnOnce(&Call<'_>) -> T,
) -> Option<T> {
    let number = number?;
    if number == record.number {
        return Some(then(&call_of(record.value)));
    }
    let mut other = record.others.get(number)?;
    let value = other.value()?;
    Some(then(&call_of(value)))
}
