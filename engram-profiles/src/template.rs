//! Placeholders of a profile, and what they stand for in one run.

use std::collections::BTreeMap;

use crate::error::ProfileError;
use crate::profile::{Profile, Tier};

/// As a command: the program that the caller names.
pub const EXE: &str = "{exe}";
/// As an argument: the prompt.
pub const PROMPT: &str = "{prompt}";
/// As an argument: the path of a file with the prompt.
pub const PROMPT_FILE: &str = "{prompt_file}";
/// As an argument: the flags of the tier.
pub const PERMISSION: &str = "{permission}";

/// What can be an argument.
pub const ARG_PLACEHOLDERS: &[&str] = &[
    PROMPT,
    PROMPT_FILE,
    "{model}",
    "{session}",
    "{mcp_config}",
    PERMISSION,
];
/// What can be in a value of the environment.
pub const ENV_PLACEHOLDERS: &[&str] = &["{home}", "{base_url}", "{path}", "{api_key}"];
/// What can be in the text of a file. Other words in braces are text.
pub const FILE_PLACEHOLDERS: &[&str] = &[
    "{home}",
    "{cwd}",
    "{base_url}",
    "{model}",
    "{api_key}",
    "{api_key_tail}",
    "{version}",
];

/// Claude Code remembers an approved key by so many last letters.
const KEY_TAIL: usize = 20;

/// What placeholders stand for in one run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Values<'v> {
    /// The prompt.
    pub prompt: Option<&'v str>,
    /// The path of a file with the prompt.
    pub prompt_file: Option<&'v str>,
    /// The model.
    pub model: Option<&'v str>,
    /// The session to go on with.
    pub session: Option<&'v str>,
    /// The path of a file that names MCP servers.
    pub mcp_config: Option<&'v str>,
    /// The home, as the agent sees it.
    pub home: &'v str,
    /// The sandbox, as the agent sees it.
    pub cwd: &'v str,
    /// The model server, as `http://127.0.0.1:PORT`.
    pub base_url: &'v str,
    /// The search path for programs.
    pub path: &'v str,
    /// A key. It is never a real one.
    pub api_key: &'v str,
    /// The agent's version.
    pub version: &'v str,
}

impl Values<'_> {
    fn argument(&self, placeholder: &str) -> Option<&str> {
        match placeholder {
            PROMPT => self.prompt,
            PROMPT_FILE => self.prompt_file,
            "{model}" => self.model,
            "{session}" => self.session,
            "{mcp_config}" => self.mcp_config,
            _ => None,
        }
    }

    fn text(&self, placeholder: &str) -> Option<&str> {
        Some(match placeholder {
            "{home}" => self.home,
            "{cwd}" => self.cwd,
            "{base_url}" => self.base_url,
            "{path}" => self.path,
            "{api_key}" => self.api_key,
            "{api_key_tail}" => {
                &self.api_key[self
                    .api_key
                    .floor_char_boundary(self.api_key.len().saturating_sub(KEY_TAIL))..]
            }
            "{version}" => self.version,
            "{model}" => return self.model,
            _ => return None,
        })
    }

    /// The text with each of these placeholders replaced.
    fn fill(&self, text: &str, known: &[&str]) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((at, word)) = first_placeholder(rest) {
            filled.push_str(&rest[..at]);
            let value = known.contains(&word).then(|| self.text(word)).flatten();
            filled.push_str(value.unwrap_or(word));
            rest = &rest[at + word.len()..];
        }
        filled.push_str(rest);
        filled
    }
}

impl Profile {
    /// The arguments of a run.
    ///
    /// # Errors
    /// `profile_invalid` if the tier cannot be had, or if a placeholder stands for nothing in this run.
    pub fn args(&self, values: &Values<'_>, tier: Tier) -> Result<Vec<String>, ProfileError> {
        let no_tier = || ProfileError::invalid("/permission_mode_map", "this tier cannot be had");
        let flags = self.flags(tier).ok_or_else(no_tier)?;
        let mut args = Vec::new();
        for (at, argument) in self.args_template.iter().enumerate() {
            let nothing = || {
                ProfileError::invalid(
                    format!("/args_template/{at}"),
                    format!("nothing stands for {argument} in this run"),
                )
            };
            match argument.as_str() {
                PERMISSION => args.extend_from_slice(flags),
                word if ARG_PLACEHOLDERS.contains(&word) => {
                    args.push(values.argument(word).ok_or_else(nothing)?.to_owned())
                }
                plain => args.push(plain.to_owned()),
            }
        }
        Ok(args)
    }

    /// The whole environment of a run.
    pub fn env(&self, values: &Values<'_>) -> BTreeMap<String, String> {
        self.env_template
            .iter()
            .map(|(name, value)| (name.clone(), values.fill(value, ENV_PLACEHOLDERS)))
            .collect()
    }

    /// The files that must be there before a run: absolute paths and texts.
    pub fn files(&self, values: &Values<'_>) -> Vec<(String, String)> {
        let file = |path: &str, text: &str| {
            (
                values.fill(path, FILE_PLACEHOLDERS),
                values.fill(text, FILE_PLACEHOLDERS),
            )
        };
        self.files_template
            .iter()
            .map(|template| file(&template.path, &template.text))
            .collect()
    }
}

/// The first `{word}` of a text, and where it is.
fn first_placeholder(text: &str) -> Option<(usize, &str)> {
    text.match_indices('{').find_map(|(at, _)| {
        let word = &text[at..=at + text[at..].find('}')?];
        let inside = &word[1..word.len() - 1];
        let is_word = !inside.is_empty()
            && inside
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        is_word.then_some((at, word))
    })
}

/// True if a text has a `{word}`.
pub(crate) fn has_placeholder(text: &str) -> bool {
    first_placeholder(text).is_some()
}

/// The first `{word}` that cannot be in the environment.
pub(crate) fn unknown_placeholder(mut text: &str) -> Option<&str> {
    while let Some((at, word)) = first_placeholder(text) {
        if !ENV_PLACEHOLDERS.contains(&word) {
            return Some(word);
        }
        text = &text[at + word.len()..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_braces_are_placeholders_only_where_they_are_known() {
        let values = Values {
            home: "/h",
            cwd: "/p",
            api_key: "0123456789-abcdefghij-0123456789",
            ..Values::default()
        };
        assert_eq!(
            values.fill("{home}/a {x} {\"k\":{}} {cwd}", FILE_PLACEHOLDERS),
            "/h/a {x} {\"k\":{}} /p"
        );
        assert_eq!(
            values.fill("{api_key_tail}", FILE_PLACEHOLDERS),
            "bcdefghij-0123456789"
        );
        assert_eq!(unknown_placeholder("{home}/{cwd}"), Some("{cwd}"));
        assert!(!has_placeholder("{\"a\":1} {} { home }"));
    }

    #[test]
    fn what_is_filled_in_is_not_read_again() {
        let values = Values {
            home: "{cwd}",
            cwd: "/p",
            ..Values::default()
        };
        assert_eq!(values.fill("{home}", FILE_PLACEHOLDERS), "{cwd}");
    }
}
