-- The store. Times are milliseconds since 1970, hashes the first 16 bytes of BLAKE3, texts of tapes are not here.
CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE repo (id INTEGER PRIMARY KEY, url TEXT NOT NULL, root TEXT NOT NULL, UNIQUE (url, root));
-- A path below the directory of the session, or as it is with repo 0.
CREATE TABLE file (id INTEGER PRIMARY KEY, repo INTEGER NOT NULL, path TEXT NOT NULL, UNIQUE (repo, path));
CREATE TABLE tape (
    id INTEGER PRIMARY KEY, tape_hash BLOB NOT NULL UNIQUE, input_hash BLOB NOT NULL, harness INTEGER NOT NULL, session INTEGER,
    agent INTEGER, adapter TEXT NOT NULL, schema TEXT NOT NULL, support TEXT NOT NULL, complete INTEGER NOT NULL, t0 INTEGER, t1 INTEGER,
    bytes INTEGER NOT NULL, events INTEGER NOT NULL, superseded_by INTEGER, parent_session INTEGER, parent_call INTEGER, fork_of INTEGER
);
-- Where tapes lie. A file that is no valid tape has a fault and no tape.
CREATE TABLE place (
    path TEXT PRIMARY KEY, tape INTEGER, size INTEGER NOT NULL, modified INTEGER NOT NULL, fault TEXT
) WITHOUT ROWID;
CREATE TABLE prompt (
    tape INTEGER NOT NULL, seq INTEGER NOT NULL, t INTEGER, by_whom INTEGER NOT NULL, replay INTEGER NOT NULL, offset INTEGER NOT NULL,
    PRIMARY KEY (tape, seq)
) WITHOUT ROWID;
CREATE TABLE call (
    tape INTEGER NOT NULL, seq INTEGER NOT NULL, prompt INTEGER, agent INTEGER, tool INTEGER NOT NULL, kind INTEGER NOT NULL, model INTEGER,
    t INTEGER, status INTEGER, exit INTEGER, call_id INTEGER, replay INTEGER NOT NULL, offset INTEGER NOT NULL, PRIMARY KEY (tape, seq)
) WITHOUT ROWID;
-- One read, change, link or failed change of a file. `b` is before, `a` is after, `f` is the whole file, `other` where a link comes from.
CREATE TABLE span (
    id INTEGER PRIMARY KEY AUTOINCREMENT, tape INTEGER NOT NULL, seq INTEGER NOT NULL, call INTEGER, file INTEGER NOT NULL, other INTEGER,
    what INTEGER NOT NULL, b0 INTEGER, b1 INTEGER, a0 INTEGER, a1 INTEGER, bh BLOB, ah BLOB, fbh BLOB, fah BLOB, lines INTEGER,
    flags INTEGER NOT NULL, t INTEGER
);
-- What a read or an edit left of its file: lines as differences, as `rows.rs` and `diff.rs` say. `flags`: 1 whole, 2 has the text before,
-- 4 a command ran since the last step.
CREATE TABLE step (
    tape INTEGER NOT NULL, seq INTEGER NOT NULL, nth INTEGER NOT NULL, call INTEGER, file INTEGER NOT NULL, other INTEGER,
    kind INTEGER NOT NULL, flags INTEGER NOT NULL, t INTEGER, data BLOB NOT NULL, PRIMARY KEY (tape, seq, nth)
);
-- Fingerprints, as `runs.rs` says: of changes (`what` 0), of what was said (1), and of lines (2). A block has sorted entries from its first on.
CREATE TABLE run (id INTEGER PRIMARY KEY, what INTEGER NOT NULL, entries INTEGER NOT NULL);
CREATE TABLE block (
    run INTEGER NOT NULL, h INTEGER NOT NULL, at INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (run, h, at)
) WITHOUT ROWID;
-- Prompts, answers and outputs, if the setting `text` is 1. A number of `speech` never comes again.
CREATE TABLE setting (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE speech (id INTEGER PRIMARY KEY AUTOINCREMENT, tape INTEGER NOT NULL, offset INTEGER NOT NULL, t INTEGER);
CREATE TABLE usage (
    tape INTEGER NOT NULL, model INTEGER, input INTEGER, cached INTEGER, cache_write INTEGER, output INTEGER, cost REAL, n INTEGER NOT NULL
);

CREATE INDEX tape_identity ON tape (harness, session, agent);
CREATE INDEX tape_session ON tape (session);
CREATE INDEX tape_superseded ON tape (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX tape_parent ON tape (parent_call) WHERE parent_call IS NOT NULL;
CREATE INDEX place_tape ON place (tape);
CREATE INDEX call_by_id ON call (call_id) WHERE call_id IS NOT NULL;
CREATE INDEX speech_tape ON speech (tape);
CREATE INDEX span_tape ON span (tape, call);
CREATE INDEX span_file ON span (file, t);
CREATE INDEX span_ah ON span (ah) WHERE ah IS NOT NULL;
CREATE INDEX span_fah ON span (fah) WHERE fah IS NOT NULL;
CREATE INDEX span_bh ON span (bh) WHERE what = 4 AND bh IS NOT NULL;
CREATE INDEX span_other ON span (other) WHERE other IS NOT NULL;
CREATE INDEX step_file ON step (file);
CREATE INDEX step_other ON step (other) WHERE other IS NOT NULL;
CREATE INDEX usage_tape ON usage (tape);

-- The contract for SQL. Names and columns of these views are stable; tables are not.
CREATE VIEW sessions AS
SELECT tape.id AS tape, h.text AS harness, s.text AS session, a.text AS agent, tape.adapter, tape.complete,
    strftime('%Y-%m-%dT%H:%M:%fZ', tape.t0 / 1000.0, 'unixepoch') AS started,
    strftime('%Y-%m-%dT%H:%M:%fZ', tape.t1 / 1000.0, 'unixepoch') AS ended, tape.bytes, tape.events,
    ps.text AS parent_session, pc.text AS parent_call, f.text AS fork_of, (SELECT min(path) FROM place WHERE place.tape = tape.id) AS path
FROM tape JOIN name h ON h.id = tape.harness LEFT JOIN name s ON s.id = tape.session LEFT JOIN name a ON a.id = tape.agent
    LEFT JOIN name ps ON ps.id = tape.parent_session LEFT JOIN name pc ON pc.id = tape.parent_call LEFT JOIN name f ON f.id = tape.fork_of
WHERE tape.superseded_by IS NULL;

CREATE VIEW prompts AS
SELECT tape, seq, strftime('%Y-%m-%dT%H:%M:%fZ', t / 1000.0, 'unixepoch') AS t,
    CASE by_whom WHEN 0 THEN 'person' WHEN 1 THEN 'agent' ELSE 'harness' END AS by
FROM prompt WHERE replay = 0;

CREATE VIEW calls AS
SELECT call.tape, call.seq, call.prompt, strftime('%Y-%m-%dT%H:%M:%fZ', call.t / 1000.0, 'unixepoch') AS t, tool.text AS tool,
    kind.text AS kind, model.text AS model,
    CASE call.status WHEN 0 THEN 'ok' WHEN 1 THEN 'error' WHEN 2 THEN 'denied' WHEN 3 THEN 'cancelled' END AS status, call.exit,
    id.text AS call_id, agent.text AS agent
FROM call JOIN name tool ON tool.id = call.tool JOIN name kind ON kind.id = call.kind LEFT JOIN name model ON model.id = call.model
    LEFT JOIN name id ON id.id = call.call_id LEFT JOIN name agent ON agent.id = call.agent
WHERE call.replay = 0;

CREATE VIEW edits AS
SELECT span.tape, span.seq, span.call, strftime('%Y-%m-%dT%H:%M:%fZ', span.t / 1000.0, 'unixepoch') AS t,
    CASE WHEN file.repo = 0 THEN file.path ELSE repo.root || '/' || file.path END AS file, repo.url AS repo,
    CASE span.what WHEN 1 THEN 'create' WHEN 2 THEN 'update' WHEN 3 THEN 'overwrite' WHEN 4 THEN 'delete' WHEN 5 THEN 'move' END AS op,
    span.b0 AS before_first, span.b1 AS before_last, span.a0 AS after_first, span.a1 AS after_last, span.lines,
    (span.flags & 2) = 0 AS confirmed
FROM span JOIN file ON file.id = span.file LEFT JOIN repo ON repo.id = file.repo WHERE span.what BETWEEN 1 AND 5;

CREATE VIEW reads AS
SELECT span.tape, span.seq, span.call, strftime('%Y-%m-%dT%H:%M:%fZ', span.t / 1000.0, 'unixepoch') AS t,
    CASE WHEN file.repo = 0 THEN file.path ELSE repo.root || '/' || file.path END AS file, repo.url AS repo,
    span.a0 AS first, span.a1 AS last
FROM span JOIN file ON file.id = span.file LEFT JOIN repo ON repo.id = file.repo WHERE span.what = 0;

CREATE VIEW tombstones AS
SELECT span.tape, span.seq, span.call, strftime('%Y-%m-%dT%H:%M:%fZ', span.t / 1000.0, 'unixepoch') AS t,
    CASE WHEN file.repo = 0 THEN file.path ELSE repo.root || '/' || file.path END AS file, repo.url AS repo,
    CASE span.what WHEN 4 THEN 'file' ELSE 'lines' END AS removed, span.b0 AS first, span.b1 AS last
FROM span JOIN file ON file.id = span.file LEFT JOIN repo ON repo.id = file.repo
WHERE span.what = 4 OR (span.what BETWEEN 2 AND 3 AND span.a1 < span.a0 AND span.b1 >= span.b0);

CREATE VIEW tokens AS
SELECT usage.tape, h.text AS harness, s.text AS session, model.text AS model,
    strftime('%Y-%m-%dT%H:%M:%fZ', tape.t0 / 1000.0, 'unixepoch') AS started, usage.n AS responses, usage.input, usage.cached AS cache_read,
    usage.cache_write, usage.output, usage.cost AS cost_usd
FROM usage JOIN tape ON tape.id = usage.tape JOIN name h ON h.id = tape.harness LEFT JOIN name s ON s.id = tape.session
    LEFT JOIN name model ON model.id = usage.model;
