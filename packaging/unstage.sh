#!/bin/sh
# Removes what stage.sh laid out under a prefix, and nothing else.
set -eu
prefix=$1
rm -f "$prefix/bin/iostone" "$prefix"/share/man/man1/iostone.1.gz "$prefix"/share/man/man1/iostone-*.1.gz \
    "$prefix/share/bash-completion/completions/iostone" "$prefix/share/zsh/site-functions/_iostone" \
    "$prefix/share/fish/vendor_completions.d/iostone.fish"
rm -rf "$prefix/share/iostone" "$prefix/share/doc/iostone"
# Directories that only iostone used.
for directory in share/man/man1 share/man share/bash-completion/completions share/bash-completion share/zsh/site-functions \
    share/zsh share/fish/vendor_completions.d share/fish share/doc share bin; do
    rmdir "$prefix/$directory" 2>/dev/null || true
done
