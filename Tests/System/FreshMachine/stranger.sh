#!/bin/bash
# stranger.sh [test]: what a stranger does who follows the README and the guide, on a machine that may be thrown away: it
# installs packages and needs root. `fresh-machine.sh` makes such a machine.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/../../.."

step() { echo; echo "== $* ($(date +%T))"; }
answers() {
  for _ in $(seq 7200); do
    if curl -fso /dev/null "$1" 2>/dev/null; then return; fi
    if ! kill -0 "$2"; then echo "it ended before it served"; return 1; fi
    sleep 0.5
  done
  return 1
}
# Ends what the job $1 runs by SIGTERM, after which awd exits with 0.
stop() { pkill -TERM -P "$1" || kill -TERM "$1"; wait "$1"; }
# Serves with the package's program and configuration, until it is ready.
serve_installed() {
  runuser -u awd -- $command & serving=$!
  answers http://127.0.0.1:9090/readyz $serving
  stop $serving
}
# A failure leaves no server behind.
leave() { for job in $(jobs -p); do pkill -TERM -P "$job" || true; done; }
trap leave EXIT

step make run
apt-get update -qq; apt-get install -y -qq --no-install-recommends curl > /dev/null
make run & serving=$!
answers http://127.0.0.1:8080/readyz $serving
curl -fsS -o .build/tokenscript.xml http://127.0.0.1:8080/2020/03/0x6b175474e89094c44da98b954eedeac495271d0f
head -c 60 .build/tokenscript.xml
stop $serving

step make deb, twice the same
make deb
mkdir -p .build/first; mv .build/awd_*.deb .build/first/
make deb
cmp .build/first/awd_*.deb .build/awd_*.deb
apt-get install -y -qq --no-install-recommends lintian systemd ./.build/awd_*.deb > /dev/null
lintian --fail-on error .build/awd_*.deb
getent passwd awd
systemd-analyze verify --man=no /lib/systemd/system/awd.service /lib/systemd/system/awd-backup.timer
# `!` in front would not end the script.
if systemctl is-enabled awd-backup.timer; then exit 1; fi
awd --version
awd check --config /etc/awd/awd.toml | tee .build/check.log
if grep -E 'doubtful|wrong' .build/check.log; then exit 1; fi

step the installed program, as the unit starts it
command=$(sed -n 's/^ExecStart=//p' /lib/systemd/system/awd.service)
# What systemd makes for StateDirectory=, if it runs here.
install -d -m 0700 -o awd -g awd /var/lib/awd
serve_installed

step upgrade to a later version
echo "# what the operator has written" >> /etc/awd/awd.toml
stat -c '%a %U:%G' /etc/awd/awd.toml > .build/configuration.before
find /var/lib/awd -type f | sort > .build/data.before
rm -rf .build/later; dpkg-deb --raw-extract .build/awd_*.deb .build/later
sed -i 's/^Version: .*/&+later/' .build/later/DEBIAN/control
dpkg-deb --root-owner-group --build .build/later .build/later.deb
apt-get install -y -qq --no-install-recommends ./.build/later.deb > /dev/null
dpkg-query -W -f '${Version} ${db:Status-Abbrev}\n' awd | grep -F '+later ii'
tail -n 1 /etc/awd/awd.toml | grep -Fx "# what the operator has written"
stat -c '%a %U:%G' /etc/awd/awd.toml | cmp - .build/configuration.before
find /var/lib/awd -type f | sort | cmp - .build/data.before
serve_installed

step purge
apt-get purge -y -qq awd > /dev/null
left=$(find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path "$PWD" -o -path /tmp -o -path /root \) -prune -o -name '*awd*' -print \
  | grep -v -e '^/var/lib/awd' -e '^/var/backups/awd' -e '^/var/cache' -e '^/var/log' || true)
if [ -n "$left" ]; then echo "left: $left"; exit 1; fi

step make image
make image

step the how-tos and the tour
make test-deps
/usr/bin/python3 -B Tests/System/HowTos/howtos.py .build/release/awd
/usr/bin/python3 -B Tests/System/Tour/tour.py "$PWD/.build/release/awd" config/dev.toml README.md

if [ "${1:-}" = test ]; then
  step make test
  make test
fi
step done
