//! Filters: which sessions a command is about.

use std::path::Path;

use clap::Args;
use engram_adapters::Registry;
use engram_core::file_path::comparable;
use engram_core::overview::Overview;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::complete;
use crate::project::project_of;

/// Filters of `ingest`, `list`, `stats` and `drift`.
#[derive(Debug, Clone, Default, Args)]
pub struct Filter {
    /// Only sessions with activity at or after this time: `2026-01-31`, `yesterday`, `2026-01-31T12:00:00Z`, or `7d` ago (s, m, h, d, w). UTC
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<Timestamp>,
    /// Only sessions with activity at or before this time; a date counts to its end
    #[arg(long, value_name = "TIME", value_parser = until)]
    pub until: Option<Timestamp>,
    /// Only sessions that ran in this directory or below it, in a worktree of it, or in a directory of this name
    #[arg(long, value_name = "DIRECTORY")]
    pub project: Option<String>,
    /// Only sessions of this harness; may be given several times
    #[arg(long, value_name = "NAME", add = complete::harnesses())]
    pub harness: Vec<String>,
}

impl Filter {
    /// True if it leaves nothing out.
    pub fn is_empty(&self) -> bool {
        self.since.is_none()
            && self.until.is_none()
            && self.project.is_none()
            && self.harness.is_empty()
    }

    /// What is wrong with it, if anything.
    pub fn fault(&self, registry: &Registry) -> Option<String> {
        let known: Vec<&str> = registry
            .adapters()
            .map(|adapter| adapter.descriptor().harness_family)
            .collect();
        let is_known = |wanted: &&String| {
            known.contains(&wanted.as_str())
                || known
                    .iter()
                    .filter(|harness| is_harness(harness, wanted))
                    .count()
                    == 1
        };
        let unknown = self.harness.iter().find(|harness| !is_known(harness))?;
        Some(format!(
            "there is no harness `{unknown}`; choose one of {}",
            known.join(", ")
        ))
    }

    /// True for a harness whose sessions may be wanted.
    pub fn wants_harness(&self, harness: &str) -> bool {
        self.harness.is_empty()
            || self
                .harness
                .iter()
                .any(|wanted| is_harness(harness, wanted))
    }

    /// True for a session that is wanted. One that has no time or no directory is not, if the filter asks for it.
    pub fn wants(&self, session: &Overview) -> bool {
        let time = |text: &Option<String>| {
            text.as_deref()
                .and_then(|text| text.parse::<Timestamp>().ok())
        };
        let is_late = self
            .since
            .is_none_or(|since| time(&session.end).is_some_and(|end| end >= since));
        let is_early = self
            .until
            .is_none_or(|until| time(&session.start).is_some_and(|start| start <= until));
        let in_project = || match &self.project {
            None => true,
            Some(wanted) => session.project.as_deref().is_some_and(|directory| {
                is_in(directory, wanted) || is_in(&project_of(directory), wanted)
            }),
        };
        self.wants_harness(&session.harness) && is_late && is_early && in_project()
    }
}

/// True if a harness has this name, or is the one that it is the beginning of: `claude`. So has a longer name, `gemini-cli`.
fn is_harness(harness: &str, wanted: &str) -> bool {
    !wanted.is_empty()
        && (harness.starts_with(wanted)
            || wanted
                .strip_prefix(harness)
                .is_some_and(|rest| rest.starts_with('-')))
}

/// True if a session's directory is the wanted one, is below it, or has its name. A log may be from another system.
fn is_in(directory: &str, wanted: &str) -> bool {
    let directory = comparable(directory);
    let name = directory.rsplit('/').next().unwrap_or_default();
    let is_windows = directory.get(1..2) == Some(":") || directory.starts_with("//");
    if name == wanted || (is_windows && name == wanted.to_lowercase()) {
        return true;
    }
    let absolute = std::path::absolute(Path::new(wanted))
        .map(|path| path.to_string_lossy().into_owned())
        .unwrap_or_default();
    [wanted, &absolute].iter().any(|wanted| {
        let wanted = comparable(wanted);
        let below = directory.strip_prefix(wanted.trim_end_matches('/'));
        wanted.contains('/') && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn since(text: &str) -> Result<Timestamp, String> {
    time(text, false)
}

fn until(text: &str) -> Result<Timestamp, String> {
    time(text, true)
}

fn time(text: &str, is_end: bool) -> Result<Timestamp, String> {
    let ago = || {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => 86_400,
            "w" => 7 * 86_400,
            _ => return None,
        };
        let seconds = number.parse::<u32>().ok()?.checked_mul(seconds)?;
        Timestamp::now()
            .checked_sub(SignedDuration::from_secs(seconds.into()))
            .ok()
    };
    let day = || {
        let today = || Timestamp::now().to_zoned_datetime(TimeZone::UTC).date();
        let date: Date = match text {
            "today" => today(),
            "yesterday" => today().yesterday().ok()?,
            text => text.parse().ok()?,
        };
        let date = if is_end { date.tomorrow().ok()? } else { date };
        let start = date.to_zoned_datetime(TimeZone::UTC).ok()?.timestamp();
        if is_end {
            start.checked_sub(SignedDuration::from_nanos(1)).ok()
        } else {
            Some(start)
        }
    };
    let is_time = text.starts_with(|c: char| c.is_ascii_digit()) && text.contains(['T', 't', ' ']);
    let time = if is_time {
        text.parse().ok()
    } else {
        ago().or_else(day)
    };
    time.ok_or_else(|| {
        "a time is a date (`2026-01-31`, `yesterday`), a time with its zone (`2026-01-31T12:00:00Z`), or how long ago (`7d`)".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(start: &str, end: &str, project: &str) -> Overview {
        let json = serde_json::json!({ "harness": "codex", "start": start, "end": end, "project": project });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn times_are_dates_times_and_ages() {
        assert_eq!(
            since("2026-01-31").unwrap().to_string(),
            "2026-01-31T00:00:00Z"
        );
        assert_eq!(
            until("2026-01-31").unwrap().to_string(),
            "2026-01-31T23:59:59.999999999Z"
        );
        assert_eq!(
            since("2026-01-31T12:00:00+01:00").unwrap().to_string(),
            "2026-01-31T11:00:00Z"
        );
        let age = Timestamp::now()
            .duration_since(since("2d").unwrap())
            .as_secs();
        assert!((172_799..=172_801).contains(&age), "{age}");
        for text in ["today", "yesterday"] {
            assert!(
                since(text).unwrap() <= Timestamp::now() && since(text) < until(text),
                "{text}"
            );
        }
        for text in [
            "",
            "d",
            "-1d",
            "2026-13-01",
            "tomorrow",
            "2026-01-31T12:00:00",
            "99999999999w",
        ] {
            assert!(since(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_session_counts_if_it_was_active_in_the_period() {
        let session = session("2026-01-10T00:00:00Z", "2026-01-20T00:00:00Z", "/p");
        let wants = |since: Option<&str>, until: Option<&str>| {
            let time = |text: Option<&str>, is_end| text.map(|text| time(text, is_end).unwrap());
            Filter {
                since: time(since, false),
                until: time(until, true),
                ..Filter::default()
            }
            .wants(&session)
        };
        assert!(
            wants(Some("2026-01-15"), None)
                && wants(None, Some("2026-01-15"))
                && wants(Some("2026-01-12"), Some("2026-01-13"))
        );
        assert!(!wants(Some("2026-01-21"), None) && !wants(None, Some("2026-01-09")));
        assert!(
            !Filter {
                since: since("1d").ok(),
                ..Filter::default()
            }
            .wants(&Overview::default()),
            "it has no time"
        );
    }

    #[test]
    fn a_project_is_a_directory_or_the_name_of_one() {
        let wants = |directory: &str, wanted: &str| {
            Filter {
                project: Some(wanted.to_owned()),
                ..Filter::default()
            }
            .wants(&session("", "", directory))
        };
        assert!(
            wants("/home/dev/proj", "/home/dev/proj/")
                && wants("/home/dev/proj/sub", "/home/dev")
                && wants("/home/dev/proj", "proj")
        );
        assert!(wants("C:\\dev\\proj", "proj") && wants("C:\\dev\\proj", "C:\\dev"));
        assert!(wants("c:\\Dev\\Proj", "C:/dev") && wants("c:\\Dev\\Proj", "Proj"));
        assert!(!wants("/home/dev/Proj", "proj") && !wants("D:\\dev\\proj", "C:\\dev"));
        assert!(
            !wants("/home/dev/project", "/home/dev/proj")
                && !wants("/home/dev/proj/sub", "proj")
                && !wants("", "proj")
        );
    }

    #[test]
    fn an_unknown_harness_is_a_fault() {
        let filter = |harness: &str| Filter {
            harness: vec![harness.to_owned()],
            ..Filter::default()
        };
        let registry = Registry::builtin();
        assert!(
            filter("codex").fault(&registry).is_none()
                && filter("codexx")
                    .fault(&registry)
                    .unwrap()
                    .contains("codex, ")
        );
        assert!(filter("codex").wants_harness("codex") && !filter("codex").wants_harness("gemini"));
        assert!(
            filter("claude").fault(&registry).is_none()
                && filter("claude").wants_harness("claude-code")
        );
        assert!(
            filter("gemini-cli").fault(&registry).is_none()
                && filter("gemini-cli").wants_harness("gemini")
        );
        assert!(filter("c").fault(&registry).is_some() && filter("").fault(&registry).is_some());
    }
}
