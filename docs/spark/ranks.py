"""The joins of a set's ranks as a Spark job, for runs that outgrow one machine.

    spark-submit ranks.py /shared/run42 > ranks.json

It prints one JSON object: each rank's mean step, who is waited for in collectives, why the GPU is idle, and what lines cost with
their spread over ranks; the same numbers as `stepline report` on the folder and as the SQL files for DuckDB. Times are
microseconds. Spark reads the folders' names (rank=3) as the column "rank".
"""

import json
import sys

from pyspark.sql import SparkSession, Window, functions as f


def mean_us(column):
    """Mean of a column of nanoseconds in whole nanoseconds, as microseconds."""
    return f.floor(f.sum(column) / f.count("*")) / 1e3


def ranks(steps):
    return steps.groupBy("rank").agg(
        f.count("*").alias("steps"),
        mean_us("duration_ns").alias("step_mean_us"),
        (f.floor(f.sum("gpu_busy_ns") / f.count("*")) / f.floor(f.sum("duration_ns") / f.count("*"))).alias("gpu_busy"),
        mean_us("exposed_communication_ns").alias("exposed_communication_us"),
    ).orderBy("rank")


def stragglers(collectives, ranks_table):
    """Joins the ranks' collectives and sums how long the others waited for the last one."""
    numberless = f.col("sequence") < 0
    keyed = collectives.where(f.col("process_group") != "").select(
        "rank", "process_group", "group_ranks", "sequence", "start_unix_ns", "duration_ns", "in_span",
        f.when(numberless, f.col("name")).otherwise("").alias("unnumbered"),
        f.when(numberless, f.col("occurrence")).otherwise(0).alias("nth"),
    )
    keyed = keyed.withColumn("runs", f.count("*").over(
        Window.partitionBy("rank", "process_group", "group_ranks", f.col("sequence") < 0, "unnumbered")))
    key = ["process_group", "group_ranks", "sequence", "unnumbered", "nth"]
    latest = f.struct(f.col("start_unix_ns"), -f.col("rank"))  # of ranks that start together the first counts
    joined = keyed.groupBy(*key).agg(
        f.count("*").alias("parts"), f.countDistinct("rank").alias("ranks"),
        f.min("start_unix_ns").alias("first_ns"), f.max("start_unix_ns").alias("last_ns"),
        f.min("runs").alias("fewest"), f.max("runs").alias("most"),
        f.max_by("rank", latest).alias("late_rank"), f.max_by("in_span", latest).alias("late_in_span"),
    ).where(
        (f.col("parts") > 1) & (f.col("parts") == f.col("ranks")) & (f.col("last_ns") > f.col("first_ns")) & f.col("late_in_span")
        & ((f.col("sequence") >= 0) | (f.col("fewest") == f.col("most")))
    )
    waits = joined.join(keyed.drop("runs"), key).where("rank <> late_rank").groupBy("late_rank", "rank").agg(
        f.sum(f.least(f.col("last_ns") - f.col("start_unix_ns"), f.col("duration_ns"))).alias("wait_ns"))
    worst = waits.groupBy("late_rank").agg(
        f.max("wait_ns").alias("wait_ns"), f.max_by("rank", f.struct(f.col("wait_ns"), -f.col("rank"))).alias("waiting"))
    counts = joined.groupBy("late_rank").agg(f.count("*").alias("collectives"))
    return worst.where("wait_ns > 0").join(counts, "late_rank").join(
        ranks_table.select(f.col("rank").alias("late_rank"), "steps"), "late_rank"
    ).select(
        f.col("late_rank").alias("rank"), (f.floor(f.col("wait_ns") / f.col("steps")) / 1e3).alias("wait_us_per_step"),
        "waiting", "collectives",
    ).orderBy(f.desc("wait_us_per_step"), "rank")


def idle(idle_table, step_count):
    return idle_table.groupBy("cause", "file", "line").agg(
        (f.floor(f.sum("duration_ns") / f.lit(step_count)) / 1e3).alias("us_per_step"), f.sum("gaps").alias("gaps"),
    ).orderBy(f.desc("us_per_step"), "cause", "file", "line")


def lines(lines_table):
    gpu = f.col("forward_ns") + f.col("backward_ns")
    return lines_table.groupBy("file", "line").agg(
        f.first("function").alias("function"), (f.sum("forward_ns") / 1e3).alias("cuda_self_us"),
        (f.sum("backward_ns") / 1e3).alias("cuda_backward_us"), f.sum("kernels").alias("kernels"),
        (f.sum("gpu_idle_ns") / 1e3).alias("gpu_idle_us"),
        (f.min(gpu) / 1e3).alias("least_us"), (f.max(gpu) / 1e3).alias("most_us"),
    ).orderBy(f.desc(f.col("cuda_self_us") + f.col("cuda_backward_us")), "file", "line")


def main(folder):
    spark = SparkSession.builder.appName("stepline ranks").getOrCreate()
    table = {name: spark.read.parquet(f"{folder}/{name}") for name in ("ranks", "steps", "idle", "lines", "collectives")}
    answer = {
        "ranks": ranks(table["steps"]),
        "stragglers": stragglers(table["collectives"], table["ranks"]),
        "idle": idle(table["idle"], table["steps"].count()),
        "lines": lines(table["lines"]),
    }
    json.dump({name: [row.asDict() for row in rows.collect()] for name, rows in answer.items()}, sys.stdout)
    print()
    spark.stop()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: spark-submit ranks.py FOLDER")
    main(sys.argv[1])
