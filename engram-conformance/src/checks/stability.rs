//! The same bytes give the same tape, no matter how they are read.

use engram_core::adapter::convert_str;
use engram_core::pipeline::Options;
use engram_core::policy::Policy;

use crate::case::Case;
use crate::convert::{ConversionError, in_chunks};
use crate::outcome::Findings;
use crate::subject::Subject;

/// Chunk sizes in bytes. The small ones are used for short sessions only.
const CHUNK_SIZES: &[usize] = &[1, 7, 4096];
/// The largest chunk size that is used for short sessions only.
const MAX_SMALL_CHUNK: usize = 7;
/// Sessions below this size are short.
const SHORT_BYTES: usize = 256 << 10;

/// The second conversion gives the same tape as the first.
pub fn twice(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    for session in &case.sessions {
        match subject.tape(&session.input) {
            Ok(again) if again.text == session.tape => findings.count("sessions"),
            Ok(again) => findings.fail(
                case.place(session),
                format!(
                    "the second tape differs, from line {} on",
                    first_difference(&session.tape, &again.text)
                ),
            ),
            Err(error) => findings.fail(
                case.place(session),
                format!("the second conversion fails: {error}"),
            ),
        }
    }
}

fn first_difference(one: &str, other: &str) -> usize {
    one.lines()
        .zip(other.lines())
        .take_while(|(one, other)| one == other)
        .count()
        + 1
}

/// The string form gives the same tape as the streaming form, and the chunk size has no influence.
pub fn forms(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    let Some(stream) = subject.capabilities.stream else {
        return;
    };
    for session in &case.sessions {
        let is_short = session.source().len() < SHORT_BYTES;
        for size in CHUNK_SIZES
            .iter()
            .copied()
            .filter(|size| is_short || *size > MAX_SMALL_CHUNK)
        {
            match in_chunks(stream, &session.input, size, session.policy()) {
                Ok(tape) if tape == session.tape => findings.count("sessions in chunks"),
                _ => findings.fail(
                    case.place(session),
                    format!("chunks of {size} bytes give another tape"),
                ),
            }
        }
        let options = Options {
            policy: subject.own_policy(),
            ..Options::default()
        };
        let Ok(text) = str::from_utf8(session.source()) else {
            findings.note("sessions that are not UTF-8");
            continue;
        };
        let streamed = convert_str(stream, text, &options)
            .map_err(|error| ConversionError::Refused(Box::new(error)));
        if streamed == subject.string_form(session.source()) {
            findings.count("sessions in both forms");
        } else {
            findings.fail(
                case.place(session),
                format!(
                    "the string form differs from the streaming form under {} policy",
                    Policy::as_str(options.policy)
                ),
            );
        }
    }
}
