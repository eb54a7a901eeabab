//! Tapes that repeat a session that another tape has: the views leave them out, as `engram stats` does.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::form_facts::{FormFacts, Identity};
use engram_core::repeats::{Rank, repeated};
use engram_core::stats::Stats;
use rusqlite::{Connection, Row};

/// The level of compression.
const LEVEL: i32 = 3;

/// What the index keeps of a tape to compare it: JSON, compressed. Hashes hardly get smaller, but their digits do.
pub fn form(facts: &FormFacts, stats: &Stats) -> Vec<u8> {
    // Maps of numbers and texts always are JSON, and memory can be written to.
    let json = serde_json::to_vec(&(facts, Rank::of(facts, stats))).unwrap_or_default();
    zstd::bulk::compress(&json, LEVEL).unwrap_or_default()
}

/// What [`form`] wrote, without its session.
pub fn read(form: &[u8]) -> Option<(FormFacts, Rank)> {
    serde_json::from_slice(&zstd::decode_all(form).ok()?).ok()
}

/// Gives a connection the table of the tapes that repeat others. Each question makes it: a tape that comes or goes may change it for another
/// session, and few sessions have more than one tape.
///
/// # Errors
/// As SQLite gives them.
pub fn make(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch(
        "DROP TABLE IF EXISTS temp.repeat; CREATE TEMP TABLE repeat (tape INTEGER PRIMARY KEY);",
    )?;
    let forms = forms(db)?;
    if forms.is_empty() {
        return Ok(());
    }
    let by_tape = forms.iter().map(|(tape, (facts, _))| (*tape, facts));
    let rank = |tape: i64, _: &_| forms[&tape].1.clone();
    let mut insert = db.prepare("INSERT INTO temp.repeat (tape) VALUES (?1)")?;
    for tape in repeated(by_tape, rank, &identities(db)?).into_keys() {
        insert.execute([tape])?;
    }
    Ok(())
}

/// The tapes of sessions that have more than one.
fn forms(db: &Connection) -> rusqlite::Result<BTreeMap<i64, (FormFacts, Rank)>> {
    let sql = "SELECT h.text, s.text, a.text, tape.id, form.facts FROM main.tape JOIN main.form ON form.tape = tape.id
        JOIN main.name h ON h.id = tape.harness JOIN main.name s ON s.id = tape.session LEFT JOIN main.name a ON a.id = tape.agent
        JOIN (SELECT harness, session, agent FROM main.tape WHERE superseded_by IS NULL AND session IS NOT NULL
            GROUP BY harness, session, agent HAVING count(*) > 1) many
        ON many.harness = tape.harness AND many.session = tape.session AND many.agent IS tape.agent
        WHERE tape.superseded_by IS NULL";
    let mut find = db.prepare(sql)?;
    let mut forms = BTreeMap::new();
    let mut rows = find.query([])?;
    while let Some(row) = rows.next()? {
        if let Some((facts, rank)) = read(row.get_ref(4)?.as_blob()?) {
            forms.insert(row.get(3)?, (facts.with_identity(identity(row)?), rank));
        }
    }
    Ok(forms)
}

/// The first three columns of a row.
fn identity(row: &Row<'_>) -> rusqlite::Result<Identity> {
    Ok(Identity {
        harness: row.get(0)?,
        session_id: row.get(1)?,
        agent_id: row.get(2)?,
    })
}

/// The sessions and sub-agents of all tapes, and the sub-agents by the calls that started them, too.
fn identities(db: &Connection) -> rusqlite::Result<BTreeSet<Identity>> {
    let sql = "SELECT h.text, s.text, a.text FROM main.tape JOIN main.name h ON h.id = tape.harness
        JOIN main.name s ON s.id = tape.session LEFT JOIN main.name a ON a.id = tape.agent WHERE superseded_by IS NULL
        UNION SELECT h.text, s.text, c.text FROM main.tape JOIN main.name h ON h.id = tape.harness
        JOIN main.name s ON s.id = tape.session JOIN main.name c ON c.id = tape.parent_call
        WHERE superseded_by IS NULL AND tape.agent IS NOT NULL";
    let mut find = db.prepare(sql)?;
    find.query_map([], identity)?.collect()
}
