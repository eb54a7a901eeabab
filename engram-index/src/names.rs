//! Times, paths, addresses and strings in the one form that the index compares.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

/// Milliseconds since 1970 of a time on a tape.
pub fn millis(t: &str) -> Option<i64> {
    t.parse::<Timestamp>()
        .ok()
        .map(|time| time.as_millisecond())
}

/// The time as a tape writes it.
pub fn time(millis: i64) -> String {
    Timestamp::from_millisecond(millis)
        .map(|time| time.to_string())
        .unwrap_or_default()
}

/// A path with `/` between its parts, on every system.
pub fn path(path: &str) -> String {
    let has_drive =
        path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    let path = if has_drive || path.starts_with("\\\\") {
        Cow::Owned(path.replace('\\', "/"))
    } else {
        Cow::Borrowed(path)
    };
    path.trim_start_matches("./").to_owned()
}

/// The name of a tape: that of its file, without the ending.
pub fn tape(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.split_once(".tape.jsonl").map_or(file, |(id, _)| id)
}

/// The part of a path below a directory.
pub fn below<'p>(root: &str, path: &'p str) -> Option<&'p str> {
    let rest = path
        .strip_prefix(root.trim_end_matches('/'))?
        .strip_prefix('/')?;
    (!rest.is_empty()).then_some(rest)
}

/// The address of a repository without scheme, user and ending, so that its forms are equal.
pub fn url(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = match (rest.split_once('@'), url.contains("://")) {
        (Some((user, rest)), _) if !user.contains('/') => rest,
        _ => rest,
    };
    let rest = if url.contains("://") {
        rest.to_owned()
    } else {
        rest.replacen(':', "/", 1)
    };
    rest.trim_end_matches('/')
        .trim_end_matches(".git")
        .to_lowercase()
}

/// Every string in a JSON value, with the key that it stands at.
pub fn strings<'v>(value: &'v Value, take: &mut dyn FnMut(&'v str, &'v str)) {
    inner("", value, take, 0);
}

fn inner<'v>(key: &'v str, value: &'v Value, take: &mut dyn FnMut(&'v str, &'v str), depth: usize) {
    match value {
        _ if depth > 64 => {}
        Value::String(text) => take(key, text),
        Value::Array(list) => list
            .iter()
            .for_each(|value| inner(key, value, take, depth + 1)),
        Value::Object(members) => members
            .iter()
            .for_each(|(key, value)| inner(key, value, take, depth + 1)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_an_address_are_equal() {
        for form in [
            "git@host.org:team/app.git",
            "https://host.org/team/app",
            "ssh://git@host.org/team/app.git",
            "https://me:x@host.org/team/App.git/",
        ] {
            assert_eq!(url(form), "host.org/team/app", "{form}");
        }
    }

    #[test]
    fn paths_are_below_directories_by_whole_names() {
        assert_eq!(below("/home/dev", "/home/dev/a/b"), Some("a/b"));
        assert_eq!(below("/home/dev/", "/home/dev/a"), Some("a"));
        assert_eq!(
            (
                below("/home/dev", "/home/developer/a"),
                below("/a", "/a"),
                below("/a", "/a/")
            ),
            (None, None, None)
        );
        assert_eq!(path("C:\\p\\a"), "C:/p/a");
    }

    #[test]
    fn times_are_milliseconds() {
        assert_eq!(millis("1970-01-01T00:00:01.5Z"), Some(1500));
        assert_eq!(time(1500), "1970-01-01T00:00:01.5Z");
    }
}
