#!/usr/bin/env python3
"""Holds the change points of `iostone history` beside those of Apache Otava, on series with a known change.

usage: tests/history-against-otava.py

Needs `pip install apache-otava`. 300 series of 120 runs have one change of 5, 10 or 20 % at a random run, in noise of 1, 3 or 6 %;
300 have none. A change is found if a point lies within four runs of it; every other point is false. Prints the table of
docs/concepts/many-runs.md.
"""

import math
import pathlib
import random
import subprocess

from otava.series import AnalysisOptions, Metric, Series

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUNS = 120
NEAR = 4


def made(seed, noise, change):
    """ln of each run, and where it changes."""
    source = random.Random(seed)
    place = source.randrange(30, 90)
    runs = [noise * source.gauss(0, 1) + (math.log1p(-change) if run >= place else 0.0) for run in range(RUNS)]
    return runs, place


def of_iostone(rate, all_runs):
    lines = "".join(f"{rate} {' '.join(f'{run:.9f}' for run in runs)}\n" for runs in all_runs)
    command = ["cargo", "bench", "-q", "--locked", "-p", "iostone-stats", "--bench", "changes", "--profile", "release"]
    ran = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, cwd=ROOT)
    return [[int(word) for word in line.split()] for line in ran.stdout.splitlines()[: len(all_runs)]]


def of_otava(max_pvalue, all_runs):
    options = AnalysisOptions()
    options.max_pvalue = max_pvalue
    points = []
    for runs in all_runs:
        values = [100.0 * math.exp(run) for run in runs]
        series = Series("a", None, list(range(RUNS)), {"m": Metric(1, 1.0)}, {"m": values}, {})
        points.append([point.index for point in series.analyze(options).change_points["m"]])
    return points


def main():
    kinds = [(noise, change) for noise in (0.01, 0.03, 0.06) for change in (0.05, 0.10, 0.20)]
    changed = [(kind, *made(seed, *kind)) for seed, kind in ((seed, kinds[seed % 9]) for seed in range(300))]
    quiet = [made(1000 + seed, (0.01, 0.03, 0.06)[seed % 3], 0.0)[0] for seed in range(300)]
    ways = [(f"iostone, {rate}", lambda runs, rate=rate: of_iostone(rate, runs)) for rate in ("1/200", "1/500", "1/1000")]
    ways += [(f"otava, p < {p}", lambda runs, p=p: of_otava(p, runs)) for p in (0.01, 0.001, 0.0001)]
    heads = [f"{100 * noise:.0f} %: -{100 * change:.0f} %" for noise, change in kinds]
    print(f"| way | false points in 100 quiet runs | {' | '.join(heads)} | all |")
    print(f"| --- | ---: | {'---: | ' * 9}---: |")
    for name, way in ways:
        found = dict.fromkeys(kinds, 0)
        false = 0
        for (kind, _, place), points in zip(changed, way([runs for _, runs, _ in changed])):
            found[kind] += any(abs(point - place) <= NEAR for point in points)
            false += sum(abs(point - place) > NEAR for point in points)
        false += sum(len(points) for points in way(quiet))
        shares = [100 * found[kind] / sum(other == kind for other, _, _ in changed) for kind in kinds]
        rate = 100 * false / (600 * RUNS)
        total = 100 * sum(found.values()) / len(changed)
        print(f"| {name} | {rate:.2f} | {' | '.join(f'{share:.0f} %' for share in shares)} | {total:.0f} % |")


if __name__ == "__main__":
    main()
