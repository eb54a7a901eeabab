//! Results of calls: the output for the model, the end for the screen, and the edits of a patch.

pub mod directories;
pub mod edits;
pub mod end_result;
pub mod nested_calls;
pub mod output_text;
pub mod outputs;
pub mod patch_text;
pub mod printed_files;
pub mod screen_end;
pub mod wrapped_output;
