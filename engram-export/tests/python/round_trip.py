"""Reads the events of all tapes back from Parquet with pyarrow, polars and DuckDB, and compares each field of each with the tape."""

import json
import re
import sys
from datetime import datetime, timezone
from pathlib import Path

import duckdb
import polars
import pyarrow.parquet

# The columns of each kind of event, and the field that each holds.
MESSAGE_IN = {"role": "role", "by": "by", "text": "text", "attachments": "attachments"}
COLUMNS = {
    "msg.in": MESSAGE_IN,
    "msg.out": {c: c for c in ("text", "channel", "model", "message_id", "redacted")},
    "tool.call": {"tool": "tool", "server": "server", "tool_kind": "kind", "call_id": "call_id", "message_id": "message_id", "args": "args"},
    "tool.result": {
        c: c
        for c in ("tool", "call_id", "status", "exit", "stdout", "stderr", "truncated", "artifact", "attachments", "duration_ms")
    },
    "code.read": {"call_id": "call_id", "file": "file", "range": "range", "total_lines": "total_lines", "hash": "hash", "anchors": "anchor_hashes", "text": "text"},
    "code.edit": {
        "before_anchors": "before_anchor_hashes",
        "after_anchors": "after_anchor_hashes",
        **{
            c: c
            for c in (
                "call_id", "op", "file", "before_range", "after_range", "before_hash", "after_hash", "file_before_hash", "file_after_hash",
                "before_text", "after_text", "before_lines", "after_lines", "basis", "confirmed",
            )
        },
    },
    "span.link": {"file": "from_file", "range": "from_range", "to_file": "to_file", "to_range": "to_range", "note": "note"},
    "meta": {
        "rewind_to": "to",
        **{
            c: c
            for c in (
                "label", "model", "message_id", "tokens", "text", "code", "decision", "tool", "call_id", "name", "file", "hash", "bytes", "raw",
            )
        },
    },
}
ENVELOPE = ("tape", "harness", "session_id", "agent_id", "session_key", "seq", "t", "t_basis", "k", "parent", "turn", "replay", "origin", "lossy", "rest")
JSON = ("args", "raw", "attachments", "artifact", "rest")
# A flag stands on a tape only where it has this value.
FLAGS = {"redacted": True, "truncated": True, "confirmed": False}
SURROGATE = re.compile("[\ud800-\udfff]")


class Spelled(str):
    """A number as it is written."""


def parse(text):
    return json.loads(text, parse_int=Spelled, parse_float=Spelled, parse_constant=Spelled)


def without_surrogates(value):
    """Half surrogate pairs as U+FFFD, as the tables have them."""
    if type(value) is str:
        return SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return value


def nanoseconds(t):
    head, _, fraction = t.rstrip("Z").partition(".")
    seconds = int(datetime.fromisoformat(head).replace(tzinfo=timezone.utc).timestamp())
    return seconds * 10**9 + int(fraction.ljust(9, "0")[:9] or 0)


def struct(value):
    return {key: Spelled(item) if isinstance(item, int) else item for key, item in value.items() if item is not None}


def field(column, value):
    """The value of a column as a tape has it."""
    if column in JSON:
        return parse(value)
    if column.endswith("range"):
        return [Spelled(value["first"]), Spelled(value["last"])]
    if column.endswith("hash"):
        return "blake3:" + bytes(value).hex()
    if column.endswith("anchors"):
        return [f"{anchor:016x}" for anchor in value]
    if column == "tokens":
        return struct(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return Spelled(value)
    return value


def event(row):
    """The event of a row, as a tape has it, but with its time in nanoseconds."""
    source = {key: row[key] for key in ("harness", "session_id", "agent_id") if row[key] is not None}
    made = {"seq": Spelled(row["seq"]), "t": row["t"], "k": row["k"], "source": source}
    for column, value in row.items():
        if column in ENVELOPE or value is None:
            continue
        name = COLUMNS[row["k"]].get(column)
        if column in FLAGS and value != FLAGS[column]:
            continue
        assert name is not None, f"{column} has {value!r} in a row of {row['k']}"
        made[name] = field(column, value)
    if row["rest"] is not None:
        made.update(parse(row["rest"]))
    for key in ("parent", "t_basis"):
        if row[key] is not None:
            made[key] = field(key, row[key])
    if row["origin"] is not None:
        made["origin"] = struct(row["origin"])
    if row["replay"]:
        made["replay"] = True
    return made


def expected(line):
    of_tape = parse(line)
    lossy = of_tape != without_surrogates(of_tape)
    of_tape = without_surrogates(of_tape)
    if of_tape.get("lossy"):
        del of_tape["lossy"]
        lossy = True
    if of_tape.get("t_basis") == "absent":
        of_tape["t"] = None
    elif (time := nanoseconds(of_tape["t"])) < 2**63:
        of_tape["t"] = time  # Else it is in `rest` as it is written.
    if of_tape.get("tokens") == {}:
        del of_tape["tokens"]
    return of_tape, lossy


def turns(tape):
    """The turn of each event. A sub-agent on the tape of its session has turns of its own, from its first prompt on."""
    changes, own = {}, None
    for number, line in enumerate(tape):
        one = json.loads(line)
        agent = one["source"].get("agent_id")
        own = agent if number == 0 else own
        of_agent = changes.setdefault(None if agent == own else agent, [])
        if one["k"] == "msg.in" and one["by"] != "harness":
            of_agent.append((one["seq"], one["seq"]))
        if one.get("label") == "rewind":
            for of_any in changes.values():
                before = [turn for seq, turn in of_any if seq <= one["to"]]
                of_any.append((one["seq"], before[-1] if before else None))
        known = [of_any[-1][1] for of_any in (of_agent, changes.get(None)) if of_any]
        yield next((turn for turn in known if turn is not None), None)


def by_pyarrow(tables):
    for path in sorted((tables / "events").glob("*.parquet")):
        table = pyarrow.parquet.read_table(path)
        table = table.set_column(table.schema.get_field_index("t"), "t", table["t"].cast("int64"))
        yield from table.to_pylist()


def by_polars(tables):
    for path in sorted((tables / "events").glob("*.parquet")):
        frame = polars.read_parquet(path)
        yield from frame.with_columns(polars.col("t").dt.timestamp("ns")).to_dicts()


def by_duckdb(tables):
    answer = duckdb.connect().execute(f"select * replace (epoch_ns(t) as t) from '{tables}/events/*.parquet' order by tape, seq")
    names = [column[0] for column in answer.description]
    while rows := answer.fetchmany(5000):
        yield from (dict(zip(names, row)) for row in rows)


def main():
    directory = Path(sys.argv[1])
    tapes, tables = directory / "tapes", directory / "tables"
    texts = {}
    for path in tapes.rglob("*.tape.jsonl"):
        name = str(path.relative_to(tapes)).removesuffix(".tape.jsonl")
        texts[name] = path.read_bytes().decode("utf8").split("\n")[:-1]
    of_tapes = [(name, line, turn) for name in sorted(texts) for line, turn in zip(texts[name], turns(texts[name]))]
    assert len(of_tapes) > 10_000, len(of_tapes)
    for reader in (by_pyarrow, by_polars, by_duckdb):
        compared = fields = differences = 0
        for (name, line, turn), row in zip(of_tapes, reader(tables), strict=True):
            of_tape, lossy = expected(line)
            of_row = event(row)
            same = of_row == of_tape and row["tape"] == name and row["turn"] == turn and row["lossy"] == lossy
            compared += 1
            fields += len(of_tape)
            if not same:
                differences += 1
                if differences < 4:
                    print(f"{name}: {reader.__name__}\n  tape {of_tape}\n  row  {of_row}\n  turn {turn} {row['turn']} lossy {lossy} {row['lossy']}")
        print(f"{reader.__name__}: {compared} events, {fields} fields compared, {differences} differences")
        assert differences == 0


main()
