//! What the compatibility kit needs to know about episodes.

use crate::certification::Certification;

use super::revisions::V1_NAME;

/// See [`Certification`].
pub(super) const CERTIFICATION: Certification = Certification::new()
    .with_unknown_version(next_version)
    .with_unit_tests(UNIT_TESTS);

/// Omission rules that no recording uses, with the unit tests that prove them.
const UNIT_TESTS: &[(&str, &str)] = &[(
    "record.repeated",
    "a_record_with_its_time_that_is_there_twice_is_one",
)];

/// The log as a later version would write it.
fn next_version(text: &str) -> Option<String> {
    let later = V1_NAME.replace('1', "2");
    text.contains(V1_NAME)
        .then(|| text.replacen(V1_NAME, &later, 1))
}
