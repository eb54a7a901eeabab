//! What follows from several fields of a record.

use engram_core::emit::Fault;

use super::readers::{Cache, Envelope, Tokens};
use crate::shared::value::{Field, Value};

impl<'a> Envelope<'a> {
    /// Reads a message's own record into an empty envelope, in place: it is large.
    pub fn fill_message(&mut self, value: Value<'a>) -> Result<(), Fault> {
        self.strict_into(value, "")?;
        self.metadata()
            .map_or(Ok(()), |metadata| self.add_metadata(metadata))
    }

    /// Moves what 0.1.174 has under `metadata` and `metadata.assistant` to where later versions have it.
    fn add_metadata(&mut self, metadata: Value<'a>) -> Result<(), Fault> {
        let common = Envelope::strict(metadata, "/metadata")?;
        let of_assistant = match common.assistant() {
            Some(assistant) => Envelope::strict(assistant, "/metadata/assistant")?,
            None => Envelope::default(),
        };
        self.set(
            const { Self::number("time") },
            self.time().or(common.time()),
        );
        self.set(
            const { Self::number("error") },
            self.error().or(common.error()),
        );
        self.set(
            const { Self::number("modelID") },
            self.model_id().or(of_assistant.model_id()),
        );
        self.set(
            const { Self::number("providerID") },
            self.provider_id().or(of_assistant.provider_id()),
        );
        self.set(
            const { Self::number("path") },
            self.path().or(of_assistant.path()),
        );
        self.set(
            const { Self::number("system") },
            self.system().or(of_assistant.system()),
        );
        self.set(
            const { Self::number("summary") },
            self.summary().or(of_assistant.summary()),
        );
        self.set(
            const { Self::number("cost") },
            self.cost().or(of_assistant.cost()),
        );
        self.set(
            const { Self::number("tokens") },
            self.tokens().or(of_assistant.tokens()),
        );
        self.set(const { Self::number("tool") }, common.tool());
        Ok(())
    }
}

/// The boolean of a field, if it is present.
pub(super) fn bool_opt(field: Field<'_>) -> Option<bool> {
    field.map(Value::is_true)
}

impl Tokens<'_> {
    /// False for a response without counts, or that has not ended: the harness then writes zeros.
    pub fn is_spent(&self) -> bool {
        let cache = Cache::lenient_opt(self.cache());
        let counts = [
            self.input(),
            self.output(),
            cache.read_from_cache(),
            cache.written_to_cache(),
        ];
        counts.into_iter().flatten().any(|count| count.raw() != "0")
    }
}
