//! Tests of the recorder: the model server, the scenarios, the matrix, and a recording of a small fake harness.
#![cfg(unix)]

mod attack;
mod data;
mod doors;
mod episode;
mod fake;
mod forged;
mod profiles;
mod relay;
mod server;
