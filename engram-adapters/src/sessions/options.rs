//! How sessions are found, opened and converted.

use std::fmt;
use std::sync::Arc;

use engram_core::limits::Limits;
use engram_core::policy::Policy;

use crate::registration::Registration;
use crate::registry::Registry;

/// Receives the number of bytes that were read since the last call. It may be called from several threads.
pub(super) type OnRead = Arc<dyn Fn(u64) + Send + Sync>;

/// Options of [`super::sessions`]. The default: the built-in adapters, detection by content, [`Policy::Permissive`], and the
/// default [`Limits`].
///
/// ```
/// use engram_adapters::sessions::SessionOptions;
/// use engram_core::policy::Policy;
///
/// let options = SessionOptions::default().with_policy(Policy::Strict);
/// assert_eq!(options.policy(), Policy::Strict);
/// ```
#[derive(Clone, Default)]
pub struct SessionOptions {
    pub(super) registry: Registry,
    pub(super) adapter: Option<&'static Registration>,
    pub(super) policy: Policy,
    pub(super) limits: Limits,
    pub(super) every_form: bool,
    pub(super) span_text: bool,
    pub(super) on_read: Option<OnRead>,
}

impl SessionOptions {
    /// Uses the adapters of this registry.
    #[must_use]
    pub fn with_registry(self, registry: Registry) -> SessionOptions {
        SessionOptions { registry, ..self }
    }

    /// Uses only this adapter. A file that the caller names is converted with it whatever its content; files found in a directory
    /// are skipped unless the adapter recognises them.
    #[must_use]
    pub fn with_adapter(self, adapter: &'static Registration) -> SessionOptions {
        SessionOptions {
            adapter: Some(adapter),
            ..self
        }
    }

    /// Sets what happens to unknown versions and records.
    #[must_use]
    pub fn with_policy(self, policy: Policy) -> SessionOptions {
        SessionOptions { policy, ..self }
    }

    /// Sets the bounds on what the input may demand.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> SessionOptions {
        SessionOptions { limits, ..self }
    }

    /// Finds each session in every form that is there, not only in the one that says most.
    #[must_use]
    pub fn with_every_form(self) -> SessionOptions {
        SessionOptions {
            every_form: true,
            ..self
        }
    }

    /// Gives reads and edits the texts that were hashed.
    #[must_use]
    pub fn with_span_text(self) -> SessionOptions {
        SessionOptions {
            span_text: true,
            ..self
        }
    }

    /// Calls `on_read` with the number of bytes read since the last call, for a progress bar. It may be called from several
    /// threads.
    #[must_use]
    pub fn with_progress(self, on_read: impl Fn(u64) + Send + Sync + 'static) -> SessionOptions {
        SessionOptions {
            on_read: Some(Arc::new(on_read)),
            ..self
        }
    }

    /// The adapters.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// What happens to unknown versions and records.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// The bounds on what the input may demand.
    pub fn limits(&self) -> Limits {
        self.limits
    }
}

impl fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOptions")
            .field("registry", &self.registry)
            .field("adapter", &self.adapter)
            .field("policy", &self.policy)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
