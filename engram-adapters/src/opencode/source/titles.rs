//! Titles of a session that was renamed: its row has the last one alone, the table `event` has each.

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;
use rusqlite::Connection;

use super::events::{PastValue, each, values};
use super::export_writer::push_string;
use crate::shared::value::raw_str;

/// How the harness names a session until it has a title. It knows such names again by these words, too (`Session.isDefaultTitle`, 1.18.33).
const DEFAULT: [&str; 2] = ["New session - ", "Child session - "];

/// The session's own record with all titles of the session, if there was more than one.
///
/// # Errors
/// An error of the database, or `limit_exceeded` if the titles are longer than a record may be.
pub(super) fn with_titles(
    mut info: String,
    connection: &Connection,
    session_id: &str,
    limits: Limits,
) -> Result<String, AdapterError> {
    if !is_renamed(connection, session_id, limits)? {
        return Ok(info);
    }
    let titles = values(connection, session_id, |info| {
        raw_str(info.member("title")).to_owned()
    })?;
    let titles = titles.iter().filter(|title| is_title(&title.value));
    let titles: Vec<String> = titles.map(noted).collect();
    if info.pop() == Some('}') {
        info.push_str(",\"titles\":[");
        info.push_str(&titles.join(","));
        info.push_str("]}");
    }
    Ok(info)
}

/// True if a title was replaced by another. Most sessions have one title, and then their messages need not be read.
fn is_renamed(
    connection: &Connection,
    session_id: &str,
    limits: Limits,
) -> Result<bool, AdapterError> {
    let (mut last, mut count, mut bytes) = (String::new(), 0, 0);
    let condition = "type GLOB 'session.created.*' OR type GLOB 'session.updated.*'";
    each(connection, session_id, condition, |event| {
        let title = event
            .info()
            .map_or("", |info| raw_str(info.member("title")));
        if !is_title(title) || title == last {
            return Ok(());
        }
        title.clone_into(&mut last);
        count += 1;
        bytes += title.len() as u64;
        if bytes > limits.record_bytes {
            return Err(
                AdapterError::new(ErrorCode::LimitExceeded).expected("titles within the limit")
            );
        }
        Ok(())
    })?;
    Ok(count > 1)
}

/// False for nothing, and for the name until there is a title: its words, and a time as `2026-11-28T13:12:54.164Z`.
fn is_title(title: &str) -> bool {
    let is_default = |words: &str| {
        title.strip_prefix(words).is_some_and(|time| {
            time.len() == "2026-11-28T13:12:54.164Z".len() && time.ends_with('Z')
        })
    };
    !title.is_empty() && !DEFAULT.iter().any(|words| is_default(words))
}

/// A title, and the first message or part that was new after it.
fn noted(title: &PastValue<String>) -> String {
    let mut noted = format!("{{\"title\":\"{}\"", title.value);
    if let Some(next) = &title.next {
        noted.push_str(",\"before\":");
        push_string(&mut noted, next);
    }
    noted.push('}');
    noted
}
