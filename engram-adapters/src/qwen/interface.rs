//! The interface of the model's provider, as far as it changes what counts mean.

/// The interface of a provider, as far as its counts differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Interface {
    /// The prompt is counted with the tokens from the cache. No tokens to the cache are counted.
    #[default]
    Usual,
    /// The prompt is counted with the tokens from the cache and those to it, which the log does not have apart.
    Anthropic,
}

impl Interface {
    /// The interface that a log calls by this name (`AuthType`).
    pub fn named(name: &str) -> Interface {
        match name {
            "anthropic" => Interface::Anthropic,
            _ => Interface::Usual,
        }
    }
}
