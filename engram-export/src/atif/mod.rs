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
mod steps;

pub use self::document::{
    Agent, FinalMetrics, Metrics, Observation, ObservationResult, Step, SubagentRef, ToolCall,
};
use self::root::{Root, Sums};
use self::steps::Steps;
use crate::losses::{Losses, Rule, SURROGATE, UNKNOWN_LABEL};
use crate::scratch::{Piece, Scratch};
use crate::session::Session;

/// The version of the documents. They differ in nothing but this word: 1.8 adds audio, which no tape has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Version {
    /// Read by all that read ATIF today.
    #[default]
    V1_7,
    /// The version that Harbor writes.
    V1_8,
}

impl Version {
    /// As a document has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Version::V1_7 => "ATIF-v1.7",
            Version::V1_8 => "ATIF-v1.8",
        }
    }
}

/// What ATIF cannot hold.
pub const RULES: &[Rule] = &[
    SURROGATE,
    UNKNOWN_LABEL,
    NOTHING,
    BLOCKS,
    ARGS,
    OUTPUTS,
    ATTACHMENT,
    CONTEXT,
    UNRECOGNIZED,
    SESSION_CHANGE,
    FINGERPRINTS,
    ORIGIN,
];

/// A tape without a step.
pub(crate) const NOTHING: Rule = Rule {
    name: "nothing_to_export",
    meaning: "a tape without messages and calls: it has no document",
};
pub(crate) const BLOCKS: Rule = Rule {
    name: "message.joined",
    meaning: "a further block of text of a response: it follows the one before after a blank line",
};
pub(crate) const ARGS: Rule = Rule {
    name: "args.wrapped",
    meaning: "arguments that are no object: they are the member `value` of one, and the call is marked `args: wrapped`",
};
pub(crate) const OUTPUTS: Rule = Rule {
    name: "output.joined",
    meaning: "a result with output and error output: the second follows the first",
};
pub(crate) const ATTACHMENT: Rule = Rule {
    name: "attachment.no_bytes",
    meaning: "an image or file: the tape has its hash, name and size, and they are in `extra`",
};
pub(crate) const CONTEXT: Rule = Rule {
    name: "context.no_text",
    meaning: "context of which the tape has a hash and no text: it is only counted",
};
pub(crate) const UNRECOGNIZED: Rule = Rule {
    name: "unrecognized.raw",
    meaning: "a record that the adapter does not know: it is only counted",
};
pub(crate) const SESSION_CHANGE: Rule = Rule {
    name: "session.changed",
    meaning: "a later value of a fact about the session: the first one is in `extra`, and models are on the steps",
};
pub(crate) const FINGERPRINTS: Rule = Rule {
    name: "code.anchors",
    meaning: "the fingerprints of a read or an edit",
};
pub(crate) const ORIGIN: Rule = Rule {
    name: "event.origin",
    meaning: "the place of an event in its log",
};

/// A sub-agent of a session.
#[derive(Debug)]
pub struct Child {
    /// The call that started it, if the logs tell.
    pub call_id: Option<String>,
    /// Its document, or where it is.
    pub document: ChildDocument,
}

/// The document of a sub-agent.
#[derive(Debug)]
pub enum ChildDocument {
    /// It goes into the document of its parent.
    Embedded(Document),
    /// It is a file of its own.
    Linked(SubagentRef),
}

/// A document that is ready to be written.
#[derive(Debug)]
pub struct Document {
    /// `<harness>/<session>[.<agent>]`.
    pub trajectory_id: String,
    /// US dollars, with sub-agents in the document.
    pub total_cost_usd: Option<f64>,
    pieces: Vec<Piece>,
}

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
        let mut root = Root::of(name, session, &mut self.losses)?;
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
        root.early_usage(steps.early_usage);
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
