//! Tests of the kit itself: adapters with one defect each.

mod adapter;
mod breaks;
mod broken;
mod claims;
mod members;
mod tape;
mod toy;
mod usage;
