#!/bin/bash
# The README's commands in a bare Debian of a release, as on a machine that was started a minute ago: made by
# mmdebstrap from the sources that this machine's apt has, with the last commit's files and nothing built. Needs
# root. Where a time namespace is forbidden it says so, and the uptime is this machine's.
# usage: tests/roots/test-root.sh RELEASE STEP...       (from the repository's root; bookworm, trixie)
# The steps are those of in-root.sh: serve, tests, sockets, package.
set -euo pipefail
release=$1
shift
mkdir -p "${BUILD:-build}/roots"
work=$(realpath "${BUILD:-build}/roots")
root=$work/$release

say() {
    printf 'roots: %s %4d s  %s\n' "$release" "$SECONDS" "$1"
}

fail() {
    printf 'roots: %s: %s\n' "$release" "$1" >&2
    exit 1
}

make_root() {
    rm -rf --one-file-system "$root"
    deploy/package/sources.sh "$release" >"$work/$release.sources"
    mmdebstrap --mode=root --variant=minbase "$release" "$root" - \
        <"$work/$release.sources" >"$work/$release.log" 2>&1 || {
        tail -n 20 "$work/$release.log" >&2
        fail 'mmdebstrap failed'
    }
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    mkdir "$root/src"
    git archive HEAD | tar -C "$root/src" -x
    git rev-parse HEAD >"$root/commit"
    say 'a bare system is there'
}

# What runs in the namespaces ends with them, and so do their mounts.
enter() {
    local uptime young=()
    uptime=$(cut -d . -f 1 /proc/uptime)
    if unshare --time true 2>/dev/null && [ "$uptime" -gt 60 ]; then
        young=(--time --monotonic "-$((uptime - 60))" --boottime "-$((uptime - 60))")
    else
        say "SKIPPED: the uptime of a minute; it is $uptime s"
    fi
    # shellcheck disable=SC2016  # for the shell inside, whose $0 is the root
    unshare --mount --pid --fork --kill-child "${young[@]}" sh -ec 'mount --make-rprivate /
        mount -t proc proc "$0/proc"
        mount --rbind /dev "$0/dev"
        exec chroot "$0" /bin/bash /src/tests/roots/in-root.sh "$@"' "$root" "$@"
}

[ "$(id -u)" -eq 0 ] || fail 'only root can make and enter a root'
unshare --mount --pid --fork true 2>/dev/null || {
    say 'SKIPPED: namespaces are forbidden here'
    exit 0
}
trap 'rm -rf --one-file-system "$root"' EXIT
make_root
enter "$@"
say 'passed'
