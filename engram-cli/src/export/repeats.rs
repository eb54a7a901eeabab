//! Which tapes of an export repeat a session that another tape of it has, so that sums over the rows are those of `engram stats`.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use engram_command::report::Reporter;
use engram_command::summary::count;
use engram_core::error::AdapterError;
use engram_core::tape::replay;

use super::inputs::TapeFile;
use crate::repeats::{self, Form};
use crate::tapes::open_tape;

/// The names of the tapes that repeat another one, each with that one. Only what will have rows counts: a tape that is refused takes none from
/// another one.
///
/// # Errors
/// If no threads can be made. A tape that cannot be read is left out here; the export reports it.
pub fn repeats(
    tapes: &[TapeFile],
    has_rows: impl Fn(&TapeFile) -> bool + Sync,
    jobs: Option<NonZeroUsize>,
    report: &Reporter,
) -> Result<BTreeMap<String, String>, AdapterError> {
    let form = |tape: &TapeFile| {
        let form = Form::read(|sink| replay(open_tape(&tape.path).ok()?, sink).ok());
        form.filter(|_| has_rows(tape))
    };
    let repeated = repeats::repeats(tapes, |tape| tape.of.clone(), form, jobs)?;
    if !repeated.is_empty() {
        report.note(&format!(
            "repeats     {} whose session is counted from another one: only `events` and `tapes` have rows of them",
            count(repeated.len() as u64, "tape")
        ));
    }
    let named = |(repeat, of): (usize, usize)| (tapes[repeat].name.clone(), tapes[of].name.clone());
    Ok(repeated.into_iter().map(named).collect())
}
