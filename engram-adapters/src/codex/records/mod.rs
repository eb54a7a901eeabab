//! The record table, and the handlers of records that are no result of a call.

pub mod agents;
pub mod dispatch;
pub mod exec_stream;
pub mod implicit_input;
pub mod message_events;
pub mod messages;
pub mod printed_events;
pub mod prompts;
pub mod provider_calls;
pub mod session;
pub mod settings;
pub mod tool_calls;
pub mod ts_document;
pub mod turns;
pub mod undecided;
pub mod usage;
