//! The `engram` command.

fn main() {}
