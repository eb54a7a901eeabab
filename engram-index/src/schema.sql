-- The store. Times are milliseconds since 1970, hashes the first 16 bytes of BLAKE3. Of the texts of tapes only titles are here. `views.rs` has
-- what questions in SQL see. `tape.tokens` and `tape.cost` are JSON: tokens by model, and what the tape says about costs, as
-- `engram_core::stats` counts them; `tape.agents` is a list of the sub-agents with events on the tape.
CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE repo (id INTEGER PRIMARY KEY, url TEXT NOT NULL, root TEXT NOT NULL, UNIQUE (url, root));
-- A path below the directory of the session, or as it is with repo 0.
CREATE TABLE file (id INTEGER PRIMARY KEY, repo INTEGER NOT NULL, path TEXT NOT NULL, UNIQUE (repo, path));
CREATE TABLE tape (
    id INTEGER PRIMARY KEY, tape_hash BLOB NOT NULL UNIQUE, input_hash BLOB NOT NULL, harness INTEGER NOT NULL, session INTEGER,
    agent INTEGER, adapter TEXT NOT NULL, schema TEXT NOT NULL, support TEXT NOT NULL, complete INTEGER NOT NULL, t0 INTEGER, t1 INTEGER,
    bytes INTEGER NOT NULL, events INTEGER NOT NULL, superseded_by INTEGER, parent_session INTEGER, parent_call INTEGER, fork_of INTEGER,
    version TEXT, cwd TEXT, title TEXT, model TEXT, repo_url TEXT, tokens TEXT, cost TEXT, cost_total REAL, agents TEXT
);
-- What another tape of the session must have to repeat this one, as `repeats.rs` writes it.
CREATE TABLE form (tape INTEGER PRIMARY KEY, facts BLOB NOT NULL);
-- Where tapes lie. A file that is no valid tape has a fault and no tape.
CREATE TABLE place (
    path TEXT PRIMARY KEY, tape INTEGER, size INTEGER NOT NULL, modified INTEGER NOT NULL, fault TEXT
) WITHOUT ROWID;
CREATE TABLE prompt (
    tape INTEGER NOT NULL, seq INTEGER NOT NULL, t INTEGER, by_whom INTEGER NOT NULL, replay INTEGER NOT NULL, offset INTEGER NOT NULL,
    agent INTEGER, PRIMARY KEY (tape, seq)
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
-- What a read or an edit left of its file: lines as differences, as `rows.rs` and `diff.rs` say, in the parts of `parts.rs`. `flags`: 1 whole, 2 has the text before,
-- 4 a command ran since the last step.
CREATE TABLE step (
    tape INTEGER NOT NULL, seq INTEGER NOT NULL, nth INTEGER NOT NULL, call INTEGER, file INTEGER NOT NULL, other INTEGER,
    kind INTEGER NOT NULL, flags INTEGER NOT NULL, t INTEGER, data BLOB NOT NULL, PRIMARY KEY (tape, seq, nth)
);
CREATE TABLE part (name INTEGER PRIMARY KEY, data BLOB NOT NULL);
-- Fingerprints, as `runs.rs` says: of changes (`what` 0), of what was said (1), and of lines (2). A block has sorted entries from its first on.
CREATE TABLE run (id INTEGER PRIMARY KEY, what INTEGER NOT NULL, entries INTEGER NOT NULL);
CREATE TABLE block (
    run INTEGER NOT NULL, h INTEGER NOT NULL, at INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (run, h, at)
) WITHOUT ROWID;
-- Prompts, answers and outputs, if the setting `text` is 1. A number of `speech` never comes again.
CREATE TABLE setting (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE speech (id INTEGER PRIMARY KEY AUTOINCREMENT, tape INTEGER NOT NULL, offset INTEGER NOT NULL, t INTEGER);

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
