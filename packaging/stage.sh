#!/bin/sh
# Lays out an installation under a prefix: `make install`, the tarball and the Debian package all have this tree.
# stage.sh BINARY PREFIX, as in `stage.sh target/release/iostone /usr/local`. RUN starts a binary of another architecture;
# ZSH is where zsh looks for functions, below the prefix.
set -eu
umask 022
root=$(cd "$(dirname "$0")/.." && pwd)
binary=$1
prefix=$2
run=${RUN:-}
documents=$prefix/share/doc/iostone

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086 # a command of several words, or none
$run "$binary" --quiet man "$work/man"
for shell in bash zsh fish; do
    # shellcheck disable=SC2086
    $run "$binary" completions "$shell" >"$work/$shell"
done
gzip -9n "$work"/man/*.1

put() {
    install -d "$(dirname "$2")"
    install -m 644 "$1" "$2"
}
install -d "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/iostone" "$documents"
install -m 755 "$binary" "$prefix/bin/iostone"
install -m 644 "$work"/man/*.1.gz "$prefix/share/man/man1"
put "$work/bash" "$prefix/share/bash-completion/completions/iostone"
put "$work/zsh" "$prefix/share/zsh/${ZSH:-site-functions}/_iostone"
put "$work/fish" "$prefix/share/fish/vendor_completions.d/iostone.fish"

cd "$root"
for directory in experiments casebook; do
    rm -rf "$prefix/share/iostone/$directory"
    find "$directory" -type f ! -path '*/runs/*' | while read -r file; do
        put "$file" "$prefix/share/iostone/$file"
    done
    # The documents' links lead there.
    ln -sfn "../../iostone/$directory" "$documents/$directory"
done
find docs -type f | while read -r file; do put "$file" "$documents/$file"; done
for file in README.md CHANGELOG.md THIRD-PARTY-DATA.md LICENSE-APACHE LICENSE-MIT; do put "$file" "$documents/$file"; done
