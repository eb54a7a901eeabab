//! Coverage claims: how much of each kind of event an adapter provides.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::event::Kind;
use crate::words::words;

/// The stable code of a known loss (`edit.shell`, `read.no_range`, ...).
pub type GapCode = &'static str;

/// How much of one kind an adapter provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// Every fact of the kind gives an event with all required fields.
    Full,
    /// Some facts do. A fixture shows each of these gaps.
    Partial(&'static [GapCode]),
    /// Never emitted.
    None,
}

impl Grade {
    /// The name in a tape.
    pub const fn as_str(self) -> &'static str {
        self.claim().as_str()
    }

    /// The grade without its gaps.
    pub const fn claim(self) -> ClaimGrade {
        match self {
            Grade::Full => ClaimGrade::Full,
            Grade::Partial(_) => ClaimGrade::Partial,
            Grade::None => ClaimGrade::None,
        }
    }

    /// The codes of the gaps.
    pub fn gaps(self) -> &'static [GapCode] {
        match self {
            Grade::Partial(gaps) => gaps,
            Grade::Full | Grade::None => &[],
        }
    }
}

words! {
    /// A grade without its gaps, as written in a tape. The highest claim is the smallest.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ClaimGrade {
        /// Every fact of the kind gives an event.
        Full = "full",
        /// Some facts do.
        Partial = "partial",
        /// Never emitted.
        None = "none",
    }
}

/// Claims for all eight kinds. There is no default, so an adapter must state each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coverage {
    /// Claim for `meta`.
    pub meta: Grade,
    /// Claim for `msg.in`.
    pub msg_in: Grade,
    /// Claim for `msg.out`.
    pub msg_out: Grade,
    /// Claim for `tool.call`.
    pub tool_call: Grade,
    /// Claim for `tool.result`.
    pub tool_result: Grade,
    /// Claim for `code.read`.
    pub code_read: Grade,
    /// Claim for `code.edit`.
    pub code_edit: Grade,
    /// Claim for `span.link`.
    pub span_link: Grade,
}

impl Coverage {
    /// The claim for one kind.
    pub fn grade(&self, kind: Kind) -> Grade {
        match kind {
            Kind::Meta => self.meta,
            Kind::MsgIn => self.msg_in,
            Kind::MsgOut => self.msg_out,
            Kind::ToolCall => self.tool_call,
            Kind::ToolResult => self.tool_result,
            Kind::CodeRead => self.code_read,
            Kind::CodeEdit => self.code_edit,
            Kind::SpanLink => self.span_link,
        }
    }

    /// The claims after degradation: `Full` becomes `Partial`.
    pub fn degraded(&self) -> Coverage {
        self.map(|_, grade| {
            if grade == Grade::Full {
                Grade::Partial(&[])
            } else {
                grade
            }
        })
    }

    /// The lower of both claims for each kind.
    pub fn lowest(&self, other: &Coverage) -> Coverage {
        self.map(|kind, grade| {
            if other.grade(kind).claim() > grade.claim() {
                other.grade(kind)
            } else {
                grade
            }
        })
    }

    /// The claims with each of them changed.
    pub(crate) fn map(&self, change: impl Fn(Kind, Grade) -> Grade) -> Coverage {
        let changed = |kind| change(kind, self.grade(kind));
        Coverage {
            meta: changed(Kind::Meta),
            msg_in: changed(Kind::MsgIn),
            msg_out: changed(Kind::MsgOut),
            tool_call: changed(Kind::ToolCall),
            tool_result: changed(Kind::ToolResult),
            code_read: changed(Kind::CodeRead),
            code_edit: changed(Kind::CodeEdit),
            span_link: changed(Kind::SpanLink),
        }
    }
}

impl Serialize for Coverage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(Kind::ALL.len()))?;
        for kind in Kind::ALL {
            map.serialize_entry(kind.as_str(), self.grade(kind).as_str())?;
        }
        map.end()
    }
}
