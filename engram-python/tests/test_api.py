"""The functions of the module, its errors and its types."""

import ast
import pickle
import threading
import time
from pathlib import Path

import engram
import pytest
from conftest import FIXTURES


def test_a_log_in_memory_gives_the_tape_of_its_file(codex_home, codex_log):
    (unit,) = engram.units(codex_home)
    (tape,) = engram.ingest(unit)
    assert engram.convert(codex_log.read_bytes()) == tape.to_bytes()
    assert tape.name == f"codex/{tape.session_id}"
    assert tape.input_bytes == codex_log.stat().st_size
    assert tape.version == "0.169.0" and tape.agent_id is None and Path(tape.path) == codex_log


def test_detection_names_harness_version_and_evidence(codex_home):
    (found,) = engram.detect(codex_home)
    assert (found.harness, found.version, found.support) == ("codex", "0.169.0", "tested")
    assert found.evidence and found.session_id


def test_sub_agents_are_tapes_of_the_unit(codex_home):
    home = FIXTURES / "claude-code/2.1.329/c_subagent/session"
    (unit,) = engram.units(home)
    tapes = engram.ingest(unit)
    assert len(unit.paths) == len(tapes) > 1
    assert {tape.session_id for tape in tapes} == {unit.session}
    assert len({tape.agent_id for tape in tapes}) == len(tapes)


def test_units_are_values(codex_home):
    (unit,) = engram.units(codex_home)
    copy = pickle.loads(pickle.dumps(unit))
    assert copy == unit and hash(copy) == hash(unit) and copy.state == unit.state
    assert engram.Unit.from_json(unit.to_json()) == unit
    with pytest.raises(ValueError, match="no unit"):
        engram.Unit.from_json("{}")


def test_errors_have_a_code_and_a_place(tmp_path, codex_log):
    with pytest.raises(engram.EngramError, match="not recognised|no adapter|unknown") as raised:
        engram.convert(b"hello\n")
    assert raised.value.code == "unknown_harness"
    broken = tmp_path / "log.jsonl"
    broken.write_bytes(codex_log.read_bytes() + b'{"timestamp": broken\n{}\n')
    (unit,) = engram.units(broken)
    with pytest.raises(engram.EngramError) as raised:
        engram.ingest(unit, policy="strict")
    assert (raised.value.code, raised.value.path) == ("malformed_record", str(broken))
    assert raised.value.line == len(codex_log.read_bytes().splitlines()) + 1
    broken.unlink()
    with pytest.raises(engram.EngramError) as raised:
        engram.ingest(unit)
    assert raised.value.code == "not_found"
    with pytest.raises(ValueError, match="strict"):
        engram.convert(b"", policy="lenient")


def test_the_lock_is_released_while_a_log_is_converted(codex_log):
    # One log, long enough that a conversion takes a while: its last record is repeated.
    records = codex_log.read_bytes().splitlines(keepends=True)
    log = b"".join(records) + records[-1] * 200_000
    ticks, done = 0, threading.Event()

    def convert():
        engram.convert(log)
        done.set()

    thread = threading.Thread(target=convert)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    thread.join()
    assert ticks > 20, ticks


def test_the_stubs_declare_what_the_module_has():
    stubs = ast.parse((Path(engram.__file__).parent / "__init__.pyi").read_text())
    assert (Path(engram.__file__).parent / "py.typed").exists()
    declared = {node.name: node for node in stubs.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    public = {name for name in engram.__all__ if not name.startswith("_")}
    assert set(declared) == public
    for name, node in declared.items():
        if isinstance(node, ast.ClassDef) and name != "EngramError":
            methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            fields = {item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}
            has = {member for member in vars(getattr(engram, name)) if not member.startswith("__")}
            assert has == {member for member in methods | fields if not member.startswith("__")}, name
