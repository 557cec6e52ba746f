#!/usr/bin/env bash
# Tests of what is handed to users: the same bytes from two directories, the binary in an empty root, the Debian package
# installed, used and purged on a Debian without Rust. Needs root, some ten minutes and two builds; a test whose tool is
# missing is named and skipped. PACKAGES=DIR tests packages that are there already, without building.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
PATH="$PATH:/usr/sbin:/sbin"
passed=0 failed=0 skipped=0
work=$(mktemp -d)

unmount_all() {
    # Only what lies below the directory of this run, deepest first.
    awk -v below="$work/" 'index($2, below) == 1 { print $2 }' /proc/self/mounts | sort -r | while read -r place; do
        umount "$place" || umount --lazy "$place"
    done
}
clean_up() {
    unmount_all
    # Never across a mount that could not be taken away.
    rm -rf --one-file-system "$work"
}
trap clean_up EXIT

# is NAME COMMAND...: one test, in a shell of its own.
is() {
    local name=$1
    shift
    if ("$@") >"$work/log" 2>&1; then
        echo "ok      $name"
        passed=$((passed + 1))
    else
        echo "FAILED  $name"
        sed 's/^/        /' "$work/log"
        failed=$((failed + 1))
    fi
}
skip() {
    echo "skipped $1: $2"
    skipped=$((skipped + 1))
}
missing() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null 2>&1 || { echo "$program"; return; }
    done
}

target=$(rustc -vV | sed -n 's/^host: //p')

# Each clone builds for itself, in a directory of another name and length.
build_in() {
    git clone --quiet --no-hardlinks . "$1" && make --directory="$1" release TARGET="$target"
}
same_bytes() {
    build_in "$work/first" && build_in "$work/the-second/of-two" &&
        cmp "$work/first/target/packages/SHA256SUMS" "$work/the-second/of-two/target/packages/SHA256SUMS" &&
        (cd "$work/the-second/of-two/target/packages" && sha256sum --check --strict SHA256SUMS) &&
        rm -rf "$work/the-second"
}
packages=${PACKAGES:-$work/first/target/packages}
if [ -n "${PACKAGES:-}" ]; then
    packages=$(realpath "$packages")
    skip "two directories give the same bytes" "PACKAGES is set"
else
    is "two directories give the same bytes" same_bytes
fi
deb=$(echo "$packages"/iostone_*_"$(dpkg --print-architecture 2>/dev/null || echo none)".deb)
tarball=$(echo "$packages"/iostone-*-"$(uname -m)"-linux.tar.gz)
[ -e "$tarball" ] || { echo "there is no $tarball: $passed passed, $failed failed, the rest was not tried"; exit 1; }

tells_no_paths() {
    mkdir -p "$work/unpacked" && tar -xzf "$tarball" -C "$work/unpacked" --strip-components=1 || return
    ! grep --text --only-matching -E "($HOME/\.(cargo|rustup)|$PWD/(crates|target)|$work)/.{0,60}" "$work/unpacked/bin/iostone"
}
is "the binary names no directory of the machine that built it" tells_no_paths

lists_what_is_linked() {
    python3 - "$packages"/*"$(uname -m)"*.cdx.json "$packages"/*"$(uname -m)"*-licences.txt Cargo.lock <<'PYTHON'
import json, sys, tomllib
sbom = json.load(open(sys.argv[1]))
assert (sbom["bomFormat"], sbom["specVersion"]) == ("CycloneDX", "1.5")
listed = {(c["name"], c["version"]) for c in sbom["components"]}
locked = {(p["name"], p["version"]) for p in tomllib.load(open(sys.argv[3], "rb"))["package"] if "source" in p}
crates = {(c["name"], c["version"]) for c in sbom["components"] if c.get("purl", "").startswith("pkg:cargo/")}
assert crates <= locked and len(crates) > 50, crates - locked
assert {"serde", "rustix", "glibc", "rust-std"} <= {name for name, _ in listed}
assert all(c["licenses"][0]["expression"] for c in sbom["components"])
refs = {c["bom-ref"] for c in sbom["components"]} | {"iostone"}
assert all(d["ref"] in refs and set(d["dependsOn"]) <= refs for d in sbom["dependencies"])
text = open(sys.argv[2]).read()
assert all(f"{name} {version}" in text for name, version in listed), "a package without its licence"
PYTHON
}
is "the SBOM and the licences list what is linked" lists_what_is_linked

if [ "$(id -u)" -eq 0 ]; then
    runs_in_an_empty_root() {
        mkdir -p "$work/empty" && cp "$work/unpacked/bin/iostone" "$work/empty" && cd "$work/empty" || return
        chroot . /iostone --version && chroot . /iostone casebook barriers-and-kernels >/dev/null &&
            [ "$(chroot . /iostone completions bash | wc -l)" -gt 100 ] || return
        # Loads reach the files that they hold open through /proc, and count processors in /sys.
        mkdir proc sys && mount -t proc proc proc && mount -t sysfs sysfs sys &&
            chroot . /iostone io --filename=load --size=1MiB --rw=write && [ "$(stat -c %s load)" = 1048576 ]
    }
    is "the binary runs in an empty root" runs_in_an_empty_root
else
    skip "the binary runs in an empty root" "needs root"
fi

installs_and_uninstalls() {
    local binary=$work/unpacked/bin/iostone
    make install BINARY="$binary" DESTDIR="$work/root" PREFIX=/opt/io && "$work/root/opt/io/bin/iostone" --version &&
        diff -r "$work/unpacked/bin" "$work/root/opt/io/bin" && [ -e "$work/root/opt/io/share/man/man1/iostone-run.1.gz" ] &&
        make install BINARY="$binary" DESTDIR="$work/root" PREFIX=/opt/io &&
        make uninstall DESTDIR="$work/root" PREFIX=/opt/io && [ -z "$(find "$work/root" ! -type d)" ] &&
        [ "$(find "$work/root/opt/io" -mindepth 1)" = "" ]
}
is "make install and make uninstall" installs_and_uninstalls

absent=$(missing lintian)
if [ -z "$absent" ]; then
    is "lintian has no error" lintian --fail-on error --allow-root "$deb"
else
    skip "lintian has no error" "$absent is missing"
fi

# A Debian without Rust: a minimal one, in a directory.
bootstrap() {
    # The mirror of this machine.
    local mirror
    mirror=$(apt-cache policy | sed -n 's/^ *[0-9]* \(http[^ ]*\) [^ ]*\/main .*/\1/p' | grep -v security | head -1)
    debootstrap --variant=minbase --include=e2fsprogs bookworm "$work/debian" "$mirror" || return
    cp "$deb" "$work/debian/iostone.deb"
    # What dpkg keeps for itself changes with every package; what is installed does not.
    all_files >"$work/before"
}
all_files() {
    (cd "$work/debian" && find . -xdev ! -path './proc/*' ! -path './sys/*' ! -path './dev/*' ! -path './run/*' \
        ! -path './var/lib/dpkg/*' ! -path './var/log/*' | sort)
}
inside() { chroot "$work/debian" "$@"; }
installs() { inside dpkg --install /iostone.deb && inside iostone --version && ! inside sh -c 'command -v cargo rustc'; }
demo_runs() {
    local place=$work/debian
    mount -t proc proc "$place/proc" && mount -t sysfs sysfs "$place/sys" && mount --rbind /dev "$place/dev" &&
        mount --make-rslave "$place/dev" && mkdir -p "$place/measured" || return
    inside env -C /measured iostone demo --set decide.blocks='{ min = 6, max = 6 }' --set workload.runtime=300ms \
        --set gates.idle=off --set workload.ramp_time=0s
    local code=$?
    inside iostone cleanup && [ "$(ls "$place/measured/runs")" != "" ] && rm -rf "$place/measured"
    local left=$?
    unmount_all
    return $((code | left))
}
removes() {
    inside dpkg --remove iostone && inside dpkg --purge iostone && all_files >"$work/after" &&
        diff "$work/before" "$work/after" && ! inside dpkg --status iostone
}
absent=$(missing debootstrap dpkg)
if [ "$(id -u)" -ne 0 ]; then
    skip "the Debian package on a Debian without Rust" "needs root"
elif [ -n "$absent" ]; then
    skip "the Debian package on a Debian without Rust" "$absent is missing"
else
    is "a Debian without Rust" bootstrap
    is "dpkg installs the package" installs
    is "iostone demo works from the package" demo_runs
    is "dpkg --remove and --purge leave nothing" removes
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
