//! Which file this is, where its records begin, and what the files beside it state.

pub mod cut_line;
pub mod detect;
pub mod side_info;
