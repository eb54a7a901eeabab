"""The job on a local cluster: the same rows with one worker, with four, and after a worker was killed; then only what is new."""

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import engram
import pytest

pyarrow = pytest.importorskip("pyarrow")
import job  # noqa: E402

FIXTURES = Path(__file__).parents[2] / "fixtures"
BUNDLE_BYTES = 1 << 20
"""Small bundles, so that there are several."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    """Sessions of all harnesses, each once."""
    root = tmp_path_factory.mktemp("logs")
    recordings = ["claude-code/2.1.329", "codex/0.169.0", "gemini/0.61.0", "opencode/1.18.34", "cursor/sdk-1.0.32"]
    seen = set()
    for recording in recordings:
        for home in sorted((FIXTURES / recording).glob("*/session")):
            units = engram.units(home)
            if units and seen.isdisjoint(unit.unit for unit in units):
                seen.update(unit.unit for unit in units)
                copy = root / home.relative_to(FIXTURES)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copytree(home, copy)
    return root


@pytest.fixture(scope="module")
def expected(logs) -> list[dict]:
    """The events without any job."""
    tapes = [tape for unit in engram.units(logs) for tape in engram.ingest(unit)]
    table = pyarrow.concat_tables([pyarrow.table(tape.arrow()) for tape in tapes], promote_options="permissive")
    return rows(table)


def rows(table) -> list[dict]:
    """What all forms of the table have in common."""
    columns = ["tape", "seq", "k", "call_id", "text", "stdout", "file", "args", "rest"]
    # A session that is there as a log and in a store is two tapes of one name.
    return sorted(table.select(columns).to_pylist(), key=json.dumps)


def killed_once(mark: Path):
    """A conversion whose worker is killed the first time, when some of its bundle is written."""

    def convert(bundle, out):
        rows = job.convert(bundle, out)
        try:
            mark.touch(exist_ok=False)
        except FileExistsError:
            return rows
        os.kill(os.getpid(), signal.SIGKILL)

    return convert


def test_bundles_are_full_and_stores_stay_whole(logs):
    units = engram.units(logs)
    bundles = job.bundles(units, BUNDLE_BYTES)
    assert sorted(unit.unit for bundle in bundles for unit in bundle.units) == sorted(unit.unit for unit in units)
    assert len(bundles) > 3
    in_bundles = {}
    for number, bundle in enumerate(bundles):
        for unit in bundle.units:
            if unit.in_store:
                in_bundles.setdefault(unit.paths[0], set()).add(number)
    assert in_bundles and all(len(numbers) == 1 for numbers in in_bundles.values())
    assert [bundle.name for bundle in job.bundles(reversed(units), BUNDLE_BYTES)] == [bundle.name for bundle in bundles]


def test_a_retry_writes_the_same_bytes(logs, tmp_path):
    bundle = job.plan([logs], tmp_path, BUNDLE_BYTES).bundles[0]
    job.convert(bundle, tmp_path)
    first = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    job.convert(bundle, tmp_path)
    assert first and first == {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    assert not list(tmp_path.rglob(".*"))


def test_a_run_that_loses_something_fails(logs, tmp_path):
    plan = job.plan([logs], tmp_path, BUNDLE_BYTES)
    rows = [row for bundle in plan.bundles for row in job.convert(bundle, tmp_path)]
    lost = rows[0]["unit"]
    with pytest.raises(job.Unaccounted, match="no row"):
        job.commit(plan, [row for row in rows if row["unit"] != lost], tmp_path)
    with pytest.raises(job.Unaccounted, match="went in"):
        job.commit(plan, [row | {"unit_bytes": row["unit_bytes"] + 1} for row in rows], tmp_path)
    log = next(row for row in rows if row["harness"] == "codex")
    with pytest.raises(job.Unaccounted, match="its tapes"):
        job.commit(plan, [row | {"input_bytes": row["input_bytes"] - 1} if row is log else row for row in rows], tmp_path)
    assert job.manifest(tmp_path) == []
    job.commit(plan, rows, tmp_path)
    assert len(job.manifest(tmp_path)) == len({row["unit"] for row in rows})


@pytest.fixture(scope="module", params=["ray", "spark"])
def engine(request) -> str:
    """What runs the job. Each is skipped where it is not installed."""
    pytest.importorskip("pyspark" if request.param == "spark" else "ray")
    return request.param


@pytest.fixture(params=[1, 4])
def cluster(request, engine):
    """A local cluster with so many workers: its name, the number, and a function that runs the job on it."""
    here, workers = str(Path(__file__).parent), request.param
    if engine == "ray":
        import ray
        import ray_job

        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": here}})
        yield engine, workers, ray_job.run
        ray.shutdown()
    else:
        import pyspark.sql
        import spark_job

        os.environ |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": here}
        # A task is tried three times. Without the second number a local cluster gives up after the first.
        builder = pyspark.sql.SparkSession.builder.master(f"local[{workers},3]")
        spark = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
        yield engine, workers, lambda *arguments: spark_job.run(spark, *arguments)
        spark.stop()


def test_rows_are_the_same_with_any_number_of_workers_and_after_a_kill(cluster, logs, expected, tmp_path):
    engine, workers, run = cluster
    for name, convert in (("whole", job.convert), ("killed", killed_once(tmp_path / "killed.mark"))):
        out, start = tmp_path / name, time.monotonic()
        ledger = run([str(logs)], out, BUNDLE_BYTES, convert)
        print(f"\n{engine}, {workers} workers, {name}: {len(ledger)} tapes, {len(expected)} events, {time.monotonic() - start:.1f} s", file=sys.stderr)
        assert rows(job.events(out)) == expected
    assert (tmp_path / "killed.mark").exists()


def test_the_second_run_does_what_is_new(cluster, logs, tmp_path):
    engine, workers, run = cluster
    if workers == 1:
        pytest.skip("once is enough")
    logs, out = shutil.copytree(logs, tmp_path / "logs"), tmp_path / "out"
    first = run([str(logs)], out, BUNDLE_BYTES)
    start = time.monotonic()
    assert run([str(logs)], out, BUNDLE_BYTES) == []
    print(f"\n{engine}, second run: {time.monotonic() - start:.1f} s", file=sys.stderr)
    log = next((logs / "codex").rglob("rollout-*.jsonl"))
    log.write_text(log.read_text() + log.read_text().splitlines()[-1] + "\n")
    again = run([str(logs)], out, BUNDLE_BYTES)
    assert len({row["unit"] for row in again}) == 1
    current = job.events(out)
    grown = again[0]["unit"]
    counts = sum(row["events"] for row in again + [row for row in first if row["unit"] != grown])
    assert len(current) == counts, "the older state of the session does not count"
