//! What a tool returned, and what the harness says behind it.

/// How the last line behind the output of a command ends.
const EXITED: &str = " exit code ";
/// How that line begins if the command still runs.
const RUNNING: [&str; 2] = ["command started in background", "command with shellId: "];
/// What stands between an output and what hooks say about the call: this, the name of the tool, and this (1.0.102: recorded).
const TOOL: &str = "\n\nTool \"";
const HOOKED: &str = " Additional guidance from postToolUse hooks:\n";

/// What a tool returned, and what the harness says behind it.
pub struct Returned<'t> {
    /// What the tool printed.
    pub printed: &'t str,
    /// What stands behind it: lines of the harness and words of hooks.
    pub behind: &'t str,
    /// The exit code of a command.
    pub exit: Option<i64>,
}

/// Takes what a tool returned apart.
pub fn returned(content: &str, is_command: bool) -> Returned<'_> {
    let end = content.rfind(HOOKED).map(|at| at + HOOKED.len());
    let said = end.and_then(|end| content[..end].rfind(TOOL));
    let printed = said.map_or(content, |at| &content[..at]);
    let (before, line) = printed.rsplit_once('\n').unwrap_or(("", printed));
    let note = line
        .strip_prefix('<')
        .and_then(|line| line.strip_suffix('>'));
    let note = note.filter(|_| is_command);
    let exit = note.and_then(|note| note.rsplit_once(EXITED)?.1.parse().ok());
    let is_running = note.is_some_and(|note| RUNNING.iter().any(|it| note.starts_with(it)));
    let printed = match exit.is_some() || is_running {
        true => before,
        false => printed,
    };
    Returned {
        printed,
        behind: content[printed.len()..].trim_start_matches('\n'),
        exit,
    }
}
