//! Tool calls: what their results and ends need to know of them.

use std::borrow::Cow;

use engram_core::emit::KeptText;
use engram_core::keys::hash64;

use crate::shared::pending_calls::PendingCalls;

/// How far a call is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Progress {
    /// No result has been read.
    #[default]
    Called,
    /// A result has been read, and another one will follow.
    Running,
    /// Its last result has been read.
    Ended,
}

/// What is kept of a call.
#[derive(Debug, Default)]
struct Call {
    tool: Cow<'static, str>,
    /// The patch that it asks for, until its output states whether it was applied.
    patch: Option<Patch>,
    /// Hash of the text of its output.
    output: Option<u64>,
    progress: Progress,
    /// The harness has listed the changes that it made.
    changes_listed: bool,
    /// How often its command begins a new line.
    command_breaks: usize,
    /// The type of the last record that states the call or its end for the screen.
    mirror: Option<&'static str>,
    /// How many earlier calls with its id no record for the screen has stated: one may still come.
    unstated: u32,
}

impl Call {
    fn may_be_stated_by(&self, record: &'static str) -> bool {
        self.mirror != Some(record) || self.unstated > 0
    }
}

/// A call that begins.
#[derive(Debug, Default)]
pub struct NewCall {
    pub tool: Cow<'static, str>,
    /// The patch that it asks for, as a JSON token.
    pub patch: Option<Patch>,
    /// How often its command begins a new line.
    pub command_breaks: usize,
}

/// A patch that a call asks for.
#[derive(Debug)]
pub struct Patch {
    /// Its text, as a JSON token.
    pub token: KeptText,
    /// The directory that its paths are relative to, if the log states it.
    pub directory: Option<String>,
}

/// A call that has its output.
#[derive(Debug)]
pub struct ReturnedCall<'c> {
    /// The tool's name.
    pub tool: &'c str,
    /// The patch of a call whose changes no record lists.
    pub unlisted_patch: Option<Patch>,
}

/// The calls of the session, by call id.
#[derive(Debug, Default)]
pub struct OpenCalls {
    calls: PendingCalls<Call>,
    /// By session: how often its command begins a new line, if it does.
    sessions: PendingCalls<usize>,
    /// The ids of scripts of code mode that are running.
    scripts: Vec<String>,
}

impl OpenCalls {
    /// Records a call.
    pub fn open(&mut self, call_id: &str, call: NewCall) {
        let NewCall { tool, patch, command_breaks } = call;
        let unstated = if self.progress(call_id) == Some(Progress::Ended) { self.close(call_id) } else { 0 };
        self.calls.open(call_id, Call { tool, patch, command_breaks, unstated, ..Call::default() });
    }

    /// Removes the current call with this id. Returns how many calls no record for the screen has stated.
    fn close(&mut self, call_id: &str) -> u32 {
        self.calls.close(call_id).map_or(0, |call| call.unstated + u32::from(call.mirror.is_none()))
    }

    /// Several calls can have this id. Selects one that has not got its last result, so that the next result belongs to it.
    pub fn choose_open(&mut self, call_id: &str) {
        while self.calls.hides(call_id) && self.progress(call_id) == Some(Progress::Ended) {
            let unstated = self.close(call_id);
            if let Some(call) = self.calls.get_mut(call_id) {
                call.unstated += unstated;
            }
        }
    }

    /// True if a record of this type may be about a call with this id: each call has one of its type. A further one is about another call,
    /// which no response item states.
    pub fn may_be_stated_by(&mut self, call_id: &str, record: &'static str) -> bool {
        self.calls.get(call_id).is_none() || self.calls.find_mut(call_id, |call| call.may_be_stated_by(record)).is_some()
    }

    /// Records that a record of this type was about a call with this id.
    pub fn set_stated_by(&mut self, call_id: &str, record: &'static str) {
        if let Some(call) = self.calls.find_mut(call_id, |call| call.may_be_stated_by(record)) {
            match call.mirror.replace(record) {
                Some(last) if last == record => call.unstated -= 1,
                _ => {}
            }
        }
    }

    /// Records that the command of a call runs on in a session, which later calls name.
    pub fn add_session(&mut self, session: u64, call_id: &str) {
        let breaks = self.command_breaks(call_id);
        if breaks > 0 {
            self.sessions.open(session, breaks);
        }
    }

    /// How often the command of a session begins a new line.
    pub fn session_breaks(&self, session: u64) -> usize {
        self.sessions.get(session).copied().unwrap_or_default()
    }

    /// How often the command of a call begins a new line.
    pub fn command_breaks(&self, call_id: &str) -> usize {
        self.calls.get(call_id).map_or(0, |call| call.command_breaks)
    }

    /// Records that a call runs a script of code mode, which may make calls itself.
    pub fn add_script(&mut self, call_id: &str) {
        self.scripts.push(call_id.to_owned());
    }

    /// The script that is running. None if several are: no record states which of them makes a call.
    pub fn only_script(&self) -> Option<&str> {
        if let [script] = self.scripts.as_slice() { Some(script) } else { None }
    }

    /// The tool of a call.
    pub fn tool(&self, call_id: &str) -> Option<&str> {
        self.calls.get(call_id).map(|call| call.tool.as_ref())
    }

    /// The patch that a call asks for, if it has no output yet.
    pub fn patch(&self, call_id: &str) -> Option<&Patch> {
        self.calls.get(call_id).and_then(|call| call.patch.as_ref())
    }

    /// True when the call asks for a patch and has no output yet.
    pub fn has_patch(&self, call_id: &str) -> bool {
        self.patch(call_id).is_some()
    }

    /// How far a call is. None if the call is unknown.
    pub fn progress(&self, call_id: &str) -> Option<Progress> {
        self.calls.get(call_id).map(|call| call.progress)
    }

    /// Records that the harness listed the changes of a call.
    pub fn set_changes_listed(&mut self, call_id: &str) {
        if let Some(call) = self.calls.get_mut(call_id) {
            call.changes_listed = true;
        }
    }

    /// Records that a call ended and gave no output for the model.
    pub fn end_without_output(&mut self, call_id: &str) {
        if let Some(call) = self.calls.get_mut(call_id) {
            call.progress = Progress::Ended;
        }
    }

    /// True when this is the recorded text of the call's output.
    pub fn is_output(&self, call_id: &str, text: &str) -> bool {
        self.calls.get(call_id).is_some_and(|call| call.output == Some(OutputKey::of(text).0))
    }

    /// Records the output of a call. None if the call is unknown.
    pub fn add_output(&mut self, call_id: &str, progress: Progress, output: Option<OutputKey>) -> Option<ReturnedCall<'_>> {
        let call = self.calls.get_mut(call_id)?;
        call.progress = progress;
        call.output = output.map(|key| key.0);
        self.scripts.retain(|script| script != call_id);
        let patch = call.patch.take();
        Some(ReturnedCall { tool: &call.tool, unlisted_patch: patch.filter(|_| !call.changes_listed) })
    }
}

/// Hash of an output's text, to recognize it when it is repeated.
#[derive(Debug, Clone, Copy)]
pub struct OutputKey(u64);

impl OutputKey {
    /// The key of a text.
    pub fn of(text: &str) -> OutputKey {
        OutputKey(hash64(text))
    }
}
