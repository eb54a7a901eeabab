//! The index over recordings of real sessions, compared with what really happened.

mod blame;
mod recorded;
mod truth;
