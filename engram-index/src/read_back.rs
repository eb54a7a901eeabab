//! The rows of one tape, read back from the database.

use rusqlite::{Connection, OptionalExtension, Row};

use crate::parts::Parts;
use crate::rows::{
    CallRow, Facts, FileRef, Kind, PromptRow, SpanRow, Spent, StepRow, TapeRow, TapeRows, What,
};
use crate::runs::{self, Of};

/// Rows as they are stored. Spans have no fingerprints, and what was said is left out.
pub struct Stored {
    pub rows: TapeRows,
    /// The numbers of the spans.
    pub span_ids: Vec<i64>,
}

/// Reads the rows of a tape.
pub fn rows(db: &Connection, tape: i64) -> rusqlite::Result<Stored> {
    let (span_ids, spans) = spans(db, tape)?.into_iter().unzip();
    let rows = TapeRows {
        tape: tape_row(db, tape)?,
        prompts: prompts(db, tape)?,
        calls: calls(db, tape)?,
        spans,
        steps: steps(db, tape)?,
        said: Vec::new(),
        form: form(db, tape)?,
    };
    Ok(Stored { rows, span_ids })
}

/// True if two spans are the same but for their fingerprints.
pub fn is_same_span(one: &SpanRow, other: &SpanRow) -> bool {
    let bare = |row: &SpanRow| SpanRow {
        before_anchors: Vec::new(),
        after_anchors: Vec::new(),
        ..row.clone()
    };
    bare(one) == bare(other)
}

/// The byte and the number of each text of a tape.
pub fn speeches(db: &Connection, tape: i64) -> rusqlite::Result<Vec<(u64, i64)>> {
    let mut find =
        db.prepare_cached("SELECT offset, id FROM speech WHERE tape = ?1 ORDER BY offset")?;
    find.query_map([tape], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// True if a text has all of these fingerprints.
pub fn has_said(db: &Connection, speech: i64, anchors: &[u64]) -> rusqlite::Result<bool> {
    for anchor in anchors {
        if !runs::has(db, Of::Texts, (*anchor, speech))? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn form(db: &Connection, tape: i64) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut find = db.prepare_cached("SELECT facts FROM form WHERE tape = ?1")?;
    find.query_row([tape], |row| row.get(0)).optional()
}

fn tape_row(db: &Connection, tape: i64) -> rusqlite::Result<TapeRow> {
    let sql =
        "SELECT tape_hash, input_hash, h.text, s.text, a.text, adapter, schema, support, complete, t0, t1, bytes, events, ps.text, pc.text,
        f.text, version, cwd, title, model, repo_url, tokens, cost, cost_total, agents FROM tape JOIN name h ON h.id = harness LEFT JOIN name s ON s.id = session LEFT JOIN name a ON a.id = agent
        LEFT JOIN name ps ON ps.id = parent_session LEFT JOIN name pc ON pc.id = parent_call LEFT JOIN name f ON f.id = fork_of
        WHERE tape.id = ?1";
    db.prepare_cached(sql)?.query_row([tape], |row| {
        Ok(TapeRow {
            tape_hash: row.get(0)?,
            input_hash: row.get(1)?,
            harness: row.get(2)?,
            session: row.get(3)?,
            agent: row.get(4)?,
            adapter: row.get(5)?,
            schema: row.get(6)?,
            support: row.get(7)?,
            complete: row.get(8)?,
            t0: row.get(9)?,
            t1: row.get(10)?,
            bytes: row.get(11)?,
            events: row.get(12)?,
            parent_session: row.get(13)?,
            parent_call: row.get(14)?,
            fork_of: row.get(15)?,
            facts: Facts {
                version: row.get(16)?,
                cwd: row.get(17)?,
                title: row.get(18)?,
                model: row.get(19)?,
                repo_url: row.get(20)?,
                agents: row.get(24)?,
            },
            spent: Spent {
                tokens: row.get(21)?,
                cost: row.get(22)?,
                cost_total: row.get(23)?,
            },
        })
    })
}

fn prompts(db: &Connection, tape: i64) -> rusqlite::Result<Vec<PromptRow>> {
    let sql = "SELECT seq, t, by_whom, replay, offset, agent.text FROM prompt LEFT JOIN name agent ON agent.id = agent
        WHERE tape = ?1 ORDER BY seq";
    let prompt = |row: &Row<'_>| {
        Ok(PromptRow {
            seq: row.get(0)?,
            t: row.get(1)?,
            by: row.get(2)?,
            replay: row.get(3)?,
            offset: row.get(4)?,
            agent: row.get(5)?,
        })
    };
    db.prepare_cached(sql)?.query_map([tape], prompt)?.collect()
}

fn calls(db: &Connection, tape: i64) -> rusqlite::Result<Vec<CallRow>> {
    let sql = "SELECT seq, prompt, agent.text, tool.text, kind.text, model.text, t, status, exit, i.text, replay, offset FROM call
        JOIN name tool ON tool.id = tool JOIN name kind ON kind.id = kind LEFT JOIN name agent ON agent.id = agent
        LEFT JOIN name model ON model.id = model LEFT JOIN name i ON i.id = call_id WHERE tape = ?1 ORDER BY seq";
    let call = |row: &Row<'_>| {
        let kind: String = row.get(4)?;
        let kind = engram_core::tool_kind::ToolKind::ALL
            .into_iter()
            .map(|kind| kind.as_str())
            .find(|known| *known == kind);
        Ok(CallRow {
            seq: row.get(0)?,
            prompt: row.get(1)?,
            agent: row.get(2)?,
            tool: row.get(3)?,
            kind: kind.unwrap_or("other"),
            model: row.get(5)?,
            t: row.get(6)?,
            status: row.get(7)?,
            exit: row.get(8)?,
            call_id: row.get(9)?,
            replay: row.get(10)?,
            offset: row.get(11)?,
        })
    };
    db.prepare_cached(sql)?.query_map([tape], call)?.collect()
}

fn spans(db: &Connection, tape: i64) -> rusqlite::Result<Vec<(i64, SpanRow)>> {
    let sql = "SELECT span.id, seq, call, ifnull(r.url, ''), ifnull(r.root, ''), file.path, other, what, b0, b1, a0, a1, bh, ah, fbh, fah,
        lines, flags, t, ifnull(orepo.url, ''), ifnull(orepo.root, ''), o.path FROM span JOIN file ON file.id = file
        LEFT JOIN repo r ON r.id = file.repo LEFT JOIN file o ON o.id = other LEFT JOIN repo orepo ON orepo.id = o.repo
        WHERE tape = ?1 ORDER BY seq, span.id";
    let span = |row: &Row<'_>| {
        let pair = |first: Option<i64>, last: Option<i64>| first.zip(last);
        let other: Option<String> = row.get(21)?;
        let (url, root) = (row.get(19)?, row.get(20)?);
        Ok((
            row.get(0)?,
            SpanRow {
                seq: row.get(1)?,
                call: row.get(2)?,
                file: FileRef {
                    url: row.get(3)?,
                    root: row.get(4)?,
                    path: row.get(5)?,
                },
                other: other.map(|path| FileRef { url, root, path }),
                what: What::of_number(row.get(7)?),
                before: pair(row.get(8)?, row.get(9)?),
                after: pair(row.get(10)?, row.get(11)?),
                bh: row.get(12)?,
                ah: row.get(13)?,
                fbh: row.get(14)?,
                fah: row.get(15)?,
                lines: row.get(16)?,
                flags: row.get(17)?,
                t: row.get(18)?,
                before_anchors: Vec::new(),
                after_anchors: Vec::new(),
            },
        ))
    };
    db.prepare_cached(sql)?.query_map([tape], span)?.collect()
}

fn steps(db: &Connection, tape: i64) -> rusqlite::Result<Vec<StepRow>> {
    let sql = "SELECT seq, nth, call, ifnull(r.url, ''), ifnull(r.root, ''), file.path, ifnull(orepo.url, ''), ifnull(orepo.root, ''),
        o.path, kind, flags, t, data FROM step JOIN file ON file.id = file LEFT JOIN repo r ON r.id = file.repo
        LEFT JOIN file o ON o.id = other LEFT JOIN repo orepo ON orepo.id = o.repo WHERE tape = ?1 ORDER BY seq, nth";
    let mut parts = Parts::default();
    let step = |row: &Row<'_>| {
        let other: Option<String> = row.get(8)?;
        let (url, root) = (row.get(6)?, row.get(7)?);
        let flags: i64 = row.get(10)?;
        Ok(StepRow {
            seq: row.get(0)?,
            nth: row.get(1)?,
            call: row.get(2)?,
            file: FileRef {
                url: row.get(3)?,
                root: row.get(4)?,
                path: row.get(5)?,
            },
            other: other.map(|path| FileRef { url, root, path }),
            kind: Kind::of_number(row.get(9)?),
            whole: flags & 1 != 0,
            has_before: flags & 2 != 0,
            after_command: flags & 4 != 0,
            t: row.get(11)?,
            // Damaged data is other data than that of any tape.
            data: parts
                .unpack(db, row.get_ref(12)?.as_blob()?)?
                .unwrap_or_default(),
        })
    };
    db.prepare_cached(sql)?.query_map([tape], step)?.collect()
}
