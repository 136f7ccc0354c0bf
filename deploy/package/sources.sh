#!/bin/sh
# Prints the sources of a Debian release, as lines of a sources.list, from those that this machine's apt has.
# usage: deploy/package/sources.sh [RELEASE]
# Without RELEASE they are those of Debian 12, which apt must have; with one they are this machine's release's
# with the other name in its place.
set -eu
keys=/usr/share/keyrings/debian-archive-keyring.gpg
here=bookworm
# shellcheck source=/dev/null
[ $# -eq 0 ] || here=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
# shellcheck disable=SC2016  # apt's own variables
found=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Origin: Debian' 'Created-By: Packages' | sort -u | while read -r codename uri release component; do
    case "$codename" in
    "$here" | "$here-updates" | "$here-security")
        printf 'deb [signed-by=%s] %s %s %s\n' "$keys" "$uri" "$release" "$component" ;;
    esac
done)
if [ -z "$found" ]; then
    echo "sources: apt knows no source of Debian's $here here; is this it, and is apt-get update done?" >&2
    exit 1
fi
printf '%s\n' "$found" | sed "s/\\<$here\\>/${1:-$here}/g"
