#!/bin/sh
# What an image is made of, as a software bill of materials in CycloneDX 1.5 (ECMA-424): attnd, the Debian
# packages of the list, and the models with the SHA-256 of their weights.
# usage: deploy/image/sbom.sh EPOCH <PACKAGES        (from the repository's root)
#   PACKAGES has lines "name version"; EPOCH dates the document. The same input gives the same bytes.
set -eu

epoch=$1
version=$(cat .version)
architecture=$(dpkg --print-architecture)
packages=$(cat)
models='wafer-vit testlog-bert kernel-bert wafer-id'

# A version may have what a package URL spells otherwise.
escaped() {
    printf '%s' "$1" | sed -e 's/%/%25/g' -e 's/+/%2B/g' -e 's/:/%3A/g' -e 's/~/%7E/g'
}

package_component() {
    printf '    {"type": "library", "bom-ref": "pkg:deb/debian/%s@%s?arch=%s", "name": "%s", "version": "%s",\n' \
        "$(escaped "$1")" "$(escaped "$2")" "$architecture" "$1" "$2"
    printf '     "purl": "pkg:deb/debian/%s@%s?arch=%s&distro=bookworm"}' \
        "$(escaped "$1")" "$(escaped "$2")" "$architecture"
}

model_component() {
    digest=$(sha256sum "models/$1/model.safetensors" | cut -d ' ' -f 1)
    number=$(sed -n 's/.*"version": *"\([^"]*\)".*/\1/p' "models/$1/attnd.json" | head -n 1)
    printf '    {"type": "machine-learning-model", "bom-ref": "model:%s", "name": "%s", "version": "%s",\n' \
        "$1" "$1" "$number"
    printf '     "hashes": [{"alg": "SHA-256", "content": "%s"}]}' "$digest"
}

components() {
    printf '%s\n' "$packages" | while read -r name number; do
        package_component "$name" "$number"
        printf ',\n'
    done
    separator=
    for model in $models; do
        printf '%s' "$separator"
        model_component "$model"
        separator=',
'
    done
}

# A name for this content (RFC 9562, section 5.8: a UUID of version 8 is what its maker defines).
serial() {
    components | sha256sum |
        sed 's/^\(.\{8\}\)\(.\{4\}\).\(.\{3\}\).\(.\{3\}\)\(.\{12\}\).*/urn:uuid:\1-\2-8\3-8\4-\5/'
}

cat <<END
{
  "bomFormat": "CycloneDX",
  "specVersion": "1.5",
  "serialNumber": "$(serial)",
  "version": 1,
  "metadata": {
    "timestamp": "$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)",
    "component": {"type": "application", "bom-ref": "attnd", "name": "attnd", "version": "$version"}
  },
  "components": [
$(components)
  ]
}
END
