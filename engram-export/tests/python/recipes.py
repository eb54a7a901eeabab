"""Runs the statements of docs/exports.md over Parquet files, compares their answers with those that the document shows, and compares sums
over all tables with the tapes."""

import csv
import io
import json
import os
import re
import sys
from pathlib import Path

import duckdb

directory, document = Path(sys.argv[1]), Path(sys.argv[2])


def views(tables):
    """A database with the views of the file that is shipped."""
    os.chdir(tables)
    database = duckdb.connect()
    database.execute((tables / "schema.sql").read_text())
    return database


def answer(database, statement):
    result = database.execute(statement)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column[0] for column in result.description)
    writer.writerows(result.fetchall())
    return out.getvalue()


def recipes():
    """Each recipe with its answer, over the few tapes that docs/recipes.md uses, too."""
    text = document.read_text(encoding="utf8")
    found = re.findall(r"```sql\n((?:(?!```).)*)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(found) == 5, len(found)
    few, everything = views(directory / "few"), None
    wrong = []
    for statement, shown in found:
        given = answer(few, statement)
        assert given.count("\n") > 1, f"no answer:\n{statement}"
        if given != shown:
            wrong.append(f"{statement}gives\n{given}and the document shows\n{shown}")
            text = text.replace(f"```sql\n{statement}```\n\n```text\n{shown}```", f"```sql\n{statement}```\n\n```text\n{given}```")
    if os.environ.get("ENGRAM_BLESS") == "1":
        document.write_text(text, encoding="utf8")
    else:
        assert not wrong, "docs/exports.md: ENGRAM_BLESS=1 rewrites the answers\n" + "\n".join(wrong)
    everything = views(directory / "tables")
    for statement, _ in found:
        assert answer(everything, statement).count("\n") > 1, f"no answer over all tapes:\n{statement}"
    print(f"DuckDB {duckdb.__version__}: {len(found)} recipes")
    return everything


def events():
    for path in (directory / "tapes").rglob("*.tape.jsonl"):
        for line in path.read_bytes().decode("utf8").split("\n")[:-1]:
            yield json.loads(line)


def sums(database):
    """Sums over the tables, and the same from the tapes."""
    of_tapes = dict.fromkeys(("prompts", "calls", "results", "edits", "usage", "output", "input"), 0)
    for event in events():
        if event["k"] == "msg.in" and event["by"] != "harness":
            of_tapes["prompts"] += 1
        if event["k"] == "tool.call":
            of_tapes["calls"] += 1
        if event["k"] == "tool.result":
            of_tapes["results"] += 1
        if event["k"] == "code.edit":
            of_tapes["edits"] += 1
        if event.get("label") == "usage":
            of_tapes["usage"] += 1
            of_tapes["output"] += event.get("tokens", {}).get("output", 0)
            of_tapes["input"] += event.get("tokens", {}).get("input", 0)
    one = lambda sql: database.execute(sql).fetchone()[0]
    of_tables = {
        "prompts": one("select count(*) from prompts"),
        "calls": one("select count(seq) from calls"),
        "results": one("select count(result_seq) from calls"),
        "edits": one("select count(*) from edits"),
        "usage": one("select count(*) from usage"),
        "output": one("select sum(output) from usage"),
        "input": one("select sum(input) from usage"),
    }
    assert of_tables == of_tapes, (of_tables, of_tapes)
    pairs = {
        "calls": ("select sum(calls) from sessions", "select count(seq) from calls where not replay"),
        "edits": ("select sum(edits) from sessions", "select count(*) from edits where not replay"),
        "responses": ("select sum(responses) from sessions", "select count(*) from usage where not replay"),
        "output": ("select sum(output) from sessions", "select sum(output) from usage where not replay"),
        "events": ("select sum(events) from sessions", "select count(*) from events"),
        "events of tapes": ("select sum(events) from tapes", "select count(*) from events"),
        "calls of turns": ("select sum(calls) from turns", "select count(seq) from calls where not replay and turn is not null"),
        "order": ("select count(*) from events", "select count(*) from (select tape, seq from events group by all)"),
        "keys of sessions": ("select count(*) from sessions", "select count(distinct session_key) from sessions"),
        "calls with a session": ("select count(*) from calls", "select count(*) from calls join sessions using (session_key)"),
        "computed costs": ("select round(sum(cost_computed_usd), 6) from sessions", "select round(sum(cost_computed_usd), 6) from usage where not replay"),
        "results in place": ("select count(*) from calls where seq is not null and result_seq is not null", "select count(distinct (r.tape, r.parent)) from events r join events c on r.tape = c.tape and r.parent = c.seq where r.k = 'tool.result' and c.k = 'tool.call'"),
    }
    for name, (one_way, other_way) in pairs.items():
        assert one(one_way) == one(other_way), (name, one(one_way), one(other_way))
    live = one("select count(*) from live_events")
    assert 0 < live < one("select count(*) from events")
    print(f"tables and tapes agree: {of_tables}, {len(pairs)} sums, {live} live events")


sums(recipes())
