//! Coverage claims: how much of each kind an adapter gives (spec section 7).

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::event::Kind;

/// The stable name of a known loss (`edit.shell`, `read.no_range`, ...).
pub type GapCode = &'static str;

/// How much of one kind an adapter gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// Every fact of the kind gives an event with all required fields.
    Full,
    /// Some do; each gap is named and shown by a fixture.
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

    /// The named gaps.
    pub fn gaps(self) -> &'static [GapCode] {
        match self {
            Grade::Partial(gaps) => gaps,
            Grade::Full | Grade::None => &[],
        }
    }
}

/// A grade without the codes of its gaps, as a tape holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimGrade {
    /// Every fact of the kind gives an event.
    Full,
    /// Some do.
    Partial,
    /// Never emitted.
    None,
}

impl ClaimGrade {
    /// Every grade.
    pub const ALL: [ClaimGrade; 3] = [ClaimGrade::Full, ClaimGrade::Partial, ClaimGrade::None];

    /// The name in a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            ClaimGrade::Full => "full",
            ClaimGrade::Partial => "partial",
            ClaimGrade::None => "none",
        }
    }
}

/// A claim for all eight kinds. There is no default: leaving a kind out does not compile.
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

    /// The claim after degradation: what was full is partial.
    pub fn degraded(&self) -> Coverage {
        let lower = |grade| if grade == Grade::Full { Grade::Partial(&[]) } else { grade };
        Coverage {
            meta: lower(self.meta),
            msg_in: lower(self.msg_in),
            msg_out: lower(self.msg_out),
            tool_call: lower(self.tool_call),
            tool_result: lower(self.tool_result),
            code_read: lower(self.code_read),
            code_edit: lower(self.code_edit),
            span_link: lower(self.span_link),
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
