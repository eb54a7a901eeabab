//! `code.read`: which lines of which file a tool gave to the model.
