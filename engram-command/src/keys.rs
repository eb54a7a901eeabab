//! Whether an answer shows the keys and tokens that a log contains.

use std::borrow::Cow;

use clap::Args;
use engram_core::redact::{redacted, redacted_json};

/// Whether keys and tokens are shown.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Keys {
    /// Replace keys and tokens by `[redacted:<rule>]`, as is done without it
    #[arg(long, conflicts_with = "no_redact")]
    pub redact: bool,
    /// Show keys and tokens
    #[arg(long)]
    pub no_redact: bool,
}

impl Keys {
    /// For what is no text of a log.
    pub const SHOWN: Keys = Keys {
        redact: false,
        no_redact: true,
    };

    /// The text as it may be shown.
    pub fn clean(self, text: &str) -> Cow<'_, str> {
        if self.no_redact {
            Cow::Borrowed(text)
        } else {
            redacted(text)
        }
    }

    /// As [`Keys::clean`], for JSON text.
    pub fn clean_json(self, json: &str) -> Cow<'_, str> {
        if self.no_redact {
            Cow::Borrowed(json)
        } else {
            redacted_json(json)
        }
    }
}
