#!/bin/sh
# The root file system of the container image: our programs, the libraries that they load, what those read,
# and nothing else - no shell, no package manager. Beside them who holds the rights (the copyright file of
# each Debian package) and what all of it is made of (sbom.sh).
# usage: deploy/image/root.sh BUILD ROOT [--without-backends] [--with-stream]
#   (from the repository's root, on Debian) ROOT must not exist. --without-backends leaves out
#   OpenBLAS, which is loaded if it is there: inference multiplies by attnd's own kernels, and training
#   needs OpenBLAS. --with-stream adds attnd-stream and what librdkafka loads.
# SOURCE_DATE_EPOCH dates all files (default: the changelog's), so that two builds are the same bytes.
set -eu

build=$1 root=$2
shift 2
programs='attnd attnd-predict attnd-batch attnd-inspect attnd-eval attnd-train attnd-vocab attnd-index attnd-fit
          attnd-prune attnd-audit attnd-keys attnd-healthcheck'
backends=yes
for option; do
    case $option in
    --without-backends) backends= ;;
    --with-stream) programs="$programs attnd-stream" ;;
    *) printf 'root.sh: no option %s\n' "$option" >&2 && exit 2 ;;
    esac
done
# Of glibc's character sets those that engine/content/charset.c asks for, and what they share.
gconv='ISO8859-15.so CP1252.so UTF-16.so UTF-32.so CP932.so GB18030.so BIG5HKSCS.so UHC.so libKSC.so'
multiarch=$(gcc -print-multiarch)
libraries=/usr/lib/$multiarch

complain() {
    printf 'root.sh: %s\n' "$1" >&2
    exit 1
}

# Debian's /lib is /usr/lib; the loader is looked for in /lib64.
lay_out() {
    mkdir -p "$root/usr/local/bin" "$root$libraries/gconv/gconv-modules.d" "$root/usr/lib64" \
        "$root/usr/share/doc/attnd" "$root/etc" "$root/tmp" "$root/proc" "$root/dev" "$root/sys"
    ln -s usr/lib "$root/lib"
    ln -s usr/lib64 "$root/lib64"
    printf 'nonroot:x:65532:65532::/:/nonexistent\n' >"$root/etc/passwd"
    printf 'nonroot:x:65532:\n' >"$root/etc/group"
}

copy_programs() {
    for program in $programs; do
        install -m 755 -s "$build/$program" "$root/usr/local/bin/$program"
    done
}

# Paths of what a program or a library loads, itself not among them.
needed() {
    ldd "$@" | sed -n -e 's/.*=> \(\/[^ ]*\).*/\1/p' -e 's/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p'
}

# Programs find it by name while they run.
loaded_later() {
    [ -n "$backends" ] || return 0
    printf '%s\n' "$libraries/libopenblas.so.0"
}

copy_libraries() {
    later=$(loaded_later)
    # shellcheck disable=SC2046,SC2086  # lists of words
    { needed $(printf "$root/usr/local/bin/%s " $programs) $later; printf '%s\n' $later; } |
        sed -e '/^$/d' -e 's:^/lib/:/usr/lib/:' -e 's:^/lib64/:/usr/lib64/:' | sort -u >"$root.libraries"
    while read -r library; do
        [ -e "$library" ] || complain "$library is missing; deploy/install-deps.sh run installs it"
        install -D -m 755 "$(realpath "$library")" "$root$library"
    done <"$root.libraries"
}

copy_character_sets() {
    for file in $gconv; do
        install -m 644 "$libraries/gconv/$file" "$root$libraries/gconv/$file"
    done
    install -m 644 "$libraries/gconv/gconv-modules" "$root$libraries/gconv/"
    install -m 644 "$libraries"/gconv/gconv-modules.d/*.conf "$root$libraries/gconv/gconv-modules.d/"
}

# The package of a file; dpkg knows some by their name from before /lib was a link.
package_of() {
    real=$(realpath "$1")
    dpkg-query -S "$real" 2>/dev/null || dpkg-query -S "${real#/usr}" 2>/dev/null ||
        dpkg-query -S "$1" 2>/dev/null || complain "no package has $1"
}

# "package version", sorted.
list_packages() {
    while read -r library; do
        package_of "$library"
    done <"$root.libraries" | sed 's/:.*//' | sort -u | while read -r package; do
        # shellcheck disable=SC2016  # the format is dpkg's
        dpkg-query -W -f '${Package} ${Version}\n' "$package" | head -n 1
    done >"$root.packages"
}

copy_rights() {
    install -m 644 LICENSE "$root/usr/share/doc/attnd/LICENSE"
    while read -r package _; do
        install -D -m 644 "$(realpath "/usr/share/doc/$package/copyright")" \
            "$root/usr/share/doc/$package/copyright"
    done <"$root.packages"
}

# date(1) reads the changelog's own form.
date_all() {
    epoch=${SOURCE_DATE_EPOCH:-$(date -d "$(sed -n '/^ --/{s/.*>  //p;q}' deploy/debian/changelog)" +%s)}
    deploy/image/sbom.sh "$epoch" <"$root.packages" >"$root/usr/share/doc/attnd/sbom.cdx.json"
    chmod 1777 "$root/tmp"
    find "$root" -exec touch -h -d "@$epoch" {} +
}

[ ! -e "$root" ] || complain "$root exists"
lay_out
copy_programs
copy_libraries
copy_character_sets
list_packages
copy_rights
date_all
rm "$root.libraries" "$root.packages"
