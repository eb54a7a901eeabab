//! The truth gate over everything, and proof that it catches what it is for.

#[test]
fn tapes_say_what_really_happened() {
    let tally = crate::report::run("truth", super::findings);
    assert!(tally.of("edits") > 0);
}
