#!/bin/sh
# Installs attnd from this folder on a Debian 12 machine, without a network. What the machine has
# already, in the same or a newer version, stays as it is; so does a changed /etc/attnd/attnd.json.
# usage: ./install.sh [--without-recommended] [--with-stream]
#   --without-recommended  leaves out OpenBLAS (README)
#   --with-stream          also installs attnd-stream, which answers messages of Kafka topics
set -eu

complain() {
    printf 'install: %s\n' "$1" >&2
    exit "${2:-1}"
}

wants_recommended=true
packages=attnd
for option; do
    case $option in
    --without-recommended) wants_recommended=false ;;
    --with-stream) packages="$packages attnd-stream" ;;
    *) complain 'usage: ./install.sh [--without-recommended] [--with-stream]' 2 ;;
    esac
done

here=$(cd "$(dirname "$0")" && pwd)

check_machine() {
    # shellcheck source=/dev/null
    system=$(. /etc/os-release && printf '%s %s' "$ID" "${VERSION_ID-}")
    [ "$system" = 'debian 12' ] || complain "this bundle is for Debian 12, not for $system"
    [ "$(dpkg --print-architecture)" = amd64 ] || complain 'this bundle is for amd64'
    [ "$(id -u)" -eq 0 ] || complain 'only root can install packages'
}

verify() {
    (cd "$here" && sha256sum --strict --quiet -c SHA256SUMS) ||
        complain 'the bundle is damaged; copy it again'
}

# apt takes this folder for its only source, so it asks no network.
offline_apt() {
    DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 \
        -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
        -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o Acquire::Languages=none \
        -o APT::Sandbox::User=root -o APT::Install-Recommends=false \
        -o DPkg::Options::=--force-confdef -o DPkg::Options::=--force-confold "$@"
}

# By name, the first of each choice: apt would not add them to an attnd that is there already.
recommended() {
    "$wants_recommended" || return 0
    dpkg-deb -f "$here"/attnd_*.deb Recommends | tr ',' '\n' | sed 's/[|(].*//'
}

install_packages() {
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
    ln -s "$here" "$work/bundle" # a name that a source's line can hold
    printf 'deb [trusted=yes] file:%s/bundle ./\n' "$work" >"$work/sources.list"
    offline_apt update
    # shellcheck disable=SC2046,SC2086  # lists of words
    offline_apt install -y $packages $(recommended)
}

say_what_next() {
    echo
    echo "$(attnd --version) is installed: configuration /etc/attnd/attnd.json, models /usr/share/attnd/models."
    if [ -d /run/systemd/system ]; then
        echo 'The service is started: systemctl status attnd, journalctl -u attnd.'
    else
        echo 'systemd does not run here. Start it as the user attnd: attnd --config /etc/attnd/attnd.json'
    fi
    echo 'attnd-healthcheck says whether it is ready; man attnd tells all options.'
}

check_machine
verify
install_packages
say_what_next
