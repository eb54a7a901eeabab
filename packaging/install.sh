#!/bin/sh
# Installs engram for this user, without root: downloads the archive for this system, compares its SHA-256, and copies the command and its
# manuals. Run again to update; `rm` what it names to remove it.
#
#   curl -fsSL https://github.com/engram-tape/engram/releases/latest/download/install.sh | sh
#
# ENGRAM_VERSION  the version (the one this file was released with)
# ENGRAM_PREFIX   where to install (~/.local): bin/engram, share/man/man1/engram*.1
# ENGRAM_FROM     where the archives are: an address, or a directory (the release of the version)
set -eu

version=${ENGRAM_VERSION:-@VERSION@}
prefix=${ENGRAM_PREFIX:-$HOME/.local}
from=${ENGRAM_FROM:-https://github.com/engram-tape/engram/releases/download/v$version}

fail() {
    echo "engram is not installed: $1" >&2
    exit 1
}

case $(uname -m) in
    x86_64 | amd64) arch=x86_64 ;;
    aarch64 | arm64) arch=aarch64 ;;
    *) fail "there is no binary for $(uname -m); \`cargo install engram-tape\` builds one" ;;
esac
case $(uname -s) in
    Linux) target=$arch-unknown-linux-musl ;;
    Darwin) target=$arch-apple-darwin ;;
    *) fail "there is no binary for $(uname -s) here; \`npm install --global engram-tape\` has one for Windows" ;;
esac
name=engram-$version-$target

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
get() {
    if [ -d "$from" ]; then
        cp "$from/$1" "$work/$1"
    elif command -v curl > /dev/null; then
        curl -fsSL --proto '=https' --tlsv1.2 "$from/$1" -o "$work/$1"
    else
        wget -q --https-only "$from/$1" -O "$work/$1"
    fi || fail "$from has no $1"
}
get SHA256SUMS
get "$name.tgz"

wanted=$(awk -v name="$name.tgz" '$2 == name { print $1 }' "$work/SHA256SUMS")
[ -n "$wanted" ] || fail "SHA256SUMS does not have $name.tgz"
if command -v sha256sum > /dev/null; then
    sum=$(sha256sum "$work/$name.tgz" | cut -d ' ' -f 1)
else
    sum=$(shasum -a 256 "$work/$name.tgz" | cut -d ' ' -f 1)
fi
[ "$sum" = "$wanted" ] || fail "$name.tgz has the SHA-256 $sum, and SHA256SUMS says $wanted"

tar -xzf "$work/$name.tgz" -C "$work"
mkdir -p "$prefix/bin" "$prefix/share/man/man1"
# A running engram keeps the old file.
cp "$work/$name/engram" "$prefix/bin/.engram.new"
mv "$prefix/bin/.engram.new" "$prefix/bin/engram"
cp "$work/$name"/man/*.1 "$prefix/share/man/man1/"
echo "$("$prefix/bin/engram" --version) is in $prefix/bin"
case :$PATH: in
    *:"$prefix/bin":*) ;;
    *) echo "$prefix/bin is not in your PATH" ;;
esac
