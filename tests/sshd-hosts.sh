#!/bin/sh
# Stands up real SSH servers for tests of fleets, each a "host" with a name, a /tmp and a state of its own:
#   sshd-hosts.sh DIRECTORY NUMBER NAMESPACE [apart]
# All are in the network namespace NAMESPACE at 127.1.0.2 and on, or, with `apart`, each in a namespace of its own at
# 10.213.N.2, on a wire to NAMESPACE. Prints `ready`; takes everything down when its standard input is closed. Whoever
# connects runs in NAMESPACE too: `ip netns exec NAMESPACE ...`.
set -eu
place=$1 number=$2 name=$3 apart=${4:-}
PATH=$PATH:/usr/sbin:/sbin
mkdir -p "$place/keys" /run/sshd
chmod 0755 /run/sshd
[ -f "$place/keys/id" ] || ssh-keygen -q -t ed25519 -N '' -f "$place/keys/id"
[ -f "$place/keys/host" ] || ssh-keygen -q -t ed25519 -N '' -f "$place/keys/host"
ip netns add "$name"
end() {
    for space in $(ip netns list | cut -d' ' -f1 | grep -x "$name\(-[0-9]*\)\?"); do
        # Sessions are children of their own, so everything in the namespace goes.
        ip netns pids "$space" | while read -r pid; do kill -9 "$pid" 2>/dev/null || :; done
        ip netns delete "$space" || :
    done
}
trap end EXIT
trap 'exit 1' INT TERM
ip -n "$name" link set lo up
: > "$place/known_hosts"
sshd=$(command -v sshd)
host=1
while [ "$host" -le "$number" ]; do
    space=$name
    if [ -n "$apart" ]; then
        space=$name-$host address=10.213.$host.2
        ip netns add "$space"
        ip -n "$space" link set lo up
        ip -n "$name" link add "v$host" type veth peer name eth0 netns "$space"
        ip -n "$name" address add "10.213.$host.1/30" dev "v$host"
        ip -n "$name" link set "v$host" up
        ip -n "$space" address add "$address/30" dev eth0
        ip -n "$space" link set eth0 up
    else
        address=127.1.$((host / 250)).$((host % 250 + 1))
        ip -n "$name" address add "$address/32" dev lo
    fi
    echo "$address $(cut -d' ' -f1,2 "$place/keys/host.pub")" >> "$place/known_hosts"
    mkdir -p "$place/host$host/tmp"
    ip netns exec "$space" unshare --uts --mount sh -c "
        hostname host$host
        mount --bind '$place/host$host/tmp' /tmp
        exec $sshd -D -f /dev/null -o ListenAddress=$address -o HostKey='$place/keys/host' \
            -o AuthorizedKeysFile='$place/keys/id.pub' -o StrictModes=no -o UsePAM=no -o PidFile=none \
            -o PasswordAuthentication=no -o PermitRootLogin=yes -o MaxStartups=100 -o UseDNS=no \
            -o Subsystem='sftp internal-sftp'" 2> "$place/host$host/sshd.log" &
    host=$((host + 1))
done
listening() {
    for space in $(ip netns list | cut -d' ' -f1 | grep -x "$name\(-[0-9]*\)\?"); do
        ip netns exec "$space" ss -Hltn
    done | grep -c ':22 ' || :
}
attempt=0
while [ "$(listening)" -lt "$number" ] && [ "$attempt" -lt 100 ]; do
    attempt=$((attempt + 1))
    sleep 0.1
done
echo ready
# Until the caller is gone.
cat > /dev/null
