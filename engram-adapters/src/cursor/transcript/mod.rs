//! Agent transcripts: JSON Lines (`jsonl`), the older JSON document (`document`), and the oldest text (`text_transcript`), which is opened
//! into the document.

mod calls;
pub(super) mod document;
pub(super) mod jsonl;
mod parent_session;
mod pending_results;
pub(super) mod text_transcript;
mod turn_end;
