#!/bin/bash
# Installs the bundle in the root that this runs in, asks attnd for answers and removes it again
# (test-bundle.sh).
# usage: [ATTND_LISTEN=127.0.0.1:PORT] in-root.sh
set -euo pipefail
# shellcheck source=tests/package/steps.sh
. /test/steps.sh

daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true' EXIT

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

damaged_bundle_is_refused() {
    cp -r "$bundle" 'damaged one'
    echo >>'damaged one/README'
    if 'damaged one/install.sh' >command.log 2>&1; then
        fail 'a damaged bundle was installed'
    fi
    grep -q 'the bundle is damaged' command.log || fail 'the refusal does not say why'
    ! is_installed attnd || fail 'a damaged bundle left attnd'
    rm -r 'damaged one'
    say 'a damaged bundle is refused'
}

bundle_installs_without_the_recommended() {
    quietly "$bundle/install.sh" --without-recommended
    is_installed attnd || fail 'attnd is not installed'
    ! is_installed libopenblas0-pthread || fail 'OpenBLAS was installed'
    id attnd >/dev/null || fail 'there is no user attnd'
    say 'the bundle installs without OpenBLAS'
}

# From a folder whose name a source's line cannot hold.
bundle_installs_what_is_recommended_later() {
    mv "$bundle" 'a folder'
    quietly 'a folder/install.sh'
    mv 'a folder' "$bundle"
    is_installed attnd || fail 'attnd is gone'
}

start() {
    setpriv --reuid attnd --regid attnd --clear-groups -- \
        attnd --config /etc/attnd/attnd.json >attnd.log 2>&1 &
    daemon=$!
    wait_ready kill -0 "$daemon"
}

attnd_serves_and_stops() {
    quietly attnd --check-config --config /etc/attnd/attnd.json
    start
    image_and_text_are_answered
    kill -HUP "$daemon"
    post test_floor.txt text/plain leakage
    kill -TERM "$daemon"
    wait "$daemon" || fail "attnd ended with status $?"
    daemon=
    say 'attnd answers an image and a text, and stops with status 0'
}

recommended_libraries_work() {
    quietly attnd-predict --linear-backend openblas --image wafer_map.png \
        --model /usr/share/attnd/models/wafer-vit
    grep -q Scratch command.log || fail "$(cat command.log)"
    say 'OpenBLAS works once it is installed'
}

# No broker answers on a port that nothing listens on: it waits for one until it is told to stop.
stream_comes_if_asked_for() {
    is_installed attnd-stream && fail 'attnd-stream was installed, and nobody asked for it'
    quietly "$bundle/install.sh" --with-stream
    is_installed attnd-stream || fail 'attnd-stream is not installed'
    : >stream.log
    attnd-stream --model /usr/share/attnd/models/testlog-bert --brokers 127.0.0.1:9 --topics in --output-topic out \
        >stream.log 2>&1 &
    daemon=$!
    for _ in {1..600}; do
        ! grep -q 'Connection refused' stream.log || break
        sleep 0.1
    done
    grep -q 'Connection refused' stream.log || fail "attnd-stream does not say what is wrong: $(cat stream.log)"
    kill -TERM "$daemon"
    wait "$daemon" || fail "attnd-stream ended with status $?"
    daemon=
    say 'attnd-stream comes if it is asked for, says that no broker answers, and stops'
}

manuals_are_there() {
    for program in /usr/bin/attnd*; do
        [ -f "/usr/share/man/man1/${program##*/}.1.gz" ] || fail "$program has no manual page"
    done
}

changed_configuration_stays() {
    sed -i 's/"info"/"warn"/' /etc/attnd/attnd.json
    quietly dpkg --force-confdef --force-confold -i "$bundle"/attnd_*.deb
    grep -q '"warn"' /etc/attnd/attnd.json || fail 'the configuration was replaced'
    say 'a changed configuration stays'
}

package_goes_without_a_trace() {
    quietly dpkg --purge attnd-stream attnd
    for trace in /etc/attnd /usr/share/attnd /usr/share/doc/attnd /usr/bin/attnd* \
        /lib/systemd/system/attnd*.service /lib/systemd/system/attnd.socket /etc/systemd/system/*/attnd.service; do
        if [ -e "$trace" ] || [ -L "$trace" ]; then
            fail "$trace is left"
        fi
    done
    say 'the package goes without a trace'
}

damaged_bundle_is_refused
bundle_installs_without_the_recommended
attnd_serves_and_stops
bundle_installs_what_is_recommended_later
recommended_libraries_work
stream_comes_if_asked_for
manuals_are_there
changed_configuration_stays
package_goes_without_a_trace
