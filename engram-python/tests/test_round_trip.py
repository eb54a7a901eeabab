"""Every event of every fixture: as dictionaries, and as Arrow rows in pyarrow, polars and DuckDB."""

import importlib
import json

import engram
import pytest
from conftest import homes

MINIMUM = 10_000


@pytest.fixture(scope="module")
def tapes():
    return [tape for home in homes() for unit in engram.units(home) for tape in engram.ingest(unit)]


def test_events_are_those_of_the_tape(tapes):
    compared = 0
    for tape in tapes:
        lines = tape.to_bytes().split(b"\n")
        assert lines.pop() == b""
        for line, event in zip(lines, tape.events(), strict=True):
            assert event == json.loads(line)
            compared += 1
        assert len(tape) == len(lines)
    print(f"{compared} events of {len(tapes)} tapes")
    assert compared > MINIMUM


def rows_of_pyarrow(batches):
    table = importlib.import_module("pyarrow").table(batches)
    return table.select(["tape", "seq", "k", "file"]).to_pylist()


def rows_of_polars(batches):
    return importlib.import_module("polars").DataFrame(batches).select("tape", "seq", "k", "file").to_dicts()


def rows_of_duckdb(batches):
    answer = importlib.import_module("duckdb").sql("select tape, seq, k, file from batches")
    return [dict(zip(("tape", "seq", "k", "file"), row)) for row in answer.fetchall()]


@pytest.mark.parametrize(("library", "rows_of"), [("pyarrow", rows_of_pyarrow), ("polars", rows_of_polars), ("duckdb", rows_of_duckdb)])
def test_rows_are_the_events(tapes, library, rows_of):
    pytest.importorskip(library)
    compared = 0
    for tape in tapes:
        events = tape.events()
        for row, event in zip(rows_of(tape.arrow()), events, strict=True):
            file = event.get("from_file") if event["k"] == "span.link" else event.get("file")
            assert row == {"tape": tape.name, "seq": event["seq"], "k": event["k"], "file": file}
            compared += 1
    assert compared > MINIMUM


@pytest.mark.parametrize("table", ["tapes", "sessions", "prompts", "calls", "edits", "usage"])
def test_each_table_has_rows_and_a_schema(tapes, table):
    pyarrow = pytest.importorskip("pyarrow")
    first = pyarrow.schema(tapes[0].arrow(table))
    rows = 0
    for tape in tapes:
        batches = tape.arrow(table)
        read = pyarrow.table(batches)
        assert read.schema == first and len(read) == len(batches)
        rows += len(read)
    assert rows > 0
    with pytest.raises(ValueError, match="events, tapes"):
        tapes[0].arrow("nothing")
