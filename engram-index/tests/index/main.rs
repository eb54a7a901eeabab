//! The index over recordings of real sessions, compared with what really happened.

mod agree;
mod blame;
mod changes;
mod controls;
mod faults;
mod full_disk;
mod growth;
mod judge;
mod lineage;
mod places;
mod rates;
mod recorded;
mod results;
mod rewinds;
mod sql;
mod streams;
#[path = "../../benches/synthetic.rs"]
mod synthetic;
mod truth;
mod world;
mod worlds;
