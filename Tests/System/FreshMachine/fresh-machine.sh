#!/bin/bash
# fresh-machine.sh [test]: goes the README's way on a fresh Debian 12, as root: run, package, image, how-tos; with `test` also
# every test. The machine is a folder made by mmdebstrap, with Debian's packages alone, this machine's Swift, and the
# committed state of this checkout. It goes when the script ends. The sandbox has to allow root to mount.
set -euo pipefail
source=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
swift=$(dirname "$(dirname "$(dirname "$(realpath "$(command -v swift)")")")")
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | sed -n 1p)
root=$(mktemp -d /tmp/awd-fresh-XXXXXX)
chmod 0755 "$root"
unset TMPDIR

leave() {
  for place in "$root$swift" "$root/sys" "$root/dev" "$root/proc" "$root"; do
    if mountpoint -q "$place"; then umount -l "$place"; fi
  done
  rm -rf --one-file-system "$root"
}
trap leave EXIT

# What Swift's installation asks for, besides make and git; no -dev package of awd's.
mmdebstrap --mode=root --variant=minbase --include=make,git,ca-certificates,binutils,gcc,libc6-dev,libcurl4,libedit2,\
libncurses6,libpython3.11,libsqlite3-0,libstdc++-12-dev,libxml2,libz3-4,procps,tzdata,zlib1g bookworm "$root" "$mirror"
# This machine's ways to the mirror and to PyPI, and the roots of certificates of its own.
for configuration in /etc/resolv.conf /etc/hosts /etc/apt/apt.conf.d/99* /usr/local/share/ca-certificates/*.crt; do
  if [ -e "$configuration" ]; then install -D -m 0644 "$configuration" "$root$configuration"; fi
done
chroot "$root" update-ca-certificates > /dev/null
mkdir -p "$root$swift" "$root/awd"
# A machine's root is a mount point, which buildah mounts anew.
mount --bind "$root" "$root"
mount --bind -o ro "$swift" "$root$swift"
mount -t proc proc "$root/proc"
for folder in sys dev; do mount --rbind "/$folder" "$root/$folder"; mount --make-rslave "$root/$folder"; done
git -C "$source" archive HEAD | tar -x -C "$root/awd"
chroot "$root" env -i HOME=/root TERM=dumb LC_ALL=C.UTF-8 \
  PIP_CERT=/etc/ssl/certs/ca-certificates.crt PATH="$swift/usr/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin" \
  /awd/Tests/System/FreshMachine/stranger.sh "$@"
