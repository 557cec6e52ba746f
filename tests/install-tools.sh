#!/bin/sh
# Installs the Debian packages that the tests use, where that is possible without asking anybody.
# Whatever is missing afterwards is not fatal: the tests that need it are skipped and say so by name.
set -u
PATH="$PATH:/usr/sbin:/sbin"

# package:program it brings
wanted="e2fsprogs:mkfs.ext4 util-linux:losetup btrfs-progs:mkfs.btrfs fio:fio"
# The classic tools, whose real output the tests read.
wanted="$wanted dbench:dbench bonnie++:bonnie++ sysbench:sysbench ioping:ioping sysstat:iostat procps:vmstat"
wanted="$wanted time:time hyperfine:hyperfine tmux:tmux"
# Arrays, filesystems, emulated volumes, and virtual machines.
wanted="$wanted mdadm:mdadm xfsprogs:mkfs.xfs lvm2:lvm libnbd-bin:nbdfuse fuse3:fusermount3 fdisk:sfdisk"
wanted="$wanted qemu-system-x86:qemu-system-x86_64"
# Containers, the filesystem of flash, disk images.
wanted="$wanted podman:podman runc:runc conmon:conmon iproute2:ip f2fs-tools:mkfs.f2fs qemu-utils:qemu-img"
# Fleets.
wanted="$wanted openssh-server:sshd openssh-client:ssh-keygen ansible-core:ansible-playbook"
# Where systemd runs, Debian's package of Docker starts a daemon at once, with a bridge and rules of the packet filter. That
# is for whoever owns the machine to decide.
if [ ! -d /run/systemd/system ]; then
    wanted="$wanted docker.io:dockerd"
elif ! command -v dockerd >/dev/null 2>&1; then
    echo "dockerd is missing, and installing docker.io would start it here: not done; its tests will be skipped" >&2
fi

missing=""
for entry in $wanted; do
    command -v "${entry#*:}" >/dev/null 2>&1 || missing="$missing ${entry%%:*}"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "missing for some tests:$missing (apt-get install$missing); those tests will be skipped" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # a list of packages
apt-get install -y --no-install-recommends $missing >/dev/null 2>&1 ||
    { apt-get update >/dev/null 2>&1 && apt-get install -y --no-install-recommends $missing >/dev/null 2>&1; } ||
    echo "could not install:$missing; the tests that need them will be skipped" >&2
exit 0
