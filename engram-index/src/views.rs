//! The views of `engram query`: their names and columns are the contract for SQL, and the tables below them are not.
//!
//! One table has them. Each connection that asks gets them as temporary views; the reference in `docs/index.md` is generated from it.

use std::fmt::Write as _;

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use crate::rows::Digest;
use crate::{names, repeats, tape_file, window};

/// Names the project of a directory that a session began in.
pub type Projects = fn(&str) -> String;

/// A view.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Its name.
    pub name: &'static str,
    /// What one row is.
    pub about: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
    /// The tables below it.
    from: &'static str,
}

/// A column of a view.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name: that of the Parquet tables, where they have it.
    pub name: &'static str,
    /// The type of its values.
    pub is: &'static str,
    /// What it means.
    pub about: &'static str,
    /// How the tables give it.
    sql: &'static str,
}

/// Columns: each with the type of its values, its name, how the tables give it, and what it means. Those that several views have are named.
macro_rules! columns {
    (@[$($done:expr,)*]) => { &[$($done,)*] };
    (@[$($done:expr,)*] $is:ident $name:literal, $sql:literal, $about:literal; $($rest:tt)*) => {
        columns!(@[$($done,)* column(stringify!($is), $name, $sql, $about),] $($rest)*)
    };
    (@[$($done:expr,)*] $($shared:ident),+; $($rest:tt)*) => { columns!(@[$($done,)* $($shared,)+] $($rest)*) };
    ($($rows:tt)*) => { columns!(@[] $($rows)*) };
}

const fn column(
    is: &'static str,
    name: &'static str,
    sql: &'static str,
    about: &'static str,
) -> Column {
    Column {
        name,
        is,
        about,
        sql,
    }
}

/// Whose row it is: the same columns in every view of tapes.
const TAPE: Column = column(
    "text",
    "tape",
    "tape_name(h.text, (SELECT min(path) FROM main.place WHERE place.tape = tape.id))",
    "the name of the tape; `engram show` opens the part behind the `/`",
);
const HARNESS: Column = column("text", "harness", "h.text", "the harness");
const SESSION: Column = column("text", "session_id", "s.text", "the session");
const AGENT: Column = column(
    "text",
    "agent_id",
    "a.text",
    "the sub-agent, if the tape or the event is that of one",
);
/// That of an event. A sub-agent may have its events on the tape of its session.
const AGENT_OF_EVENT: Column = Column {
    sql: "ifnull(of_event.text, a.text)",
    ..AGENT
};
/// That of each in the list of a tape.
const AGENT_IN_LIST: Column = Column {
    sql: "agent.value",
    ..AGENT
};
/// The tables of [`TAPE`] to [`AGENT`], without the tapes that others supersede or repeat.
macro_rules! of_tape {
    ($tables:literal, $condition:literal) => {
        concat!(
            "main.tape JOIN main.name h ON h.id = tape.harness LEFT JOIN main.name s ON s.id = tape.session ",
            "LEFT JOIN main.name a ON a.id = tape.agent ",
            $tables,
            " WHERE tape.superseded_by IS NULL AND tape.id NOT IN (SELECT tape FROM repeat) AND ",
            $condition
        )
    };
}

/// Tables of a connection that the views use: the project of each directory, the session above all sub-agents for each tape (a log may state
/// any parent, even a circle of parents), and the project of that session, which is that of its sub-agents too, wherever they worked. They
/// are tables, since SQLite takes the parts of a query in a view for a query of its own, which may read no table.
const OWN_TABLES: &str = "
DROP TABLE IF EXISTS temp.project; DROP TABLE IF EXISTS temp.root; DROP TABLE IF EXISTS temp.root_project;
CREATE TEMP TABLE project (cwd TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID;
INSERT INTO temp.project SELECT cwd, project_of(cwd) FROM (SELECT DISTINCT cwd FROM main.tape WHERE superseded_by IS NULL AND cwd IS NOT NULL);
CREATE TEMP TABLE root (tape INTEGER PRIMARY KEY, harness INTEGER, session INTEGER);
INSERT INTO temp.root WITH RECURSIVE
    up(harness, session, parent) AS MATERIALIZED (
        SELECT harness, session, min(parent_session) FROM main.tape WHERE superseded_by IS NULL
        GROUP BY harness, session HAVING count(*) = count(agent) AND min(parent_session) <> session),
    step(tape, harness, session, depth) AS (
        SELECT id, harness, CASE WHEN agent IS NULL THEN session ELSE ifnull(parent_session, session) END, 0
            FROM main.tape WHERE superseded_by IS NULL
        UNION ALL SELECT step.tape, step.harness, up.parent, depth + 1 FROM step JOIN up USING (harness, session) WHERE depth < 64)
    SELECT tape, harness, session FROM (SELECT tape, harness, session, max(depth) FROM step GROUP BY tape);
CREATE TEMP TABLE root_project (harness INTEGER, session INTEGER, name TEXT, PRIMARY KEY (harness, session)) WITHOUT ROWID;
INSERT INTO temp.root_project SELECT root.harness, root.session, ifnull(min(iif(agent IS NULL, name, NULL)), min(name))
    FROM main.tape JOIN temp.root ON root.tape = tape.id JOIN temp.project USING (cwd)
    WHERE superseded_by IS NULL AND id NOT IN (SELECT tape FROM temp.repeat) AND root.session IS NOT NULL
    GROUP BY root.harness, root.session;
";

const FILE: Column = column(
    "text",
    "file",
    "CASE WHEN file.repo = 0 THEN file.path ELSE repo.root || '/' || file.path END",
    "the file",
);
const REPO: Column = column(
    "text",
    "repo_url",
    "nullif(repo.url, '')",
    "the remote of its repository",
);
const SEQ: Column = column(
    "integer",
    "seq",
    "span.seq",
    "the number of the event on the tape",
);
const PARENT: Column = column("integer", "parent", "span.call", "the `seq` of the call");
const T: Column = column("time", "t", "span.t", "the time");

/// Every view.
pub const VIEWS: [View; 9] = [
    View {
        name: "sessions",
        about: "one tape: a session, or a sub-agent with a log of its own",
        columns: columns! {
            TAPE, HARNESS, SESSION, AGENT;
            text "version", "tape.version", "the version of the harness, as last stated";
            time "start", "tape.t0", "the first time";
            time "end", "tape.t1", "the last time";
            text "title", "tape.title", "the title, as last stated";
            text "project", "ifnull(rp.name, p.name)",
                "the project, as `engram stats --by project` names it: of a sub-agent that of its session, of a worktree that of its repository";
            text "cwd", "tape.cwd", "the first working directory";
            text "model", "tape.model", "the first model that is given";
            text "repo_url", "tape.repo_url", "the remote of the repository";
            text "parent_session_id", "ps.text", "the session that started this one";
            text "parent_call_id", "pc.text", "the call that started this one";
            text "fork_of", "f.text", "the session that this one is a fork of";
            integer "events", "tape.events", "the events";
            integer "prompts", "(SELECT count(*) FROM main.prompt WHERE prompt.tape = tape.id AND by_whom = 0 AND replay = 0)",
                "the prompts of a person";
            integer "calls", "(SELECT count(*) FROM main.call WHERE call.tape = tape.id AND replay = 0)", "the calls of tools";
            integer "failed_calls", "(SELECT count(*) FROM main.call WHERE call.tape = tape.id AND replay = 0 AND status > 0)",
                "the calls that failed, were denied or cancelled";
            integer "edits", "(SELECT count(*) FROM main.span WHERE span.tape = tape.id AND what BETWEEN 1 AND 5)", "the changes of files";
            text "adapter", "tape.adapter", "the adapter and its version";
            integer "complete", "tape.complete", "0 if the log ends inside a record";
            real "cost_usd", "(SELECT sum(value ->> 'cost_usd') FROM json_each(tape.tokens))",
                "the cost of the responses in US dollars, as far as they state it";
            integer "responses_without_cost", "without_cost(tape.cost, NULL)", "the responses that state no cost";
            real "cost_computed_usd", "computed_usd(tape.cost, NULL)",
                "computed: what these cost by their tokens and list prices, as far as their models have a price";
            real "cost_total_usd", "tape.cost_total",
                "the largest cost in US dollars that the log states for the session so far, with its sub-agents. It is not added to `cost_usd`";
            real "cost_after_total_usd", "computed_after_total_usd(tape.cost)",
                "computed: the part of `cost_computed_usd` after the largest total of the tape; null on tapes of sub-agents";
            integer "bytes", "tape.bytes", "the size of the text of the tape";
            text "path", "(SELECT min(path) FROM main.place WHERE place.tape = tape.id)", "the file of the tape";
        },
        from: of_tape!(
            "LEFT JOIN main.name ps ON ps.id = tape.parent_session LEFT JOIN main.name pc ON pc.id = tape.parent_call
            LEFT JOIN main.name f ON f.id = tape.fork_of JOIN root r ON r.tape = tape.id
            LEFT JOIN root_project rp ON rp.harness = r.harness AND rp.session = r.session
            LEFT JOIN project p ON p.cwd = tape.cwd",
            "1"
        ),
    },
    View {
        name: "sub_agents",
        about: "one sub-agent on one tape: its own, or that of its session",
        columns: columns! {
            TAPE, HARNESS, SESSION, AGENT_IN_LIST;
            integer "has_own_tape", "a.text IS NOT NULL", "0 where its events are on the tape of its session";
        },
        from: of_tape!("JOIN json_each(tape.agents) agent", "1"),
    },
    View {
        name: "prompts",
        about: "one input to the agent, without what repeats another session's history",
        columns: columns! {
            TAPE, HARNESS, SESSION, AGENT_OF_EVENT;
            integer "seq", "prompt.seq", "the number of the event on the tape";
            time "t", "prompt.t", "the time";
            text "by", "CASE prompt.by_whom WHEN 0 THEN 'person' WHEN 1 THEN 'agent' ELSE 'harness' END",
                "who wrote it: `person`, `agent`, `harness`";
            text "text", "text_of_prompt((SELECT min(path) FROM main.place WHERE place.tape = tape.id), tape.tape_hash, prompt.offset, prompt.seq)",
                "the text, read from the tape; null if it has only attachments, or the tape is gone or has changed";
        },
        from: of_tape!(
            "JOIN main.prompt ON prompt.tape = tape.id LEFT JOIN main.name of_event ON of_event.id = prompt.agent",
            "prompt.replay = 0"
        ),
    },
    View {
        name: "calls",
        about: "one call of a tool, without what repeats another session's history",
        columns: columns! {
            TAPE, HARNESS, SESSION, AGENT_OF_EVENT;
            integer "seq", "call.seq", "the number of the event on the tape";
            integer "turn", "call.prompt", "the `seq` of the prompt of its turn";
            time "t", "call.t", "the time";
            text "tool", "tool.text", "the tool, as the harness names it";
            text "tool_kind", "kind.text", "what the tool does";
            text "call_id", "i.text", "the id of the call";
            text "model", "model.text", "the model that asked for it";
            text "status", "CASE call.status WHEN 0 THEN 'ok' WHEN 1 THEN 'error' WHEN 2 THEN 'denied' WHEN 3 THEN 'cancelled' END",
                "how it ended: `ok`, `error`, `denied`, `cancelled`";
            integer "exit", "call.exit", "the exit code";
        },
        from: of_tape!(
            "JOIN main.call ON call.tape = tape.id JOIN main.name tool ON tool.id = call.tool JOIN main.name kind ON kind.id = call.kind
            LEFT JOIN main.name model ON model.id = call.model LEFT JOIN main.name i ON i.id = call.call_id
            LEFT JOIN main.name of_event ON of_event.id = call.agent",
            "call.replay = 0"
        ),
    },
    View {
        name: "edits",
        about: "one change of one place of a file",
        columns: columns! {
            TAPE, HARNESS, SESSION, AGENT_OF_EVENT, SEQ, PARENT, T;
            text "op", "CASE span.what WHEN 1 THEN 'create' WHEN 2 THEN 'update' WHEN 3 THEN 'overwrite' WHEN 4 THEN 'delete' ELSE 'move' END",
                "`create`, `update`, `overwrite`, `delete`, `move`";
            FILE, REPO;
            integer "before_first", "span.b0", "the first line before";
            integer "before_last", "span.b1", "the last line before; one less than the first if no line was there";
            integer "after_first", "span.a0", "the first line after";
            integer "after_last", "span.a1", "the last line after; one less than the first if no line is left";
            integer "lines_removed", "span.b1 - span.b0 + 1", "the number of lines before, from the range";
            integer "lines_added", "span.lines", "the number of lines after, from the range or of the snippet";
            text "basis", "CASE WHEN span.flags & 1 THEN 'snippet' END", "`snippet` where the lines are not known";
            integer "confirmed", "(span.flags & 2) = 0", "0 where the log shows that it was asked for, but not its outcome";
        },
        from: of_tape!(
            "JOIN main.span ON span.tape = tape.id JOIN main.file ON file.id = span.file LEFT JOIN main.repo ON repo.id = file.repo
            LEFT JOIN main.call c ON c.tape = span.tape AND c.seq = span.call LEFT JOIN main.name of_event ON of_event.id = c.agent",
            "span.what BETWEEN 1 AND 5"
        ),
    },
    View {
        name: "reads",
        about: "one read of a file",
        columns: columns! {
            TAPE, HARNESS, SESSION, AGENT_OF_EVENT, SEQ, PARENT, T, FILE, REPO;
            integer "first", "span.a0", "the first line that was read";
            integer "last", "span.a1", "the last line that was read";
        },
        from: of_tape!(
            "JOIN main.span ON span.tape = tape.id JOIN main.file ON file.id = span.file LEFT JOIN main.repo ON repo.id = file.repo
            LEFT JOIN main.call c ON c.tape = span.tape AND c.seq = span.call LEFT JOIN main.name of_event ON of_event.id = c.agent",
            "span.what = 0"
        ),
    },
    View {
        name: "tombstones",
        about: "one removal: a file that was deleted, or lines that were replaced by nothing",
        columns: columns! {
            TAPE, HARNESS, SESSION, AGENT_OF_EVENT, SEQ, PARENT, T, FILE, REPO;
            text "removed", "CASE span.what WHEN 4 THEN 'file' ELSE 'lines' END", "`file` or `lines`";
            integer "first", "span.b0", "the first line that was removed";
            integer "last", "span.b1", "the last line that was removed";
        },
        from: of_tape!(
            "JOIN main.span ON span.tape = tape.id JOIN main.file ON file.id = span.file LEFT JOIN main.repo ON repo.id = file.repo
            LEFT JOIN main.call c ON c.tape = span.tape AND c.seq = span.call LEFT JOIN main.name of_event ON of_event.id = c.agent",
            "(span.what = 4 OR (span.what BETWEEN 2 AND 3 AND span.a1 < span.a0 AND span.b1 >= span.b0))"
        ),
    },
    View {
        name: "usage",
        about: "the tokens of one model on one tape; the Parquet table has a row for each response",
        columns: columns! {
            TAPE, HARNESS, SESSION, AGENT;
            text "model", "nullif(model.key, 'unknown')", "the model; null if the log names none";
            time "start", "tape.t0", "the first time of the session";
            integer "responses", "model.value ->> 'responses'", "the responses that are added";
            integer "input", "model.value ->> 'input'", "input tokens that neither came from a cache nor went to one";
            integer "cache_read", "model.value ->> 'cache_read'", "input tokens that came from a cache";
            integer "cache_write", "model.value ->> 'cache_write'", "input tokens that went to a cache";
            integer "cache_write_1h", "model.value ->> 'cache_write_1h'", "the part of `cache_write` that lives for an hour";
            integer "output", "model.value ->> 'output'", "output tokens with those of reasoning";
            integer "reasoning", "model.value ->> 'reasoning'", "output tokens of reasoning";
            real "cost_usd", "model.value ->> 'cost_usd'", "the cost in US dollars, as far as responses state it";
            integer "responses_without_cost", "without_cost(tape.cost, model.key)", "the responses that state no cost";
            real "cost_computed_usd", "computed_usd(tape.cost, model.key)",
                "computed: what these cost by their tokens and list prices, as far as the model has a price";
        },
        from: of_tape!("JOIN json_each(tape.tokens) model", "1"),
    },
    View {
        name: "session_costs",
        about: "what one session cost, with its sub-agents, whatever sessions they are: the sum is the cost that `engram stats` prints. A session of which nothing is known has no row",
        columns: columns! {
            HARNESS;
            text "session", "coalesce(rs.text, tape_name(h.text, (SELECT min(path) FROM main.place WHERE place.tape = tape.id)))",
                "the session; the tape if its log names none";
            text "project", "ifnull(rp.name, min(p.name))", "the project";
            real "usd", "session_cost(tape.cost, tape.session)", "the cost in US dollars";
            text "basis", "session_cost_basis(tape.cost, tape.session)", "`stated`, `computed` or `mixed`";
        },
        from: of_tape!(
            "JOIN root r ON r.tape = tape.id LEFT JOIN main.name rs ON rs.id = r.session
            LEFT JOIN root_project rp ON rp.harness = r.harness AND rp.session = r.session
            LEFT JOIN project p ON p.cwd = tape.cwd",
            "1 GROUP BY tape.harness, ifnull(r.session, -tape.id) HAVING session_cost(tape.cost, tape.session) IS NOT NULL"
        ),
    },
];

/// Another name of a view: its own, and that of the view.
const ALIAS: (&str, &str) = ("tokens", "usage");

/// True if a name is that of a view.
pub fn is_view(name: &str) -> bool {
    name == ALIAS.0 || VIEWS.iter().any(|view| view.name == name)
}

/// The functions that the views use. A question cannot call them: one reads files.
pub const FUNCTIONS: [&str; 3] = ["tape_name", "text_of_prompt", "project_of"];

/// Gives a connection the views, and the functions that they use.
///
/// # Errors
/// As SQLite gives them.
pub fn make(db: &Connection, projects: Projects) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let [tape_name, text_of_prompt, project_of] = FUNCTIONS;
    db.create_scalar_function(tape_name, 2, flags, |values| {
        let (harness, path): (String, Option<String>) = (values.get(0)?, values.get(1)?);
        Ok(path.map(|path| format!("{harness}/{}", names::tape(&path))))
    })?;
    db.create_scalar_function(text_of_prompt, 4, flags, |values| {
        let (path, hash): (Option<String>, Digest) = (values.get(0)?, values.get(1)?);
        let (offset, seq) = (values.get(2)?, values.get(3)?);
        let path = path.filter(|path| tape_file::is_tape(path.as_ref(), &hash));
        Ok(path.and_then(|path| window::text_of_prompt(path.as_ref(), offset, seq)))
    })?;
    db.create_scalar_function(project_of, 1, flags, move |values| {
        let directory: Option<String> = values.get(0)?;
        Ok(directory.map(|directory| projects(&directory)))
    })?;
    repeats::make(db)?;
    db.execute_batch(&statements())
}

fn statements() -> String {
    let mut sql = OWN_TABLES.to_owned();
    for view in &VIEWS {
        let column = |column: &Column| {
            let value = match column.is {
                "time" => format!(
                    "strftime('%Y-%m-%dT%H:%M:%fZ', {} / 1000.0, 'unixepoch')",
                    column.sql
                ),
                _ => column.sql.to_owned(),
            };
            format!("{value} AS \"{}\"", column.name)
        };
        let columns: Vec<String> = view.columns.iter().map(column).collect();
        let _ = writeln!(
            sql,
            "CREATE TEMP VIEW IF NOT EXISTS {} AS SELECT {} FROM {};",
            view.name,
            columns.join(", "),
            view.from
        );
    }
    let (name, of) = ALIAS;
    let _ = writeln!(
        sql,
        "CREATE TEMP VIEW IF NOT EXISTS {name} AS SELECT * FROM {of};"
    );
    sql
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The reference of the views, as a part of `docs/index.md`.
    fn reference() -> String {
        let table = |columns: &[Column]| {
            let rows = columns.iter().map(|column| {
                format!("| `{}` | {} | {} |\n", column.name, column.is, column.about)
            });
            "| column | type | meaning |\n|---|---|---|\n".to_owned() + &rows.collect::<String>()
        };
        let common = [TAPE, HARNESS, SESSION, AGENT];
        let mut text = format!(
            "\nEach view but `session_costs` begins with these columns:\n\n{}",
            table(&common)
        );
        for view in &VIEWS {
            let has_common = table(view.columns).starts_with(&table(&common));
            let own = &view.columns[if has_common { common.len() } else { 0 }..];
            let _ = write!(
                text,
                "\n**`{}`**: {}.\n\n{}",
                view.name,
                view.about,
                table(own)
            );
        }
        let (name, of) = ALIAS;
        let _ = writeln!(text, "\n`{name}` is another name of `{of}`.\n");
        text
    }

    /// Rewritten with `ENGRAM_BLESS=1`.
    #[test]
    fn the_reference_of_the_views_is_generated() {
        const BEGIN: &str = "<!-- generated: views -->\n";
        const END: &str = "<!-- end generated -->\n";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/index.md");
        let document = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = document.split_once(BEGIN).expect("a generated part");
        let (shown, after) = rest.split_once(END).expect("an end of the generated part");
        let generated = reference();
        if std::env::var_os("ENGRAM_BLESS").is_some() {
            std::fs::write(&path, format!("{before}{BEGIN}{generated}{END}{after}")).unwrap();
        } else {
            assert_eq!(
                shown, generated,
                "docs/index.md is stale: ENGRAM_BLESS=1 cargo test rewrites it"
            );
        }
        for view in &VIEWS {
            assert!(generated.contains(&format!("**`{}`**", view.name)));
        }
    }
}
