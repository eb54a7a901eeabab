//! What the harness says in the text of a result about how a command ended.

/// What the harness prints behind the output of a command that it stopped, or in the place of another result.
pub const STOPPED: [&str; 2] = ["Command aborted", "Operation aborted"];
/// What it prints behind the output of a command that failed, before the exit code.
const EXITED: &str = "Command exited with code ";
/// What it says of a command that printed nothing.
const NOTHING: &str = "(no output)";
/// How its words begin behind the output of a command that failed: its exit code, or that it stopped the command.
const ENDS: [&str; 5] = [
    EXITED,
    "(Command exited with code ",
    "Command timed out",
    "Command aborted by signal ",
    "Command aborted before ",
];
/// The tools that run commands.
const SHELLS: [&str; 3] = ["bash", "powershell", "exec"];

/// True for a tool that runs commands.
pub fn is_shell(tool: &str) -> bool {
    SHELLS.contains(&tool)
}

/// What a command printed, and what the harness says behind it or in its place.
pub fn split(text: &str, is_error: bool) -> (&str, Option<&str>) {
    let (printed, last) = text.rsplit_once("\n\n").unwrap_or(("", text));
    let is_end =
        is_error && (STOPPED.contains(&last) || ENDS.iter().any(|end| last.starts_with(end)));
    match is_end {
        true if printed == NOTHING => ("", Some(text)),
        true => (printed, Some(last)),
        false if text == NOTHING => ("", Some(text)),
        false => (text, None),
    }
}

/// The exit code of a call of this tool that failed, which the harness prints behind its output.
pub fn exit_in(tool: &str, printed: &str) -> Option<i64> {
    let last = printed.rsplit('\n').next().filter(|_| is_shell(tool))?;
    last.strip_prefix(EXITED)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harness_says_how_a_command_ended() {
        let exit = "Command exited with code 4";
        let failed = format!("a\n\n\n{exit}");
        assert_eq!(split(&failed, true), ("a\n", Some(exit)));
        // The command printed it.
        assert_eq!(split(&failed, false), (&*failed, None));
        assert_eq!(split(NOTHING, false), ("", Some(NOTHING)));
        let silent = format!("{NOTHING}\n\n{exit}");
        assert_eq!(split(&silent, true), ("", Some(&*silent)));
        assert_eq!(split(exit, true), ("", Some(exit)));
        assert_eq!(split("a", true), ("a", None));
    }
}
