//! What plugins write in the user's place, by the names of those that many logs have.

use engram_core::text::Text;

use crate::shared::wrappers::{End, Place, Wrapper, begins_wrapped};

/// Prompts that a plugin sends. The log has them like words of a person.
const PLUGIN_TEXTS: &[Wrapper] = &[Wrapper {
    name: "plugin",
    place: Place::Start,
    begin: "[SYSTEM DIRECTIVE: OH-MY-OPENCODE - ",
    end: End::OfText,
    source: "oh-my-opencode, public transcripts of 2026",
}];

/// What oh-my-opencode writes behind each prompt that it sends itself (public transcripts of 2026).
const PLUGIN_MARK: &str = "<!-- OMO_INTERNAL_INITIATOR -->";

/// True for a prompt that a plugin sends.
pub(super) fn is_of_plugin(text: Text<'_>) -> bool {
    let text = text.decode_lossy();
    begins_wrapped(&text, PLUGIN_TEXTS) || text.trim_end().ends_with(PLUGIN_MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_marks_its_prompts() {
        let is = |text| is_of_plugin(Text::Plain(text));
        assert!(is(
            "[SYSTEM DIRECTIVE: OH-MY-OPENCODE - TODO CONTINUATION]\n\nGo on."
        ));
        assert!(is("Go on.\n<!-- OMO_INTERNAL_INITIATOR -->\n"));
        assert!(!is("what does <!-- OMO_INTERNAL_INITIATOR --> mean?"));
    }
}
