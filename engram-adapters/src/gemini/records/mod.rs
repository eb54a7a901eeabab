//! From records to events: the record tables and their handlers.

mod changes;
mod dispatch;
mod documents;
mod header;
mod lines;
mod message_record;
mod messages;
mod model_message;
mod notices;
pub mod session;
mod stream;
mod unknown_part;
mod user_message;
