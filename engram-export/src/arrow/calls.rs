//! Calls that wait for their results, so that both are one row of `calls`, in the order of the calls.

use std::collections::VecDeque;

use engram_core::event::*;
use engram_core::text::Text;

use super::column::*;

use super::rows::Rows;
use super::small::CallRows;
use super::values::{Place, artifact_json, attachments_json, session_key};
use crate::text::Decoder;

/// So many calls wait at most,
const MAX_CALLS: usize = 4096;
/// and with so many bytes of arguments and results.
const MAX_BYTES: usize = 32 << 20;

/// The calls whose rows are not written, in their order.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    calls: VecDeque<Row>,
    bytes: usize,
}

/// A row of `calls` on its way.
#[derive(Debug, Default)]
struct Row {
    /// By which the rows are sorted: the number of the call, or of a result without one.
    order: u64,
    session_id: Option<String>,
    agent_id: Option<String>,
    seq: Option<i64>,
    turn: Option<i64>,
    t: Option<i64>,
    tool: Option<String>,
    server: Option<String>,
    tool_kind: Option<&'static str>,
    call_id: Option<String>,
    message_id: Option<String>,
    args: Option<String>,
    result: Option<ResultPart>,
    has_own_time: bool,
    is_replay: bool,
    is_lossy: bool,
}

#[derive(Debug, Default)]
struct ResultPart {
    seq: i64,
    t: Option<i64>,
    has_own_time: bool,
    status: Option<&'static str>,
    exit: Option<i64>,
    stdout: Option<String>,
    stderr: Option<String>,
    truncated: bool,
    artifact: Option<String>,
    attachments: Option<String>,
    duration_ms: Option<u64>,
}

impl OpenCalls {
    /// A call begins to wait.
    pub(super) fn call(
        &mut self,
        place: &Place<'_>,
        record: &EventRef<'_>,
        call: &ToolCall<'_>,
        decoder: &mut Decoder,
    ) {
        let row = Row {
            seq: Some(int(record.seq.get())),
            tool: text(Some(call.tool), decoder),
            server: text(call.server, decoder),
            tool_kind: Some(call.kind.as_str()),
            call_id: text(call.call_id, decoder),
            message_id: text(call.message_id, decoder),
            args: call.args.map(|args| decoder.json(args).into_owned()),
            ..Row::at(place, record)
        };
        self.add(Row {
            is_lossy: decoder.take_lossy(),
            ..row
        });
    }

    /// A result goes to its call. False if the call has a row already.
    pub(super) fn result(
        &mut self,
        place: &Place<'_>,
        record: &EventRef<'_>,
        result: &ToolResult<'_>,
        decoder: &mut Decoder,
    ) -> bool {
        let part = ResultPart {
            seq: int(record.seq.get()),
            t: place.t,
            has_own_time: record.t_basis.is_none(),
            status: result.status.map(Status::as_str),
            exit: result.exit,
            stdout: text(result.stdout, decoder),
            stderr: text(result.stderr, decoder),
            truncated: result.truncated,
            artifact: result
                .artifact
                .as_ref()
                .map(|artifact| artifact_json(artifact, decoder)),
            attachments: attachments_json(&result.attachments, decoder),
            duration_ms: result.duration_ms,
        };
        let at = record.parent.and_then(|call| {
            self.calls
                .binary_search_by_key(&call.get(), |row| row.order)
                .ok()
        });
        match at
            .map(|at| &mut self.calls[at])
            .filter(|row| row.result.is_none())
        {
            Some(row) => {
                self.bytes += part.bytes();
                row.result = Some(part);
                row.is_lossy |= decoder.take_lossy();
                true
            }
            None => {
                let (tool, call_id) = (text(result.tool, decoder), text(result.call_id, decoder));
                let is_lossy = decoder.take_lossy();
                self.add(Row {
                    tool,
                    call_id,
                    result: Some(part),
                    is_lossy,
                    ..Row::at(place, record)
                });
                record.parent.is_none()
            }
        }
    }

    fn add(&mut self, row: Row) {
        self.bytes += row.bytes();
        self.calls.push_back(row);
    }

    /// Writes the rows at the front that have their result, or waited too long.
    pub(super) fn take_settled(&mut self, tape: &str, harness: &str, rows: &mut CallRows) {
        while let Some(row) = self.calls.front()
            && (row.result.is_some() || self.calls.len() > MAX_CALLS || self.bytes > MAX_BYTES)
        {
            self.take_first(tape, harness, rows);
        }
    }

    /// Writes all rows: no result will come.
    pub(super) fn take_all(&mut self, tape: &str, harness: &str, rows: &mut CallRows) {
        while !self.calls.is_empty() {
            self.take_first(tape, harness, rows);
        }
    }

    fn take_first(&mut self, tape: &str, harness: &str, rows: &mut CallRows) {
        if let Some(row) = self.calls.pop_front() {
            self.bytes = self.bytes.saturating_sub(row.bytes());
            row.push(tape, harness, rows);
        }
    }
}

impl Row {
    fn at(place: &Place<'_>, record: &EventRef<'_>) -> Row {
        Row {
            order: record.seq.get(),
            session_id: place.session_id.map(str::to_owned),
            agent_id: place.agent_id.map(str::to_owned),
            turn: place.turn,
            t: place.t,
            has_own_time: record.t_basis.is_none(),
            is_replay: record.replay,
            ..Row::default()
        }
    }

    fn bytes(&self) -> usize {
        self.args.as_ref().map_or(0, String::len)
            + self.result.as_ref().map_or(0, ResultPart::bytes)
            + size_of::<Row>()
    }

    fn push(&self, tape: &str, harness: &str, rows: &mut CallRows) {
        rows.tape.push(tape);
        rows.harness.push(harness);
        word(&mut rows.session_id, self.session_id.as_deref());
        word(&mut rows.agent_id, self.agent_id.as_deref());
        let (session, agent) = (self.session_id.as_deref(), self.agent_id.as_deref());
        rows.session_key.push(&session_key(tape, session, agent));
        number(&mut rows.seq, self.seq);
        number(&mut rows.turn, self.turn);
        if self.seq.is_some() {
            self.t.into_iter().for_each(|t| rows.t.push(t));
        }
        word(&mut rows.tool, self.tool.as_deref());
        word(&mut rows.server, self.server.as_deref());
        word(&mut rows.tool_kind, self.tool_kind);
        string(&mut rows.call_id, &self.call_id);
        string(&mut rows.message_id, &self.message_id);
        string(&mut rows.args, &self.args);
        if let Some(result) = &self.result {
            result.push(rows);
            if let (Some(t), Some(end)) = (self.t, result.t)
                && self.seq.is_some()
                && self.has_own_time
                && result.has_own_time
            {
                rows.elapsed_ms.push(end.saturating_sub(t) / 1_000_000);
            }
        }
        rows.replay.push(self.is_replay);
        rows.lossy.push(self.is_lossy);
        rows.end_row();
    }
}

impl ResultPart {
    fn bytes(&self) -> usize {
        [
            &self.stdout,
            &self.stderr,
            &self.artifact,
            &self.attachments,
        ]
        .into_iter()
        .flatten()
        .map(String::len)
        .sum()
    }

    fn push(&self, rows: &mut CallRows) {
        rows.result_seq.push(self.seq);
        self.t.into_iter().for_each(|t| rows.result_t.push(t));
        word(&mut rows.status, self.status);
        number(&mut rows.exit, self.exit);
        string(&mut rows.stdout, &self.stdout);
        string(&mut rows.stderr, &self.stderr);
        rows.truncated.push(self.truncated);
        string(&mut rows.artifact, &self.artifact);
        string(&mut rows.attachments, &self.attachments);
        number(&mut rows.duration_ms, self.duration_ms.map(int));
    }
}

fn text(text: Option<Text<'_>>, decoder: &mut Decoder) -> Option<String> {
    text.map(|text| decoder.text(text).to_owned())
}

fn word(column: &mut Words, word: Option<&str>) {
    word.into_iter().for_each(|word| column.push(word));
}

fn string(column: &mut Texts, text: &Option<String>) {
    text.iter().for_each(|text| column.push(text));
}

fn number(column: &mut Ints, number: Option<i64>) {
    number.into_iter().for_each(|number| column.push(number));
}
