//! From records to events: the record tables and their handlers.

mod call_events;
mod check_message;
mod dispatch;
mod export;
mod messages;
mod part_record;
mod parts;
pub mod session;
mod session_info;
mod settle;
mod step_export;
mod step_info;
mod step_messages;
mod step_parts;
mod stream;
mod system_events;
mod tool_parts;
mod usage;
