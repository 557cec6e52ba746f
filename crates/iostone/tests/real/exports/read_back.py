"""Reads exports of runs by the programs that they are for, and holds every figure against the runs' JSON, bit by bit."""

import glob
import json
import os
import re
import statistics
import struct
import subprocess
import sys

import duckdb
import polars
import pyarrow.dataset
import pyarrow.parquet
from prometheus_client.openmetrics.parser import text_string_to_metric_families

place = sys.argv[1]


def bits(value):
    return struct.pack("<d", float(value))


def expected(path):
    """The figures of a dataset document by trial and metric."""
    with open(path, encoding="utf-8") as file:
        dataset = json.load(file)
    return {
        (observation["run"], metric): bits(figure["value"])
        for observation in dataset["observations"]
        for metric, figure in observation["figures"].items()
    }


def check(what, found, wanted):
    lacking = {key for key, value in wanted.items() if found.get(key) != value}
    assert not lacking, f"{what}: {len(lacking)} of {len(wanted)} figures differ, as {sorted(lacking)[:3]}"
    print(f"{what}: {len(wanted)} figures")


one = expected(f"{place}/one.json")

# Parquet: one file.
table = pyarrow.parquet.read_table(f"{place}/one.parquet")
rows = table.to_pylist()
check("pyarrow", {(row["trial"], row["metric"]): bits(row["value"]) for row in rows}, one)
assert str(table.schema.field("started_at").type) == "timestamp[us, tz=UTC]", table.schema
assert {row["experiment"] for row in rows} == {"other"}
frame = polars.read_parquet(f"{place}/one.parquet")
check("polars", {(row["trial"], row["metric"]): bits(row["value"]) for row in frame.to_dicts()}, one)
query = f"SELECT trial, metric, value, block FROM '{place}/one.parquet'"
found = duckdb.sql(query).fetchall()
check("duckdb", {(trial, metric): bits(value) for trial, metric, value, _ in found}, one)
assert all(isinstance(block, int) for _, _, _, block in found)

# Parquet: all runs as one table, by the folders of their partitions.
runs = sorted(glob.glob(f"{place}/all/**/*.parquet", recursive=True))
assert len(runs) > 1, runs
hive = pyarrow.dataset.dataset(f"{place}/all", format="parquet", partitioning="hive").to_table()
assert {"experiment", "host"} <= set(hive.column_names), hive.column_names
several = duckdb.sql(
    f"SELECT count(DISTINCT run), count(DISTINCT experiment) FROM read_parquet('{place}/all/**/*.parquet', hive_partitioning = true)"
).fetchall()[0]
scanned = polars.scan_parquet(f"{place}/all/**/*.parquet", hive_partitioning=True).collect()
assert several[0] == len(runs) == scanned["run"].n_unique() == len(set(hive["run"].to_pylist())), several
assert hive.num_rows == scanned.height
print(f"hive: {hive.num_rows} rows of {len(runs)} runs")

# CSV, long and wide.
text = polars.read_csv(f"{place}/one.csv", infer_schema=False)
check("csv", {(row["run"], row["metric"]): bits(row["value"]) for row in text.to_dicts()}, one)
wide = polars.read_csv(f"{place}/wide.csv", infer_schema=False).to_dicts()
found = {}
for row in wide:
    for name, value in row.items():
        key = (row["run"], name.split(" [")[0])
        if key in one:
            found[key] = bits(value)
check("csv-wide", found, one)

# OpenMetrics.
with open(f"{place}/one.prom", encoding="utf-8") as file:
    families = list(text_string_to_metric_families(file.read()))
samples = {}
for family in families:
    for sample in family.samples:
        samples.setdefault(sample.labels["trial"], set()).add(bits(sample.value))
assert all(value in samples[trial] for (trial, _), value in one.items())
print(f"prometheus_client: {len(families)} families, {len(one)} figures")

# Bencher Metric Format: names, measures, and a number with bounds around it.
with open(f"{place}/one.bmf.json", encoding="utf-8") as file:
    bencher = json.load(file)
for benchmark, measures in bencher.items():
    for measure, value in measures.items():
        assert set(value) == {"value", "lower_value", "upper_value"}, value
        assert value["lower_value"] <= value["value"] <= value["upper_value"], (benchmark, measure, value)
print(f"bencher: {sum(map(len, bencher.values()))} measures")

# Go's benchmark format by benchstat, whose CSV has the medians.
benchstat = os.environ.get("BENCHSTAT")
if benchstat:
    printed = subprocess.run([benchstat, "-format", "csv", f"{place}/one.go"], capture_output=True, text=True, check=True)
    assert not [line for line in printed.stderr.splitlines() if "parse" in line.lower()], printed.stderr
    medians = {}
    unit = None
    for line in printed.stdout.splitlines():
        cells = line.split(",")
        if len(cells) > 1 and cells[0] == "" and cells[1] and "CI" in line:
            unit = cells[1]
        elif unit and len(cells) > 1 and cells[0] not in ("", "geomean"):
            try:
                medians[(cells[0], unit)] = float(cells[1])
            except ValueError:
                pass
    with open(f"{place}/one.json", encoding="utf-8") as file:
        dataset = json.load(file)
    factor = dataset["factors"][0]
    groups = {}
    for observation in dataset["observations"]:
        level = re.sub(r'[\s/="]', "_", observation["labels"][factor])
        for metric, figure in observation["figures"].items():
            groups.setdefault((level, metric), []).append(figure["value"])
    wanted = {key: bits(statistics.median(values)) for key, values in groups.items()}
    found = {
        (name.split(f"/{factor}=")[1], re.sub(r"(-sec|-B/s|-B|/s)$", "", of)): bits(median)
        for (name, of), median in medians.items()
    }
    check("benchstat", found, wanted)
else:
    print("skipped: benchstat is missing")

# Otava reads the history of an experiment on a host.
history = glob.glob(f"{place}/history/**/history.csv", recursive=True)
assert history
with open(history[0], encoding="utf-8") as file:
    header = file.readline().strip().split(",")
column = next(name for name in header if name.endswith(":iops"))
with open(f"{place}/otava.yaml", "w", encoding="utf-8") as file:
    file.write(
        "tests:\n  runs:\n    type: csv\n    file: " + json.dumps(history[0]) + "\n    time_column: time\n"
        "    attributes: [run]\n    metrics:\n      iops:\n        column: " + json.dumps(column) + "\n        direction: 1\n"
        "    csv_options:\n      delimiter: \",\"\n      quote_char: '\"'\n"
    )
otava = os.path.join(os.path.dirname(sys.executable), "otava")
said = subprocess.run(
    [otava, "analyze", "runs", "--since", "2000-01-01"],
    env={**os.environ, "OTAVA_CONFIG": f"{place}/otava.yaml"},
    capture_output=True,
    text=True,
)
assert said.returncode == 0 and "iops" in said.stdout, said.stdout + said.stderr
print("otava: " + said.stdout.splitlines()[-1])
