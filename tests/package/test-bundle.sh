#!/bin/bash
# The bundle, in a bare Debian 12 without a network: installs, serves, stops, goes again (in-root.sh);
# then the service, in one whose systemd has booted (in-service.sh). Before that what can be told of the
# package from outside. Needs root; where namespaces are forbidden it says so, and takes a plain chroot.
# usage: tests/package/test-bundle.sh BUILD       (from the repository's root, after make bundle)
set -euo pipefail

build=$(realpath "$1")
version=$(cat .version)
package=$build/attnd_${version}_amd64.deb
stream=$build/attnd-stream_${version}_amd64.deb
bundle=$build/attnd-$version-debian12-amd64.tar
work=$build/package
root=$work/root

say() {
    printf 'test-bundle: %3d s  %s\n' "$SECONDS" "$1"
}

fail() {
    printf 'test-bundle: %s\n' "$1" >&2
    exit 1
}

# Errors and warnings of Debian's policy.
check_policy() {
    lintian --allow-root --fail-on error,warning "$package" "$stream" || fail 'lintian refuses a package'
    say 'lintian has no error and no warning'
}

# Two builds are alike only if none knows where it was made.
check_paths() {
    rm -rf "$work/content"
    dpkg-deb -x "$package" "$work/content"
    dpkg-deb -x "$stream" "$work/content"
    ! grep -rlF "$build" "$work/content" || fail 'files above hold the path of the build'
    rm -rf "$work/content"
    say 'no file holds the path of the build'
}

# make_bare NAME [OPTION]: fetching takes half a minute, and the result is the same for every run.
make_bare() {
    local line uri name=$1
    shift
    [ ! -f "$work/$name.tar" ] || return 0
    read -r line < <(deploy/package/sources.sh | grep ' bookworm main$') || fail 'no source of bookworm'
    uri=$(cut -d ' ' -f 3 <<<"$line")
    rm -rf "$work/bare"
    mkdir -p "$work/debs"
    debootstrap --variant=minbase --cache-dir="$work/debs" "$@" bookworm "$work/bare" "$uri" \
        >"$work/debootstrap.log" 2>&1 || {
        tail -n 20 "$work/debootstrap.log" >&2
        fail 'debootstrap failed'
    }
    tar -C "$work/bare" --numeric-owner --one-file-system -cf "$work/bare.part" .
    mv "$work/bare.part" "$work/$name.tar"
    rm -rf "$work/bare"
}

can_make_devices() {
    rm -f "$work/null"
    mknod "$work/null" c 1 3 2>/dev/null && rm "$work/null"
}

# The bare system with the bundle, and with no source of packages and no name server.
make_root() {
    make_bare "$@"
    rm -rf --one-file-system "$root"
    mkdir -p "$root"
    tar -C "$root" --numeric-owner -xf "$work/$1.tar"
    rm -rf "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/* "$root"/etc/resolv.conf
    mkdir "$root/test"
    tar -C "$root/test" -xf "$bundle"
    cp tests/package/{in-root,in-service,steps}.sh tests/data/examples/wafer_map.png \
        server/ui/samples/test_floor.txt "$root/test/"
    say "a Debian 12 is there ($1)"
}

can_unshare() {
    unshare --mount --net --pid --fork true 2>/dev/null
}

# Processes in the namespaces end with them, and so do their mounts.
run_in_root() {
    if can_unshare; then
        # shellcheck disable=SC2016  # for the shell inside, whose $0 is the root
        unshare --mount --net --pid --fork --kill-child sh -ec 'ip link set lo up
            mount -t proc proc "$0/proc"
            exec chroot "$0" /bin/bash /test/in-root.sh' "$root"
    else
        say 'SKIPPED: namespaces are forbidden here, so the network is there, and only unused'
        ATTND_LISTEN=127.0.0.1:18080 http_proxy=http://127.0.0.1:9 \
            chroot "$root" /bin/bash /test/in-root.sh
    fi
}

# Reads the units in the root, where the programs are that they start.
check_unit() {
    command -v systemd-analyze >/dev/null || { say 'SKIPPED: systemd-analyze is missing'; return; }
    local unit
    tar -C "$root" -xf <(dpkg-deb --fsys-tarfile "$package") ./usr/bin ./lib
    tar -C "$root" -xf <(dpkg-deb --fsys-tarfile "$stream") ./usr/bin ./lib
    for unit in attnd.service attnd-stream.service; do
        systemd-analyze verify --man=no --recursive-errors=no --root="$root" "$unit" ||
            fail "systemd refuses $unit"
        systemd-analyze security --offline=yes --root="$root" --threshold=20 --no-pager "$unit" |
            tail -n 1
    done
    say 'systemd accepts the units'
}

# The unit that runs in-service.sh, and then ends the system.
write_service() {
    cat >"$root/etc/systemd/system/test.service" <<EOT
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'touch /test/booted; exec /bin/bash /test/in-service.sh >/test/log 2>&1'
ExecStopPost=/bin/systemctl poweroff --no-block
EOT
    mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
    ln -s ../test.service "$root/etc/systemd/system/multi-user.target.wants/"
}

# A container may forbid what systemd needs to boot, though it allows namespaces.
run_service() {
    if ! can_unshare || ! command -v systemd-nspawn >/dev/null; then
        say 'SKIPPED: the service under systemd; that takes namespaces and systemd-nspawn'
        return
    fi
    make_root booted --include=systemd,systemd-sysv,dbus
    write_service
    timeout --kill-after=5 900 systemd-nspawn --quiet --directory="$root" --boot --private-network \
        --register=no --keep-unit </dev/null >"$work/boot.log" 2>&1 || true
    [ -f "$root/test/booted" ] || {
        tail -n 5 "$work/boot.log"
        say 'SKIPPED: the service under systemd, which did not boot here; above is why'
        return
    }
    cat "$root/test/log"
    [ -f "$root/test/passed" ] || fail 'the service failed'
}

[ "$(id -u)" -eq 0 ] || fail 'only root can make and enter a root'
mkdir -p "$work"
trap 'rm -rf --one-file-system "$root" "$work/bare" "$work/content"' EXIT
check_policy
check_paths
can_make_devices || {
    say 'SKIPPED: all that needs a bare Debian, since device files are forbidden here'
    exit 0
}
make_root bare
run_in_root
check_unit
run_service
say 'passed'
