-- Views of the tables that `engram export parquet` writes, for DuckDB: cd into their directory, then `duckdb -init schema.sql`.

create or replace view events as from 'events/**/*.parquet';
create or replace view tapes as from 'tapes/**/*.parquet';
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

-- The session that a person started, for each tape: that of a sub-agent is the session above all sub-agents.
create or replace view roots as
with recursive tape_of as (
    select t.tape, t.harness, t.session_id, t.agent_id, min(s.parent_session_id) as parent
    from tapes t left join 'sessions/**/*.parquet' s
        on s.tape = t.tape and s.session_id is not distinct from t.session_id and s.agent_id is not distinct from t.agent_id
    group by all
), up as (
    select harness, session_id, min(parent) as parent from tape_of
    group by harness, session_id having count(*) = count(agent_id) and min(parent) <> session_id
), step as (
    select tape, harness, if(agent_id is null, session_id, coalesce(parent, session_id)) as session, 0 as depth from tape_of
    union all
    select step.tape, step.harness, up.parent, depth + 1 from step join up on up.harness = step.harness and up.session_id = step.session
    where depth < 64
)
select tape, harness, coalesce(arg_max(session, depth), tape) as session from step group by tape, harness;

-- The rows of `sessions`. The project of a sub-agent is that of its session, or the other way round where the session says none, and what is on
-- one tape is of one project.
create or replace view sessions as
with tape_project as (
    select t.tape, t.agent_id, coalesce(min(s.project) filter (s.session_id is not distinct from t.session_id
        and s.agent_id is not distinct from t.agent_id), min(s.project)) as project
    from tapes t join 'sessions/**/*.parquet' s using (tape)
    group by t.tape, t.agent_id
), root_project as (
    select r.harness, r.session, coalesce(min(p.project) filter (p.agent_id is null), min(p.project)) as project
    from roots r join tape_project p using (tape) group by r.harness, r.session
)
select s.* replace (coalesce(of_root.project, of_tape.project, s.project) as project)
from 'sessions/**/*.parquet' s left join roots r using (tape)
left join root_project of_root on of_root.harness = r.harness and of_root.session = r.session
left join tape_project of_tape on of_tape.tape = s.tape;

-- A row for each session: what it cost, with its sub-agents, by the rule of docs/cli.md#money. `basis` is `stated`, `computed` or `mixed`.
create or replace view session_costs as
with totals as (
    select s.*, coalesce(t.session_id, s.tape) as own, r.session as root,
        max(case when s.fork_of is null then cost_total_usd end) over (partition by s.harness, coalesce(t.session_id, s.tape)) as total,
        max(case when s.fork_of is null then cost_total_usd end) over (partition by s.tape) as total_of_tape
    from sessions s join tapes t using (tape) join roots r using (tape)
), sums as (
    select harness, root, own, min(project) as project,
        sum(responses_without_cost) as without, sum(cost_usd) as stated, sum(cost_computed_usd) as computed, max(total) as total,
        sum(cost_after_total_usd) filter (total_of_tape is null or total_of_tape = total) as after_total
    from totals group by all
), costs as (
    select harness, root, project,
        case when total is null or (without = 0 and stated is not null) then coalesce(stated + computed, stated, computed)
            else total + coalesce(after_total, 0) end as usd,
        case when total is null or (without = 0 and stated is not null)
            then case when stated is null then 'computed' when computed is null then 'stated' else 'mixed' end
            when after_total is null then 'stated' else 'mixed' end as basis
    from sums where coalesce(stated, computed, total) is not null
)
select harness, root as session, min(project) as project, sum(usd) as usd, if(count(distinct basis) = 1, min(basis), 'mixed') as basis
from costs group by all;
