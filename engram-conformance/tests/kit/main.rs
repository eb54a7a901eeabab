//! The kit itself under test: adapters that break one thing each, and recordings that are not whole.

mod adapter;
mod breaks;
mod broken;
mod claims;
mod tape;
