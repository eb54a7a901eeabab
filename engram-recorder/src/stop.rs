//! The wish of the caller that an episode ends: after a signal, or as the contract of a stop demands.

use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The line on standard input with which a driver inside of private mounts hears of it.
pub(crate) const WORD: &str = "stop\n";

/// A wish to stop. One thread states it, others look for it.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// States it.
    pub fn ask(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether it was stated.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// A wish that the line [`WORD`] of an input states, whenever it comes.
    pub(crate) fn heard(input: impl BufRead + Send + 'static) -> Stop {
        let stop = Stop::default();
        let heard = stop.clone();
        std::thread::spawn(move || {
            // The input has one line or none, and a line that is not the word says nothing.
            let mut lines = input.lines().map_while(Result::ok);
            if lines.any(|line| line == WORD.trim_end()) {
                heard.ask();
            }
        });
        stop
    }
}
