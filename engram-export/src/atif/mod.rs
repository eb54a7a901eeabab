//! ATIF, the Agent Trajectory Interchange Format: one document for each session, with its sub-agents or links to them.
//!
//! ```
//! use engram_export::atif::{Atif, Version};
//! use engram_export::session::Session;
//! use std::io::Cursor;
//!
//! let tape = concat!(
//!     r#"{"seq":0,"t":"2026-01-02T03:04:05Z","k":"msg.in","source":{"harness":"toy","session_id":"s"},"role":"user","by":"person","text":"fix it"}"#,
//!     "\n"
//! );
//! let mut atif = Atif::new(Version::V1_7);
//! let document = atif.document("toy/s", &Session::read(Cursor::new(tape))?, Vec::new())?.expect("a step");
//! let mut json = Vec::new();
//! atif.write(&document, &mut json)?;
//! let json: serde_json::Value = serde_json::from_slice(&json)?;
//! assert_eq!(json["steps"][0]["message"], "fix it");
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io::{self, Write};

mod document;
mod root;
mod rules;
mod steps;

pub use self::document::{
    Agent, Child, ChildDocument, Document, FinalMetrics, Metrics, Observation, ObservationResult,
    Step, SubagentRef, ToolCall, Version,
};
use self::root::{Root, Sums};
use self::rules::NOTHING;
pub use self::rules::RULES;
use self::steps::Steps;
use crate::losses::Losses;
use crate::scratch::Scratch;
use crate::session::Session;

/// Makes documents, and counts what is lost. Steps are kept in an unnamed temporary file until their document is written, so memory does not
/// grow with them.
#[derive(Debug)]
pub struct Atif {
    version: Version,
    losses: Losses,
    scratch: Scratch,
}

impl Atif {
    /// Documents of this version.
    pub fn new(version: Version) -> Atif {
        Atif {
            version,
            losses: Losses::new("atif", &[RULES]),
            scratch: Scratch::default(),
        }
    }

    /// What was lost so far.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// The document of a tape; `None` if it has no step. `name` is used where the tape has no session id.
    ///
    /// # Errors
    /// Those of reading the tape and of the temporary file.
    pub fn document(
        &mut self,
        name: &str,
        session: &Session<'_>,
        children: Vec<Child>,
    ) -> io::Result<Option<Document>> {
        self.losses.tape();
        let root = Root::of(name, session, &mut self.losses)?;
        let from = self.scratch.bytes();
        let mut steps = Steps::new(session, &children, &mut self.losses);
        let mut sums = Sums::default();
        steps.run(&mut |step| {
            sums.add(&step);
            self.scratch.add_item(from, &step)
        })?;
        if sums.is_empty() {
            self.losses.count(&NOTHING);
            return Ok(None);
        }
        let embedded = children
            .into_iter()
            .filter_map(|child| match child.document {
                ChildDocument::Embedded(document) => Some(document),
                ChildDocument::Linked(_) => None,
            });
        let steps = self.scratch.since(from);
        root.document(self.version, steps, sums, embedded.collect())
            .map(Some)
    }

    /// Writes a document that is no part of another one, and forgets all that were made before.
    ///
    /// # Errors
    /// Those of writing and of the temporary file.
    pub fn write(&mut self, document: &Document, out: &mut dyn Write) -> io::Result<()> {
        let written = self.scratch.copy(&document.pieces, out);
        self.scratch = Scratch::default();
        written
    }
}
