#!/bin/sh
# Prints the sources of Debian 12 that this machine's apt has, as lines of a sources.list.
# usage: deploy/package/sources.sh
set -eu
keys=/usr/share/keyrings/debian-archive-keyring.gpg
# shellcheck disable=SC2016  # apt's own variables
found=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Origin: Debian' 'Created-By: Packages' | sort -u | while read -r codename uri release component; do
    case "$codename" in
    bookworm | bookworm-updates | bookworm-security)
        printf 'deb [signed-by=%s] %s %s %s\n' "$keys" "$uri" "$release" "$component" ;;
    esac
done)
if [ -z "$found" ]; then
    echo 'sources: apt knows no source of Debian 12 here; is this Debian 12, and is apt-get update done?' >&2
    exit 1
fi
printf '%s\n' "$found"
