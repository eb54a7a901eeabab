//! What an artifact is: its form by its content, its stores, and the directory that it is in.

pub(super) mod detect;
pub(super) mod form;
pub(super) mod marks;
pub(super) mod opener;
mod parent_transcript;
pub(super) mod session_forms;
pub(super) mod side_info;
pub(super) mod store_kinds;
pub(super) mod store_tables;
