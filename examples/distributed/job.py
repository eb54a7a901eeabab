"""What a job over many logs does, whatever runs it: bundles of units, one Parquet file a bundle, a ledger, and a manifest.

    plan = job.plan(["/logs"], out)          units that the manifest does not have, packed into bundles
    rows = job.convert(bundle, out)          one task: writes the events of a bundle, and gives its rows of the ledger
    job.commit(plan, rows, out)              fails unless every unit and byte is accounted for; then the files count

A task may be killed and tried again at any moment: its files get their names when they are complete, and a retry writes the same bytes.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import engram
import pyarrow
import pyarrow.compute
import pyarrow.parquet

BUNDLE_BYTES = 256 << 20
"""Bundles are filled up to this size. A store with more is a bundle of its own."""


@dataclass(frozen=True)
class Bundle:
    """Units that one task converts."""

    units: tuple[engram.Unit, ...]

    @property
    def name(self) -> str:
        """A hash of its units and their states: the same work has the same name."""
        parts = sorted(f"{unit.unit} {unit.state}" for unit in self.units)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]

    @property
    def bytes(self) -> int:
        return sum(unit.bytes for unit in self.units)


@dataclass(frozen=True)
class Plan:
    """The bundles of a run, the largest first."""

    bundles: list[Bundle]


def plan(paths: Iterable[str | Path], out: Path, bundle_bytes: int = BUNDLE_BYTES) -> Plan:
    """The work that the manifest of `out` does not have."""
    done = {(row["unit"], row["state"]) for row in manifest(out)}
    units = {unit.unit: unit for path in paths for unit in engram.units(path)}
    return Plan(bundles([unit for unit in units.values() if (unit.unit, unit.state) not in done], bundle_bytes))


def bundles(units: Iterable[engram.Unit], bundle_bytes: int) -> list[Bundle]:
    """Packs units, the largest first. Sessions of one store stay together, so that the store is copied and opened once."""
    together: dict[str, list[engram.Unit]] = {}
    for unit in units:
        together.setdefault(unit.paths[0] if unit.in_store else unit.unit, []).append(unit)
    size = {key: sum(unit.bytes for unit in group) for key, group in together.items()}
    packed: list[list[engram.Unit]] = []
    room = 0
    for key in sorted(together, key=lambda key: (-size[key], key)):
        if size[key] > room:
            packed.append([])
            room = bundle_bytes
        packed[-1] += together[key]
        room -= size[key]
    return [Bundle(tuple(group)) for group in packed]


def convert(bundle: Bundle, out: Path) -> list[dict]:
    """Writes `events/harness=H/day=D/<bundle>.parquet`, and gives a row of the ledger for each tape, and for each unit that failed."""
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        files = Files(Path(directory) / "out", bundle.name)
        for unit in bundle.units:
            known = {"unit": unit.unit, "state": unit.state, "bundle": bundle.name, "harness": unit.harness, "unit_bytes": unit.bytes}
            try:
                tapes = engram.ingest(copied(unit, Path(directory) / "in"))
            except engram.EngramError as error:
                rows.append(known | {"tape": None, "events": 0, "input_bytes": 0, "error": error.code})
                continue
            for tape in tapes:
                files.write(unit, tape)
                rows.append(known | {"tape": tape.name, "events": len(tape), "input_bytes": tape.input_bytes, "error": None})
        files.complete(out / "events")
    return rows


def copied(unit: engram.Unit, root: Path) -> engram.Unit:
    """The unit in a copy of its files on the local disk: a store must not be read over a network."""
    fields = json.loads(unit.to_json())
    for key in ("paths", "beside"):
        copies = []
        for path in map(Path, fields.get(key, [])):
            to = root / path.relative_to(path.anchor)
            to.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, to, dirs_exist_ok=True)
            elif not to.exists():
                shutil.copy2(path, to)
            copies.append(str(to))
        fields[key] = copies
    return engram.Unit.from_json(json.dumps(fields))


class Files:
    """The Parquet files of a bundle, one for each harness and day."""

    def __init__(self, directory: Path, name: str):
        self.directory, self.name = directory, name
        self.open: dict[Path, pyarrow.parquet.ParquetWriter] = {}

    def write(self, unit: engram.Unit, tape: engram.Tape) -> None:
        table = pyarrow.table(tape.arrow())
        for column, value in (("bundle", self.name), ("unit", unit.unit)):
            table = table.add_column(0, column, pyarrow.array([value] * len(table), pyarrow.string()))
        path = Path(f"harness={tape.harness}", f"day={day(table)}", f"{self.name}.parquet")
        if path not in self.open:
            file = self.directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            # The harness is in the name of the directory.
            self.open[path] = pyarrow.parquet.ParquetWriter(file, table.drop_columns("harness").schema, compression="zstd")
        self.open[path].write_table(table.drop_columns("harness"))

    def complete(self, events: Path) -> None:
        for path, writer in self.open.items():
            writer.close()
            to = events / path
            to.parent.mkdir(parents=True, exist_ok=True)
            # A name of its own, since a task that is believed to be dead may still write.
            beside = to.with_name(f".{self.name}.{os.urandom(8).hex()}")
            shutil.copy2(self.directory / path, beside)
            os.replace(beside, to)


def day(table: pyarrow.Table) -> str:
    first = pyarrow.compute.min(table["t"]).cast("date32").as_py()
    return "unknown" if first is None else first.isoformat()


class Unaccounted(Exception):
    """A run that lost something. Nothing of it counts."""


def commit(of: Plan, rows: list[dict], out: Path) -> None:
    """Writes the ledger of a run, and adds its units to the manifest if all is accounted for."""
    planned = {unit.unit: unit for bundle in of.bundles for unit in bundle.units}
    accounted = {row["unit"]: row["unit_bytes"] for row in rows}
    if missing := planned.keys() - accounted.keys():
        raise Unaccounted(f"{len(missing)} of {len(planned)} units have no row in the ledger, such as {min(missing)}")
    bytes_in, bytes_out = sum(unit.bytes for unit in planned.values()), sum(accounted.values())
    if bytes_in != bytes_out:
        raise Unaccounted(f"{bytes_in} bytes went in, and {bytes_out} are accounted for")
    for unit in planned.values():
        check_logs(unit, [row for row in rows if row["unit"] == unit.unit])
    if not rows:
        return
    run = hashlib.sha256("".join(sorted(bundle.name for bundle in of.bundles)).encode()).hexdigest()[:32]
    rows = sorted(rows, key=lambda row: (row["unit"], row["tape"] or ""))
    write(out / "ledger" / f"{run}.jsonl", rows)
    # A unit that failed is tried again.
    done = {row["unit"]: {key: row[key] for key in ("unit", "state", "bundle")} for row in rows if row["error"] is None}
    write(out / "manifest" / f"{len(list((out / 'manifest').glob('*.jsonl'))):06}-{run}.jsonl", done.values())


def check_logs(unit: engram.Unit, rows: list[dict]) -> None:
    """The tapes of a unit cover the bytes of its logs. A store is exported and a compressed log is longer, so these have no size to compare."""
    if unit.in_store or any(row["error"] for row in rows) or any(not path.endswith((".jsonl", ".json")) for path in unit.paths):
        return
    in_logs, in_tapes = sum(os.path.getsize(path) for path in unit.paths), sum(row["input_bytes"] for row in rows)
    if in_logs != in_tapes:
        raise Unaccounted(f"the logs of unit {unit.unit} have {in_logs} bytes, and its tapes were made from {in_tapes}")


def report(rows: list[dict], seconds: float) -> None:
    """Prints what a run did."""
    failed = sum(row["error"] is not None for row in rows)
    size = sum({row["unit"]: row["unit_bytes"] for row in rows}.values())
    print(f"{len(rows) - failed} tapes, {failed} units failed, {size} bytes, {seconds:.1f} s")


def write(path: Path, rows: Iterable[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}")
    beside.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.replace(beside, path)


def manifest(out: Path) -> list[dict]:
    """The bundle that counts for each unit: that of the last run that converted it."""
    last = {}
    for file in sorted((out / "manifest").glob("*.jsonl")):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            last[row["unit"]] = row
    return list(last.values())


def events(out: Path) -> pyarrow.Table:
    """The events that count: not those of runs that failed, nor those of a session before it grew. In any order."""
    counts = pyarrow.array([row["unit"] + row["bundle"] for row in manifest(out)], pyarrow.string())
    written = pyarrow.parquet.read_table(out / "events", partitioning="hive")
    key = pyarrow.compute.binary_join_element_wise(written["unit"], written["bundle"], "")
    return written.filter(pyarrow.compute.is_in(key, counts))
