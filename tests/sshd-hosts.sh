#!/bin/sh
# Stands up many real SSH servers for tests of fleets, one a "host": sshd-hosts.sh DIRECTORY NUMBER. Each has an address in
# 127.1.0.0/16 of a network namespace of its own for all of them, a host name and a /tmp of its own. Prints `ready`, and takes
# everything down when its standard input is closed. The caller runs programs beside it with `ip netns exec NAME`.
set -eu
place=$1 number=$2 name=$3
PATH=$PATH:/usr/sbin:/sbin
mkdir -p "$place/keys" /run/sshd
chmod 0755 /run/sshd
[ -f "$place/keys/id" ] || ssh-keygen -q -t ed25519 -N '' -f "$place/keys/id"
[ -f "$place/keys/host" ] || ssh-keygen -q -t ed25519 -N '' -f "$place/keys/host"
ip netns add "$name"
end() {
    # Sessions are children of their own, so everything in the namespace goes.
    ip netns pids "$name" | while read -r pid; do kill -9 "$pid" 2>/dev/null || :; done
    ip netns delete "$name" || :
}
trap end EXIT
trap 'exit 1' INT TERM
ip -n "$name" link set lo up
: > "$place/known_hosts"
host=1
while [ "$host" -le "$number" ]; do
    address=127.1.$((host / 250)).$((host % 250 + 1))
    ip -n "$name" address add "$address/32" dev lo
    echo "$address $(cut -d' ' -f1,2 "$place/keys/host.pub")" >> "$place/known_hosts"
    mkdir -p "$place/host$host"
    ip netns exec "$name" unshare --uts --mount sh -c "
        hostname host$host
        exec $(command -v sshd) -D -f /dev/null -o ListenAddress=$address -o HostKey=$place/keys/host \
            -o AuthorizedKeysFile=$place/keys/id.pub -o StrictModes=no -o UsePAM=no -o PidFile=none \
            -o PasswordAuthentication=no -o PermitRootLogin=yes -o MaxStartups=100 -o UseDNS=no \
            -o Subsystem='sftp internal-sftp'" 2> "$place/host$host/sshd.log" &
    host=$((host + 1))
done
for attempt in $(seq 1 300); do
    listening=$(ip netns exec "$name" ss -Hltn 2>/dev/null | grep -c ':22 ') || :
    [ "$listening" -lt "$number" ] || break
    sleep 0.1
done
echo ready
cat > /dev/null
