//! Changed lines of a file: the spans that an edit touched, with ranges, hashes and anchors.

mod changed_span;
mod edit_sides;
mod lines;
mod rewrite;

pub use changed_span::ChangedSpan;
pub use edit_sides::{
    set_after, set_before, set_run, set_run_ranges, set_snippet, set_whole_file, span_facts,
};
pub use lines::{
    full_range, has_crlf, line_count, with_unix_line_ends, without_final_line_end,
    without_half_line_end,
};
pub use rewrite::{Rewrite, spans_between};
