#!/usr/bin/env bash
# Runs every test and prints the closing counts. Many tests measure real devices; another's load on the machine can make one
# of them fail, so that a few failures are tried again, up to twice, each alone, and told by name.
set -uo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
# Cargo's own lines are read below.
export CARGO_TERM_COLOR=never
# More failures than these are no chance.
repeated_at_most=10

log=$(mktemp) failed=$(mktemp) again=$(mktemp)
trap 'rm -f "$log" "$failed" "$again"' EXIT

$cargo test --workspace --locked --no-fail-fast 2>&1 | tee "$log"
status=$?

# A line for each failed test: what cargo calls its target, and its name. The names are those of the last list before the
# target is named; the output of tests stands above it.
awk '/^failures:$/ { count = 0; listed = 1; next }
     listed && /^    [^ ]+$/ { names[++count] = $1 }
     /^error: test failed, to rerun pass `/ {
         split($0, quoted, "`")
         for (i = 1; i <= count; i++) print quoted[2] "\t" names[i]
         count = 0; listed = 0
     }' "$log" >"$failed"
# The closing lines of all targets, added up. The output of a failed test may hold such lines too: a target's own is its last.
counts=$(awk 'function add() { passed += own[4]; failed += own[6]; skipped += own[8]; delete own }
     /^ +(Running|Doc-tests) / { add() }
     /^test result:/ { split($0, own, " ") }
     END { add(); print passed + 0, failed + 0, skipped + 0 }' "$log")
read -r passed lost skipped <<<"$counts"
targets=$(grep -c '^error: test failed, to rerun pass `' "$log")

passes_alone() {
    # A target is several words.
    # shellcheck disable=SC2086
    timeout --kill-after=60 15m $cargo test --locked $1 -- --exact "$2" </dev/null >"$again" 2>&1 &&
        grep -q '^test result: ok. 1 passed' "$again"
}

repeated=0
# A target that ended without a list, or a test that is not in one, cannot be tried alone.
if [ "$status" -ne 0 ] && [ "$lost" -gt 0 ] && [ "$lost" -le "$repeated_at_most" ] &&
    [ "$(wc -l <"$failed")" -eq "$lost" ] && [ "$(cut -f1 "$failed" | sort -u | wc -l)" -eq "$targets" ]; then
    status=0
    while IFS=$'\t' read -r target name; do
        echo "again, alone: $name"
        if passes_alone "$target" "$name" || passes_alone "$target" "$name"; then
            echo "passed when repeated alone: $name ($target)"
            lost=$((lost - 1)) repeated=$((repeated + 1))
        else
            cat "$again"
            echo "failed again: $name ($target)"
            status=1
        fi
    done <"$failed"
fi

told=
[ "$repeated" -eq 0 ] || told="; $repeated passed only when repeated alone"
echo "$((passed + repeated)) passed, $lost failed, $skipped skipped$told"
exit "$status"
