#!/bin/bash
# The package's service under a systemd that has booted in the root that this runs in: starts, has no
# rights, reloads, restarts, goes again (test-bundle.sh).
set -euo pipefail
# shellcheck source=tests/package/steps.sh
. /test/steps.sh

conf=/etc/attnd/attnd.json

property() {
    systemctl show attnd --property "$1" --value
}

# Expects a value of the property within a minute.
expect() {
    for _ in {1..600}; do
        [ "$(property "$1")" != "$2" ] || return 0
        sleep 0.1
    done
    journalctl -u attnd --no-pager -o cat | tail -n 20
    fail "$1 is $(property "$1"), not $2"
}

is_running() {
    [ "$(property ActiveState)" = active ]
}

installing_starts_the_service() {
    quietly "$bundle/install.sh"
    systemctl --quiet is-enabled attnd || fail 'the service does not start at boot'
    wait_ready is_running
    image_and_text_are_answered
    say 'installing starts the service, and it answers'
}

service_has_no_rights() {
    local status
    status=/proc/$(property MainPID)/status
    ! grep -q '^Uid:.0' "$status" || fail 'the service runs as root'
    grep -q '^CapBnd:.0*$' "$status" || fail 'the service has capabilities'
    grep -q '^NoNewPrivs:.1$' "$status" || fail 'the service may get privileges'
    grep -q '^Seccomp:.2$' "$status" || fail 'the service may make any call'
    say 'the service has no rights'
}

reload_applies_or_refuses() {
    sed -i 's/"info"/"debug"/' "$conf"
    quietly systemctl reload attnd
    for _ in {1..600}; do # the journal comes later; grep -q would end its pipe
        ! grep -q '"reload_changed","key":"log_level"' <<<"$(journalctl -u attnd -o cat)" || break
        sleep 0.1
    done
    grep -q '"reload_changed","key":"log_level"' <<<"$(journalctl -u attnd -o cat)" ||
        fail 'the reload changed nothing'
    sed -i 's/"queue_limit"/"queue_limt"/' "$conf"
    ! systemctl reload attnd 2>/dev/null || fail 'a faulty configuration was not refused'
    image_and_text_are_answered
    say 'a reload applies what changed, and refuses what is faulty'
}

# Retried, a faulty configuration would only fill the log.
faulty_start_is_not_retried() {
    systemctl stop attnd
    expect Result success
    systemctl start attnd || true
    expect ActiveState failed
    sleep 3
    expect NRestarts 0
    sed -i 's/"queue_limt"/"queue_limit"/' "$conf"
    quietly systemctl start attnd
    wait_ready is_running
    say 'it stops with success, and is not started again with a faulty configuration'
}

# Clients that connect while the service is away are answered by the next one.
socket_holds_the_address() {
    ! systemctl is-enabled --quiet attnd.socket || fail 'the socket is enabled'
    quietly systemctl stop attnd
    quietly systemctl start attnd.socket
    wait_ready true
    expect ActiveState active
    quietly systemctl stop attnd.socket attnd
    quietly systemctl start attnd
    wait_ready is_running
    say 'the socket holds the address, and starts the service'
}

crash_is_followed_by_a_start() {
    kill -SEGV "$(property MainPID)"
    expect NRestarts 1
    wait_ready true
    say 'a crash is followed by a start'
}

upgrade_restarts() {
    local before
    before=$(property MainPID)
    quietly dpkg --force-confold -i "$bundle"/attnd_*.deb
    wait_ready is_running
    [ "$(property MainPID)" != "$before" ] || fail 'the old program still runs'
    say 'an upgrade starts the new program'
}

purge_stops_the_service() {
    quietly dpkg --purge attnd
    expect ActiveState inactive
    ! attnd-healthcheck 2>/dev/null || fail 'it still answers'
    say 'purging stops the service'
}

installing_starts_the_service
service_has_no_rights
reload_applies_or_refuses
faulty_start_is_not_retried
socket_holds_the_address
crash_is_followed_by_a_start
upgrade_restarts
purge_stops_the_service
touch passed
