#!/bin/sh
# Packs the static binary: a tarball, a Debian package, the list of what is linked into it, licences, checksums.
# release.sh TARGET leaves them in target/packages, with the same bytes whenever and wherever the same commit is packed.
set -eu
umask 022
export LC_ALL=C TZ=UTC
cd "$(dirname "$0")/.."
target=$1
architecture=${target%%-*}
binary=${CARGO_TARGET_DIR:-target}/$target/release/iostone
packages=target/packages

for program in git python3 dpkg-deb gzip tar; do
    command -v "$program" >/dev/null 2>&1 || {
        echo "$program is missing: apt-get install $(echo "$program" | sed s/dpkg-deb/dpkg/)" >&2
        exit 1
    }
done
# What was fetched is enough, so nothing that changes outside can change the result.
export CARGO_NET_OFFLINE=true
# The moment of everything that has one: the commit's.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
packaging/build.sh "$target"

case $architecture in
    x86_64) debian=amd64 ;;
    aarch64) debian=arm64 ;;
    *) echo "no name of Debian's for $architecture is known here" >&2; exit 1 ;;
esac
# Manual pages and completions come from the binary itself.
RUN=
if [ "$architecture" != "$(uname -m)" ]; then
    RUN=qemu-$architecture-static
    command -v "$RUN" >/dev/null 2>&1 || { echo "$RUN is missing: apt-get install qemu-user-static" >&2; exit 1; }
fi
export RUN
version=$($RUN "$binary" --version | cut -d' ' -f2)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$packages"
name=iostone-$version-$architecture-linux
sbom=$name.cdx.json
licences=$name-licences.txt
python3 packaging/dependencies.py "$target" "$binary" "$work/$sbom" "$work/$licences"

date_all() { find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +; }

# The tarball: the tree of `make install`, to be unpacked into /usr/local or run where it is.
packaging/stage.sh "$binary" "$work/$name"
cp "$work/$licences" "$work/$name/share/doc/iostone/licences-of-dependencies.txt"
date_all "$work/$name"
tar --create --format=gnu --sort=name --owner=0 --group=0 --numeric-owner --directory="$work" "$name" |
    gzip -9n >"$work/$name.tar.gz"

# The Debian package.
root=$work/deb
documents=$root/usr/share/doc/iostone
ZSH=vendor-completions packaging/stage.sh "$binary" "$root/usr"
rm "$documents/LICENSE-APACHE" "$documents/LICENSE-MIT"
gzip -9n <"$work/$licences" >"$documents/licences-of-dependencies.txt.gz"
sed 's/^$/./; s/^/ /' LICENSE-MIT >"$work/mit"
sed -e "/^@MIT@$/{r $work/mit" -e 'd}' packaging/copyright >"$documents/copyright"
moment=$(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
maintainer=$(sed -n 's/^Maintainer: //p' packaging/control)
printf 'iostone (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md beside this file.\n\n -- %s  %s\n' \
    "$version" "$maintainer" "$moment" | gzip -9n >"$documents/changelog.gz"
install -D -m 644 packaging/lintian-overrides "$root/usr/share/lintian/overrides/iostone"
# As policy has it: rounded up to KiB, file by file, so that the filesystem of the build machine does not matter.
size=$(find "$root" -type f -printf '%s\n' | awk '{ total += int(($1 + 1023) / 1024) } END { print total }')
install -D -m 755 packaging/postrm "$root/DEBIAN/postrm"
sed "s/@VERSION@/$version/; s/@ARCHITECTURE@/$debian/; s/@SIZE@/$size/" packaging/control >"$root/DEBIAN/control"
(cd "$root" && find usr -type f | sort | xargs md5sum) >"$root/DEBIAN/md5sums"
date_all "$root"
dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$root" "$work/iostone_${version}_$debian.deb" >/dev/null

cd "$packages"
rm -f "$name"* "iostone_${version}_$debian.deb"
mv "$work/$name.tar.gz" "$work/$sbom" "$work/$licences" "$work/iostone_${version}_$debian.deb" .
# Of both architectures, where both were packed.
sha256sum -- *"$version"* >SHA256SUMS
cat SHA256SUMS
