//! The sink that fills the tables.

use std::io;

use arrow_array::RecordBatch;
use engram_core::event::{Event, EventRef, Meta, TimeBasis};
use engram_core::prices::Prices;
use engram_core::sink::EventSink;
use engram_core::stats::computed_cost;

use super::calls::OpenCalls;
use super::events::EventRows;
use super::rows::Rows;
use super::schema;
use super::sessions::Sessions;
use super::small::{CallRows, EditRows, PromptRows, SessionRows, UsageRows};
use super::table::{BatchSink, Table};
use super::tapes::{TapeFacts, TapeRows};
use super::values::{Place, Project, session_key};
use crate::losses::{Losses, Rule, SURROGATE, TIME_PRECISION, TIME_RANGE, UNKNOWN_LABEL};
use crate::text::{Decoder, owned};
use crate::time::{Moment, moment};
use crate::turn::Turns;

/// A batch has at most this many rows,
const BATCH_ROWS: usize = 8192;
/// and ends with the row that takes its texts over this size.
const BATCH_BYTES: usize = 8 << 20;

/// What the tables cannot hold.
pub const RULES: &[Rule] = &[
    SURROGATE,
    TIME_RANGE,
    TIME_PRECISION,
    UNKNOWN_LABEL,
    FURTHER_RESULT,
    MORE_SESSIONS,
];

/// A call waits for its result in `calls` among so many others at most.
pub(super) const FURTHER_RESULT: Rule = Rule {
    name: "calls.far_result",
    meaning: "a result more than 4096 calls, or 32 MiB of them, after its call: it is a row of `calls` of its own",
};
/// Sums for so many sessions are kept at most.
pub(super) const MORE_SESSIONS: Rule = Rule {
    name: "sessions.more",
    meaning: "an event of a session after the first 4096 of its tape: it is not in `sessions`",
};

/// A sink that turns tapes to rows, and passes them on in batches. Memory is bounded by two batches of each table and the calls that wait
/// for a result.
///
/// It takes any number of tapes, one after the other: [`begin`](Tables::begin), then a [replay](engram_core::tape::replay) or a
/// conversion of it.
#[derive(Debug)]
pub struct Tables<B> {
    out: B,
    wanted: [bool; Table::ALL.len()],
    /// The tables that get rows of this tape.
    fills: [bool; Table::ALL.len()],
    tape: String,
    /// The tape that this one repeats.
    repeats: Option<String>,
    facts: TapeFacts,
    turns: Turns,
    sessions: Sessions,
    open_calls: OpenCalls,
    decoder: Decoder,
    losses: Losses,
    last_time: (String, Option<i64>),
    session: Session,
    prices: Prices,
    project: Project,
    events: EventRows,
    tapes: TapeRows,
    session_rows: SessionRows,
    prompts: PromptRows,
    calls: CallRows,
    edits: EditRows,
    usage: UsageRows,
}

/// The session of the last event, with its ids as the tape writes them.
#[derive(Debug, Default)]
struct Session {
    raw: (Option<String>, Option<String>),
    ids: (Option<String>, Option<String>),
    /// The key of the ids on this tape; empty before the first event.
    key: String,
}

impl Session {
    fn update(&mut self, tape: &str, record: &EventRef<'_>) {
        let source = record.source;
        let raw = (
            source.session_id.map(|id| id.raw()),
            source.agent_id.map(|id| id.raw()),
        );
        if self.key.is_empty() || (self.raw.0.as_deref(), self.raw.1.as_deref()) != raw {
            self.raw = (raw.0.map(str::to_owned), raw.1.map(str::to_owned));
            self.ids = (source.session_id.map(owned), source.agent_id.map(owned));
            self.key = session_key(tape, self.ids.0.as_deref(), self.ids.1.as_deref());
        }
    }
}

impl<B: BatchSink> Tables<B> {
    /// A sink that fills these tables and passes them to `out`.
    pub fn new(out: B, wanted: &[Table]) -> Self {
        let wanted = Table::ALL.map(|table| wanted.contains(&table));
        Tables {
            out,
            wanted,
            fills: wanted,
            tape: String::new(),
            repeats: None,
            facts: TapeFacts::default(),
            turns: Turns::default(),
            sessions: Sessions::default(),
            open_calls: OpenCalls::default(),
            decoder: Decoder::default(),
            losses: Losses::new("parquet", &[RULES]),
            last_time: (String::new(), None),
            session: Session::default(),
            prices: Prices::builtin().clone(),
            project: |directory| directory.to_owned(),
            events: EventRows::default(),
            tapes: TapeRows::default(),
            session_rows: SessionRows::default(),
            prompts: PromptRows::default(),
            calls: CallRows::default(),
            edits: EditRows::default(),
            usage: UsageRows::default(),
        }
    }

    /// Computes costs by these prices, in place of those of this program.
    #[must_use]
    pub fn with_prices(mut self, prices: Prices) -> Self {
        self.prices = prices;
        self
    }

    /// Names the project of a directory that a session began in. Without it, the directory is the project.
    #[must_use]
    pub fn with_projects(mut self, project: Project) -> Self {
        self.project = project;
        self
    }

    /// The next tape has this name, by which its rows are known. It should be unique, and sort after that of the tape before.
    pub fn begin(&mut self, tape: &str) {
        tape.clone_into(&mut self.tape);
        (self.repeats, self.fills) = (None, self.wanted);
    }

    /// As [`begin`](Tables::begin), for a tape of a session that is counted from another tape: only `events` and `tapes` get rows.
    pub fn begin_repeat(&mut self, tape: &str, of: &str) {
        self.begin(tape);
        self.repeats = Some(of.to_owned());
        for table in Table::ALL {
            self.fills[table as usize] &= matches!(table, Table::Events | Table::Tapes);
        }
    }

    /// What was lost so far.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Passes the last rows on. Gives the sink of the batches and what was lost.
    ///
    /// # Errors
    /// Those of the sink of the batches.
    pub fn finish(mut self) -> io::Result<(B, Losses)> {
        self.flush(1, 0)?;
        Ok((self.out, self.losses))
    }

    fn fills(&self, table: Table) -> bool {
        self.fills[table as usize]
    }

    /// Passes the rows of a table on where there are so many.
    fn flush(&mut self, rows: usize, bytes: usize) -> io::Result<()> {
        let is_full = |len: usize, size: usize| len >= rows || (len > 0 && size >= bytes);
        let out = &mut self.out;
        pass(&mut self.events, Table::Events, is_full, out)?;
        pass(&mut self.tapes, Table::Tapes, is_full, out)?;
        pass(&mut self.session_rows, Table::Sessions, is_full, out)?;
        pass(&mut self.prompts, Table::Prompts, is_full, out)?;
        pass(&mut self.calls, Table::Calls, is_full, out)?;
        pass(&mut self.edits, Table::Edits, is_full, out)?;
        pass(&mut self.usage, Table::Usage, is_full, out)
    }

    /// The time in nanoseconds. Many events of a tape have the same.
    fn time(&mut self, record: &EventRef<'_>) -> Option<i64> {
        if record.t_basis == Some(TimeBasis::Absent) {
            return None;
        }
        if self.last_time.0 != record.t {
            let moment = moment(record.t);
            match moment {
                Moment::Exact(_) => {}
                Moment::Cut(_) => self.losses.count(&TIME_PRECISION),
                Moment::OutOfRange => self.losses.count(&TIME_RANGE),
            }
            self.last_time.0.clear();
            self.last_time.0.push_str(record.t);
            self.last_time.1 = moment.nanoseconds();
        }
        self.last_time.1
    }

    fn rows(&mut self, record: &EventRef<'_>) {
        let t = self.time(record);
        let turn = self.turns.of(record).map(super::column::int);
        self.session.update(&self.tape, record);
        self.facts.note(record, t);
        let (session_id, agent_id) = &self.session.ids;
        let place = Place {
            tape: &self.tape,
            session_id: session_id.as_deref(),
            agent_id: agent_id.as_deref(),
            session_key: &self.session.key,
            turn,
            t,
        };
        let decoder = &mut self.decoder;
        if self.fills[Table::Events as usize] && self.events.push(&place, record, decoder) {
            self.losses.count(&SURROGATE);
        }
        let has_place = self.sessions.note(&place, record);
        let computed = match record.event {
            Event::Meta(Meta::Usage(usage)) => {
                computed_cost(usage, self.sessions.model(&place), &self.prices)
            }
            _ => None,
        };
        if let Some(cost) = computed.filter(|_| has_place && !record.replay) {
            self.sessions.add_cost(cost);
        }
        if !has_place {
            self.losses.count(&MORE_SESSIONS);
        }
        match record.event {
            Event::MsgIn(message) if self.fills[Table::Prompts as usize] => {
                self.prompts.push(&place, record, message, decoder)
            }
            Event::CodeEdit(edit) if self.fills[Table::Edits as usize] => {
                self.edits.push(&place, record, edit, decoder)
            }
            Event::Meta(Meta::Usage(usage)) if self.fills[Table::Usage as usize] => {
                let model = self.sessions.model(&place);
                self.usage
                    .push(&place, record, usage, (model, computed), decoder);
            }
            Event::ToolCall(call) if self.fills[Table::Calls as usize] => {
                self.open_calls.call(&place, record, call, decoder)
            }
            Event::ToolResult(result)
                if self.fills[Table::Calls as usize]
                    && !self.open_calls.result(&place, record, result, decoder) =>
            {
                self.losses.count(&FURTHER_RESULT);
            }
            Event::Meta(Meta::Other(_)) => self.losses.count(&UNKNOWN_LABEL),
            _ => {}
        }
        self.open_calls
            .take_settled(&self.tape, record.source.harness, &mut self.calls);
    }

    fn end_tape(&mut self) -> io::Result<()> {
        let harness = self.facts.harness().to_owned();
        self.open_calls
            .take_all(&self.tape, &harness, &mut self.calls);
        if self.fills(Table::Tapes) {
            self.tapes
                .push((&self.tape, self.repeats.as_deref()), &self.facts);
        }
        if self.fills(Table::Sessions) {
            self.sessions
                .push_all((&self.tape, &harness), self.project, &mut self.session_rows);
        }
        self.losses.tape();
        self.facts = TapeFacts::default();
        self.sessions = Sessions::default();
        self.turns.clear();
        self.session = Session::default();
        self.flush(BATCH_ROWS, BATCH_BYTES)
    }
}

fn pass<R: Rows>(
    rows: &mut R,
    table: Table,
    is_full: impl Fn(usize, usize) -> bool,
    out: &mut impl BatchSink,
) -> io::Result<()> {
    if !is_full(rows.len(), rows.bytes()) || rows.len() == 0 {
        return Ok(());
    }
    let batch = RecordBatch::try_new(schema::of(table), rows.finish()).map_err(io::Error::other)?;
    out.batch(table, batch)
}

impl<B: BatchSink> EventSink for Tables<B> {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        self.rows(record);
        self.flush(BATCH_ROWS, BATCH_BYTES)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.end_tape()
    }
}
