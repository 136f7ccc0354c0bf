#!/bin/sh
# Compiles every header by itself: a header includes what it needs.
# usage: tests/check-headers.sh [ROOT]    prints the errors; exits 1 if there are any
# A name ending in _body.h is a template that its .c files complete, and is left out.
set -u
cd "${1:-.}" || exit 2
headers=$(find engine learn tools config server wire loadtest tests/unit tests/support tests/bench tests/fuzz -name '*.h' ! -name '*_body.h' 2>/dev/null)
libraries=$(pkg-config --cflags libmicrohttpd jansson openblas libpng libjpeg nettle 2>/dev/null)
# All three are split into words on purpose: our file names have no blanks, and CC may be two words.
# shellcheck disable=SC2086
exec ${CC:-cc} -std=c11 -D_GNU_SOURCE -DATTND_VERSION='""' -I. $libraries \
    -Wall -Wextra -Werror -Wno-unused-function -fsyntax-only -x c $headers
