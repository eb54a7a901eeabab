//! Results of conversions as text.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use engram_adapters::open::store::{LostRecords, SkippedSession};
use engram_adapters::sessions::{OtherForm, display_path};
use engram_adapters::tables::claims;
use engram_core::event::KindCounts;
use engram_core::ledger::Ledger;
use engram_core::members::DEGRADED_BY_MEMBERS;
use engram_core::pipeline::Summary;
use engram_core::version::Support;

use crate::report::shown;

/// One session in one line: harness, events, omissions, coverage.
pub fn session(summary: &Summary) -> String {
    let Ledger {
        records,
        duplicate,
        bookkeeping,
        ..
    } = summary.ledger;
    let events = summary.counts.total();
    let omitted = duplicate + bookkeeping;
    let parts = [
        harness(summary),
        format!("{} ({})", count(events, "event"), counts(&summary.counts)),
        format!("{omitted} of {} omitted", count(records, "record")),
        format!("coverage {}", coverage(summary)),
    ];
    parts.join("; ")
}

/// True if Engram may have missed content of a session because it does not know what the harness wrote. Only then is it worth a
/// message that the version is newer than the recorded ones.
fn has_unknown_content(summary: &Summary) -> bool {
    summary.ledger.unrecognized > 0 || !summary.ledger.unknown.is_empty()
}

/// A warning about one session.
struct Notice {
    what: String,
    /// What it is about.
    noun: &'static str,
    /// How many of them; `None` for the whole session.
    number: Option<u64>,
}

/// All warnings but the one about newer versions, which [`Ahead`] has.
fn notices(summary: &Summary) -> Vec<Notice> {
    let mut notices = Vec::new();
    let about_session = |what: String| Notice {
        what,
        noun: "session",
        number: None,
    };
    let has_own_warning = |reason: &&str| {
        *reason == DEGRADED_BY_MEMBERS || Some(*reason) == Support::Ahead.degradation()
    };
    let reasons: Vec<&str> = summary
        .degraded
        .iter()
        .copied()
        .filter(|reason| !has_own_warning(reason))
        .collect();
    if !reasons.is_empty() {
        let what = format!(
            "degraded ({}): no kind is claimed in full; `engram audit` lists what is missing",
            reasons.join(", ")
        );
        notices.push(about_session(what));
    }
    if !summary.complete {
        notices.push(about_session(
            "the log ends mid-record; everything before it was converted".to_owned(),
        ));
    }
    let Ledger {
        unrecognized,
        malformed,
        ..
    } = summary.ledger;
    for (number, noun, what) in [
        (
            unrecognized,
            "record",
            "of unknown type, kept as `meta unrecognized`",
        ),
        (
            malformed,
            "record",
            "malformed, kept as `meta unrecognized`",
        ),
        (
            summary.ledger.unknown.total(),
            "unknown member",
            "not converted, and the claims of these records are lowered; `engram-lab drift` lists them",
        ),
    ] {
        if number > 0 {
            notices.push(Notice {
                what: what.to_owned(),
                noun,
                number: Some(number),
            });
        }
    }
    notices
}

/// The warnings of one session.
pub fn warnings(summary: &Summary) -> Vec<String> {
    let phrase = |notice: Notice| match notice.number {
        Some(number) => format!("{} {}", count(number, notice.noun), notice.what),
        None => notice.what,
    };
    notices(summary).into_iter().map(phrase).collect()
}

/// Sessions of versions newer than the recorded ones, which have content that Engram does not know. They give one warning together.
#[derive(Debug, Default)]
pub struct Ahead {
    sessions: u64,
    versions: BTreeSet<String>,
}

impl Ahead {
    /// Counts a session, if it is one of them.
    pub fn add(&mut self, summary: &Summary) {
        if summary.support == Support::Ahead && has_unknown_content(summary) {
            self.sessions += 1;
            self.versions
                .insert(harness_at(summary, summary.support_version.as_deref()));
        }
    }

    /// The warning, if there is such a session.
    pub fn warning(&self) -> Option<String> {
        let versions: Vec<&str> = self.versions.iter().map(String::as_str).collect();
        let which = format!(
            "{} ({})",
            count(self.sessions, "session"),
            versions.join(", ")
        );
        let what = "newer than every recorded version, with content that this engram does not know";
        (self.sessions > 0).then(|| format!("{what}: {which}; a newer engram may know it"))
    }
}

/// A session of a store that is not converted, with the reason.
pub fn skipped_line(skipped: &SkippedSession) -> String {
    format!(
        "skipped: {}: {}",
        display_path(&skipped.session).to_string_lossy(),
        skipped.reason
    )
}

/// Records of a store that no session has.
pub fn lost_line(lost: &LostRecords) -> String {
    format!("{}: not whole: {lost}", shown(&lost.path))
}

/// A link that is not followed.
pub fn link_line(link: &Path) -> String {
    format!(
        "skipped: {}: a link out of the directory; to convert what it leads to, name that",
        link.to_string_lossy()
    )
}

/// Another form of a session, with the reason why it is converted or not.
pub fn other_form_line(other: &OtherForm) -> String {
    let what = if other.is_skipped {
        "skipped"
    } else {
        "warning"
    };
    format!(
        "{what}: {}: {}",
        other.location.path().to_string_lossy(),
        other.reason
    )
}

/// Sums of many sessions, in detail.
#[derive(Debug, Default)]
pub struct Details {
    bytes: u64,
    counts: KindCounts,
    records: u64,
    omitted: BTreeMap<(&'static str, Cow<'static, str>, Cow<'static, str>), u64>,
    coverage: BTreeMap<(String, String), u64>,
    notices: BTreeMap<(String, &'static str), u64>,
    ahead: Ahead,
}

impl Details {
    /// Counts a session.
    pub fn add(&mut self, summary: &Summary) {
        self.bytes += summary.input_bytes;
        self.records += summary.ledger.records;
        self.counts += summary.counts;
        for row in &summary.ledger.omitted {
            *self
                .omitted
                .entry((summary.harness, row.record.clone(), row.rule.clone()))
                .or_default() += row.count;
        }
        let schema = summary.schema.unwrap_or("unknown schema");
        *self
            .coverage
            .entry((format!("{} {schema}", summary.harness), coverage(summary)))
            .or_default() += 1;
        self.ahead.add(summary);
        for Notice { what, noun, number } in notices(summary) {
            *self.notices.entry((what, noun)).or_default() += number.unwrap_or(1);
        }
    }

    /// The warnings of all sessions, each kind once.
    pub fn warnings(&self) -> Vec<String> {
        let kinds = self.notices.iter().map(|((what, noun), n)| match *noun {
            "session" => format!("{}: {what}", count(*n, noun)),
            noun => format!("{} {what}", count(*n, noun)),
        });
        kinds.chain(self.ahead.warning()).collect()
    }

    /// The sums, line by line.
    pub fn lines(&self) -> Vec<String> {
        let events = self.counts.total();
        let omitted: u64 = self.omitted.values().sum();
        let mut lines = vec![
            format!(
                "  read      {}, {}",
                count(self.bytes, "byte"),
                count(self.records, "record")
            ),
            format!("  events    {events}: {}", counts(&self.counts)),
            format!("  omitted   {}", count(omitted, "record")),
        ];
        lines.extend(
            self.omitted
                .iter()
                .map(|((harness, record, rule), records)| {
                    format!("    {records:>8}  {harness} {record} ({rule})")
                }),
        );
        lines.push("  coverage".to_owned());
        lines.extend(
            self.coverage.iter().map(|((schema, grades), sessions)| {
                format!("    {sessions:>8}  {schema}: {grades}")
            }),
        );
        lines
    }
}

fn harness(summary: &Summary) -> String {
    harness_at(summary, summary.version.as_deref())
}

/// The harness and one of the versions that the session records.
fn harness_at(summary: &Summary, version: Option<&str>) -> String {
    let version = version.or(summary.schema).unwrap_or("of unknown version");
    format!("{} {version}", summary.harness)
}

/// Number of events of each kind that occurs.
fn counts(counts: &KindCounts) -> String {
    let named: Vec<String> = counts
        .iter()
        .filter(|(_, events)| *events > 0)
        .map(|(kind, events)| format!("{events} {}", kind.as_str()))
        .collect();
    named.join(", ")
}

fn coverage(summary: &Summary) -> String {
    claims(&summary.coverage)
}

/// A number and its noun.
pub fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}
