//! The phase of a text, as OpenAI's Responses interface names it. Several harnesses log it as it came.

use engram_core::event::Channel;

use super::value::{Field, raw_str};

/// The channel of a text with this phase. None without a phase, or for another one.
///
/// ```
/// use engram_adapters::shared::phase::channel_of;
/// use engram_adapters::shared::value::{StructuralIndex, parse};
/// use engram_core::event::Channel;
///
/// let mut index = StructuralIndex::default();
/// let message = parse(r#"{"phase":"final_answer"}"#, &mut index)?;
/// assert_eq!(channel_of(message.member("phase")), Some(Channel::Final));
/// assert_eq!(channel_of(None), None);
/// # Ok::<(), engram_core::emit::Fault>(())
/// ```
pub fn channel_of(phase: Field<'_>) -> Option<Channel> {
    match raw_str(phase) {
        "commentary" => Some(Channel::Commentary),
        "final_answer" => Some(Channel::Final),
        _ => None,
    }
}
