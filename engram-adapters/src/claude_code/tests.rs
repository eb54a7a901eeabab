//! Facts of the adapter that no fixture shows.
