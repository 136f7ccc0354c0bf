#!/bin/sh
# Prints the unit tests that stay programs of their own: those that define a function that is not
# static, by themselves or by a header, for they put it before the product's or the C library's.
# usage: tests/alone.sh    (from the repository's root)
set -eu
find tests/unit -name '*.[ch]' -exec awk '
    /^(static|typedef|__attribute__)/ { next }
    /^[a-z_]+[a-z_0-9 *]*[ *][a-z_0-9]+\(/ && !/;$/ { defines[FILENAME] = 1 }
    /^#include "tests\/unit\// { split($0, part, "\""); included[FILENAME, part[2]] = 1 }
    END {
        do {
            found = 0
            for (pair in included) {
                split(pair, file, SUBSEP)
                if (file[2] in defines && !(file[1] in defines))
                    found = defines[file[1]] = 1
            }
        } while (found)
        for (file_name in defines)
            if (file_name ~ /\.c$/)
                print file_name
    }' '{}' +
