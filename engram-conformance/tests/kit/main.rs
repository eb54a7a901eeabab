//! The kit itself under test.
