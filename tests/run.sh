#!/usr/bin/env bash
# Runs sets of tests, `quick`, `real` or both, and prints the closing counts of all of them. docs/reference/tests.md says which
# test is in which. No test is tried again: one that fails because the machine is busy is mended, or is no test.
set -uo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
# Cargo's own lines are read below.
export CARGO_TERM_COLOR=never

log=$(mktemp)
trap 'rm -f "$log"' EXIT

run() {
    case $1 in
    # Most of these wait for a disk or a program; none measures, so that more of them than processors do no harm.
    quick) RUST_TEST_THREADS=${RUST_TEST_THREADS:-$(($(nproc) * 2))} $cargo test --workspace --locked --no-fail-fast ;;
    real) $cargo test --workspace --locked --no-fail-fast --test real ;;
    *)
        echo "no set of tests is called '$1': quick or real" >&2
        return 2
        ;;
    esac
}

status=0
for set in "$@"; do
    run "$set" 2>&1 | tee -a "$log" || status=1
done

# The closing lines of all targets, added up. The output of a failed test may hold such lines too: a target's own is its last.
awk 'function add() { passed += own[4]; failed += own[6]; skipped += own[8]; delete own }
     /^ +(Running|Doc-tests) / { add() }
     /^test result:/ { split($0, own, " ") }
     END { add(); print passed + 0 " passed, " failed + 0 " failed, " skipped + 0 " skipped" }' "$log"
exit "$status"
