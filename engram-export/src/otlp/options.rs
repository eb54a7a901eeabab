//! How spans are written, and of what.

use super::conventions::Semconv;
use crate::session::Session;

/// The texts that spans have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Content {
    /// None.
    #[default]
    None,
    /// Messages.
    Text,
    /// Messages, arguments and results.
    All,
}

/// How spans are written.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The conventions.
    pub semconv: Semconv,
    /// The texts.
    pub content: Content,
    /// The longest text of an attribute, in bytes.
    pub max_attribute_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            semconv: Semconv::default(),
            content: Content::default(),
            max_attribute_bytes: 8192,
        }
    }
}

/// One tape of a session: that of the session, or of a sub-agent.
#[derive(Debug)]
pub struct Part<'s, 't> {
    /// The name of the tape, used where it has no session id.
    pub name: &'s str,
    /// The tape.
    pub session: Session<'t>,
    /// The part that started this one, and the call that did. Parents come before their children.
    pub parent: Option<(usize, Option<&'s str>)>,
}
