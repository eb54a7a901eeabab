//! Scripts of code mode (0.169 and later), and which of them makes a call. A script may go on behind, beside others and after its turn.

use engram_core::event::Seq;
use engram_core::keys::hash64;
use engram_core::text::Text;

use crate::codex::record::Record;
use crate::shared::time::millis;
use crate::shared::value::{Field, Value, integer, raw_str, text};

/// How the output of a script begins that goes on behind. Its cell follows, up to the end of the line.
const GOES_ON: &str = "Script running with cell ID ";
/// How the ids of calls begin that a script makes.
const MADE_BY_SCRIPT: &str = "exec-";
/// The most scripts that are known at a time. The oldest is forgotten first.
const MAX_SCRIPTS: usize = 256;

/// The scripts, in the order in which they began.
#[derive(Debug, Default)]
pub struct Scripts(Vec<Script>);

#[derive(Debug)]
struct Script {
    /// The event of its `exec` call.
    seq: Seq,
    /// The key of the call whose output may be the end of the script: its own call at first, then the latest call that waits for the script.
    /// `None` if the script has ended.
    ended_by: Option<u64>,
    /// The key of its cell, if it goes on behind.
    cell: Option<u64>,
    begun: Moment,
    /// When it ended, in milliseconds since the epoch.
    ended: Option<i64>,
}

/// When something begins, in milliseconds since the epoch, and the key of its turn. None if the log does not say it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moment {
    time: Option<i64>,
    turn: Option<u64>,
}

impl Moment {
    /// When the call of a response item was written.
    pub fn of_call(record: &Record<'_>) -> Moment {
        let passed = record
            .value
            .first_member("internal_chat_message_metadata_passthrough");
        Moment {
            time: written(record),
            turn: turn(passed.and_then(|passed| passed.first_member("turn_id"))),
        }
    }

    /// When the call of a completed item began.
    fn of_item(record: &Record<'_>) -> Moment {
        let payload = record.line.first_member("payload");
        let payload = payload.unwrap_or(Value::MISSING);
        Moment {
            time: integer(payload.first_member("started_at_ms")),
            turn: turn(payload.first_member("turn_id")),
        }
    }
}

/// When a record was written.
fn written(record: &Record<'_>) -> Option<i64> {
    millis(raw_str(record.line.first_member("timestamp")))
}

fn turn(id: Field<'_>) -> Option<u64> {
    text(id).map(|id| hash64(&*id.decode_lossy()))
}

impl Script {
    /// True if the script may have made a call that began then. A script makes all its calls in its own turn.
    fn may_make(&self, made: Moment) -> bool {
        let is_of_turn = self.begun.turn.zip(made.turn);
        let is_then = match made.time {
            Some(time) => {
                self.begun.time.is_none_or(|begun| begun <= time)
                    && self.ended.is_none_or(|ended| time <= ended)
            }
            None => self.ended_by.is_some(),
        };
        is_then && is_of_turn.is_none_or(|(own, of_call)| own == of_call)
    }
}

impl Scripts {
    /// A script begins.
    pub fn begin(&mut self, call: u64, seq: Seq, begun: Moment) {
        if self.0.len() == MAX_SCRIPTS {
            self.0.remove(0);
        }
        self.0.push(Script {
            seq,
            ended_by: Some(call),
            cell: None,
            begun,
            ended: None,
        });
    }

    /// A call waits for the script of a cell. Another process counts its cells from the beginning.
    pub fn wait(&mut self, call: u64, cell: &str) {
        let cell = Some(hash64(cell));
        let mut running = self.0.iter_mut().rev();
        let waited = running.find(|script| script.cell == cell && script.ended_by.is_some());
        if let Some(script) = waited {
            script.ended_by = Some(call);
        }
    }

    /// The output of a call: its script has ended, or goes on in a cell.
    pub fn output(&mut self, call: u64, output: Option<Text<'_>>, record: &Record<'_>) {
        if !self.0.is_empty() {
            self.read_output(call, output, written(record));
        }
    }

    fn read_output(&mut self, call: u64, output: Option<Text<'_>>, time: Option<i64>) {
        let mut scripts = self.0.iter_mut().rev();
        let Some(script) = scripts.find(|script| script.ended_by == Some(call)) else {
            return;
        };
        match output.filter(|output| output.starts_with(GOES_ON)) {
            Some(output) => {
                let output = output.decode_lossy();
                let cell = output[GOES_ON.len()..].lines().next();
                script.cell = cell.map(hash64);
            }
            None => (script.ended_by, script.ended) = (None, time),
        }
    }

    /// The script that made the call of an item. None if several may have made it, and for a call that no script made.
    pub fn maker(&self, id: Option<Text<'_>>, record: &Record<'_>) -> Option<Seq> {
        if self.0.is_empty() || !id?.starts_with(MADE_BY_SCRIPT) {
            return None;
        }
        let maker = self.maker_of(Moment::of_item(record))?;
        self.0.get(maker).map(|script| script.seq)
    }

    /// The place of the only script that may have made a call.
    fn maker_of(&self, made: Moment) -> Option<usize> {
        let scripts = self.0.iter().enumerate();
        let mut makers = scripts.filter(|(_, script)| script.may_make(made));
        let (maker, _) = makers.next()?;
        makers.next().is_none().then_some(maker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: i64, turn: u64) -> Moment {
        Moment {
            time: Some(time),
            turn: Some(turn),
        }
    }

    fn goes_on(scripts: &mut Scripts, call: u64, cell: &str) {
        let output = format!("{GOES_ON}{cell}\nWall time 0.4 seconds\n");
        scripts.read_output(call, Some(Text::Plain(&output)), None);
    }

    fn ends(scripts: &mut Scripts, call: u64, time: i64) {
        scripts.read_output(call, Some(Text::Plain("Script completed\n")), Some(time));
    }

    #[test]
    fn a_script_makes_calls_up_to_the_output_that_is_its_end() {
        let mut scripts = Scripts::default();
        scripts.begin(1, Seq::default(), at(100, 7));
        ends(&mut scripts, 9, 105);
        goes_on(&mut scripts, 1, "4");
        scripts.wait(2, "4");
        goes_on(&mut scripts, 2, "4");
        // What a script prints meanwhile is no end, nor is the end of another one.
        ends(&mut scripts, 1, 110);
        scripts.wait(3, "5");
        ends(&mut scripts, 3, 120);
        let made = |scripts: &Scripts, time| scripts.maker_of(at(time, 7));
        assert_eq!(made(&scripts, 130), Some(0));
        assert_eq!(made(&scripts, 99), None);
        scripts.wait(3, "4");
        ends(&mut scripts, 3, 140);
        // The item of a call may be written after the end of its script.
        assert_eq!(made(&scripts, 139), Some(0));
        assert_eq!(made(&scripts, 141), None);
        assert_eq!(scripts.maker_of(Moment::default()), None);
    }

    #[test]
    fn of_several_scripts_that_run_none_is_told_to_make_a_call() {
        let mut scripts = Scripts::default();
        scripts.begin(1, Seq::default(), at(100, 7));
        goes_on(&mut scripts, 1, "1");
        scripts.begin(2, Seq::default(), at(200, 7));
        assert_eq!(scripts.maker_of(at(150, 7)), Some(0));
        assert_eq!(scripts.maker_of(at(250, 7)), None);
        // In a later turn, of another process.
        scripts.begin(3, Seq::default(), at(300, 8));
        assert_eq!(scripts.maker_of(at(350, 8)), Some(2));
    }
}
