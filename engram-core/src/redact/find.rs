//! The search for secrets in one text, and in the strings of a JSON value.

use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use memchr::memchr2_iter;
use regex::{Regex, RegexSet, RegexSetBuilder};

use super::RULES;
use super::random::is_random;
use super::rules::{Needs, Rule, TABLE};
use crate::text::{Text, push_text};

/// The compiled rules. Patterns are constants, and a test compiles each; if one did not compile, nothing would be searched for, so that is
/// an error and not an empty list.
pub(super) static COMPILED: LazyLock<Result<Compiled, String>> = LazyLock::new(Compiled::new);

/// The most bytes of all rules together, compiled.
const SIZE_LIMIT: usize = 24 << 20;

/// The most bytes of the states that one thread keeps while it searches. With the 2 MiB that are usual, states are dropped and made anew all the
/// time, and a search takes 14 times as long.
const STATES_LIMIT: usize = 16 << 20;

/// The rules, ready for use.
pub(super) struct Compiled {
    set: RegexSet,
    rules: Vec<Lazy>,
}

/// A rule. Its pattern is compiled when a text first has what the rule describes: most texts have no secret, and most commands few texts.
struct Lazy {
    rule: &'static Rule,
    regex: OnceLock<Option<Regex>>,
}

impl Lazy {
    /// The pattern; `None` if it could not be compiled, which a test excludes.
    fn regex(&self) -> Option<&Regex> {
        let compile = || Regex::new(&self.rule.pattern).ok();
        self.regex.get_or_init(compile).as_ref()
    }
}

impl Compiled {
    fn new() -> Result<Compiled, String> {
        let error = |error: regex::Error| format!("{RULES}: {error}");
        let set = RegexSetBuilder::new(TABLE.iter().map(|rule| &rule.pattern))
            .size_limit(SIZE_LIMIT)
            .dfa_size_limit(STATES_LIMIT)
            .build()
            .map_err(error)?;
        let rules = TABLE.iter().map(|rule| Lazy {
            rule,
            regex: OnceLock::new(),
        });
        Ok(Compiled {
            set,
            rules: rules.collect(),
        })
    }

    /// The name of a rule.
    #[cfg(test)]
    pub fn name(&self, rule: usize) -> &'static str {
        self.rules[rule].rule.name
    }

    /// The text without its secrets; `None` if it has none. `found` gets the index of the rule of each.
    pub fn text(&self, text: &str, found: &mut Vec<usize>) -> Option<String> {
        let matching = self.set.matches(text);
        if !matching.matched_any() {
            return None;
        }
        let mut secrets: Vec<(usize, usize, usize)> = Vec::new();
        for rule in matching {
            let Rule { needs, name, .. } = self.rules[rule].rule;
            let Some(regex) = self.rules[rule].regex() else {
                return Some(format!("[redacted:{name}]"));
            };
            let mut at = 0;
            while let Some(captures) = regex.captures_at(text, at) {
                let (whole, Some(secret)) = (captures.get_match(), captures.get(1)) else {
                    break;
                };
                // A text may have been redacted before.
                let is_secret = !secret.as_str().starts_with("[redacted:")
                    && is_secret(*needs, secret.as_str(), &text[secret.end()..]);
                if is_secret {
                    secrets.push((secret.start(), secret.end(), rule));
                }
                // What is no secret may be the name of one: `token=client_secret=..`.
                at = if !is_secret && secret.start() > whole.start() {
                    secret.start()
                } else {
                    whole.end()
                };
            }
        }
        secrets.sort_unstable_by_key(|(start, _, rule)| (*start, *rule));
        // Secrets that overlap are one, with the name of the first rule.
        secrets.dedup_by(|next, one| {
            let overlaps = next.0 < one.1;
            one.1 = if overlaps { one.1.max(next.1) } else { one.1 };
            overlaps
        });
        let (mut out, mut end) = (String::with_capacity(text.len()), 0);
        for (start, secret_end, rule) in &secrets {
            out.push_str(&text[end..*start]);
            out.push_str(&format!("[redacted:{}]", TABLE[*rule].name));
            found.push(*rule);
            end = *secret_end;
        }
        out.push_str(&text[end..]);
        (!secrets.is_empty()).then_some(out)
    }

    /// As [`Compiled::text`], for the text of an event.
    pub fn event_text(&self, text: Text<'_>, found: &mut Vec<usize>) -> Option<String> {
        self.text(&text.decode_lossy(), found)
    }

    /// As [`Compiled::text`], for every string of a JSON value. A string that is the value of a member is also searched together with its
    /// name. The rest of the value stays as it is.
    pub fn json(&self, json: &str, found: &mut Vec<usize>) -> Option<String> {
        let (mut out, mut end) = (String::new(), 0);
        let mut name: Option<Cow<'_, str>> = None;
        for token in strings(json) {
            let (start, after) = token;
            let text = Text::Token(&json[start..after]).decode_lossy();
            let is_name = json[after..].trim_ascii_start().starts_with(':');
            let replaced = match self.text(&text, found) {
                None if !is_name => name
                    .take()
                    .and_then(|name| self.member(&name, &text, found)),
                replaced => replaced,
            };
            name = is_name.then_some(text);
            if let Some(replaced) = replaced {
                out.push_str(&json[end..start]);
                push_text(&mut out, Text::Plain(&replaced));
                end = after;
            }
        }
        if end == 0 {
            return None;
        }
        out.push_str(&json[end..]);
        Some(out)
    }

    /// A value that is a secret because of the name of its member.
    fn member(&self, name: &str, value: &str, found: &mut Vec<usize>) -> Option<String> {
        let begin = format!("{name}: ");
        let replaced = self.text(&format!("{begin}{value}"), found)?;
        replaced.strip_prefix(&begin).map(str::to_owned)
    }
}

fn is_secret(needs: Needs, secret: &str, rest: &str) -> bool {
    match needs {
        Needs::Nothing => true,
        Needs::DigitAndLetter => {
            secret.bytes().any(|byte| byte.is_ascii_digit())
                && secret.bytes().any(|byte| byte.is_ascii_alphabetic())
        }
        Needs::Random => secret.len() <= LONGEST_VALUE && is_random(secret) && is_end(rest),
        Needs::Password => is_password(secret),
        Needs::BasicAuth => is_basic_auth(secret),
        Needs::End => !rest
            .starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '_')),
    }
}

/// The longest value of a rule that fits every value: session tokens of AWS have over a thousand characters, files in base64 more.
const LONGEST_VALUE: usize = 2048;
/// The longest password.
const LONGEST_PASSWORD: usize = 256;

/// Words in what documents show in the place of a password.
const PLACEHOLDERS: [&str; 9] = [
    "your",
    "example",
    "changeme",
    "change_me",
    "placeholder",
    "password",
    "secret",
    "xxxx",
    "redacted",
];

/// True for what a person could have chosen as a password, and not for a variable, a path, an address or a placeholder.
fn is_password(value: &str) -> bool {
    let has = |is: fn(char) -> bool| value.contains(is);
    let lower = value.to_ascii_lowercase();
    let is_elsewhere = value.starts_with(['$', '<', '{', '%', '/', '.', '~', '[', '('])
        || value.contains("://")
        || value.contains("${");
    let is_path = value.contains('/') && !is_random(value);
    let is_short = value.len() <= LONGEST_PASSWORD;
    let is_mixed = has(|c| c.is_ascii_alphabetic())
        && has(|c| c.is_ascii_digit() || "!@#$%^&*?+~".contains(c));
    is_short
        && is_mixed
        && !is_elsewhere
        && !is_path
        && !PLACEHOLDERS.iter().any(|word| lower.contains(word))
}

/// True for base64 of a name, a colon and something after it.
fn is_basic_auth(value: &str) -> bool {
    let decoded = BASE64
        .decode(value.trim_end_matches('='))
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.is_some_and(|text| {
        text.split_once(':')
            .is_some_and(|(name, rest)| !name.is_empty() && !rest.is_empty())
    })
}

/// True if a value ends here: code goes on after a name.
fn is_end(rest: &str) -> bool {
    rest.chars().next().is_none_or(|c| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\'' | '`' | ',' | ';' | ')' | ']' | '}' | '&' | '|' | '<' | '>' | '\\'
            )
    })
}

/// The places of the strings in JSON text, with their quotes.
pub(super) fn strings(json: &str) -> impl Iterator<Item = (usize, usize)> + use<'_> {
    let (mut start, mut escaped) = (None, usize::MAX);
    memchr2_iter(b'"', b'\\', json.as_bytes()).filter_map(move |at| {
        if at == escaped {
            return None;
        }
        match (json.as_bytes()[at], start) {
            (b'\\', _) => {
                escaped = at + 1;
                None
            }
            (_, None) => {
                start = Some(at);
                None
            }
            (_, Some(begin)) => {
                start = None;
                Some((begin, at + 1))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for lazy in &COMPILED.as_ref().unwrap().rules {
            assert!(lazy.regex().is_some(), "{}", lazy.rule.name);
        }
    }
}
