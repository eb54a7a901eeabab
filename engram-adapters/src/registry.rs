//! The registry: which adapters there are, and which of them recognises a session.

use engram_core::adapter::Evidence;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::head::Head;

use crate::builtin::BUILTIN;
use crate::registration::Registration;

/// A set of adapters. The library, the command and the compatibility kit all take it as a value.
///
/// ```
/// use engram_adapters::Registry;
///
/// let registry = Registry::builtin();
/// assert_eq!(registry.by_id("codex")?.descriptor().harness_family, "codex");
/// # Ok::<(), engram_core::error::AdapterError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Registry {
    registrations: Vec<&'static Registration>,
}

impl Default for Registry {
    /// The built-in adapters.
    fn default() -> Self {
        Registry::builtin()
    }
}

impl Registry {
    /// The adapters of this crate: those whose Cargo feature is enabled.
    pub fn builtin() -> Registry {
        Registry {
            registrations: BUILTIN.to_vec(),
        }
    }

    /// No adapters.
    pub fn empty() -> Registry {
        Registry {
            registrations: Vec::new(),
        }
    }

    /// Adds an adapter. It replaces an adapter of the same id, so an outside adapter can override a built-in one.
    #[must_use]
    pub fn with(mut self, registration: &'static Registration) -> Registry {
        match self
            .registrations
            .iter_mut()
            .find(|known| known.id() == registration.id())
        {
            Some(known) => *known = registration,
            None => self.registrations.push(registration),
        }
        self
    }

    /// The adapters: built-in ones in the order in which tables list them, then the others in the order in which they were added.
    pub fn adapters(&self) -> impl Iterator<Item = &'static Registration> {
        self.registrations.iter().copied()
    }

    /// The adapter with this id.
    ///
    /// # Errors
    /// `unknown_adapter`, with the ids that there are.
    pub fn by_id(&self, id: &str) -> Result<&'static Registration, AdapterError> {
        self.adapters()
            .find(|registration| registration.id() == id)
            .ok_or_else(|| {
                let ids: Vec<&str> = self.adapters().map(Registration::id).collect();
                AdapterError::new(ErrorCode::UnknownAdapter)
                    .expected(format!("one of {}", ids.join(", ")))
                    .found(id)
            })
    }

    /// The one adapter that recognises the head of a session, with its evidence. The file's name plays no part in it.
    ///
    /// Adapters that convert complete texts only cannot recognise a head. [`crate::ingest_with`] and
    /// [`crate::sessions::sessions`] try them when no other adapter recognises the session.
    ///
    /// # Errors
    /// `unknown_harness` if no adapter recognises it; `ambiguous_harness`, with all evidence, if several do.
    ///
    /// ```
    /// use engram_adapters::Registry;
    /// use engram_core::head::Head;
    ///
    /// let log = br#"{"type":"thread.started"}"#;
    /// let error = Registry::builtin().detect(&Head::new(log, true)).unwrap_err();
    /// assert_eq!(error.code.as_str(), "unknown_harness");
    /// ```
    pub fn detect(
        &self,
        head: &Head<'_>,
    ) -> Result<(&'static Registration, Evidence), AdapterError> {
        let mut found: Vec<_> = self
            .adapters()
            .filter_map(|registration| Some((registration, registration.probe(head)?)))
            .collect();
        if found.len() > 1 {
            let named: Vec<String> = found
                .iter()
                .map(|(registration, evidence)| {
                    format!("{} ({})", registration.id(), evidence.marks.join(", "))
                })
                .collect();
            return Err(ambiguous(&named));
        }
        found.pop().ok_or_else(|| {
            let error = AdapterError::new(ErrorCode::UnknownHarness)
                .expected("the log of a supported harness");
            match head.text().lines().next() {
                _ if head.is_blank() => error.found("nothing but white space"),
                _ if is_utf16(head.bytes()) => error.expected("UTF-8").found(UTF16),
                None => error.expected("UTF-8").found(NOT_UTF8),
                Some(first) => error.found(first),
            }
        })
    }
}

/// What is found in a file that begins with the byte order mark of UTF-16.
pub const UTF16: &str = "UTF-16 text";
/// What is found in a file that does not begin with UTF-8.
pub const NOT_UTF8: &str = "bytes that are not UTF-8";

fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

/// Several adapters claim one session.
pub(crate) fn ambiguous(candidates: &[String]) -> AdapterError {
    let mut error = AdapterError::new(ErrorCode::AmbiguousHarness).expected("one harness");
    // These are Engram's own words: they need not be shortened like an excerpt of the input.
    error.found = Some(candidates.join("; "));
    error
}
