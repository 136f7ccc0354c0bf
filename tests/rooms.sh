#!/bin/sh
# Prints the folders of tests (as `make list-tests` names them: engine/base, fuzz, torture; "." for those
# of tests/unit itself) that include, themselves or through headers, what has changed since a commit, and
# one more, drawn by the last commit. A .c file that has changed counts as its header.
# usage: tests/rooms.sh COMMIT       (from the repository's root)
set -eu
since=$1
{
    {
        git diff --name-only "$since"
        git ls-files --others --exclude-standard
    } | sed 's/^/changed /'
    git ls-files -co --exclude-standard '*.c' '*.h' '*.def' | xargs grep -HE '^ *# *include "' /dev/null |
        sed 's|^\([^:]*\):.*"\(.*\)".*|\1 \2|'
} |
    awk -v seed="$(git rev-parse HEAD | cut -c 1-6)" '
    function folder(path) {
        sub(/^tests\/(unit\/)?/, "", path)
        return sub(/\/[^\/]*$/, "", path) ? path : "."
    }
    $1 == "changed" {
        hit[$2] = 1
        if (sub(/\.c$/, ".h", $2))
            hit[$2] = 1
        next
    }
    { edges++; from[edges] = $1; to[edges] = $2 }
    $1 ~ /^tests\/(unit\/.*test_[^\/]*|fuzz\/[^\/]*|torture\/[^\/]*)\.c$/ { room[folder($1)] = 0 }
    END {
        do {
            found = 0
            for (i = 1; i <= edges; i++)
                if ((to[i] in hit) && !(from[i] in hit))
                    found = hit[from[i]] = 1
        } while (found)
        for (path in hit)
            if (path ~ /^tests\/.*\.c$/ && (folder(path) in room))
                room[folder(path)] = 1
        for (name in room)
            if (room[name])
                print name
            else
                others++
        drawn = others ? seed_number(seed) % others : -1
        for (name in room)
            if (!room[name] && drawn-- == 0)
                print name
    }
    function seed_number(hex,    i, n) {
        for (i = 1; i <= length(hex); i++)
            n = 16 * n + index("0123456789abcdef", substr(hex, i, 1)) - 1
        return n
    }' | sort
