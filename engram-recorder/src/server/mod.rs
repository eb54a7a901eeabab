//! The model server: answers four APIs on loopback from a scenario, and keeps what it served.

pub mod anthropic;
pub mod chat;
pub mod gemini;
pub mod http;
pub mod message;
pub mod relay;
pub mod responses;
pub mod stage;

pub use http::Server;
pub use message::{Dialect, Request};
pub use relay::{Provider, Relay, Relayed};
pub use stage::Stage;
