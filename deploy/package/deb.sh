#!/bin/sh
# Makes the Debian package: a copy of the tracked sources below BUILD, deploy/debian beside them as
# debian/, and Debian's tools. The same sources give the same bytes.
# usage: deploy/package/deb.sh BUILD       (from the repository's root)
set -eu

build=$(realpath "$1")
version=$(cat .version)
tree=$build/deb/attnd-$version

complain() {
    printf 'deb: %s\n' "$1" >&2
    exit 1
}

# A source archive has no git; it has no untracked files either, but for what was built.
list_sources() {
    git ls-files 2>/dev/null ||
        find . \( -path './build*' -o -name node_modules -o -name .git \) -prune -o -type f -print
}

copy_sources() {
    rm -rf "$build/deb"
    mkdir -p "$tree"
    list_sources | xargs -d '\n' cp --parents -t "$tree"
    cp -r deploy/debian "$tree/debian"
}

# The make that called this has options and variables for its own build, not for this one.
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD OPT WERROR SANITIZE LINKER PREFIX DESTDIR
unset SOURCE_DATE_EPOCH # the changelog's date
export LC_ALL=C.UTF-8
umask 022

packaged=$(dpkg-parsechangelog -l deploy/debian/changelog -S Version)
[ "$packaged" = "$version" ] ||
    complain "deploy/debian/changelog says $packaged, .version $version: add an entry"
copy_sources
given=$1
cd "$tree"
deploy/progress.sh . all sh -c 'exec dpkg-buildpackage -b -us -uc >../log 2>&1' || {
    cat ../log >&2
    complain 'dpkg-buildpackage failed'
}
mv "../attnd_${version}_amd64.deb" "../attnd-stream_${version}_amd64.deb" "$build/"
printf 'deb: made %s and %s\n' "$given/attnd_${version}_amd64.deb" "$given/attnd-stream_${version}_amd64.deb"
