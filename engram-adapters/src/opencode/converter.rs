//! What is remembered from record to record, and what most records come to.

use engram_core::adapter::{SessionInit, SideInfo};
use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::Meta;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::descriptor::rule;
use super::revisions::{Dialect, dialect};
use crate::shared::correlate::SeenSet;
use crate::shared::time::Clock;
use crate::shared::value::{Field, StructuralIndex, non_empty_text};

/// What is remembered from record to record.
pub(super) struct Converter {
    pub dialect: Dialect,
    pub context: SideInfo,
    /// When the session was created, in milliseconds. Older messages are copies of another session's.
    pub created: Option<i64>,
    /// What started the last compaction, until its summary comes.
    pub compaction_trigger: Option<&'static str>,
    /// System prompts that have been given.
    pub prompts: SeenSet,
    pub standing: Standing,
    pub clock: Clock,
    /// Where the parts of the present message lie.
    pub parts_at: String,
    /// PullReader of an export that have been converted: the session's own record, then its messages.
    pub converted: usize,
    pub index: StructuralIndex,
}

/// The last stated value of what messages say again and again, as the source spells it.
#[derive(Default)]
pub(super) struct Standing {
    pub cwd: Option<String>,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub provider: Option<String>,
}

/// The value as text, if it differs from what was said last.
pub(super) fn changed<'a>(slot: &mut Option<String>, value: Field<'a>) -> Option<Text<'a>> {
    let value = value.filter(|value| slot.as_deref() != Some(value.raw()))?;
    let text = non_empty_text(Some(value))?;
    *slot = Some(value.raw().to_owned());
    Some(text)
}

impl Converter {
    /// A converter that has seen nothing yet.
    pub fn open(init: &SessionInit<'_>) -> Self {
        Converter {
            dialect: dialect(init.identity),
            context: init.context.clone(),
            created: None,
            compaction_trigger: None,
            prompts: SeenSet::default(),
            standing: Standing::default(),
            clock: Clock::default(),
            parts_at: String::new(),
            converted: 0,
            index: StructuralIndex::default(),
        }
    }
}

/// A record that needs no event, by this rule.
pub(super) fn bookkeeping(record: &'static str, rule: rule::Name) -> Outcome {
    Outcome::Bookkeeping { record, rule }
}

/// A notice of the harness.
pub(super) fn notice(name: &'static str, said: Option<Text<'_>>, place: Pointer<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    out.emit(Meta::System { name: Text::Plain(name), text: said }, place)?;
    Ok(Outcome::Mapped)
}
