//! The Adapter Compatibility Kit: one suite of checks that certifies any adapter against recordings of real sessions.
//!
//! The kit converts recorded sessions with the adapter under test and compares the tapes with `truth.json`: what really happened,
//! as the model server and the file system saw it. The kit knows no adapter by name. An adapter needs only the three methods of
//! [`HarnessAdapter`]; with the optional parts of [`Capabilities`] more checks run. A check without what it needs is skipped with
//! a reason; it never passes.
//!
//! ```
//! use engram_conformance::{Options, Recordings, run};
//! # fn certify(adapter: &dyn engram_core::adapter::HarnessAdapter) -> Result<(), Box<dyn std::error::Error>> {
//! let recordings = Recordings::load("fixtures".as_ref())?;
//! let report = run(adapter, &recordings, &Options::default());
//! assert!(report.passes(), "{report}");
//! # Ok(())
//! # }
//! ```

use std::collections::{BTreeMap, BTreeSet};

use engram_core::adapter::HarnessAdapter;

mod call_args;
mod case;
mod cases;
mod catalogue;
mod check;
mod checks;
mod convert;
mod converted_session;
mod evidence;
pub mod gaps;
mod ground_truth;
mod junit;
mod leaves;
mod members;
mod options;
mod outcome;
mod recording;
mod recordings;
mod repeats;
mod report;
mod run;
mod scenario;
mod session;
mod session_tape;
mod subject;
pub mod tables;
pub mod tape;
mod tier;

pub use case::Case;
pub use catalogue::CHECKS;
pub use check::{Capability, Check, Needs};
pub use convert::ConversionError;
pub use converted_session::ConvertedSession;
pub use ground_truth::{Call, FileState, RealEdit, RealResult, RealUsage, Truth};
pub use options::{Capabilities, Options, ToolKinds};
pub use outcome::{Example, Findings, Outcome, Verdict};
pub use recording::Recording;
pub use recordings::{Recordings, RecordingsError};
pub use report::{AdapterReport, Report};
pub use scenario::{SCENARIOS, SEED_MATRIX, Scenario};
pub use session::{Files, Form, Open, Session, files, read_decompressed};
pub use tier::Tier;

/// The scenarios that each recording of the adapter's harness shows, by the recording's name: the content of `scenarios.tsv`.
pub fn scenarios(
    adapter: &dyn HarnessAdapter,
    recordings: &Recordings,
    options: &Options<'_>,
) -> BTreeMap<String, BTreeSet<&'static str>> {
    run::scenarios(adapter, recordings, options)
}

/// Runs the checks that `options` select on the recordings of the adapter's harness.
pub fn run(adapter: &dyn HarnessAdapter, recordings: &Recordings, options: &Options<'_>) -> Report {
    run::run(adapter, recordings, options)
}
