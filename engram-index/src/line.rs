//! What is known of one line of a text.

use crate::answer::{Tier, Why};
use crate::steps::Step;

/// Who made one line.
#[derive(Debug, Clone)]
pub struct Line {
    /// What the answer rests on.
    pub tier: Tier,
    /// The step that made it; `None` for tiers `older` and `unknown`.
    pub step: Option<Step>,
    /// Why it is unknown.
    pub why: Option<Why>,
    /// White space or quotes of the line were changed since.
    pub reformatted: bool,
}
