//! Runs the compatibility kit on registered adapters, with everything that they provide.

use std::collections::{BTreeMap, BTreeSet};

use engram_conformance::{Capabilities, Options, Recordings, Report};
use engram_core::adapter::{AdapterId, HarnessAdapter, string_form};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::error::AdapterError;
use engram_core::tool_kind::ToolKind;

use crate::registration::{AdapterForm, Registration};
use crate::registry::Registry;

mod sessions;

pub use sessions::{RegisteredSessions, is_not_a_session, is_printed, sessions};

/// The beginnings of names of tools that are not the harness's: those of the recordings' MCP servers, for a harness that only puts its name
/// before that of a tool, the tool that the client of a server brings along, and that of a plugin.
const FOREIGN_TOOLS: &[&str] = &["mockmcp_", "scripted_", "rich_", "client_tool", "labtool"];

/// Runs the kit on the registered adapters whose id `is_selected` accepts, and returns one report.
pub fn run(
    registry: &Registry,
    recordings: &Recordings,
    options: &Options<'_>,
    is_selected: impl Fn(&str) -> bool,
) -> Report {
    let mut report = Report::default();
    for registration in registry
        .adapters()
        .filter(|registration| is_selected(registration.id()))
    {
        report.add(run_one(registry, registration, recordings, options));
    }
    report
}

/// Runs the kit on one registered adapter.
pub fn run_one(
    registry: &Registry,
    registration: &'static Registration,
    recordings: &Recordings,
    options: &Options<'_>,
) -> Report {
    with_capabilities(registry, registration, |capabilities| {
        engram_conformance::run(
            &ByReference(registration),
            recordings,
            &Options {
                capabilities,
                ..*options
            },
        )
    })
}

/// The scenarios that each recording of the registered harnesses shows: the content of `scenarios.tsv`.
pub fn scenario_list(registry: &Registry, recordings: &Recordings) -> String {
    let mut shown: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for registration in registry.adapters() {
        shown.extend(with_capabilities(registry, registration, |capabilities| {
            engram_conformance::scenarios(
                &ByReference(registration),
                recordings,
                &Options {
                    capabilities,
                    ..Options::default()
                },
            )
        }));
    }
    let line = |(name, shows): (&String, &BTreeSet<&str>)| {
        format!(
            "{name}\t{}\n",
            Vec::from_iter(shows.iter().copied()).join(" ")
        )
    };
    shown.iter().map(line).collect()
}

/// Calls `with` with everything that a registered adapter provides.
pub fn with_capabilities<T>(
    registry: &Registry,
    registration: &'static Registration,
    with: impl FnOnce(Capabilities<'_>) -> T,
) -> T {
    let known = registration.tools();
    let tools = |name: &str| {
        let mut kinds = known.kinds(name);
        let is_foreign = FOREIGN_TOOLS
            .iter()
            .any(|foreign| name.starts_with(foreign));
        if kinds.is_empty() && is_foreign {
            kinds.push(ToolKind::Other);
        }
        kinds
    };
    let certification = registration.certification();
    let unit_tested: Vec<&str> = certification
        .unit_tests()
        .iter()
        .map(|(rule, _)| *rule)
        .collect();
    with(Capabilities {
        stream: registration.stream(),
        tools: Some(&tools),
        open: &RegisteredSessions(registry, registration),
        gaps: certification.gap_rows(),
        with_unknown_version: certification.unknown_version(),
        unit_tested_rules: &unit_tested,
        base: certification.base(),
    })
}

/// A registered adapter as a value that implements the contract.
pub struct ByReference(pub &'static Registration);

impl HarnessAdapter for ByReference {
    fn id(&self) -> AdapterId {
        AdapterId(self.0.id())
    }

    fn convert_to_tape_jsonl(&self, input: &str) -> Result<String, AdapterError> {
        match self.0.form() {
            AdapterForm::Stream(adapter) => string_form(adapter, input),
            AdapterForm::Text(adapter) => adapter.convert_to_tape_jsonl(input),
        }
    }

    fn descriptor(&self) -> AdapterDescriptor {
        self.0.descriptor()
    }
}
