//! The record types, marks and rules of the format. Generated from `members/*.members` (`ENGRAM_BLESS=1` with the unit tests writes
//! it). Do not edit it.

#![allow(dead_code, reason = "an adapter need not use each name of its format")]

use engram_core::descriptor::OmissionRule;

/// The record types `in event`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventKind {
    ToolDecided, EpisodeEnded,
}

impl EventKind {
    /// The type `driver/` and this name.
    pub(super) fn named(name: &str) -> Option<EventKind> {
        Some(match name {
            "ToolDecided" => EventKind::ToolDecided,
            "EpisodeEnded" => EventKind::EpisodeEnded,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            EventKind::ToolDecided => "driver/ToolDecided",
            EventKind::EpisodeEnded => "driver/EpisodeEnded",
        }
    }
}

/// The record types `in said`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SaidKind {
    Driver, Agent,
}

impl SaidKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<SaidKind> {
        Some(match name {
            "driver" => SaidKind::Driver,
            "agent" => SaidKind::Agent,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            SaidKind::Driver => "driver",
            SaidKind::Agent => "agent",
        }
    }
}

/// The marks by which a log is recognised.
pub(super) mod mark {
    /// The header of an episode.
    pub(in super::super) const HEADER: &str = "header.schema+episode_id+nonce_hash";

    /// Every mark.
    pub(in super::super) const ALL: &[&str] = &[HEADER];
}

/// The rules that leave out whole records.
pub(super) mod rule {
    pub(in super::super) const RECORD_REPEATED: &str = "record.repeated";
}

/// Every rule, with its reason.
pub(super) const RULES: &[OmissionRule] = &[
    OmissionRule::duplicate("record.repeated", "*", "a record that the log has twice: all its bytes, its time among them, were read before"),
];
