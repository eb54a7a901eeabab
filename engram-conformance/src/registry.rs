//! The registered adapters as subjects of the kit, with everything that they offer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use engram_adapters::{Entry, REGISTRY, detect};
use engram_core::adapter::{Evidence, Identity, Opening, Session as Conversion, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::drive::Input;
use engram_core::head::Head;
use engram_core::limits::Limits;

use crate::options::{Files, Offered, Open, Options, Session};
use crate::recordings::Recordings;
use crate::report::Report;

/// Files beside sessions that no adapter reads as one, by the end of their path: prompt histories, indexes, side files, stores.
pub const NO_SESSIONS: &[&str] =
    &["/history.jsonl", "/session_index.jsonl", "/sessions-index.json", ".meta.json", ".db", ".txt", "/projects.json", "/.project_root"];

/// Rules of which there is no recording, each with the unit test that shows it: the file and the test's name.
pub const UNIT_TESTED: &[(&str, &str, &str)] =
    &[("history.appended_again", "engram-adapters/src/claude_code/tests.rs", "a_message_that_is_appended_again_is_a_duplicate")];

/// Runs the kit on the registered adapters whose id `is_asked` takes, and gives one report.
pub fn run(recordings: &Recordings, options: &Options<'_>, is_asked: impl Fn(&str) -> bool) -> Report {
    let mut report = Report::default();
    for entry in REGISTRY.iter().filter(|entry| is_asked(entry.adapter.describe().adapter_id)) {
        report.add(of(entry, recordings, options));
    }
    report
}

/// Runs the kit on one registered adapter.
pub fn of(entry: &'static Entry, recordings: &Recordings, options: &Options<'_>) -> Report {
    offered(entry, |offered| crate::run(&ByReference(entry.adapter), recordings, &Options { offered, ..*options }))
}

/// What each recording of the registered harnesses shows, a line each, as `scenarios.tsv` holds it.
pub fn scenario_list(recordings: &Recordings) -> String {
    let mut shown: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for entry in REGISTRY {
        shown.extend(offered(entry, |offered| {
            crate::scenarios(&ByReference(entry.adapter), recordings, &Options { offered, ..Options::default() })
        }));
    }
    let line = |(name, shows): (&String, &BTreeSet<&str>)| format!("{name}\t{}\n", Vec::from_iter(shows.iter().copied()).join(" "));
    shown.iter().map(line).collect()
}

/// Everything that a registered adapter offers.
pub fn offered<T>(entry: &'static Entry, with: impl FnOnce(Offered<'_>) -> T) -> T {
    let tools = |name: &str| entry.tools.resolve(name);
    let unit_tested: Vec<&str> = UNIT_TESTED.iter().map(|(rule, _, _)| *rule).collect();
    with(Offered {
        stream: Some(entry.adapter),
        tools: Some(&tools),
        open: &Registered(entry),
        gaps: &[],
        unheard_of: Some(with_unknown_field),
        proven_elsewhere: &unit_tested,
    })
}

/// The header of a log that records no version, with a field that no known version writes.
fn with_unknown_field(text: &str) -> Option<String> {
    let renamed = text.replacen("\"projectHash\"", "\"projectKey\"", 1);
    (renamed != text).then_some(renamed)
}

/// True for a file that by its place is no session, or that the harness left empty.
pub fn is_no_session(path: &Path) -> bool {
    let spelled = path.to_string_lossy().replace('\\', "/");
    NO_SESSIONS.iter().any(|end| spelled.ends_with(end)) || std::fs::metadata(path).is_ok_and(|meta| meta.len() == 0)
}

/// The sessions of a recording that the registry recognises as those of one adapter, with what the files around them say.
pub struct Registered(pub &'static Entry);

impl Open for Registered {
    fn sessions(&self, session: &Path) -> Result<Vec<Session>, String> {
        let mut found = Vec::new();
        for mut session in Files.sessions(session)?.into_iter().filter(|session| !is_no_session(&session.path)) {
            let mut input = Input::new(session.bytes.as_slice(), Limits::default());
            let head = input.head().map_err(|error| error.to_string())?;
            let (entry, _) = detect(&head).map_err(|error| format!("{}: {error}", session.name))?;
            let id = entry.adapter.describe().adapter_id;
            if id != self.0.adapter.describe().adapter_id {
                return Err(format!("{} is recognised by {id}", session.name));
            }
            session.context = (self.0.surroundings)(&session.path, &head);
            found.push(session);
        }
        Ok(found)
    }
}

/// A registered adapter by the contract.
pub struct ByReference(pub &'static dyn StreamAdapter);

impl StreamAdapter for ByReference {
    fn describe(&self) -> &'static AdapterDescriptor {
        self.0.describe()
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        self.0.probe(head)
    }

    fn marks(&self) -> Vec<&'static str> {
        self.0.marks()
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        self.0.identify(head)
    }

    fn session(&self, opening: &Opening<'_>) -> Box<dyn Conversion> {
        self.0.session(opening)
    }
}
