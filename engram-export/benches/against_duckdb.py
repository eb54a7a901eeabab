#!/usr/bin/env python3
"""What Parquet costs, beside DuckDB's own reader: CPU time of one run of each way over the same logs.

    against_duckdb.py ENGRAM LOG... [--runs N] [--callgrind]

Each LOG is a file of JSON lines. The ways: `engram ingest` (JSON Lines, plain and with zstd), `engram ingest --to parquet`, and DuckDB's `read_ndjson` to
Parquet, with zstd's level 1 as ours. All use one thread. DuckDB copies records: it makes no events. It reads all records for their types before it
copies them, since the first ones do not have all members; the start of Python and DuckDB is not counted, that of Engram is. Compare ratios of one run;
`--callgrind` counts instructions of Engram instead, which do not depend on what else the machine does. Needs `pip install duckdb`.
"""

import argparse
import json
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

COPY = """
import duckdb, json, sys
files, out = json.loads(sys.argv[1]), sys.argv[2]
db = duckdb.connect(config={"threads": 1})
db.execute("copy (select * from read_ndjson($files, union_by_name=true, sample_size=-1, maximum_object_size=268435456, ignore_errors=true)) "
           f"to '{out}' (format parquet, compression zstd, compression_level 1)", {"files": files})
"""


def cpu(command):
    """Seconds of CPU time of a command and all that it started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{command[0]}: {done.returncode}: {done.stderr.decode()[-400:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def instructions(command, work):
    """Instructions of a command in user mode."""
    counts = work / "callgrind"
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}"]
    subprocess.run(valgrind + command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lines = counts.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("summary:"))


def size(path):
    return sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("engram")
    arguments.add_argument("logs", nargs="+")
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--callgrind", action="store_true")
    given = arguments.parse_args()
    total = sum(pathlib.Path(log).stat().st_size for log in given.logs)
    work = pathlib.Path(tempfile.mkdtemp(prefix="engram-against-"))
    out = work / "out"
    ways = {
        "json lines": [given.engram, "ingest", "--jobs", "1", "--out", str(out), *given.logs],
        "with zstd": [given.engram, "ingest", "--jobs", "1", "--zstd", "--out", str(out), *given.logs],
        "parquet": [given.engram, "ingest", "--jobs", "1", "--to", "parquet", "--out", str(out), *given.logs],
        "duckdb": [sys.executable, "-c", COPY, json.dumps(given.logs), str(out)],
    }
    idle = min(cpu([sys.executable, "-c", "import duckdb; duckdb.connect()"]) for _ in range(given.runs))
    print(f"{len(given.logs)} logs, {total} bytes")
    first = None
    for name, command in ways.items():
        if given.callgrind and name == "duckdb":
            continue
        spent = []
        for _ in range(1 if given.callgrind else given.runs):
            shutil.rmtree(out, ignore_errors=True)
            out.unlink(missing_ok=True)
            spent.append(instructions(command, work) if given.callgrind else cpu(command) - (idle if name == "duckdb" else 0))
        cost = min(spent)
        first = first or cost
        speed = f"{cost / total:6.1f} instructions a byte" if given.callgrind else f"{total / cost / 1e6:6.0f} MB/s"
        print(f"{name:<12} {speed}  {cost / first:5.2f} x json lines  {size(out) / total:5.2f} of the log's size")
    shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
