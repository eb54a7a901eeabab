//! Reading a profile: its canonical form, its types, and the rules that the types do not state.

use std::fmt::Display;

use crate::canonical;
use crate::error::ProfileError;
use crate::hash::ProfileHash;
use crate::limits::{
    MAX_ARGS, MAX_ENV, MAX_EVIDENCE_BYTES, MAX_FILE_BYTES, MAX_FILES, MAX_GRACE, MAX_LINE_BYTES,
    MAX_MILLISECONDS, MAX_NAME, MAX_PROFILE_BYTES, MAX_REQUESTS, MAX_RESULT_BYTES, MAX_TEXT,
    MAX_TOOLS,
};
use crate::profile::{
    AdapterMode, HarnessName, InputMode, OutputMode, Profile, ToolBridge, VersionProbe, range,
};
use crate::template::{self, ARG_PLACEHOLDERS, EXE, PERMISSION, PROMPT, PROMPT_FILE};

/// The lower-case names that the environment may have.
const PROXIES: &[&str] = &["all_proxy", "http_proxy", "https_proxy", "no_proxy"];

type Checked = Result<(), ProfileError>;

impl Profile {
    /// Reads a profile whose bytes are canonical, and its hash.
    ///
    /// # Errors
    /// `profile_invalid`, with the place: bytes that are not canonical, an unknown or missing field, a value against a rule.
    pub fn parse(bytes: &[u8]) -> Result<(Profile, ProfileHash), ProfileError> {
        if bytes.len() > MAX_PROFILE_BYTES {
            return Err(ProfileError::invalid(
                "",
                format!("a profile has at most {MAX_PROFILE_BYTES} bytes"),
            ));
        }
        canonical::parse_exact(bytes)?;
        let profile: Profile = canonical::read(bytes)?;
        check(&profile)?;
        Ok((profile, ProfileHash::of(bytes)))
    }
}

/// Checks everything.
///
/// # Errors
/// `profile_invalid` with the place of the first broken rule, in the order of the fields.
pub fn check(profile: &Profile) -> Checked {
    rule(
        is_name(&profile.profile_id, b"-"),
        "/profile_id",
        "1 to 64 of a-z, 0-9 and -",
    )?;
    let is_program = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let command = &profile.command;
    let is_command = command == EXE
        || ((1..=MAX_NAME).contains(&command.len()) && command.bytes().all(is_program));
    rule(
        is_command,
        "/command",
        "the name of a program without `/`, or {exe}",
    )?;
    arguments(profile)?;
    environment(&profile.env_template)?;
    files(profile)?;
    modes(profile)?;
    tiers(profile)?;
    bridge(profile)?;
    capabilities(profile)?;
    let allowed = &profile.native_tools.allowed;
    at_most(allowed.len(), MAX_TOOLS, "/native_tools/allowed")?;
    let is_tool = |name: &String| (1..=MAX_NAME).contains(&name.len());
    rule(
        allowed.iter().all(is_tool),
        "/native_tools/allowed",
        "names of 1 to 64 bytes",
    )?;
    sorted(allowed.iter(), "/native_tools/allowed")?;
    probe(&profile.version_probe)?;
    bounds(profile)
}

fn rule(holds: bool, pointer: impl Into<String>, what: impl Display) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(ProfileError::invalid(pointer, format!("expected {what}")))
    }
}

fn at_most(count: usize, most: usize, pointer: &str) -> Checked {
    rule(count <= most, pointer, format!("at most {most} items"))
}

/// Sorted, and nothing twice.
fn sorted<T: PartialOrd>(items: impl Iterator<Item = T>, pointer: &str) -> Checked {
    let items: Vec<T> = items.collect();
    rule(
        items.windows(2).all(|pair| pair[0] < pair[1]),
        pointer,
        "sorted items, each once",
    )
}

/// True for 1 to 64 lower-case letters, digits and these.
pub(crate) fn is_name(text: &str, more: &[u8]) -> bool {
    let is_letter =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || more.contains(&byte);
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(is_letter)
}

fn arguments(profile: &Profile) -> Checked {
    list_of_arguments(&profile.args_template, "/args_template", ARG_PLACEHOLDERS)?;
    let has = |placeholder: &str| {
        profile
            .args_template
            .iter()
            .any(|argument| argument == placeholder)
    };
    rule(
        has(PROMPT) == (profile.input_mode == InputMode::Arg),
        "/args_template",
        "{prompt} if input_mode is `arg`, and only then",
    )?;
    rule(
        has(PROMPT_FILE) == (profile.input_mode == InputMode::File),
        "/args_template",
        "{prompt_file} if input_mode is `file`, and only then",
    )?;
    let needs = profile
        .permission_mode_map
        .iter()
        .any(|row| !row.flags.is_empty());
    rule(
        !needs || has(PERMISSION),
        "/args_template",
        "{permission}, since a tier has flags",
    )
}

fn list_of_arguments(list: &[String], pointer: &str, known: &[&str]) -> Checked {
    at_most(list.len(), MAX_ARGS, pointer)?;
    for (at, argument) in list.iter().enumerate() {
        let place = || format!("{pointer}/{at}");
        rule(
            argument.len() <= MAX_TEXT && !argument.contains('\0'),
            place(),
            format!("at most {MAX_TEXT} bytes without NUL"),
        )?;
        let is_plain = !template::has_placeholder(argument);
        rule(
            is_plain || known.contains(&argument.as_str()),
            place(),
            format!(
                "no placeholder, or one that is the whole argument: {}",
                known.join(" ")
            ),
        )?;
    }
    Ok(())
}

fn environment(env: &[(String, String)]) -> Checked {
    const PLACE: &str = "/env_template";
    at_most(env.len(), MAX_ENV, PLACE)?;
    for (at, (name, value)) in env.iter().enumerate() {
        let is_upper = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
        let is_variable = name.bytes().next().is_some_and(is_upper)
            && name
                .bytes()
                .all(|byte| is_upper(byte) || byte.is_ascii_digit());
        rule(
            (is_variable && name.len() <= MAX_NAME) || PROXIES.contains(&name.as_str()),
            format!("{PLACE}/{at}/0"),
            "a name of A-Z, 0-9 and _, or that of a proxy",
        )?;
        let place = format!("{PLACE}/{at}/1");
        rule(
            value.len() <= MAX_TEXT && !value.contains('\0'),
            &place,
            format!("at most {MAX_TEXT} bytes without NUL"),
        )?;
        if let Some(unknown) = template::unknown_placeholder(value) {
            return Err(ProfileError::invalid(
                place,
                format!("`{unknown}` is no placeholder of the environment"),
            ));
        }
    }
    sorted(env.iter().map(|(name, _)| name), PLACE)
}

fn files(profile: &Profile) -> Checked {
    const PLACE: &str = "/files_template";
    at_most(profile.files_template.len(), MAX_FILES, PLACE)?;
    for (at, file) in profile.files_template.iter().enumerate() {
        let below = file
            .path
            .strip_prefix("{home}/")
            .or_else(|| file.path.strip_prefix("{cwd}/"));
        let is_below = |path: &str| {
            path.split('/').all(|part| !matches!(part, "" | "." | ".."))
                && !path.contains(['\0', '\\', '{', '}'])
        };
        rule(
            below.is_some_and(is_below),
            format!("{PLACE}/{at}/path"),
            "{home}/ or {cwd}/ and a path without `..`",
        )?;
        rule(
            file.text.len() <= MAX_FILE_BYTES,
            format!("{PLACE}/{at}/text"),
            format!("at most {MAX_FILE_BYTES} bytes"),
        )?;
    }
    sorted(profile.files_template.iter().map(|file| &file.path), PLACE)
}

/// What Claude Code refuses, measured with 2.1.330; no other agent reads a stream.
fn modes(profile: &Profile) -> Checked {
    let is_stream =
        profile.input_mode == InputMode::StreamJson && profile.harness == HarnessName::ClaudeCode;
    rule(
        !is_stream || profile.output_mode == OutputMode::StreamJson,
        "/output_mode",
        "`stream-json`, which this input needs",
    )
}

fn tiers(profile: &Profile) -> Checked {
    const PLACE: &str = "/permission_mode_map";
    for (at, row) in profile.permission_mode_map.iter().enumerate() {
        list_of_arguments(&row.flags, &format!("{PLACE}/{at}/flags"), &[])?;
    }
    rule(
        !profile.permission_mode_map.is_empty(),
        PLACE,
        "at least one tier",
    )?;
    sorted(
        profile.permission_mode_map.iter().map(|row| row.tier),
        PLACE,
    )
}

fn bridge(profile: &Profile) -> Checked {
    const PLACE: &str = "/tool_bridge";
    let Some(bridge) = &profile.tool_bridge else {
        return rule(
            profile.adapter_mode != AdapterMode::BlackBox,
            PLACE,
            "a bridge, which a black box needs",
        );
    };
    rule(
        profile.adapter_mode == AdapterMode::BlackBox,
        PLACE,
        "no bridge: only a black box asks in frames",
    )?;
    let ToolBridge {
        max_line_bytes,
        max_requests,
        max_args_bytes,
        ..
    } = bridge;
    rule(
        max_line_bytes.get() <= MAX_LINE_BYTES,
        format!("{PLACE}/max_line_bytes"),
        format!("at most {MAX_LINE_BYTES}"),
    )?;
    rule(
        max_requests.get() <= MAX_REQUESTS,
        format!("{PLACE}/max_requests"),
        format!("at most {MAX_REQUESTS}"),
    )?;
    // Four letters of base64 stand for three bytes.
    let fits = max_args_bytes.get().div_ceil(3) * 4 <= max_line_bytes.get();
    rule(
        fits,
        format!("{PLACE}/max_args_bytes"),
        "arguments that fit into a line, encoded",
    )
}

/// What a profile asks for can be waited for, and held in memory.
fn bounds(profile: &Profile) -> Checked {
    let Profile {
        health_checks: health,
        budget_defaults: budget,
        evidence_policy: evidence,
        ..
    } = profile;
    let bridge = profile.tool_bridge.iter().flat_map(|bridge| {
        [
            (
                "/tool_bridge/max_result_bytes",
                bridge.max_result_bytes,
                MAX_RESULT_BYTES,
            ),
            (
                "/tool_bridge/tool_timeout_ms",
                bridge.tool_timeout_ms,
                MAX_MILLISECONDS,
            ),
        ]
    });
    let others = [
        ("/health_checks/start_ms", health.start_ms, MAX_MILLISECONDS),
        ("/health_checks/stall_ms", health.stall_ms, MAX_MILLISECONDS),
        (
            "/health_checks/stop_grace_ms",
            health.stop_grace_ms,
            MAX_GRACE,
        ),
        (
            "/budget_defaults/wall_clock_ms",
            budget.wall_clock_ms,
            MAX_MILLISECONDS,
        ),
        (
            "/budget_defaults/evidence_bytes",
            budget.evidence_bytes,
            MAX_EVIDENCE_BYTES,
        ),
        (
            "/evidence_policy/max_bytes",
            evidence.max_bytes,
            MAX_EVIDENCE_BYTES,
        ),
    ];
    bridge.chain(others).try_for_each(|(place, value, most)| {
        rule(value.get() <= most, place, format!("at most {most}"))
    })
}

fn capabilities(profile: &Profile) -> Checked {
    const PLACE: &str = "/capability_map";
    at_most(profile.capability_map.len(), MAX_TOOLS, PLACE)?;
    for (at, row) in profile.capability_map.iter().enumerate() {
        rule(
            is_name(&row.intent, b"._-"),
            format!("{PLACE}/{at}/intent"),
            "1 to 64 of a-z, 0-9 and ._-",
        )?;
    }
    sorted(profile.capability_map.iter().map(|row| &row.intent), PLACE)
}

fn probe(probe: &VersionProbe) -> Checked {
    const PLACE: &str = "/version_probe";
    list_of_arguments(&probe.args, &format!("{PLACE}/args"), &[])?;
    let place = format!("{PLACE}/regex");
    rule(
        probe.regex.len() <= MAX_TEXT,
        &place,
        format!("at most {MAX_TEXT} bytes"),
    )?;
    let regex = probe
        .pattern()
        .map_err(|error| ProfileError::invalid(&place, error))?;
    let groups: Vec<Option<&str>> = regex.capture_names().collect();
    rule(
        groups == [None, Some("version")],
        place,
        "one group, called `version`",
    )?;
    rule(
        range(&probe.expect).is_some(),
        format!("{PLACE}/expect"),
        "~MAJOR.MINOR, or >=MAJOR.MINOR, <MAJOR.MINOR",
    )
}
