-- Views of the tables that `engram export parquet` writes, for DuckDB: cd into their directory, then `duckdb -init schema.sql`.

create or replace view events as from 'events/**/*.parquet';
create or replace view tapes as from 'tapes/**/*.parquet';
create or replace view sessions as from 'sessions/**/*.parquet';
create or replace view prompts as from 'prompts/**/*.parquet';
create or replace view calls as from 'calls/**/*.parquet';
create or replace view edits as from 'edits/**/*.parquet';
create or replace view usage as from 'usage/**/*.parquet';

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

-- A row for each session: what it cost, with its sub-agents, by the rule of docs/cli.md#money. `basis` is `stated`, `computed` or `mixed`.
create or replace view session_costs as
with totals as (
    select *, coalesce(session_id, tape) as session,
        max(case when fork_of is null then cost_total_usd end) over (partition by harness, coalesce(session_id, tape)) as total,
        max(case when fork_of is null then cost_total_usd end) over (partition by tape) as total_of_tape
    from sessions
), sums as (
    select harness, session, any_value(project) filter (agent_id is null) as project,
        sum(responses_without_cost) as without, sum(cost_usd) as stated, sum(cost_computed_usd) as computed, max(total) as total,
        sum(cost_after_total_usd) filter (total_of_tape is null or total_of_tape = total) as after_total
    from totals group by all
)
select harness, session, project,
    case when total is null or (without = 0 and stated is not null) then coalesce(stated + computed, stated, computed)
        else total + coalesce(after_total, 0) end as usd,
    case when total is null or (without = 0 and stated is not null)
        then case when stated is null then 'computed' when computed is null then 'stated' else 'mixed' end
        when after_total is null then 'stated' else 'mixed' end as basis
from sums where coalesce(stated, computed, total) is not null;
