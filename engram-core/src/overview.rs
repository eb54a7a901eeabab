//! An overview of one tape, from typed events: whose session it is, when it ran, its size, and how well it was understood.

use std::collections::BTreeSet;
use std::io;

use serde::{Deserialize, Serialize};

use crate::event::*;
use crate::ledger::Ledger;
use crate::sink::EventSink;
use crate::stats::{Stats, TapeCost, TokenCounts};
use crate::text::Text;
use crate::version::Support;

/// The longest text of an overview, in characters. A log can contain a title of any length.
const TEXT_CHARS: usize = 1024;

/// The longest excerpt of a prompt, in characters.
const PROMPT_CHARS: usize = 200;

/// The most sessions of one tape, and the most sub-agents.
const MAX_SESSIONS: usize = 4096;

/// Raised when an overview has more: those that are kept beside tapes are made again.
pub const FORM: u32 = 2;

/// What is worth knowing about a tape without reading it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Overview {
    /// The harness family.
    pub harness: String,
    /// The last harness version that the artifact records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The schema of the log, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The id of the adapter.
    pub adapter: String,
    /// The version of the adapter.
    pub adapter_version: String,
    /// How well the least known harness version of the artifact is known.
    pub support: String,
    /// Reason codes of all claims that were lowered somewhere in the artifact.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
    /// The id of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Other sessions that the tape has events of its own of, such as those of a second capture in the same file; at most 4096.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub more_sessions: BTreeSet<String>,
    /// The id of the sub-agent, if the tape is that of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Sub-agents whose events are on the tape of their session; at most 4096.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub more_agents: BTreeSet<String>,
    /// The session that it is a sub-agent or a continuation of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    /// The first time in the session's own records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// The last time in the session's own records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// The first working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The last title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The first line of the first prompt of a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_prompt: Option<String>,
    /// Prompts of a person.
    pub prompts: u64,
    /// Tool calls.
    pub calls: u64,
    /// Tokens of all models.
    pub tokens: TokenCounts,
    /// What it cost, as far as the log states it, and the tokens by which the rest is computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<TapeCost>,
    /// Events.
    pub events: u64,
    /// Records of the source.
    pub records: u64,
    /// Records of a type that the adapter does not know.
    pub unrecognized: u64,
    /// Records that could not be read.
    pub malformed: u64,
    /// Members that the adapter does not know.
    pub unknown_members: u64,
    /// False if the artifact ends inside a record.
    pub complete: bool,
    /// The hash of the input.
    pub input_hash: String,
    /// The size of the input in bytes.
    pub input_bytes: u64,
    /// The neighbouring files whose content is in the tape: paths from the artifact's directory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
}

/// A sink that makes an [`Overview`] of one tape.
///
/// ```
/// use engram_core::overview::OverviewSink;
/// use engram_core::tape::replay;
///
/// let tape = concat!(
///     r#"{"seq":0,"t":"2026-01-02T03:04:05Z","k":"meta","source":{"harness":"toy"},"label":"session","title":"fix it"}"#,
///     "\n"
/// );
/// let mut sink = OverviewSink::default();
/// replay(tape.as_bytes(), &mut sink)?;
/// assert_eq!(sink.overview().title.as_deref(), Some("fix it"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct OverviewSink {
    stats: Stats,
    known: Overview,
}

impl OverviewSink {
    /// What is known so far.
    pub fn overview(&self) -> Overview {
        let counts = self.stats.counts();
        let mut tokens = TokenCounts::default();
        counts.tokens.values().for_each(|more| tokens.add(*more));
        let calls = counts
            .calls
            .values()
            .flat_map(|statuses| statuses.values())
            .sum();
        Overview {
            prompts: counts.prompts,
            calls,
            tokens,
            cost: self.stats.costs().clone().into_tapes().last(),
            ..self.known.clone()
        }
    }
}

impl EventSink for OverviewSink {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        self.known.note_session(record);
        self.known.note_agent(record);
        match record.event {
            Event::Meta(
                meta @ (Meta::TapeStart(_)
                | Meta::Revision(_)
                | Meta::Session(_)
                | Meta::TapeStop(_)),
            ) => {
                self.known.note(record, meta);
            }
            event => {
                if let Event::MsgIn(MsgIn {
                    role: Role::User,
                    by: Author::Person,
                    text: Some(text),
                    ..
                }) = event
                {
                    self.known.note_prompt(*text);
                }
                if record.t_basis != Some(TimeBasis::Absent) && !record.replay {
                    self.known.note_time(record.t);
                }
            }
        }
        self.stats.event(record)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.stats.finish()
    }
}

impl Overview {
    /// The sessions of which the tape has events of its own.
    pub fn sessions(&self) -> impl Iterator<Item = &str> {
        let more = self.more_sessions.iter().map(String::as_str);
        self.session_id.as_deref().into_iter().chain(more)
    }

    /// Adds what one event says.
    fn note(&mut self, record: &EventRef<'_>, meta: &Meta<'_>) {
        match meta {
            Meta::TapeStart(start) => {
                *self = Overview::default();
                self.adapter = bounded(start.adapter_id);
                self.adapter_version = bounded(start.adapter_version);
                self.harness = bounded(start.harness.family);
                self.session_id = record.source.session_id.map(owned);
                self.agent_id = record.source.agent_id.map(owned);
                self.note_version(&start.harness, &start.claims);
            }
            Meta::Revision(change) => self.note_version(&change.harness, &change.claims),
            // What a sub-agent on the tape of its session says of itself is not said of the session.
            Meta::Session(_) if !self.is_own(record) => {}
            Meta::Session(facts) => {
                if self.project.is_none() {
                    self.project = facts.cwd.filter(|cwd| !cwd.is_empty()).map(owned);
                }
                self.title = facts.title.map(owned).or(self.title.take());
                self.parent_session_id = facts
                    .parent_session_id
                    .map(owned)
                    .or(self.parent_session_id.take());
            }
            Meta::TapeStop(stop) => self.note_stop(stop),
            _ => {}
        }
    }

    fn note_session(&mut self, record: &EventRef<'_>) {
        let Some(session) = record.worked_in() else {
            return;
        };
        let session = session.comparable();
        if self.session_id.as_deref() != Some(&*session)
            && !self.more_sessions.contains(&*session)
            && self.more_sessions.len() < MAX_SESSIONS
        {
            self.more_sessions.insert(bounded(&session));
        }
    }

    /// False for an event of a sub-agent on the tape of its session.
    fn is_own(&self, record: &EventRef<'_>) -> bool {
        record.source.agent_id.is_none_or(|agent| {
            let agent = agent.comparable();
            self.agent_id
                .as_deref()
                .is_some_and(|own| own == agent || own == bounded(&agent))
        })
    }

    fn note_agent(&mut self, record: &EventRef<'_>) {
        if record.replay || self.is_own(record) || self.more_agents.len() == MAX_SESSIONS {
            return;
        }
        self.more_agents.extend(record.source.agent_id.map(owned));
    }

    /// The sub-agents of which the tape has events of its own.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        let more = self.more_agents.iter().map(String::as_str);
        self.agent_id.as_deref().into_iter().chain(more)
    }

    fn note_version(&mut self, harness: &Harness<'_>, claims: &Claims<'_>) {
        self.version = harness.version.map(owned);
        self.schema = harness.schema.map(bounded);
        self.note_support(
            claims.support.as_str(),
            claims.degraded.iter().map(|reason| bounded(reason)),
        );
    }

    /// Lowers the support to this level, and adds reasons.
    fn note_support(&mut self, support: &str, degraded: impl Iterator<Item = String>) {
        if Support::named(support) > Support::named(&self.support) {
            support.clone_into(&mut self.support);
        }
        for reason in degraded {
            if !self.degraded.contains(&reason) {
                self.degraded.push(reason);
            }
        }
    }

    fn note_stop(&mut self, stop: &TapeStop) {
        let Ledger {
            records,
            unrecognized,
            malformed,
            ref unknown,
            ..
        } = stop.ledger;
        (
            self.records,
            self.unrecognized,
            self.malformed,
            self.unknown_members,
        ) = (records, unrecognized, malformed, unknown.total());
        (self.events, self.complete) = (stop.counts.total(), stop.complete);
        (self.input_hash, self.input_bytes) = (stop.input.hash.to_string(), stop.input.bytes);
        self.beside = stop
            .input
            .beside
            .iter()
            .map(|file| file.name.clone())
            .collect();
    }

    fn note_time(&mut self, time: &str) {
        if self
            .start
            .as_deref()
            .is_none_or(|start| seconds(time) < seconds(start))
        {
            set_bounded(self.start.get_or_insert_default(), time);
        }
        if self
            .end
            .as_deref()
            .is_none_or(|end| seconds(time) >= seconds(end))
        {
            set_bounded(self.end.get_or_insert_default(), time);
        }
    }

    fn note_prompt(&mut self, text: Text<'_>) {
        if self.first_prompt.is_none() {
            self.first_prompt = first_line(&text.decode_lossy());
        }
    }
}

/// A time without its fraction, whose length differs.
fn seconds(time: &str) -> &str {
    time.get(..19).unwrap_or(time)
}

fn owned(text: Text<'_>) -> String {
    bounded(&text.comparable())
}

/// The first line that has something in it.
fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(cut(line, PROMPT_CHARS))
}

fn bounded(text: &str) -> String {
    cut(text, TEXT_CHARS)
}

/// Sets a text without new memory.
fn set_bounded(text: &mut String, to: &str) {
    text.clear();
    match to.len() > TEXT_CHARS {
        true => text.push_str(&bounded(to)),
        false => text.push_str(to),
    }
}

fn cut(text: &str, chars: usize) -> String {
    // Most texts are so short that their characters need not be counted.
    let is_long = text.len() > chars;
    match is_long.then(|| text.char_indices().nth(chars)).flatten() {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::replay;

    fn overview(lines: &[(&str, &str)]) -> Overview {
        let line = |(seq, (t, rest)): (usize, &(&str, &str))| {
            let rest = rest.replacen("\",", "\",\"source\":{\"harness\":\"toy\"},", 1);
            format!("{{\"seq\":{seq},\"t\":\"2026-01-02T03:{t}Z\",{rest}\n")
        };
        let tape: String = lines.iter().enumerate().map(line).collect();
        let mut sink = OverviewSink::default();
        replay(tape.as_bytes(), &mut sink).unwrap();
        sink.overview()
    }

    #[test]
    fn the_first_directory_and_the_last_title_count() {
        let seen = overview(&[
            (
                "04:05",
                r#""k":"meta","label":"session","cwd":"/a","title":"one"}"#,
            ),
            (
                "04:06",
                r#""k":"meta","label":"session","cwd":"/b","title":"two"}"#,
            ),
            ("04:07", r#""k":"meta","label":"session","cwd":"/c"}"#),
        ]);
        assert_eq!(
            (seen.project.as_deref(), seen.title.as_deref()),
            (Some("/a"), Some("two"))
        );
    }

    #[test]
    fn the_first_line_of_the_first_prompt_stands_for_a_title() {
        let prompt =
            |text: &str| format!(r#""k":"msg.in","role":"user","by":"person","text":"{text}"}}"#);
        let (first, second) = (prompt("\\n  fix the parser \\nplease"), prompt("and then"));
        let notice = r#""k":"msg.in","role":"user","by":"harness","text":"x"}"#;
        let seen = overview(&[("04:05", notice), ("04:06", &first), ("04:07", &second)]);
        assert_eq!(seen.first_prompt.as_deref(), Some("fix the parser"));
    }

    #[test]
    fn repeated_history_and_missing_times_do_not_count() {
        let text = r#""k":"msg.in","role":"user","by":"person","text":"x""#;
        let seen = overview(&[
            ("00:00", &format!("{text},\"replay\":true}}")),
            ("04:06.5", &format!("{text}}}")),
            ("04:05", &format!("{text}}}")),
            ("59:59", &format!("{text},\"t_basis\":\"absent\"}}")),
        ]);
        assert_eq!(seen.start.as_deref(), Some("2026-01-02T03:04:05Z"));
        assert_eq!(seen.end.as_deref(), Some("2026-01-02T03:04:06.5Z"));
        assert_eq!(seen.prompts, 3);
    }

    #[test]
    fn the_lowest_support_counts_and_reasons_add_up() {
        let revision = |version: &str, support: &str, degraded: &str| {
            let kinds = crate::event::Kind::ALL
                .map(|kind| format!("\"{}\":\"partial\"", kind.as_str()))
                .join(",");
            format!(
                r#""k":"meta","label":"revision","harness":{{"family":"toy","version":"{version}"}},"support":"{support}","coverage":{{{kinds}}},"degraded":[{degraded}]}}"#
            )
        };
        let (good, unknown) = (
            revision("1.0.0", "tested", ""),
            revision("0.1.0", "unknown", r#""unknown_harness_version""#),
        );
        let ahead = revision("9.0.0", "ahead", r#""ahead""#);
        let seen = overview(&[
            ("04:05", &good),
            ("04:06", &unknown),
            ("04:07", &ahead),
            ("04:08", &good),
        ]);
        assert_eq!(
            (seen.version.as_deref(), seen.support.as_str()),
            (Some("1.0.0"), "unknown")
        );
        assert_eq!(seen.degraded, ["unknown_harness_version", "ahead"]);
    }

    #[test]
    fn the_sessions_of_a_tape_are_those_of_its_own_events() {
        let line = |source: &str, more: &str| {
            format!(
                r#"{{"seq":0,"t":"2026-01-02T03:04:05Z","k":"msg.in","source":{{"harness":"toy"{source}}},"role":"user","by":"person"{more}}}"#
            ) + "\n"
        };
        let tape = [
            line(r#","session_id":"b""#, ""),
            line("", ""),
            line(r#","session_id":"a""#, ""),
            line(r#","session_id":"c""#, r#","replay":true"#),
            line(r#","session_id":"b""#, ""),
        ]
        .concat();
        let mut sink = OverviewSink::default();
        replay(tape.as_bytes(), &mut sink).unwrap();
        let seen = sink.overview();
        assert_eq!(seen.sessions().collect::<Vec<_>>(), ["a", "b"]);
        let own = Overview {
            session_id: Some("b".to_owned()),
            more_sessions: BTreeSet::from(["a".to_owned()]),
            ..Overview::default()
        };
        assert_eq!(own.sessions().collect::<Vec<_>>(), ["b", "a"]);
    }

    #[test]
    fn a_sub_agent_on_the_tape_of_its_session_says_nothing_of_the_session() {
        let line = |more: &str, rest: &str| {
            format!(
                r#"{{"seq":0,"t":"2026-01-02T03:04:05Z","k":"meta","source":{{"harness":"toy","session_id":"s"{more}}},"label":"session",{rest}}}"#
            ) + "\n"
        };
        let agent = r#","agent_id":"a""#;
        let tape = [
            line("", r#""title":"own""#),
            line(agent, r#""title":"of the agent","parent_session_id":"s""#),
            line(agent, r#""cwd":"/a""#),
            line(r#","agent_id":"b""#, r#""cwd":"/b","replay":true"#),
        ]
        .concat();
        let mut sink = OverviewSink::default();
        replay(tape.as_bytes(), &mut sink).unwrap();
        let seen = sink.overview();
        assert_eq!(seen.agents().collect::<Vec<_>>(), ["a"]);
        assert_eq!(
            (seen.title.as_deref(), seen.parent_session_id, seen.project),
            (Some("own"), None, None)
        );
    }

    #[test]
    fn long_texts_are_cut() {
        let title = "é".repeat(100_000);
        let seen = overview(&[(
            "04:05",
            &format!(r#""k":"meta","label":"session","title":"{title}"}}"#),
        )]);
        assert_eq!(
            seen.title.map(|title| title.chars().count()),
            Some(TEXT_CHARS + 1)
        );
    }
}
