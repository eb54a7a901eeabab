//! The rows of `engram list` as a table, JSON and CSV.

use std::collections::HashMap;
use std::io::{self, Write};

use engram_command::homes::in_short;
use engram_command::table::{self, Align, Column, Fit, Look, Screen, number, short_number, text};
use engram_core::overview::Overview;
use jiff::Timestamp;
use serde_json::Value;

use super::row::Row;
use crate::args;
use crate::money;
use crate::reading::TapeState;
use crate::when::ago;

/// Characters of an id that are shown, unless more are needed to tell two sessions apart.
const ID_CHARS: usize = 8;

const COLUMNS: [Column; 13] = [
    text("session").look(Look::Name),
    text("agent").fit(Fit::Start(8)).drops(4),
    text("last").look(Look::Dim),
    text("harness").drops(1),
    text("version").look(Look::Dim).drops(9),
    text("project").fit(Fit::End(10)),
    Column {
        align: Align::Right,
        ..text("prompts").drops(7)
    },
    Column {
        align: Align::Right,
        ..text("calls").drops(6)
    },
    number("agents").drops(8),
    Column {
        align: Align::Right,
        ..text("tokens").drops(3)
    },
    number("USD").drops(2),
    text("tape").drops(5),
    text("title").fit(Fit::Start(20)).look(Look::Bold),
];

/// What a session says of its log: unknown where only the prompts are left, and nothing for agents, who ask about the work.
pub const OF_A_LOG: [&str; 12] = [
    "schema",
    "adapter",
    "adapter_version",
    "support",
    "events",
    "records",
    "unrecognized",
    "malformed",
    "unknown_members",
    "complete",
    "input_hash",
    "input_bytes",
];
/// What is counted, where there is a log.
const COUNTED: [&str; 2] = ["calls", "tokens"];

/// A row as JSON, without what is not known.
fn json(row: &Row) -> io::Result<Value> {
    let mut value = serde_json::to_value(row)?;
    let Some(object) = value.as_object_mut() else {
        return Ok(value);
    };
    object.remove("cost");
    if let Some(tokens) = object.get_mut("tokens") {
        *tokens = money::tokens(tokens.take());
    }
    if row.tape == TapeState::Lost {
        let unknown = OF_A_LOG.iter().chain(&COUNTED);
        unknown.for_each(|name| drop(object.remove(*name)));
    }
    if object
        .get("tokens")
        .is_some_and(|tokens| tokens["responses"] == 0)
    {
        object.remove("tokens");
    }
    money::put(object, &row.cost);
    Ok(value)
}

/// Prints the rows that are shown, among all rows.
///
/// # Errors
/// When `out` cannot be written to.
pub fn print(
    rows: &[Row],
    shown: &[Row],
    ids: &HashMap<String, String>,
    args: &args::List,
    out: &mut impl Write,
) -> io::Result<()> {
    if args.output.json {
        let rows: io::Result<Vec<Value>> = shown.iter().map(json).collect();
        table::write_lines(rows?, args.keys, out)?;
    } else if args.output.csv {
        table::write_csv(&CSV, shown.iter().map(csv), args.keys, out)?;
    } else {
        let now = Timestamp::now();
        let mut columns = COLUMNS.to_vec();
        let mut cells: Vec<Vec<String>> = shown.iter().map(|row| cells(row, ids, now)).collect();
        let repeated = with_repeated_id(rows);
        if repeated
            .iter()
            .take(shown.len())
            .any(|is_repeated| *is_repeated)
        {
            // Only the path tells such sessions apart.
            columns.push(text("path").fit(Fit::End(24)).drops(4));
            for ((line, row), is_repeated) in cells.iter_mut().zip(shown).zip(repeated) {
                line.push(if is_repeated {
                    row.path.clone()
                } else {
                    String::new()
                });
            }
        }
        table::write(&columns, &cells, Screen::stdout().with_keys(args.keys), out)?;
    }
    out.flush()
}

/// For each row, whether another one has the same id.
fn with_repeated_id(rows: &[Row]) -> Vec<bool> {
    let mut times = HashMap::new();
    rows.iter()
        .for_each(|row| *times.entry(row.identity()).or_insert(0) += 1);
    rows.iter()
        .map(|row| times.get(&row.identity()).is_some_and(|times| *times > 1))
        .collect()
}

/// The shortest beginning of each id that no other session has.
pub fn short_ids(rows: &[Row]) -> HashMap<String, String> {
    let mut ids: Vec<&str> = rows
        .iter()
        .filter_map(|row| row.overview.session_id.as_deref())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    let common = |one: &str, other: &str| {
        one.chars()
            .zip(other.chars())
            .take_while(|(a, b)| a == b)
            .count()
    };
    let own = |at: usize| {
        let before = at
            .checked_sub(1)
            .map_or(0, |before| common(ids[before], ids[at]));
        let after = ids.get(at + 1).map_or(0, |after| common(after, ids[at]));
        ids[at]
            .chars()
            .take((before.max(after) + 1).max(ID_CHARS))
            .collect()
    };
    (0..ids.len())
        .map(|at| (ids[at].to_owned(), own(at)))
        .collect()
}

/// The title, else the first prompt.
fn title(overview: &Overview) -> String {
    let title = overview
        .title
        .as_ref()
        .filter(|title| !title.trim().is_empty());
    title
        .or(overview.first_prompt.as_ref())
        .cloned()
        .unwrap_or_default()
}

fn cells(row: &Row, ids: &HashMap<String, String>, now: Timestamp) -> Vec<String> {
    let Overview {
        harness,
        version,
        end,
        project,
        prompts,
        calls,
        tokens,
        session_id,
        agent_id,
        ..
    } = &row.overview;
    let agent = agent_id.clone().filter(|_| agent_id != session_id);
    let tape = match row.tape {
        TapeState::Current | TapeState::Itself => "",
        TapeState::Old => "old",
        TapeState::None => "none",
        TapeState::LogGone => "log gone",
        TapeState::Lost => "lost",
    };
    vec![
        session_id
            .as_ref()
            .and_then(|id| ids.get(id))
            .cloned()
            .unwrap_or_else(|| "-".to_owned()),
        agent.unwrap_or_default(),
        end.as_deref()
            .map_or_else(|| "-".to_owned(), |end| ago(end, now)),
        harness.clone(),
        version.clone().unwrap_or_default(),
        project
            .as_deref()
            .map(|project| in_short(project.as_ref()))
            .unwrap_or_default(),
        prompts.to_string(),
        calls.to_string(),
        if row.sub_agents > 0 {
            row.sub_agents.to_string()
        } else {
            String::new()
        },
        tokens.all().map_or_else(
            || "-".to_owned(),
            |(all, is_partial)| short_number(all) + if is_partial { "+" } else { "" },
        ),
        money::cell(&row.cost),
        tape.to_owned(),
        title(&row.overview),
    ]
}

const CSV: [&str; 17] = [
    "session",
    "agent",
    "harness",
    "version",
    "start",
    "end",
    "project",
    "title",
    "prompts",
    "calls",
    "sub_agents",
    "tokens",
    "cost_usd",
    "cost_basis",
    "tape",
    "path",
    "repeats",
];

fn csv(row: &Row) -> Vec<String> {
    let Overview {
        harness,
        version,
        start,
        end,
        project,
        prompts,
        calls,
        tokens,
        session_id,
        agent_id,
        ..
    } = &row.overview;
    let [session, agent, version, start, end, project] =
        [session_id, agent_id, version, start, end, project]
            .map(|text| text.clone().unwrap_or_default());
    let tape = serde_json::to_value(row.tape)
        .ok()
        .and_then(|state| state.as_str().map(str::to_owned))
        .unwrap_or_default();
    let tokens_all = tokens
        .all()
        .map(|(all, _)| all.to_string())
        .unwrap_or_default();
    let [cost, basis] = money::csv(&row.cost);
    vec![
        session,
        agent,
        harness.clone(),
        version,
        start,
        end,
        project,
        title(&row.overview),
        prompts.to_string(),
        calls.to_string(),
        row.sub_agents.to_string(),
        tokens_all,
        cost,
        basis,
        tape,
        row.path.clone(),
        row.repeats.clone().unwrap_or_default(),
    ]
}

#[cfg(test)]
mod tests {
    use engram_core::stats::Cost;

    use super::*;

    fn row(id: &str) -> Row {
        let overview =
            serde_json::from_value(serde_json::json!({ "harness": "codex", "session_id": id }))
                .unwrap();
        Row {
            path: String::new(),
            tape: TapeState::None,
            repeats: None,
            item: None,
            sub_agents: 0,
            cost: Cost::default(),
            costs: Vec::new(),
            overview,
        }
    }

    #[test]
    fn ids_are_as_short_as_they_can_be() {
        let rows = [
            "019a0001-aaaa-1",
            "019a0001-aaab-2",
            "08a7d153-dbf5-4299",
            "short",
        ]
        .map(row);
        let ids = short_ids(&rows);
        assert_eq!(ids["019a0001-aaaa-1"], "019a0001-aaaa");
        assert_eq!(
            [&ids["08a7d153-dbf5-4299"], &ids["short"]],
            ["08a7d153", "short"]
        );
    }
}
