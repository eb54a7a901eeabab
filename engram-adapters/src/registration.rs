//! What one adapter registers: the adapter itself, and what else is needed to read its harness's files.

use std::fmt;
use std::path::Path;

use engram_core::adapter::{Evidence, HarnessAdapter, Identity, SideInfo, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::head::Head;

#[cfg(feature = "conformance")]
use crate::certification::Certification;
use crate::home_directory::HomeDirectory;
use crate::open::store::Opener;
use crate::prompt_history::PromptHistory;
use crate::session_file::SessionFile;
use crate::session_form::SessionForm;
use crate::shared::tool_table::ToolTable;

/// Reads what the files around a session file say about it. Gets the file's path, its head, and what the head says.
pub type SideInfoFn = fn(&Path, &Head<'_>, &Identity) -> SideInfo;

/// One of the two forms of the adapter contract.
#[derive(Clone, Copy)]
pub enum AdapterForm {
    /// Converts record by record, in bounded memory.
    Stream(&'static dyn StreamAdapter),
    /// Converts a complete text to a complete tape. The text must fit in memory.
    Text(&'static dyn HarnessAdapter),
}

impl fmt::Debug for AdapterForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AdapterForm")
            .field(&match self {
                AdapterForm::Stream(adapter) => adapter.describe().adapter_id,
                AdapterForm::Text(adapter) => adapter.id().0,
            })
            .finish()
    }
}

/// One adapter with everything that belongs to it. A minimal one is `Registration::new(&MY_ADAPTER)`; every other part has a
/// default.
#[derive(Clone, Copy)]
pub struct Registration {
    form: AdapterForm,
    tools: &'static ToolTable,
    side_info: SideInfoFn,
    opener: &'static Opener,
    homes: &'static [HomeDirectory],
    history: Option<&'static PromptHistory>,
    files: &'static [SessionFile],
    is_state: fn(&Head<'_>) -> bool,
    forms: &'static [SessionForm],
    is_relay: bool,
    project_files: &'static [&'static str],
    #[cfg(feature = "conformance")]
    certification: Certification,
}

impl Registration {
    /// Registers a streaming adapter: no tool table, no side files, no stores.
    pub const fn new(adapter: &'static dyn StreamAdapter) -> Registration {
        Registration::with_form(AdapterForm::Stream(adapter))
    }

    /// Registers an adapter that has only the three methods of [`HarnessAdapter`].
    ///
    /// Such an adapter cannot be asked whether it recognises a session. It is tried when no streaming adapter recognises the
    /// session, and should then answer `unknown_harness` unless the session is its own. Every tape that it returns is checked.
    pub const fn text_only(adapter: &'static dyn HarnessAdapter) -> Registration {
        Registration::with_form(AdapterForm::Text(adapter))
    }

    const fn with_form(form: AdapterForm) -> Registration {
        Registration {
            form,
            tools: &ToolTable::EMPTY,
            side_info: |_, _, _| SideInfo::default(),
            opener: &Opener::NOTHING,
            homes: &[],
            history: None,
            files: &[],
            is_state: |_| false,
            forms: &[],
            is_relay: false,
            project_files: &[],
            #[cfg(feature = "conformance")]
            certification: Certification::new(),
        }
    }

    /// Adds the harness's tool names and their kinds.
    #[must_use]
    pub const fn with_tools(self, tools: &'static ToolTable) -> Registration {
        Registration { tools, ..self }
    }

    /// Adds a function that reads the files around a session file.
    #[must_use]
    pub const fn with_side_info(self, side_info: SideInfoFn) -> Registration {
        Registration { side_info, ..self }
    }

    /// Adds an opener for the harness's stores: databases, or directories that contain many sessions.
    #[must_use]
    pub const fn with_store_opener(self, opener: &'static Opener) -> Registration {
        Registration { opener, ..self }
    }

    /// Adds the directories where the harness keeps its sessions.
    #[must_use]
    pub const fn with_homes(self, homes: &'static [HomeDirectory]) -> Registration {
        Registration { homes, ..self }
    }

    /// Adds the file in which the harness keeps what was typed, longer than its sessions.
    #[must_use]
    pub const fn with_prompt_history(self, history: &'static PromptHistory) -> Registration {
        Registration {
            history: Some(history),
            ..self
        }
    }

    /// Adds the files in which the harness keeps its sessions. Such a file that no adapter recognises is reported when a directory is
    /// searched.
    #[must_use]
    pub const fn with_session_files(self, files: &'static [SessionFile]) -> Registration {
        Registration { files, ..self }
    }

    /// Adds what recognises a file that is where sessions are, and has only state: nobody said anything in it. It is passed without an error.
    #[must_use]
    pub const fn with_state_files(self, is_state: fn(&Head<'_>) -> bool) -> Registration {
        Registration { is_state, ..self }
    }

    /// Adds how the names of files begin that each project has. Such a name does not tell the files of two projects apart, so a tape is
    /// named after the directory, too.
    #[must_use]
    pub const fn with_project_files(self, beginnings: &'static [&'static str]) -> Registration {
        Registration {
            project_files: beginnings,
            ..self
        }
    }

    /// Adds the forms of which the harness can leave several of one session, the one that says most first.
    #[must_use]
    pub const fn with_forms(self, forms: &'static [SessionForm]) -> Registration {
        Registration { forms, ..self }
    }

    /// As [`Registration::with_forms`], of logs that something between a harness and its client writes. The harness may have a log of its own
    /// of the same session, with the same id, and says more in it.
    #[must_use]
    pub const fn with_relayed_forms(self, forms: &'static [SessionForm]) -> Registration {
        Registration {
            forms,
            is_relay: true,
            ..self
        }
    }

    /// Adds what the compatibility kit needs to know.
    #[cfg(feature = "conformance")]
    #[must_use]
    pub const fn with_certification(self, certification: Certification) -> Registration {
        Registration {
            certification,
            ..self
        }
    }

    /// What the compatibility kit needs to know.
    #[cfg(feature = "conformance")]
    pub fn certification(&self) -> &Certification {
        &self.certification
    }

    /// The adapter.
    pub fn form(&self) -> AdapterForm {
        self.form
    }

    /// The streaming adapter; `None` for an adapter that converts complete texts only.
    pub fn stream(&self) -> Option<&'static dyn StreamAdapter> {
        match self.form {
            AdapterForm::Stream(adapter) => Some(adapter),
            AdapterForm::Text(_) => None,
        }
    }

    /// The adapter as the three methods of the contract, whichever form it has.
    ///
    /// ```
    /// use engram_adapters::Registry;
    /// use engram_core::adapter::HarnessAdapter;
    ///
    /// let adapters: Vec<&dyn HarnessAdapter> = Registry::builtin().adapters().map(|one| one.harness()).collect();
    /// for adapter in adapters {
    ///     let error = adapter.convert_to_tape_jsonl("{\"hello\":1}").unwrap_err();
    ///     assert_eq!(error.code.as_str(), "unknown_harness");
    /// }
    /// ```
    pub fn harness(&self) -> &'static dyn HarnessAdapter {
        match self.form {
            AdapterForm::Stream(adapter) => adapter,
            AdapterForm::Text(adapter) => adapter,
        }
    }

    /// What the adapter supports and claims.
    pub fn descriptor(&self) -> AdapterDescriptor {
        self.harness().descriptor()
    }

    /// The adapter's stable id.
    pub fn id(&self) -> &'static str {
        self.descriptor().adapter_id
    }

    /// The proof that the session is the adapter's. Always `None` for an adapter that converts complete texts only.
    pub fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        self.stream()?.probe(head)
    }

    /// What the head says about version, schema, session and start. Nothing for an adapter that converts complete texts only.
    pub fn identify(&self, head: &Head<'_>) -> Identity {
        self.stream()
            .map(|adapter| adapter.identify(head))
            .unwrap_or_default()
    }

    /// The harness's tool names and their kinds.
    pub fn tools(&self) -> &'static ToolTable {
        self.tools
    }

    /// What the files around the session file at `path` say about it. `identity` is what [`Registration::identify`] returns for its head.
    pub fn side_info(&self, path: &Path, head: &Head<'_>, identity: &Identity) -> SideInfo {
        (self.side_info)(path, head, identity)
    }

    /// The directories where the harness keeps its sessions.
    pub fn homes(&self) -> &'static [HomeDirectory] {
        self.homes
    }

    /// The file in which the harness keeps what was typed.
    pub fn prompt_history(&self) -> Option<&'static PromptHistory> {
        self.history
    }

    /// The files in which the harness keeps its sessions.
    pub fn session_files(&self) -> &'static [SessionFile] {
        self.files
    }

    /// True for a whole file of this harness that has only state, and so is no session.
    pub fn is_state(&self, head: &Head<'_>) -> bool {
        (self.is_state)(head)
    }

    /// The forms of which the harness can leave several of one session, the one that says most first.
    pub fn forms(&self) -> &'static [SessionForm] {
        self.forms
    }

    /// True if the sessions are those of other harnesses, which may have logs of their own.
    pub fn is_relay(&self) -> bool {
        self.is_relay
    }

    /// True for the stem of a file that each project has.
    pub fn is_project_file(&self, stem: &str) -> bool {
        self.project_files
            .iter()
            .any(|beginning| stem.starts_with(beginning))
    }

    /// Opens the harness's stores.
    pub fn store_opener(&self) -> &'static Opener {
        self.opener
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registration").field(&self.id()).finish()
    }
}
