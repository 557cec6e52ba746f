#!/bin/sh
# Installs below target/readers what the test of exports reads them back by: pyarrow, Polars, DuckDB, Prometheus' parser and
# Apache Otava from PyPI, benchstat by Go. About 700 MB. Whatever is missing afterwards is not fatal: the test is skipped by name.
set -u
cd "$(dirname "$0")/.." || exit 1
readers=${IOSTONE_TEST_READERS:-${CARGO_TARGET_DIR:-target}/readers}
packages="pyarrow==26.0.1 polars==2.1.0 duckdb==2.0.1 prometheus_client==0.26.0 apache-otava==0.8.0"

if ! "$readers/bin/python" -c 'import pyarrow, polars, duckdb, prometheus_client, otava' 2>/dev/null; then
    # shellcheck disable=SC2086 # a list of packages
    if ! { python3 -m venv "$readers" && "$readers/bin/pip" install --quiet $packages; } >/dev/null 2>&1; then
        rm -rf "$readers"
        echo "could not install $packages; the test of exports will be skipped" >&2
        exit 0
    fi
fi
if ! [ -x "$readers/bin/benchstat" ]; then
    GOBIN=$(cd "$readers/bin" && pwd) go install golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da >/dev/null 2>&1 ||
        echo "could not install benchstat; the test of exports does without it" >&2
fi
exit 0
