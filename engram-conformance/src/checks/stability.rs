//! The same bytes give the same tape, however they are read.

use engram_core::adapter::convert_str;
use engram_core::pipeline::Options;
use engram_core::policy::Policy;

use crate::convert::{Trouble, in_chunks};
use crate::outcome::Found;
use crate::scene::Scene;

/// Sizes of the pieces in which a session arrives. Pieces of one byte only for short sessions.
const PIECES: &[usize] = &[1, 7, 4096];
/// What counts as short.
const SHORT_BYTES: usize = 256 << 10;

/// The second tape is that of the first time.
pub fn twice(scene: &Scene<'_>, found: &mut Found) {
    for side in &scene.sides {
        match scene.subject.tape(&side.session) {
            Ok(again) if again == side.tape => found.count("sessions"),
            Ok(again) => {
                found.fail(scene.place(side), format!("the second tape differs from line {} on", first_difference(&side.tape, &again)))
            }
            Err(trouble) => found.fail(scene.place(side), format!("the second time: {trouble}")),
        }
    }
}

fn first_difference(one: &str, other: &str) -> usize {
    one.lines().zip(other.lines()).take_while(|(one, other)| one == other).count() + 1
}

/// The string form gives what the streaming form gives, and pieces do not matter.
pub fn forms(scene: &Scene<'_>, found: &mut Found) {
    let Some(stream) = scene.subject.offered.stream else { return };
    for side in &scene.sides {
        let is_short = side.source().len() < SHORT_BYTES;
        for size in PIECES.iter().copied().filter(|size| is_short || *size > 7) {
            match in_chunks(stream, &side.session, size) {
                Ok(tape) if tape == side.tape => found.count("sessions in pieces"),
                _ => found.fail(scene.place(side), format!("pieces of {size} bytes give another tape")),
            }
        }
        let options = Options { policy: scene.subject.own_policy(), ..Options::default() };
        let Ok(text) = str::from_utf8(side.source()) else {
            found.note("sessions that are not UTF-8");
            continue;
        };
        let streamed = convert_str(stream, text, &options).map_err(|error| Trouble::Refused(Box::new(error)));
        if streamed == scene.subject.string_form(side.source()) {
            found.count("sessions in both forms");
        } else {
            found.fail(
                scene.place(side),
                format!("the string form differs from the streaming form under {} policy", Policy::as_str(options.policy)),
            );
        }
    }
}
