#!/bin/sh
# Builds the binary that is handed to users: one static file, with the same bytes from whichever directory it is built in.
# build.sh TARGET, as in `build.sh aarch64-unknown-linux-gnu`; the binary is target/TARGET/release/iostone.
set -eu
cd "$(dirname "$0")/.."
target=$1
cargo=${CARGO:-cargo}
host=$(rustc -vV | sed -n 's/^host: //p')
sysroot=$(rustc --print sysroot)

missing() {
    echo "$1 is missing: $2" >&2
    exit 1
}
[ -d "$sysroot/lib/rustlib/$target/lib" ] ||
    missing "Rust's standard library for $target" "rustup target add $target"
if [ "$target" != "$host" ]; then
    architecture=${target%%-*}
    linker=$architecture-linux-gnu-gcc
    command -v "$linker" >/dev/null 2>&1 ||
        missing "$linker" "apt-get install gcc-$(echo "$architecture" | tr _ -)-linux-gnu"
    variable=CARGO_TARGET_$(echo "$target" | tr 'a-z-' 'A-Z_')_LINKER
    export "$variable=$linker"
fi

# Paths of this machine in messages of panics would make every directory's binary another. An explicit target keeps these
# flags away from build scripts and procedural macros, which must stay dynamic.
separator=$(printf '\037')
flags="-Ctarget-feature=+crt-static"
for mapping in "${CARGO_TARGET_DIR:-$PWD/target}=/iostone/target" "$PWD=/iostone" "${CARGO_HOME:-$HOME/.cargo}=/cargo" \
    "$sysroot=/rust"; do
    # The last mapping that fits is taken, so the workspace goes behind what lies in it.
    flags="--remap-path-prefix=$mapping$separator$flags"
done
export CARGO_ENCODED_RUSTFLAGS="$flags"
export CARGO_INCREMENTAL=0
$cargo build --release --locked --bin iostone --target "$target"
