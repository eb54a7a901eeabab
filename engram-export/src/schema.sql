-- Views of the tables that `engram export parquet` writes, for DuckDB: cd into their directory, then `duckdb -init schema.sql`.

create or replace view events as from 'events/*.parquet';
create or replace view tapes as from 'tapes/*.parquet';
create or replace view sessions as from 'sessions/*.parquet';
create or replace view prompts as from 'prompts/*.parquet';
create or replace view calls as from 'calls/*.parquet';
create or replace view edits as from 'edits/*.parquet';
create or replace view usage as from 'usage/*.parquet';

-- Events that still hold: no history of another session, and nothing that a rewind took back.
create or replace view live_events as
select e.* from events e
where not e.replay and not exists (
    select 1 from events r
    where r.k = 'meta' and r.label = 'rewind' and r.tape = e.tape and e.seq > r.rewind_to and e.seq < r.seq
);

-- A row for each prompt: what came of it. A prompt in the history of another session has one only if something came of it in this one.
create or replace view turns as
select p.tape, p.harness, p.session_id, p.agent_id, p.turn, p.t, p.by, p.text,
    coalesce(c.calls, 0) as calls, coalesce(c.failed, 0) as failed_calls,
    coalesce(e.edits, 0) as edits, coalesce(e.files, 0) as files,
    u.input, u.cache_read, u.cache_write, u.output, u.cost_usd
from prompts p
left join (select tape, turn, count(seq) as calls, count_if(status <> 'ok') as failed from calls where not replay group by all) c
    using (tape, turn)
left join (select tape, turn, count(*) as edits, count(distinct file) as files from edits where not replay group by all) e
    using (tape, turn)
left join (select tape, turn, sum(input) as input, sum(cache_read) as cache_read, sum(cache_write) as cache_write,
    sum(output) as output, sum(cost_usd) as cost_usd from usage where not replay group by all) u
    using (tape, turn)
where not p.replay or coalesce(c.calls, e.edits, u.input, u.output) is not null;
