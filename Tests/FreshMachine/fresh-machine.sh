#!/bin/bash
# fresh-machine.sh [all]: goes the way of a stranger on a fresh Debian 12, from the clone to the package, the image and what
# purging leaves. The machine is a minimal Debian in a folder of its own, made by mmdebstrap from this machine's package sources;
# this machine's Swift is mounted into it. With `all`, `make lint` and `make test` are run there too, which include the
# how-tos. Needs root, port 8080 and 12 GB of room; takes 15 minutes, with `all` half an hour.
set -euo pipefail

source=$(realpath "$(dirname "$0")/../..")
swift=$(realpath "$(dirname "$(realpath "$(command -v swift)")")/../..")
machine=$(mktemp -d)
say() { printf '\n== %s\n' "$*"; }
fail() { echo "FAIL: $*" >&2; exit 1; }
inside() { chroot "$machine" env -i HOME=/root LANG=C.UTF-8 PATH=/swift/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -euo pipefail -c "$1"; }
stop() { for process in $(pgrep -f "^$1"); do [ "$(readlink "/proc/$process/root")" = "$machine" ] && kill -TERM "$process"; done; }
leave() {
  stop .build/release/awd || true
  for place in swift dev/pts dev proc sys; do umount --lazy "$machine/$place" 2>/dev/null || true; done
  rm -rf --one-file-system "$machine"
}
trap leave EXIT

say "a fresh Debian 12 in $machine"
command -v mmdebstrap >/dev/null || apt-get install -y -qq --no-install-recommends mmdebstrap >/dev/null
sources=(); for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
  [ -s "$file" ] && grep -q debian "$file" && sources+=("$file"); done
mmdebstrap --quiet --mode=root --variant=apt --include=ca-certificates,git,make bookworm "$machine" "${sources[@]}"
cp /etc/resolv.conf "$machine/etc/"
if [ -e /etc/pip.conf ]; then cp /etc/pip.conf "$machine/etc/"; fi
cp -r /usr/local/share/ca-certificates/. "$machine/usr/local/share/ca-certificates/"
mkdir "$machine/swift"
mount --bind "$swift" "$machine/swift" && mount -o remount,bind,ro "$machine/swift"
mount -t proc proc "$machine/proc"; mount -t sysfs sys "$machine/sys"
mount --bind /dev "$machine/dev"; mount --bind /dev/pts "$machine/dev/pts"
inside "update-ca-certificates >/dev/null; apt-get update -qq"
# What Swift itself needs; its installation guide names these.
inside "DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends binutils libc6-dev libgcc-12-dev libstdc++-12-dev \
  libcurl4 libedit2 libncurses6 libpython3.11 libsqlite3-0 libxml2 libz3-4 zlib1g-dev tzdata unzip pkg-config gcc >/dev/null"

say "git clone, make run"
git -c safe.directory='*' clone -q --no-hardlinks "$source" "$machine/awd"
inside "cd /awd && exec make run" </dev/null > "$machine/run.log" 2>&1 &
for second in $(seq 1200); do
  curl -sf http://127.0.0.1:8080/readyz >/dev/null && break
  kill -0 $! 2>/dev/null || { tail -20 "$machine/run.log"; fail "make run ended"; }
  sleep 1
done
cat "$machine/run.log"
curl -sf http://127.0.0.1:8080/ | grep -q TokenScript || fail "no page"
stop .build/release/awd; wait $! || fail "SIGTERM: exit $?"

say "make deb, and its installation"
inside "cd /awd && make deb >/dev/null && apt-get install -y -qq --no-install-recommends ./.build/awd_*.deb lintian >/dev/null"
inside "lintian --allow-root --fail-on error /awd/.build/awd_*.deb"
inside "awd version && awd check --config /etc/awd/awd.toml && id awd && man -w awd >/dev/null 2>&1 || test -e /usr/share/man/man1/awd.1.gz"
inside "apt-get purge -y -qq awd >/dev/null"
left=$(inside "find / -xdev -path /awd -prune -o -path /proc -prune -o -name '*awd*' -print | grep -v '/var/lib/dpkg\|/var/cache\|/var/log\|passwd' || true")
[ -z "$left" ] || fail "purging leaves: $left"

say "make image, and its test"
inside "cd /awd && make image-test"

if [ "${1:-}" = all ]; then
  say "make lint, make test"
  inside "cd /awd && make lint && make test" | tail -5
fi
say "done"
