//! What a harness puts into an output for the model, in its log and over a protocol: nothing of it was printed or read.

use engram_core::text::Text;

/// What the harness gives to the model in place of an output (1.0.0 and later: recorded).
const NO_OUTPUT: &str = "(no output)";

/// The end of a stopped command's output.
const STOPPED: &str = "User aborted the command";

/// The notices of `read` when it omits lines that the call requested.
const CUT_READ: [&str; 2] = ["\n(Output capped at", "\n(Output truncated at"];

/// What is put behind the output of a command: that its time was over, or that the user stopped it.
const BEHIND_OUTPUT: [(&str, &str); 2] = [
    // Up to 1.3.2: recorded.
    ("\n\n<bash_metadata>\n", "\n</bash_metadata>"),
    // 1.18.33: recorded.
    ("\n\n<shell_metadata>\n", "\n</shell_metadata>"),
];

/// False for nearly all outputs, which then need no decoding.
pub fn may_have_notice(output: Text<'_>) -> bool {
    let raw = output.raw().trim_end_matches('"');
    output.starts_with(NO_OUTPUT) || raw.ends_with("_metadata>")
}

/// What a command printed, of the text that the model got.
pub fn printed(output: &str) -> &str {
    let behind = BEHIND_OUTPUT
        .iter()
        .find_map(|(begin, end)| output.strip_suffix(end)?.rfind(begin));
    let printed = &output[..behind.unwrap_or(output.len())];
    if printed == NO_OUTPUT { "" } else { printed }
}

/// True if the user stopped the command, which then has no exit code.
pub fn is_stopped(output: &str) -> bool {
    output.contains(STOPPED)
}

/// True if a read has fewer lines than the call requested: they would be too many bytes. The number of lines that such a read says is not that of
/// the file.
pub fn is_cut_read(output: &str) -> bool {
    CUT_READ.iter().any(|notice| output.contains(notice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_harness_writes_is_not_what_a_command_printed() {
        let stopped = "<shell_metadata>\nUser aborted the command\n</shell_metadata>";
        let behind = |output: &str| format!("{output}\n\n{stopped}");
        assert_eq!(printed(NO_OUTPUT), "");
        assert_eq!(printed(&behind(NO_OUTPUT)), "");
        assert_eq!(printed(&behind("a\n")), "a\n");
        assert_eq!(printed(&behind("")), "");
        assert_eq!(printed("(no output)\n"), "(no output)\n");
        assert!(is_stopped(&behind("a")) && !is_stopped("a"));
    }
}
