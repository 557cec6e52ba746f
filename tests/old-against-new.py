#!/usr/bin/env python3
"""Compares what two builds of iostone conclude from the same records.

usage: tests/old-against-new.py OLD NEW [RUN_DIRECTORY...]

Runs both programs over the casebook, the fixtures of the tool readers and stored runs (by default those of version 0.1.0 in
tests/runs-0.1.0.tar.gz), and prints each verdict, flag and finding (rule and severity) that only one of them has. No output means that
nothing changed. Exit code 1 where something did.
"""

import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def ask(program, *arguments):
    """The JSON that the program prints; None where it refuses."""
    run = subprocess.run([program, *arguments], capture_output=True, timeout=120, check=False)
    try:
        return json.loads(run.stdout)
    except ValueError:
        return None


def findings(report):
    if report is None:
        return {"refused"}
    return {f"{finding['severity']} {finding['rule']}" for finding in report["findings"]}


def conclusions(report):
    """Verdicts, flags and findings of `report --format json`."""
    if report is None:
        return {"refused"}
    facts = set()
    verdicts = report.get("verdicts") or {}
    for comparison in verdicts.get("comparisons", []):
        name = " ".join(filter(None, [comparison["level"], comparison.get("stratum"), comparison.get("point")]))
        facts.add(f"{name}: {comparison['verdict']}")
        facts |= {f"{name}: flag {flag['name']}" for flag in comparison["flags"]}
    facts |= {f"flag {flag['name']}" for flag in verdicts.get("flags", [])}
    # What a run's report tells as a flag it need not tell as a finding.
    facts |= {f"told {fact.split()[1]}" for fact in findings(report.get("audit") or {"findings": []})}
    for part in (report.get("explanation") or {}).get("parts", []):
        for figure in part["figures"]:
            for ceiling in figure["ceilings"]:
                if ceiling["state"] != "free":
                    facts.add(f"{part['configuration']}: {figure['figure']}: {ceiling['kind']} {ceiling['state']}")
    return facts


def casebook(report):
    facts = set()
    for case in (report or {}).get("cases", []):
        name = case.get("name", "")
        facts |= {f"{name}: {fact}" for fact in findings(case.get("audit"))}
        for place, comparison in enumerate(case.get("comparisons", [])):
            for level in comparison.get("levels", []):
                one = level["comparison"]
                facts.add(f"{name}: comparison {place}: {one['level']}: {one['verdict']} {one['ratio']}")
                facts |= {f"{name}: comparison {place}: flag {flag['name']}" for flag in one["flags"]}
    return facts


def compare(name, both):
    old, new = both
    for fact in sorted(old - new):
        print(f"{name}\t- {fact}")
    for fact in sorted(new - old):
        print(f"{name}\t+ {fact}")
    return old != new


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    programs, runs = sys.argv[1:3], [pathlib.Path(run) for run in sys.argv[3:]]
    changed = 0
    with tempfile.TemporaryDirectory() as folder:
        if not runs:
            with tarfile.open(ROOT / "tests/runs-0.1.0.tar.gz") as archive:
                archive.extractall(folder, filter="data")
            runs = sorted(pathlib.Path(folder).iterdir())
        for run in runs:
            changed += compare(f"report {run.name}", [conclusions(ask(p, "report", str(run), "--format", "json")) for p in programs])
            changed += compare(f"audit {run.name}", [findings(ask(p, "audit", str(run), "--json")) for p in programs])
    for fixture in sorted((ROOT / "crates/iostone-tools/tests/fixtures").rglob("*.*")):
        name = fixture.relative_to(ROOT / "crates/iostone-tools/tests/fixtures")
        changed += compare(f"audit {name}", [findings(ask(p, "audit", str(fixture), "--json")) for p in programs])
    changed += compare("casebook", [casebook(ask(p, "casebook", "--json")) for p in programs])
    print(f"{len(runs)} runs, {changed} documents with a difference", file=sys.stderr)
    sys.exit(1 if changed else 0)


if __name__ == "__main__":
    main()
