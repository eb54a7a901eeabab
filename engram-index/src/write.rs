//! Rows become the database: new tapes, tapes that grew, tapes that others supersede.

use std::collections::{HashMap, HashSet};

use rusqlite::{OptionalExtension, params};

use crate::diff;
use crate::error::Error;
use crate::line_key::letters;
use crate::parts;
use crate::read_back::{self, Stored};
use crate::rows::{CallRow, Digest, Kind, PromptRow, SaidRow, SpanRow, StepRow, TapeRow, TapeRows};
use crate::runs::{self, Entry, Of};
use crate::store::Writer;
use crate::supersede::{Relation, relation};

/// What became of a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It is new.
    New,
    /// The rows of an older state of the session became its rows.
    Grew,
    /// Of it and another tape that is there, one says everything that the other one says.
    Superseded,
    /// It was there under another path.
    Known,
}

impl Writer {
    /// Writes the rows of a tape, inside the transaction of the caller.
    pub(crate) fn put(
        &mut self,
        rows: &TapeRows,
        anchors: &mut Anchors,
    ) -> Result<(i64, Put), Error> {
        self.put_rows(rows, anchors)
            .map_err(|error| self.failed(error))
    }

    fn put_rows(&mut self, rows: &TapeRows, anchors: &mut Anchors) -> rusqlite::Result<(i64, Put)> {
        if let Some(id) = self.tape_with(&rows.tape.tape_hash)? {
            return Ok((id, Put::Known));
        }
        let mut absorbed: Vec<(i64, Stored)> = Vec::new();
        let mut put = Put::Grew;
        for id in self.others_of(&rows.tape)? {
            let stored = read_back::rows(&self.db, id)?;
            // The file of the older tape has become this one: nothing of it will be read again.
            let is_gone = !self.has_place(id)?;
            match relation(&stored.rows, rows) {
                Relation::Supersedes if !is_gone => {
                    let bare = self.insert_tape(&rows.tape)?;
                    self.db.execute(
                        "UPDATE tape SET superseded_by = ?2 WHERE id = ?1",
                        [bare, id],
                    )?;
                    return Ok((bare, Put::Superseded));
                }
                Relation::Superseded | Relation::Supersedes => {
                    if !is_gone {
                        put = Put::Superseded;
                    }
                    absorbed.push((id, stored));
                }
                // A tape takes the place of another one only if it says all that counts; the older one may have other words for it.
                Relation::Apart if is_gone => absorbed.push((id, stored)),
                // A copy before an undo says what the new one does not.
                Relation::Apart => {}
            }
        }
        let mut absorbed = absorbed.into_iter();
        let Some((id, stored)) = absorbed.next() else {
            let id = self.insert_tape(&rows.tape)?;
            self.insert_rows(id, rows, anchors)?;
            return Ok((id, Put::New));
        };
        self.replace(id, &stored, rows, anchors)?;
        for (other, _) in absorbed {
            self.delete_rows(other)?;
            self.db.execute(
                "UPDATE tape SET superseded_by = ?2 WHERE id = ?1 OR superseded_by = ?1",
                [other, id],
            )?;
            self.drop_if_nowhere(other)?;
        }
        Ok((id, put))
    }

    fn tape_with(&self, hash: &Digest) -> rusqlite::Result<Option<i64>> {
        self.db
            .prepare_cached("SELECT id FROM tape WHERE tape_hash = ?1")?
            .query_row([hash], |row| row.get(0))
            .optional()
    }

    /// The current tapes with the same harness, session and agent. Where the log names no session, nobody knows.
    fn others_of(&mut self, tape: &TapeRow) -> rusqlite::Result<Vec<i64>> {
        if tape.session.is_none() {
            return Ok(Vec::new());
        }
        let key = (
            self.name(&tape.harness)?,
            self.maybe_name(tape.session.as_deref())?,
            self.maybe_name(tape.agent.as_deref())?,
        );
        let sql = "SELECT id FROM tape WHERE harness = ?1 AND session IS ?2 AND agent IS ?3 AND superseded_by IS NULL ORDER BY id";
        self.db
            .prepare_cached(sql)?
            .query_map(key, |row| row.get(0))?
            .collect()
    }

    fn has_place(&self, tape: i64) -> rusqlite::Result<bool> {
        self.db
            .prepare_cached("SELECT 1 FROM place WHERE tape = ?1")?
            .exists([tape])
    }

    fn insert_tape(&mut self, tape: &TapeRow) -> rusqlite::Result<i64> {
        let names = self.names_of(tape)?;
        let sql =
            "INSERT INTO tape (tape_hash, input_hash, harness, session, agent, adapter, schema, support, complete, t0, t1, bytes, events,
            parent_session, parent_call, fork_of, version, cwd, title, model, repo_url, tokens, cost, cost_total, agents)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25)";
        let [
            harness,
            session,
            agent,
            parent_session,
            parent_call,
            fork_of,
        ] = names;
        self.db.prepare_cached(sql)?.insert(params![
            tape.tape_hash,
            tape.input_hash,
            harness,
            session,
            agent,
            tape.adapter,
            tape.schema,
            tape.support,
            tape.complete,
            tape.t0,
            tape.t1,
            tape.bytes,
            tape.events,
            parent_session,
            parent_call,
            fork_of,
            tape.facts.version,
            tape.facts.cwd,
            tape.facts.title,
            tape.facts.model,
            tape.facts.repo_url,
            tape.spent.tokens,
            tape.spent.cost,
            tape.spent.cost_total,
            tape.facts.agents
        ])
    }

    fn names_of(&mut self, tape: &TapeRow) -> rusqlite::Result<[Option<i64>; 6]> {
        Ok([
            Some(self.name(&tape.harness)?),
            self.maybe_name(tape.session.as_deref())?,
            self.maybe_name(tape.agent.as_deref())?,
            self.maybe_name(tape.parent_session.as_deref())?,
            self.maybe_name(tape.parent_call.as_deref())?,
            self.maybe_name(tape.fork_of.as_deref())?,
        ])
    }

    fn insert_rows(
        &mut self,
        tape: i64,
        rows: &TapeRows,
        anchors: &mut Anchors,
    ) -> rusqlite::Result<()> {
        rows.prompts
            .iter()
            .try_for_each(|prompt| self.insert_prompt(tape, prompt))?;
        rows.calls
            .iter()
            .try_for_each(|call| self.insert_call(tape, call))?;
        for span in &rows.spans {
            self.insert_span(tape, span, anchors)?;
        }
        for step in &rows.steps {
            self.insert_step(tape, step, anchors)?;
        }
        self.put_form(tape, rows)?;
        rows.said
            .iter()
            .try_for_each(|said| self.insert_said(tape, said, anchors))
    }

    fn put_form(&self, tape: i64, rows: &TapeRows) -> rusqlite::Result<()> {
        let sql = match rows.form {
            Some(_) => "INSERT OR REPLACE INTO form (tape, facts) VALUES (?1, ?2)",
            None => "DELETE FROM form WHERE tape = ?1 AND ?2 IS NULL",
        };
        let mut put = self.db.prepare_cached(sql)?;
        put.execute(params![tape, rows.form]).map(drop)
    }

    fn insert_said(&self, tape: i64, row: &SaidRow, anchors: &mut Anchors) -> rusqlite::Result<()> {
        let sql = "INSERT INTO speech (tape, offset, t) VALUES (?1, ?2, ?3)";
        let id = self
            .db
            .prepare_cached(sql)?
            .insert(params![tape, row.offset, row.t])?;
        anchors
            .said
            .extend(row.anchors.iter().map(|anchor| (*anchor, id)));
        Ok(())
    }

    /// What stands at the same byte with the same fingerprints is not written again.
    fn change_said(
        &self,
        tape: i64,
        new: &[SaidRow],
        anchors: &mut Anchors,
    ) -> rusqlite::Result<()> {
        let mut old: HashMap<u64, i64> = read_back::speeches(&self.db, tape)?.into_iter().collect();
        for row in new {
            if let Some(id) = old.get(&row.offset)
                && read_back::has_said(&self.db, *id, &row.anchors)?
            {
                old.remove(&row.offset);
                continue;
            }
            self.insert_said(tape, row, anchors)?;
        }
        let gone: HashSet<i64> = old.into_values().collect();
        anchors.said.retain(|(_, at)| !gone.contains(at));
        for id in gone {
            self.db
                .prepare_cached("DELETE FROM speech WHERE id = ?1")?
                .execute([id])?;
        }
        Ok(())
    }

    fn insert_prompt(&mut self, tape: i64, row: &PromptRow) -> rusqlite::Result<()> {
        let agent = self.maybe_name(row.agent.as_deref())?;
        let sql = "INSERT INTO prompt (tape, seq, t, by_whom, replay, offset, agent) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        self.db
            .prepare_cached(sql)?
            .execute(params![
                tape, row.seq, row.t, row.by, row.replay, row.offset, agent
            ])
            .map(drop)
    }

    fn insert_call(&mut self, tape: i64, row: &CallRow) -> rusqlite::Result<()> {
        let (tool, kind) = (self.name(&row.tool)?, self.name(row.kind)?);
        let (agent, model) = (
            self.maybe_name(row.agent.as_deref())?,
            self.maybe_name(row.model.as_deref())?,
        );
        let call_id = self.maybe_name(row.call_id.as_deref())?;
        let sql = "INSERT INTO call (tape, seq, prompt, agent, tool, kind, model, t, status, exit, call_id, replay, offset)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
        let key = params![
            tape, row.seq, row.prompt, agent, tool, kind, model, row.t, row.status, row.exit,
            call_id, row.replay, row.offset
        ];
        self.db.prepare_cached(sql)?.execute(key).map(drop)
    }

    fn insert_span(
        &mut self,
        tape: i64,
        row: &SpanRow,
        anchors: &mut Anchors,
    ) -> rusqlite::Result<()> {
        let file = self.file(&row.file)?;
        let other = row
            .other
            .as_ref()
            .map(|other| self.file(other))
            .transpose()?;
        let (b, a) = (row.before.unzip(), row.after.unzip());
        let sql = "INSERT INTO span (tape, seq, call, file, other, what, b0, b1, a0, a1, bh, ah, fbh, fah, lines, flags, t)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
        let id = self.db.prepare_cached(sql)?.insert(params![
            tape,
            row.seq,
            row.call,
            file,
            other,
            row.what as i64,
            b.0,
            b.1,
            a.0,
            a.1,
            row.bh,
            row.ah,
            row.fbh,
            row.fah,
            row.lines,
            row.flags,
            row.t
        ])?;
        anchors.add(id, row);
        Ok(())
    }

    fn insert_step(
        &mut self,
        tape: i64,
        row: &StepRow,
        anchors: &mut Anchors,
    ) -> rusqlite::Result<()> {
        let file = self.file(&row.file)?;
        let other = row
            .other
            .as_ref()
            .map(|other| self.file(other))
            .transpose()?;
        let data = parts::pack(&self.db, &row.data)?;
        let sql = "INSERT INTO step (tape, seq, nth, call, file, other, kind, flags, t, data)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        self.db.prepare_cached(sql)?.execute(params![
            tape,
            row.seq,
            row.nth,
            row.call,
            file,
            other,
            row.kind as i64,
            row.flags(),
            row.t,
            data
        ])?;
        let is_part = matches!(row.kind, Kind::Piece | Kind::Appended);
        if is_part || matches!(row.kind, Kind::Changed | Kind::Created) {
            let has_two = row.has_before || is_part;
            let made = diff::come(&row.data, usize::from(has_two));
            let telling = made.into_iter().filter(|key| letters(*key) >= MIN_LETTERS);
            anchors.lines.extend(telling.map(|key| (key, file)));
        }
        Ok(())
    }

    /// Steps that are the same are not written again.
    fn change_steps(
        &mut self,
        tape: i64,
        old: &[StepRow],
        new: &[StepRow],
        anchors: &mut Anchors,
    ) -> rusqlite::Result<()> {
        let kept: HashMap<(u64, u64), &StepRow> =
            new.iter().map(|row| ((row.seq, row.nth), row)).collect();
        let mut same = HashSet::new();
        for row in old {
            if kept.get(&(row.seq, row.nth)) == Some(&row) {
                same.insert((row.seq, row.nth));
            } else {
                self.db
                    .prepare_cached("DELETE FROM step WHERE tape = ?1 AND seq = ?2 AND nth = ?3")?
                    .execute(params![tape, row.seq, row.nth])?;
            }
        }
        new.iter()
            .filter(|row| !same.contains(&(row.seq, row.nth)))
            .try_for_each(|row| self.insert_step(tape, row, anchors))
    }

    /// The rows of a tape become those of a newer one of the same session. Rows that are the same are not written again.
    fn replace(
        &mut self,
        id: i64,
        stored: &Stored,
        rows: &TapeRows,
        anchors: &mut Anchors,
    ) -> rusqlite::Result<()> {
        let old_row = &stored.rows.tape;
        let names = self.names_of(&rows.tape)?;
        let [
            harness,
            session,
            agent,
            parent_session,
            parent_call,
            fork_of,
        ] = names;
        let tape = &rows.tape;
        let sql = "UPDATE tape SET tape_hash = ?2, input_hash = ?3, harness = ?4, session = ?5, agent = ?6, adapter = ?7, schema = ?8,
            support = ?9, complete = ?10, t0 = ?11, t1 = ?12, bytes = ?13, events = ?14, parent_session = ?15, parent_call = ?16, fork_of = ?17,
            version = ?18, cwd = ?19, title = ?20, model = ?21, repo_url = ?22, tokens = ?23, cost = ?24, cost_total = ?25,
            agents = ?26 WHERE id = ?1";
        self.db.prepare_cached(sql)?.execute(params![
            id,
            tape.tape_hash,
            tape.input_hash,
            harness,
            session,
            agent,
            tape.adapter,
            tape.schema,
            tape.support,
            tape.complete,
            tape.t0,
            tape.t1,
            tape.bytes,
            tape.events,
            parent_session,
            parent_call,
            fork_of,
            tape.facts.version,
            tape.facts.cwd,
            tape.facts.title,
            tape.facts.model,
            tape.facts.repo_url,
            tape.spent.tokens,
            tape.spent.cost,
            tape.spent.cost_total,
            tape.facts.agents
        ])?;
        // The older tape is still somewhere: it is known, so that it is not read again.
        if self.has_place(id)? {
            let bare = self.insert_tape(old_row)?;
            self.db.execute(
                "UPDATE tape SET superseded_by = ?2 WHERE id = ?1",
                [bare, id],
            )?;
            self.db
                .execute("UPDATE place SET tape = ?2 WHERE tape = ?1", [id, bare])?;
        }
        self.change_prompts(id, &stored.rows.prompts, &rows.prompts)?;
        self.change_calls(id, &stored.rows.calls, &rows.calls)?;
        self.change_spans(id, stored, &rows.spans, anchors)?;
        self.change_steps(id, &stored.rows.steps, &rows.steps, anchors)?;
        self.put_form(id, rows)?;
        self.change_said(id, &rows.said, anchors)
    }

    fn change_prompts(
        &mut self,
        tape: i64,
        old: &[PromptRow],
        new: &[PromptRow],
    ) -> rusqlite::Result<()> {
        let kept: HashMap<u64, &PromptRow> = new.iter().map(|row| (row.seq, row)).collect();
        let mut same = HashSet::new();
        for row in old {
            if kept.get(&row.seq) == Some(&row) {
                same.insert(row.seq);
            } else {
                self.db
                    .prepare_cached("DELETE FROM prompt WHERE tape = ?1 AND seq = ?2")?
                    .execute(params![tape, row.seq])?;
            }
        }
        new.iter()
            .filter(|row| !same.contains(&row.seq))
            .try_for_each(|row| self.insert_prompt(tape, row))
    }

    fn change_calls(
        &mut self,
        tape: i64,
        old: &[CallRow],
        new: &[CallRow],
    ) -> rusqlite::Result<()> {
        let kept: HashMap<u64, &CallRow> = new.iter().map(|row| (row.seq, row)).collect();
        let mut same = HashSet::new();
        for row in old {
            if kept.get(&row.seq) == Some(&row) {
                same.insert(row.seq);
            } else {
                self.db
                    .prepare_cached("DELETE FROM call WHERE tape = ?1 AND seq = ?2")?
                    .execute(params![tape, row.seq])?;
            }
        }
        new.iter()
            .filter(|row| !same.contains(&row.seq))
            .try_for_each(|row| self.insert_call(tape, row))
    }

    /// Fingerprints are not stored with their span, so a span is kept if it is the same without them: they follow from its hashes.
    fn change_spans(
        &mut self,
        tape: i64,
        stored: &Stored,
        new: &[SpanRow],
        anchors: &mut Anchors,
    ) -> rusqlite::Result<()> {
        let mut old: HashMap<(u64, usize), (i64, &SpanRow)> = HashMap::new();
        let mut nth = Nth::default();
        for (id, row) in stored.span_ids.iter().zip(&stored.rows.spans) {
            old.insert((row.seq, nth.of(row.seq)), (*id, row));
        }
        let mut nth = Nth::default();
        for row in new {
            let key = (row.seq, nth.of(row.seq));
            if let Some((_, same)) = old.get(&key)
                && read_back::is_same_span(same, row)
            {
                old.remove(&key);
                continue;
            }
            self.insert_span(tape, row, anchors)?;
        }
        let gone: HashSet<i64> = old.into_values().map(|(id, _)| id).collect();
        anchors.of_spans.retain(|(_, at)| !gone.contains(&(at / 2)));
        for id in gone {
            self.db
                .prepare_cached("DELETE FROM span WHERE id = ?1")?
                .execute([id])?;
        }
        Ok(())
    }

    /// Deletes everything that a tape says, and leaves its row.
    pub(crate) fn delete_rows(&mut self, tape: i64) -> rusqlite::Result<()> {
        for table in ["prompt", "call", "span", "step", "speech", "form"] {
            self.db
                .execute(&format!("DELETE FROM {table} WHERE tape = ?1"), [tape])?;
        }
        Ok(())
    }

    /// Removes the row of a superseded tape that lies nowhere any more.
    pub(crate) fn drop_if_nowhere(&mut self, tape: i64) -> rusqlite::Result<()> {
        let sql = "DELETE FROM tape WHERE id = ?1 AND superseded_by IS NOT NULL AND NOT EXISTS (SELECT 1 FROM place WHERE tape = ?1)";
        self.db.prepare_cached(sql)?.execute([tape]).map(drop)
    }
}

/// Counts how often a number came before.
#[derive(Default)]
struct Nth(HashMap<u64, usize>);

impl Nth {
    fn of(&mut self, number: u64) -> usize {
        let nth = self.0.entry(number).or_default();
        *nth += 1;
        *nth - 1
    }
}

/// The fingerprints of a transaction. They are written at its end, together.
#[derive(Default)]
pub(crate) struct Anchors {
    of_spans: Vec<Entry>,
    said: Vec<Entry>,
    lines: Vec<Entry>,
}

/// A line with fewer letters finds no file.
const MIN_LETTERS: usize = 3;

/// A span, and the side of it that fingerprints are of.
pub(crate) const AFTER: i64 = 1;

impl Anchors {
    fn add(&mut self, span: i64, row: &SpanRow) {
        for (side, anchors) in [(0, &row.before_anchors), (AFTER, &row.after_anchors)] {
            self.of_spans
                .extend(anchors.iter().map(|anchor| (*anchor, span * 2 + side)));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.of_spans.len() + self.said.len() + self.lines.len()
    }

    pub(crate) fn write(&mut self, writer: &Writer) -> Result<(), Error> {
        let kinds = [
            (Of::Spans, &mut self.of_spans),
            (Of::Texts, &mut self.said),
            (Of::Lines, &mut self.lines),
        ];
        let written = kinds
            .into_iter()
            .try_for_each(|(of, entries)| runs::write(&writer.db, of, std::mem::take(entries)));
        written.map_err(|error| writer.failed(error))
    }
}
