//! The progress bar, and an estimate of the time that is left.

use std::fmt::{self, Write};
use std::io::{IsTerminal, stderr};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Before this, and before this part of the bytes, nothing can be estimated.
const FIRST_SECONDS: f64 = 2.0;
const FIRST_PART: f64 = 0.02;
/// How long a run must take before a bar is shown.
const QUIET: Duration = Duration::from_millis(500);

/// Shows the bar for that many bytes, if standard error is a terminal.
pub fn start(bar: &ProgressBar, bytes: u64) {
    if !stderr().is_terminal() || bytes == 0 {
        return;
    }
    bar.set_length(bytes);
    bar.reset_elapsed();
    if let Ok(style) =
        ProgressStyle::with_template("{wide_bar} {decimal_bytes} of {decimal_total_bytes}{left}")
    {
        bar.set_style(
            style.with_key("left", |state: &ProgressState, out: &mut dyn Write| {
                // A bar that cannot be drawn is not worth a failure.
                let _ = write_left(state, out);
            }),
        );
    }
    // A short run has no bar: it would only flash.
    let bar = bar.clone();
    thread::spawn(move || {
        thread::sleep(QUIET);
        if !bar.is_finished() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    });
}

fn write_left(state: &ProgressState, out: &mut dyn Write) -> fmt::Result {
    match left(
        state.pos(),
        state.len().unwrap_or_default(),
        state.elapsed(),
    ) {
        Some(left) => write!(out, ", about {left} left"),
        None => Ok(()),
    }
}

/// The time that is left, from the speed so far, rounded; `None` as long as that would be a guess.
fn left(done: u64, all: u64, elapsed: Duration) -> Option<String> {
    let (part, seconds) = (done as f64 / all.max(1) as f64, elapsed.as_secs_f64());
    if seconds < FIRST_SECONDS || !(FIRST_PART..1.0).contains(&part) {
        return None;
    }
    let left = seconds * (1.0 - part) / part;
    Some(match left {
        left if left < 60.0 => format!("{} s", (left.ceil() as u64).max(1)),
        left if left < 5400.0 => format!("{} min", (left / 60.0).ceil() as u64),
        left => format!("{} h", (left / 3600.0).ceil() as u64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_comes_when_there_is_something_to_estimate_from() {
        let left = |done, seconds| left(done, 100, Duration::from_secs(seconds));
        assert_eq!(
            [left(0, 60), left(1, 60), left(50, 1), left(100, 60)],
            [None, None, None, None]
        );
        assert_eq!(left(50, 10).as_deref(), Some("10 s"));
        assert_eq!(left(10, 60).as_deref(), Some("9 min"));
        assert_eq!(left(2, 3600).as_deref(), Some("49 h"));
    }
}
