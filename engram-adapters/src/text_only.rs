//! Adapters that convert complete texts only: they are tried in turn when no streaming adapter recognises a session.

use engram_core::adapter::HarnessAdapter;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::pipeline::{ByteSource, Input, Summary};
use engram_core::text_adapter::convert_text;

use crate::registration::{AdapterForm, Registration};
use crate::registry::{Registry, ambiguous};

/// A tape made from a complete text.
pub(crate) struct Converted {
    /// The adapter that made it.
    pub registration: &'static Registration,
    /// The tape.
    pub tape: String,
    /// What it amounts to.
    pub summary: Summary,
}

/// Converts the input with the one text-only adapter that accepts it. `unrecognised` is why no streaming adapter converts it.
///
/// # Errors
/// `ambiguous_harness` if several adapters accept the text. If none does: the first error that is not `unknown_harness`, or
/// `unrecognised`. Also `unrecognised` if that is another error than `unknown_harness`.
pub(crate) fn convert<S: ByteSource>(
    registry: &Registry,
    input: &mut Input<S>,
    unrecognised: AdapterError,
) -> Result<Converted, AdapterError> {
    let candidates: Vec<_> = registry
        .adapters()
        .filter_map(|registration| Some((registration, text_form(registration)?)))
        .collect();
    if candidates.is_empty() || unrecognised.code != ErrorCode::UnknownHarness {
        return Err(unrecognised);
    }
    let text = input.whole_text()?;
    let converted = candidates
        .into_iter()
        .map(|(registration, adapter)| convert_by(registration, adapter, &text));
    let (mut accepted, mut refused) = (Vec::new(), Vec::new());
    for converted in converted {
        match converted {
            Ok(converted) => accepted.push(converted),
            Err(error) if error.code == ErrorCode::UnknownHarness => {}
            Err(error) => refused.push(error),
        }
    }
    if accepted.len() > 1 {
        return Err(ambiguous(
            &accepted
                .iter()
                .map(|converted| converted.registration.id().to_owned())
                .collect::<Vec<_>>(),
        ));
    }
    accepted
        .pop()
        .ok_or_else(|| refused.into_iter().next().unwrap_or(unrecognised))
}

/// Converts the input with one adapter, which the caller has named.
///
/// # Errors
/// Those of reading and of the adapter.
pub(crate) fn convert_named<S: ByteSource>(
    registration: &'static Registration,
    adapter: &dyn HarnessAdapter,
    input: &mut Input<S>,
) -> Result<Converted, AdapterError> {
    convert_by(registration, adapter, &input.whole_text()?)
}

fn convert_by(
    registration: &'static Registration,
    adapter: &dyn HarnessAdapter,
    text: &str,
) -> Result<Converted, AdapterError> {
    let (tape, summary) = convert_text(adapter, text)?;
    Ok(Converted {
        registration,
        tape,
        summary,
    })
}

fn text_form(registration: &Registration) -> Option<&'static dyn HarnessAdapter> {
    match registration.form() {
        AdapterForm::Text(adapter) => Some(adapter),
        AdapterForm::Stream(_) => None,
    }
}
