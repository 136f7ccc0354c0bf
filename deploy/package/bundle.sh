#!/bin/sh
# Packs the Debian package, all packages that it needs beyond a bare Debian 12, and what installs them
# without a network. apt works out which they are, fetches and verifies them, with a state of its own
# and from the Debian sources of this machine.
# usage: deploy/package/bundle.sh BUILD       (from the repository's root, after deb.sh)
set -eu

given=$1
build=$(realpath "$given")
version=$(cat .version)
name=attnd-$version-debian12-amd64
package=$build/attnd_${version}_amd64.deb
stream=$build/attnd-stream_${version}_amd64.deb
date=$(dpkg-parsechangelog -l deploy/debian/changelog -S Timestamp)
work=$build/bundle
apt=$work/apt

complain() {
    printf 'bundle: %s\n' "$1" >&2
    exit 1
}

# A command of apt that neither knows nor touches what is installed here.
isolated() {
    status=$1 command=$2
    shift 2
    "$command" -q -o Dir::State="$apt/state" -o Dir::State::status="$status" -o Dir::Cache="$apt/cache" \
        -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
        -o APT::Architecture=amd64 -o APT::Architectures::=amd64 -o APT::Install-Recommends=false \
        -o APT::Sandbox::User=root -o Acquire::Languages=none "$@"
}

# Debian 12's own sources of those that this machine has.
prepare_apt() {
    rm -rf "$work"
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$work/$name"
    deploy/package/sources.sh >"$apt/sources.list"
    isolated /dev/null apt-get update >"$work/log" || complain 'apt-get update failed'
}

# The state of a machine that has what debootstrap's smallest variant installs, and nothing else.
bare_status() {
    isolated /dev/null apt-get --simulate install '?priority(required)' '?essential' apt |
        sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1=\2/p' >"$work/bare"
    # shellcheck disable=SC2046  # a list of words
    isolated /dev/null apt-cache show $(cat "$work/bare") |
        sed 's/^Package: .*/&\nStatus: install ok installed/'
}

# The recommended packages, the first of each choice.
recommended() {
    dpkg-deb -f "$package" Recommends | tr ',' '\n' | sed 's/[|(].*//'
}

# apt writes a version's colon as %3a, and would not find such a name again.
download() {
    bare_status >"$work/status"
    # shellcheck disable=SC2046  # a list of words
    isolated "$work/status" apt-get install -y --download-only "$package" "$stream" \
        $(recommended) >>"$work/log" || { cat "$work/log" >&2; complain 'a package is missing'; }
    cp "$package" "$stream" "$work/$name/"
    for file in "$apt"/cache/archives/*.deb; do
        cp "$file" "$work/$name/$(basename "$file" | sed 's/_[0-9]*%3a/_/')"
    done
}

umask 022
export LC_ALL=C.UTF-8
[ -f "$package" ] || complain "$package is missing; make deb"
echo 'bundle: fetching the packages that it needs' >&2
prepare_apt
download
cp deploy/package/bundle/install.sh deploy/package/bundle/README "$work/$name/"
cd "$work/$name"
dpkg-scanpackages . >Packages 2>>../log || complain 'dpkg-scanpackages failed'
find . -type f | sort | xargs sha256sum >../SHA256SUMS
mv ../SHA256SUMS .
# Not compressed: packages are already.
tar -C .. --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$date" \
    -cf "$build/$name.tar" "$name"
(cd "$build" && sha256sum "$name.tar")
printf 'bundle: made %s\n' "$given/$name.tar"
