//! What clients of the harness put before the words of a person, and how messages of the harness itself begin.

use crate::shared::wrappers::{End, Place, Wrapper, begins_wrapped};

/// The heading behind which a client puts the words.
const REQUEST_FOR_CODEX: End = End::Last("\n## My request for Codex:");
/// The same heading in later versions of the desktop application.
const REQUEST: End = End::Last("\n## My request:");

const TERMINAL: &str =
    "openai/codex, codex-rs/tui/src/ide_context/prompt.rs, which takes the last heading too";
const EDITOR: &str = "openai/codex#31405, farion1231/cc-switch#2551: rollouts of codex_vscode";
const DESKTOP: &str = "public rollouts of the desktop application of 2026";

/// Context that a client puts before the words, in the same text. Sections in which a person writes, such as comments on a diff, are not
/// listed: their text stays as it is.
pub(super) const BEFORE_WORDS: &[Wrapper] = &[
    section(
        "ide_context",
        "# Context from my IDE setup:",
        REQUEST_FOR_CODEX,
        TERMINAL,
    ),
    section(
        "ide_context",
        "# Context from my IDE setup:",
        REQUEST,
        DESKTOP,
    ),
    section(
        "mentioned_files",
        "# Files mentioned by the user:",
        REQUEST_FOR_CODEX,
        EDITOR,
    ),
    section(
        "mentioned_files",
        "# Files mentioned by the user:",
        REQUEST,
        DESKTOP,
    ),
    section(
        "mentioned_apps",
        "# Applications mentioned by the user:",
        REQUEST_FOR_CODEX,
        DESKTOP,
    ),
    section(
        "mentioned_apps",
        "# Applications mentioned by the user:",
        REQUEST,
        DESKTOP,
    ),
    section("browser", "# In app browser:", REQUEST_FOR_CODEX, DESKTOP),
    section("browser", "# In app browser:", REQUEST, DESKTOP),
    section(
        "browser",
        "<in-app-browser-context ",
        REQUEST_FOR_CODEX,
        DESKTOP,
    ),
    section("browser", "<in-app-browser-context ", REQUEST, DESKTOP),
];

/// What the harness writes around a command that a person ran (`!`, or `thread/shellCommand` of a client): its output follows.
pub(super) const AROUND_COMMAND: &[Wrapper] = &[Wrapper {
    name: "user_shell",
    place: Place::Frame,
    begin: "<user_shell_command>\n<command>\n",
    end: End::First("\n</command>\n<result>\n"),
    source: "0.125 to 0.171: recorded",
}];

/// The texts that the harness writes before and behind each image and sound of a prompt.
const AROUND_MEDIA: &[Wrapper] = &[
    tag("<image>", "0.117 to 0.169: recorded"),
    tag("<image name=", "0.98 to 0.171: recorded"),
    tag("</image>", "0.98 to 0.171: recorded"),
    tag("<audio>", MODELS),
    tag("<audio name=", MODELS),
    tag("</audio>", MODELS),
];
/// Where the tags of sounds are from.
const MODELS: &str = "openai/codex, codex-rs/protocol/src/models.rs";
/// Name of the context with such a text.
pub(super) const MEDIA_TAG: &str = "media_tag";

/// Messages that the harness writes in the user's place. They decide only where the log says nothing: in the forms without events, and in a
/// message that is the last record of its file.
const BY_HARNESS: &[Wrapper] = &[
    whole("<environment_context>", "0.27 to 0.171: recorded"),
    whole("# AGENTS.md instructions", "0.77 to 0.171: recorded"),
    whole(
        "<user_instructions>",
        "openai/codex, the form of instructions before 0.77",
    ),
    whole("<turn_aborted>", "0.117 to 0.171: recorded"),
    whole("<user_shell_command>", "0.125 to 0.171: recorded"),
    whole("<subagent_notification>", "0.117 to 0.171: recorded"),
    whole("<skill>", "0.117 to 0.171: recorded"),
    whole("<user_action>", "0.117 to 0.171: recorded"),
    whole("<recommended_plugins>", DESKTOP),
    whole("<codex_internal_context", "0.149 to 0.171: recorded"),
    whole("<hook_prompt", "0.149 to 0.171: recorded"),
    whole(
        "Warning: apply_patch was requested via ",
        "0.73 to 0.129: recorded",
    ),
];

const fn section(
    name: &'static str,
    begin: &'static str,
    end: End,
    source: &'static str,
) -> Wrapper {
    Wrapper {
        name,
        place: Place::Start,
        begin,
        end,
        source,
    }
}

const fn whole(begin: &'static str, source: &'static str) -> Wrapper {
    section("harness", begin, End::OfText, source)
}

const fn tag(begin: &'static str, source: &'static str) -> Wrapper {
    section(MEDIA_TAG, begin, End::OfText, source)
}

/// True if a text begins as the harness's own do.
pub(super) fn is_by_harness(text: &str) -> bool {
    begins_wrapped(text, BY_HARNESS) || is_media_tag(text)
}

/// True for what the harness writes before or behind an image or a sound.
pub(super) fn is_media_tag(text: &str) -> bool {
    begins_wrapped(text, AROUND_MEDIA)
}

/// The path of a local file in the text before it. The harness writes the path as it is.
pub(super) fn path_in_tag(tag: &str) -> Option<&str> {
    is_media_tag(tag).then_some(())?;
    let (_, path) = tag.strip_suffix("\">")?.split_once(" path=\"")?;
    Some(path).filter(|path| !path.is_empty())
}

/// How the harness tells an agent that the turn of another one failed. The record names that agent as its author, as for words of a model.
pub(super) const AGENT_ERRORED: &str = "Agent errored: ";
/// What stands behind the error (openai/codex, codex-rs/core/src/session_prefix.rs; 0.171: recorded).
const FAILED_TURN: &str = "\n\nThis agent's turn failed. If you still need this agent, use the available collaboration tools to give it another task.";

/// True for what the harness writes in place of the answer of an agent whose turn failed.
pub(super) fn is_failed_turn(words: &str) -> bool {
    words.starts_with(AGENT_ERRORED) && words.ends_with(FAILED_TURN)
}

/// True if a JSON token without its quotes may be a command that a person ran.
pub(super) fn may_be_command(token: &str) -> bool {
    token.starts_with("<user_shell_command>")
}

/// True if a JSON token without its quotes may have context before the words.
pub(super) fn may_have_context(token: &str) -> bool {
    let begin = token.trim_start_matches("\\n");
    BEFORE_WORDS.iter().any(|row| begin.starts_with(row.begin))
}
