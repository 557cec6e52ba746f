#!/bin/sh
# The part of `make check` that needs more than Rust's own tools. A tool that is missing is named with the command that
# installs it, and its check is left out; everything else must pass.
set -u
cd "$(dirname "$0")/.." || exit
cargo=${CARGO:-cargo}
failed=0
PATH="$PATH:$(go env GOPATH 2>/dev/null)/bin"

# has PROGRAM INSTALL-COMMAND
has() {
    command -v "$1" >/dev/null 2>&1 && return 0
    echo "check: $1 is not installed, and what it checks is left out: $2" >&2
    return 1
}
check() {
    echo "check: $*"
    "$@" || failed=1
}

if has cargo-deny "cargo install --locked cargo-deny"; then
    check "$cargo" deny --log-level error --locked check licenses bans sources
    # Advisories come from a database on the network, which not every machine reaches; workflows run this on every push.
    if "$cargo" deny --locked fetch db >/dev/null 2>&1; then
        check "$cargo" deny --log-level error --locked check advisories
    else
        echo "check: the database of advisories cannot be fetched here: \`cargo deny check advisories\` is left out" >&2
    fi
fi
if has actionlint "go install github.com/rhysd/actionlint/cmd/actionlint@latest"; then
    check actionlint .github/workflows/*.yml docs/examples/*.github.yml
fi
if has shellcheck "apt-get install shellcheck"; then
    check shellcheck --exclude=SC2164 packaging/*.sh tests/*.sh
fi
# The oldest compiler that Cargo.toml promises. Clippy's incompatible_msrv sees newer parts of the standard library
# without it; this sees the rest, in a directory of its own.
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if ! command -v rustup >/dev/null 2>&1 || ! rustup run "$oldest" rustc --version >/dev/null 2>&1; then
    echo "check: Rust $oldest is not installed, and is left out: rustup toolchain install $oldest --profile minimal" >&2
else
    check rustup run "$oldest" cargo check --quiet --locked --workspace --target-dir "target/rust-$oldest"
fi
exit "$failed"
