//! The edits of one tape, by file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use engram_core::event::*;
use engram_core::sink::EventSink;
use engram_core::text::Text;
use jiff::Timestamp;

/// A sink for the edits of one tape in a period. Repeated history of other sessions does not count.
#[derive(Debug)]
pub struct Edits {
    period: (Option<Timestamp>, Option<Timestamp>),
    /// The tool of each call.
    calls: HashMap<Seq, String>,
    files: BTreeMap<String, Changes>,
}

/// What happened to one file.
#[derive(Debug, Default)]
pub struct Changes {
    pub edits: u64,
    pub tools: BTreeMap<String, u64>,
    /// The sessions and sub-agents that made the edits.
    pub sessions: BTreeSet<String>,
    /// The times of the first and the last edit, if the log has times.
    pub first: Option<String>,
    pub last: Option<String>,
}

impl Edits {
    /// The edits from the first to the last time.
    pub fn new(period: (Option<Timestamp>, Option<Timestamp>)) -> Edits {
        Edits {
            period,
            calls: HashMap::new(),
            files: BTreeMap::new(),
        }
    }

    /// True if it changed a file that is wanted.
    pub fn has_edits(&self, is_wanted: impl Fn(&str) -> bool) -> bool {
        self.files.keys().any(|file| is_wanted(file))
    }

    pub fn into_files(self) -> BTreeMap<String, Changes> {
        self.files
    }

    /// An edit without a time is in the period if its session is.
    fn is_in_period(&self, time: &str) -> bool {
        let (since, until) = self.period;
        let Some(time) = time
            .parse::<Timestamp>()
            .ok()
            .filter(|_| since.is_some() || until.is_some())
        else {
            return true;
        };
        since.is_none_or(|since| time >= since) && until.is_none_or(|until| time <= until)
    }

    fn add(
        &mut self,
        file: String,
        source: &EventSource<'_>,
        call: Option<Seq>,
        time: Option<String>,
    ) {
        let changes = self.files.entry(file).or_default();
        changes.edits += 1;
        changes.sessions.insert(whose(source));
        if let Some(tool) = call.and_then(|call| self.calls.get(&call)) {
            *changes.tools.entry(tool.clone()).or_default() += 1;
        }
        changes.first = changes.first.take().or_else(|| time.clone());
        changes.last = time.or(changes.last.take());
    }
}

impl EventSink for Edits {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        if record.replay {
            return Ok(());
        }
        match record.event {
            Event::ToolCall(call) => drop(
                self.calls
                    .insert(record.seq, call.tool.decode_lossy().into_owned()),
            ),
            Event::CodeEdit(edit) if self.is_in_period(record.t) => {
                let time = (record.t_basis != Some(TimeBasis::Absent)).then(|| record.t.to_owned());
                let file = edit.file.decode_lossy().into_owned();
                self.add(file, &record.source, record.parent, time);
            }
            _ => {}
        }
        Ok(())
    }
}

/// `session/agent`, or only one of them if they are the same.
fn whose(source: &EventSource<'_>) -> String {
    let name = |id: Option<Text<'_>>| id.map(|id| id.decode_lossy().into_owned());
    let mut ids: Vec<String> = [source.session_id, source.agent_id]
        .into_iter()
        .filter_map(name)
        .collect();
    ids.dedup();
    ids.join("/")
}
