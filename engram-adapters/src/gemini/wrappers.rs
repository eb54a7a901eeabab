//! What the harness writes around the words of a person, or in their place. Each row says where the fact is from.

use engram_core::text::Text;

use crate::gemini::readers::Line;
use crate::gemini::schema::parts;
use crate::shared::value::text;
use crate::shared::wrappers::{End, Place, Wrapper, begins_wrapped};

/// The name of the contents of files that a prompt names.
pub(super) const REFERENCES: &str = "referenced_files";

/// Texts around the words of a person, in one string. Those of hooks have a rule of their own (`schema::hook_before`).
pub(super) const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "steering",
        place: Place::Frame,
        begin: "User steering update:\n<user_input>\n",
        end: End::Last("\n</user_input>\nInternal instruction: "),
        source: "0.61.0, `buildUserSteeringHintPrompt` in its package: a hint that is typed while the model works",
    },
    // Up to 0.27.4 a prompt is one string, with the files behind it.
    Wrapper {
        name: REFERENCES,
        place: Place::Lines,
        begin: "--- Content from referenced files ---",
        end: End::Last("--- End of content ---"),
        source: "0.4.1 to 0.61.0: recorded",
    },
    Wrapper {
        name: REFERENCES,
        place: Place::Lines,
        begin: "--- Content from referenced files ---",
        end: End::OfText,
        source: "0.61.0 over ACP: recorded",
    },
];

/// Texts that the harness writes in the user's place.
const HARNESS_TEXTS: &[Wrapper] = &[
    whole(
        "result",
        "[Function Response: ",
        "0.16.0, in a message in place of a tool result: recorded",
    ),
    whole(
        "command",
        "I ran the following shell command:\n",
        "the output of a command that the user ran with `!`: recorded",
    ),
    whole(
        "background",
        "Background execution update:\n<background_output>\n",
        "0.61.0, `formatBackgroundCompletionForModel` in its package",
    ),
    whole(
        "continue",
        "System: Please continue.",
        "0.39.0 and later: recorded",
    ),
    whole(
        "loop",
        "System: Potential loop detected. Details: ",
        "0.61.0, the model repeats itself: recorded",
    ),
    whole(
        "nudge",
        "[System: You successfully executed a tool but returned an empty response. ",
        "0.61.0, `nudgeMessage` in its package: the model is silent behind a call",
    ),
    whole(
        "plan_exit",
        "User has manually exited Plan Mode. Switching to ",
        "0.61.0, `getPlanModeExitMessage` in its package: a person leaves the mode by a key",
    ),
    whole(
        "directories",
        "- **Workspace Directories:**\n",
        "0.61.0, `getDirectoryContextString` in its package: a person adds a directory",
    ),
    whole(
        "editor",
        "Here is the user's editor context as a JSON object. This is for your information only.\n",
        "0.61.0, `getIdeContextParts` in its package: what is open in an editor",
    ),
    whole(
        "editor",
        "Here is a summary of changes in the user's editor context, in JSON format. This is for your information only.\n",
        "as above, when it has changed",
    ),
    whole(
        "last_chance",
        "You have stopped calling tools without finishing. You have one final chance ",
        "a sub-agent stops without its last call, or too late; up to 0.31 in the log of its session: recorded",
    ),
    whole(
        "last_chance",
        "You have exceeded the time limit. You have one final chance ",
        "as above",
    ),
    whole(
        "last_chance",
        "You have exceeded the maximum number of turns. You have one final chance ",
        "as above",
    ),
    whole(
        "summary",
        "First, reason in your scratchpad. Then, generate the <state_snapshot>.",
        "0.4.1, the request for a summary: recorded",
    ),
];

const fn whole(name: &'static str, begin: &'static str, source: &'static str) -> Wrapper {
    Wrapper {
        name,
        place: Place::Start,
        begin,
        end: End::OfText,
        source,
    }
}

/// True for a text that the harness writes in the user's place.
pub(super) fn is_of_harness(text: &str) -> bool {
    begins_wrapped(text, HARNESS_TEXTS)
}

/// The lines around the contents of files that a prompt names.
const BEGINS: [&str; 2] = [
    "\n--- Content from referenced files ---",
    "\n--- Content from referenced context ---",
];
const END: &str = "\n--- End of content ---";

/// What a client sent over ACP as links, and the harness wrote into the prompt: `@` and the name of each file whose content follows. A person at a
/// terminal types it, and then a line ends the contents. (0.61.0, recorded.)
pub(super) fn mentions(message: &Line<'_>) -> Vec<String> {
    let mut references = References::default();
    let mut mentions = Vec::new();
    for part in parts(message.content().filter(|content| content.is_array())) {
        let Some(text) = text(part.plain_text()).filter(|text| references.hold(*text)) else {
            continue;
        };
        if text.eq_str(END) {
            return Vec::new();
        }
        let text = text.decode_lossy();
        let name = text
            .strip_prefix("\nContent from ")
            .and_then(|rest| rest.strip_suffix(":\n"));
        mentions.extend(name.map(str::to_owned));
    }
    mentions
}

/// A prompt without the mentions at its end, and these.
pub(super) fn without_mentions<'t>(prompt: &'t str, mentions: &[String]) -> (&'t str, &'t str) {
    let mut words = prompt;
    while let Some(rest) = mentions
        .iter()
        .find_map(|mention| words.trim_end().strip_suffix(&**mention))
    {
        words = rest;
    }
    let words = if words.len() < prompt.len() {
        words.trim_end()
    } else {
        words
    };
    (words, prompt[words.len()..].trim_start())
}

/// Where a message is, among the parts of a prompt and the contents of files behind it. Each content is a part of its own, and only the lines
/// around all of them say so. Over ACP the last line is missing (0.61.0).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct References {
    is_inside: bool,
}

impl References {
    /// True if this text part is one of the contents, or a line around them.
    pub(super) fn hold(&mut self, text: Text<'_>) -> bool {
        if BEGINS.iter().any(|begin| text.eq_str(begin)) {
            self.is_inside = true;
        } else if self.is_inside && text.eq_str(END) {
            self.is_inside = false;
            return true;
        }
        self.is_inside
    }
}
