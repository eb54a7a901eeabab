//! The Adapter Compatibility Kit: one suite of checks that certifies any adapter against recordings of real sessions.
//!
//! The adapter under test reads logs; its tapes are the transcript that is judged; `truth.json` of each recording is what
//! really happened, as the model server and the file system saw it. The kit knows no adapter by name and needs no more of one
//! than the three methods of [`HarnessAdapter`]; what more is offered in [`Options`] is checked too, and what is not offered
//! is skipped with the reason, never passed.
//!
//! ```
//! use engram_conformance::{Options, Recordings, run};
//! # fn certify(adapter: &dyn engram_core::adapter::HarnessAdapter) -> Result<(), Box<dyn std::error::Error>> {
//! let recordings = Recordings::load("fixtures".as_ref())?;
//! let report = run(adapter, &recordings, &Options::default());
//! assert!(report.holds(), "{report}");
//! # Ok(())
//! # }
//! ```

use std::collections::{BTreeMap, BTreeSet};

use engram_core::adapter::HarnessAdapter;

mod catalogue;
mod check;
mod checks;
mod convert;
mod evidence;
pub mod gaps;
mod junit;
mod options;
mod outcome;
mod recordings;
#[cfg(feature = "registry")]
pub mod registry;
mod report;
mod run;
mod scenario;
mod scene;
pub mod tables;
pub mod tape;
mod truth;

pub use catalogue::CHECKS;
pub use check::{Check, Needs, Part, Tier};
pub use options::{Files, Form, Offered, Open, Options, Session, ToolKinds, text_of};
pub use outcome::{Example, Found, Outcome, Verdict};
pub use recordings::{Recording, Recordings, RecordingsError, files};
pub use report::{Column, Report};
pub use scenario::{SCENARIOS, SEED_MATRIX, Scenario};
pub use scene::{Scene, Side};

/// What each recording of the adapter's harness shows, by its name: what `scenarios.tsv` has to say of it.
pub fn scenarios(adapter: &dyn HarnessAdapter, recordings: &Recordings, options: &Options<'_>) -> BTreeMap<String, BTreeSet<&'static str>> {
    run::scenarios(adapter, recordings, options)
}

/// Runs the checks that `options` ask for over the recordings of the adapter's harness.
pub fn run(adapter: &dyn HarnessAdapter, recordings: &Recordings, options: &Options<'_>) -> Report {
    run::run(adapter, recordings, options)
}
