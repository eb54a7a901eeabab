"""Converts all logs below some directories with Ray: `python ray_job.py OUT PATH...`. Run it again for what is new."""

import sys
import time
from pathlib import Path

import job
import ray


def run(paths: list[str], out: Path, bundle_bytes: int = job.BUNDLE_BYTES, convert=job.convert) -> list[dict]:
    """One run. Gives the rows of its ledger."""
    plan = job.plan(paths, out, bundle_bytes)
    rows = []
    if plan.bundles:
        # A block for each bundle: Ray hands them out one by one, so the largest, which come first, do not end last.
        bundles = ray.data.from_items([{"bundle": bundle} for bundle in plan.bundles], override_num_blocks=len(plan.bundles))
        # Ray runs a task again whose worker died. Its files have fixed names, and the same bytes.
        tasks = bundles.flat_map(lambda row: convert(row["bundle"], out), num_cpus=1)
        rows = tasks.take_all()
    job.commit(plan, rows, out)
    return rows


def main() -> None:
    out, paths = Path(sys.argv[1]).absolute(), sys.argv[2:]
    ray.init(log_to_driver=False)
    start = time.monotonic()
    rows = run(paths, out)
    job.report(rows, time.monotonic() - start)


if __name__ == "__main__":
    main()
