//! Step 2: what becomes of each record, from the notes alone. One question a file.

pub mod calls;
pub mod prompts;
pub mod repeats;
pub mod replay;
pub mod twins;
pub mod usage;

use super::notes::Notes;

/// The decisions about all records.
#[derive(Debug, Default)]
pub struct Plan {
    /// By note: an item with the same id has said the same before.
    pub repeats: Vec<bool>,
    pub replay: replay::Replay,
    pub prompts: prompts::Prompts,
    pub twins: twins::Twins,
    /// By record of token counts.
    pub usage: Vec<usage::Usage>,
    /// By record about a call.
    pub calls: Vec<calls::CallFate>,
}

impl Plan {
    /// Decides about all records.
    pub fn of(notes: &Notes) -> Plan {
        let repeats = repeats::repeats(&notes.notes);
        let calls = calls::calls(notes, &repeats);
        Plan {
            replay: replay::replay(notes),
            prompts: prompts::prompts(notes, &repeats),
            twins: twins::twins(notes, &repeats, &calls),
            usage: usage::usage(notes, &repeats),
            calls,
            repeats,
        }
    }
}
