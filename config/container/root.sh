#!/bin/bash
# root.sh AWD FOLDER: makes in FOLDER the root of awd's container image, out of the program AWD and this machine's packages.
# That is all: the program, the libraries that it is linked with and their loader, curl for the health check, roots of
# certificates, the user `awd`, the configuration. There is no shell in it.
set -euo pipefail
awd=$(realpath "$1")
root=$2
here=$(dirname "$(realpath "$0")")

rm -rf "$root"
mkdir -p "$root"/{etc/awd,etc/ssl/certs,tmp,usr/{bin,lib,lib64},var/lib/dpkg/status.d}
chmod 1777 "$root/tmp"
ln -s usr/bin "$root/bin"
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"

install -m 0755 "$awd" "$root/usr/bin/awd"
strip --strip-debug "$root/usr/bin/awd"
install -m 0755 /usr/bin/curl "$root/usr/bin/curl"
install -m 0644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"

# The file behind `=>` in a line of ldd is what would be loaded; the loader's line has the path alone.
libraries=$(ldd "$awd" /usr/bin/curl | sed -nE 's/^\t(.* => )?(\/[^ ]+) \(.*/\2/p' | sort -u)
for library in $libraries; do
  install -D -m 0755 "$library" "$root$library"
done

# The packages as dpkg knows them, by which scanners find what is to be updated, and their licences. A package lists a
# library below /lib, which is a link, or below /usr/lib; the other name is in no package.
paths=$(for file in /usr/bin/curl $libraries; do echo "$file" "/usr$file" "$(realpath "$file")"; done)
packages=$( (dpkg-query -S $paths 2>/dev/null || true) | sed 's/:.*//' | sort -u)
for package in ca-certificates $packages; do
  dpkg-query -s "$package" > "$root/var/lib/dpkg/status.d/$package"
  install -D -m 0644 "/usr/share/doc/$package/copyright" "$root/usr/share/doc/$package/copyright"
done
install -D -m 0644 "$here/../debian/copyright" "$root/usr/share/doc/awd/copyright"
install -m 0644 /usr/lib/os-release "$root/etc/os-release"

printf 'root:x:0:0:root:/:/nonexistent\nawd:x:10001:10001:awd:/var/lib/awd:/nonexistent\n' > "$root/etc/passwd"
printf 'root:x:0:\nawd:x:10001:\n' > "$root/etc/group"
echo 'hosts: files dns' > "$root/etc/nsswitch.conf"

# That of a package, but for the address: in a container its own loopback is reached by nobody.
sed 's/^listen = .*/listen = ["0.0.0.0:8080"]/' "$here/../production.toml" > "$root/etc/awd/awd.toml"
