//! The adapter under test, with everything that it provides.

use engram_core::adapter::{HarnessAdapter, SideInfo};
use engram_core::coverage::Coverage;
use engram_core::descriptor::{AdapterDescriptor, UnknownVersionPolicy};
use engram_core::event::Kind;
use engram_core::policy::Policy;

use crate::case::Case;
use crate::convert::{ConversionError, default_policy, stream_form, string_form};
use crate::converted_session::ConvertedSession;
use crate::gaps::{self, GapRow};
use crate::options::Capabilities;
use crate::session::Session;
use crate::session_tape::SessionTape;
use crate::tape::Event;

/// The gap of edits of which the log has only the patch, whose old text was found in the file by likeness.
const LOOSE_TEXT: &str = "edit.patch_text";

/// An adapter under test.
pub struct Subject<'s> {
    /// The adapter.
    pub adapter: &'s dyn HarnessAdapter,
    /// Its descriptor.
    pub descriptor: AdapterDescriptor,
    /// What it provides beyond the contract.
    pub capabilities: Capabilities<'s>,
}

impl<'s> Subject<'s> {
    /// The adapter with its capabilities.
    pub fn new(adapter: &'s dyn HarnessAdapter, capabilities: Capabilities<'s>) -> Self {
        Subject {
            adapter,
            descriptor: adapter.descriptor(),
            capabilities,
        }
    }

    /// The tape of a session as a user gets it. With a streaming adapter: under strict policy if the session is identified, else or if that
    /// refuses it under permissive policy, and with the information from files beside it. Otherwise: the tape of the string form.
    ///
    /// # Errors
    /// Why there is no tape at all.
    pub fn tape(&self, session: &Session) -> Result<SessionTape, ConversionError> {
        let Some(stream) = self.capabilities.stream else {
            return self
                .string_form(&session.bytes)
                .map(|text| SessionTape::of(text, None));
        };
        let under = |policy| {
            stream_form(
                stream,
                session.bytes.as_slice(),
                policy,
                session.context.clone(),
            )
        };
        let policy = default_policy(stream, &session.bytes);
        match under(policy) {
            Err(ConversionError::Refused(refusal)) if policy == Policy::Strict => {
                under(Policy::Permissive).map(|text| SessionTape::of(text, Some(refusal)))
            }
            tape => tape.map(|text| SessionTape::of(text, None)),
        }
    }

    /// The tape that the string form of the contract returns.
    pub fn string_form(&self, bytes: &[u8]) -> Result<String, ConversionError> {
        string_form(self.adapter, bytes)
    }

    /// The tape under a policy; `None` if the adapter does not support this policy.
    pub fn under(&self, policy: Policy, bytes: &[u8]) -> Option<Result<String, ConversionError>> {
        match self.capabilities.stream {
            Some(stream) => Some(stream_form(stream, bytes, policy, SideInfo::default())),
            None => (self.own_policy() == policy).then(|| self.string_form(bytes)),
        }
    }

    /// The policy of the string form.
    pub fn own_policy(&self) -> Policy {
        match self.descriptor.unknown_version_policy {
            UnknownVersionPolicy::StrictFail => Policy::Strict,
            UnknownVersionPolicy::PermissiveDegrade => Policy::Permissive,
        }
    }

    /// True if the revision with this schema declares the gap for a kind of event.
    pub(crate) fn declares_for(&self, schema: Option<&str>, kind: Kind, code: &str) -> bool {
        self.coverage(schema).grade(kind).gaps().contains(&code)
    }

    /// The claims of the revision with this schema; those of the adapter for a tape that proves no schema.
    fn coverage(&self, schema: Option<&str>) -> Coverage {
        let revision = schema.and_then(|schema| self.descriptor.matrix.schema(schema));
        revision.map_or(self.descriptor.coverage, |revision| revision.coverage)
    }

    /// What it means that a recording exhibits this gap.
    pub(crate) fn gap_row(&self, code: &str) -> Option<&GapRow> {
        gaps::find(code, self.capabilities.gaps)
    }

    /// The declared gap that explains why an edit has no line range, if there is one.
    pub(crate) fn missing_lines_gap(
        &self,
        session: &ConvertedSession,
        edit: &Event,
    ) -> Option<&'static str> {
        self.explaining_gap(session, Kind::CodeEdit, |row| {
            row.explains_missing_lines(edit)
        })
    }

    /// The declared gap that explains why an edit does not hash its file before or after, if there is one.
    pub(crate) fn missing_hash_gap(
        &self,
        session: &ConvertedSession,
        edit: &Event,
    ) -> Option<&'static str> {
        self.explaining_gap(session, Kind::CodeEdit, |row| {
            row.explains_missing_hash(edit)
        })
    }

    /// The declared gap that explains why a session lacks prompts, if there is one.
    pub(crate) fn prompt_gap(&self, session: &ConvertedSession) -> Option<&'static str> {
        self.explaining_gap(session, Kind::MsgIn, GapRow::explains_missing_prompts)
    }

    /// The declared gap that explains why a message is by a person although nobody sent it, if there is one.
    pub(crate) fn author_gap(
        &self,
        case: &Case<'_>,
        session: &ConvertedSession,
        message: &Event,
    ) -> Option<&'static str> {
        self.explaining_gap(session, Kind::MsgIn, |row| {
            row.explains_author(case, message)
        })
    }

    /// The declared gap that explains why a message is not by a person although a person sent it, if there is one.
    pub(crate) fn unproven_prompt_gap(
        &self,
        session: &ConvertedSession,
        message: &Event,
    ) -> Option<&'static str> {
        self.explaining_gap(session, Kind::MsgIn, |row| {
            row.explains_unproven_prompt(session, message)
        })
    }

    /// The declared gap that explains why the old text of an edit only resembles that of the file, if there is one.
    pub(crate) fn loose_text_gap(
        &self,
        session: &ConvertedSession,
        edit: &Event,
    ) -> Option<&'static str> {
        self.explaining_gap(session, Kind::CodeEdit, |row| {
            row.code == LOOSE_TEXT && row.explains_missing_lines(edit)
        })
    }

    /// The first gap of a kind that the tape's revision claims and that is an explanation.
    fn explaining_gap(
        &self,
        session: &ConvertedSession,
        kind: Kind,
        explains: impl Fn(&GapRow) -> bool,
    ) -> Option<&'static str> {
        let coverage = self.coverage(session.schema());
        coverage
            .grade(kind)
            .gaps()
            .iter()
            .copied()
            .find(|code| self.gap_row(code).is_some_and(&explains))
    }
}
