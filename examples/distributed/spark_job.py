"""Converts all logs below some directories with Spark: `spark-submit --py-files job.py spark_job.py OUT PATH...`. Run it again for what is new."""

import sys
import time
from pathlib import Path

import job
import pyarrow
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

LEDGER = pyarrow.schema(
    [(name, pyarrow.string()) for name in ("unit", "state", "bundle", "harness", "tape", "error")]
    + [(name, pyarrow.int64()) for name in ("unit_bytes", "events", "input_bytes")]
)


def source(plan: job.Plan, out: Path, convert) -> type[DataSource]:
    """A data source with a partition for each bundle. Reading one converts its bundle, and gives its rows of the ledger."""

    class Conversion(DataSource):
        @classmethod
        def name(cls) -> str:
            return "engram_conversion"

        def schema(self) -> str:
            return ", ".join(f"{field.name} {'bigint' if field.type == pyarrow.int64() else 'string'}" for field in LEDGER)

        def reader(self, schema) -> DataSourceReader:
            return Reader()

    class Reader(DataSourceReader):
        def partitions(self):
            return [InputPartition(bundle) for bundle in plan.bundles]

        def read(self, partition):
            yield pyarrow.RecordBatch.from_pylist(convert(partition.value, out), schema=LEDGER)

    return Conversion


def run(spark: SparkSession, paths: list[str], out: Path, bundle_bytes: int = job.BUNDLE_BYTES, convert=job.convert) -> list[dict]:
    """One run. Gives the rows of its ledger."""
    plan = job.plan(paths, out, bundle_bytes)
    rows = []
    if plan.bundles:
        spark.dataSource.register(source(plan, out, convert))
        # Spark starts the tasks in the order of the partitions, the largest first, and runs a task again whose worker died.
        rows = [row.asDict() for row in spark.read.format("engram_conversion").load().collect()]
    job.commit(plan, rows, out)
    return rows


def main() -> None:
    out, paths = Path(sys.argv[1]).absolute(), sys.argv[2:]
    spark = SparkSession.builder.appName("engram").getOrCreate()
    start = time.monotonic()
    rows = run(spark, paths, out)
    job.report(rows, time.monotonic() - start)
    spark.stop()


if __name__ == "__main__":
    main()
