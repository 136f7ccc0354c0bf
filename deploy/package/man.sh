#!/bin/sh
# Prints the manual page of a program from its --help and --version, which come from its table of
# options. help2man writes the page; here --help is put into the words that help2man knows.
# usage: deploy/package/man.sh PROGRAM >PAGE
set -eu

program=$1
name=$(basename "$program")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The summary's first clause, without its full stop: "serves checkpoints over HTTP".
clause() {
    "$program" --help | awk '
        NR == 1 || (text == "" && $0 == "") { next }
        /^$/ { exit }
        { text = text (text == "" ? "" : " ") $0 }
        END {
            sub(/[,:.]( .*)?$/, "", text)
            match(text, /[,:.] /)
            if (RSTART > 0)
                text = substr(text, 1, RSTART - 1)
            print tolower(substr(text, 1, 1)) substr(text, 2)
        }'
}

# A program with several commands prints a usage for each: the synopsis has them all, and the options
# of each are a section of its own. The status is told once, at the end.
translate() {
    awk '
        /^usage: / { usage[++usages] = substr($0, 8); next }
        { line[++lines] = $0; of[lines] = usages }
        END {
            for (u = 1; u <= usages; u++)
                print (u == 1 ? "Usage: " : "   or: ") usage[u]
            print ""
            for (l = 1; l <= lines; l++) {
                text = line[l]
                if (usages > 1 && of[l] != of[l - 1]) {
                    split(usage[of[l]], word, " ")
                    print "*" word[1] " " word[2] "*\n"
                    in_options = 1
                }
                if (!in_options && (text ~ /^  --/ || line[l + 1] ~ /^  --/ && text ~ /:$/)) {
                    print "Options:\n"
                    in_options = 1
                }
                if (text ~ /^  attnd/) {
                    while (sub(/ *\\$/, "", text)) {
                        sub(/^ +/, " ", line[++l])
                        text = text line[l]
                    }
                    sub(/^ */, "  $ ", text)
                }
                if (sub(/^Exit status: /, "", text))
                    status = text
                else
                    print text
            }
            print "\n*Exit status*\n\n" status
        }'
}

# help2man calls this under the program's name.
"$program" --version >"$work/--version"
"$program" --help | translate >"$work/--help"
# shellcheck disable=SC2016  # $1 is the program's
printf '#!/bin/sh\ncat "%s/$1"\n' "$work" >"$work/$name"
chmod +x "$work/$name"

cat >"$work/also" <<'EOT'
[see also]
attnd(1), attnd-predict(1), attnd-inspect(1), attnd-eval(1), attnd-train(1), attnd-fit(1),
attnd-prune(1), attnd-batch(1), attnd-stream(1), attnd-vocab(1), attnd-index(1), attnd-load(1),
attnd-audit(1), attnd-keys(1), attnd-healthcheck(1), and what is installed in share/doc/attnd.
EOT
help2man --no-info --section=1 --manual=attnd --name="$(clause)" --include="$work/also" "$work/$name"
