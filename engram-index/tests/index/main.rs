//! The index over recordings of real sessions, compared with what really happened.

mod blame;
mod changes;
mod controls;
mod faults;
mod full_disk;
mod growth;
mod lineage;
mod rates;
mod recorded;
mod sql;
#[path = "../../benches/synthetic.rs"]
mod synthetic;
mod truth;
mod worlds;
