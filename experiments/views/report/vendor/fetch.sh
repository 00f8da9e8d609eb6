#!/bin/sh
# Gets the vendored libraries at their pinned versions. See README.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# package, version, sha512 of the package as npm publishes it
take() {
    (cd "$work" && npm pack --silent "$1@$2" >/dev/null)
    found=$(openssl dgst -sha512 -binary "$work/$1-$2.tgz" | openssl base64 -A)
    [ "$found" = "$3" ] || { echo "$1 $2 is not what it was: sha512-$found" >&2; exit 1; }
    mkdir "$work/$1"
    tar -xzf "$work/$1-$2.tgz" -C "$work/$1" --strip-components=1
}

take prismjs 1.30.0 'DEvV2ZF2r2/63V+tK8hQvrR2ZGn10srHbXviTlcv7Kpzw8jWiNTqbVgjO3IY8RxrrOUF8VPMQQFysYYYv0YZxw=='
take diff 8.0.4 'DPi0FmjiSU5EvQV0++GFDOJ9ASQUVFh5kD+OzOnYdi7n3Wpm9hWWGfB/O2blfHcMVTL5WkQXSnRiK9makhrcnw=='

for name in core clike c cpp python; do
    cp "$work/prismjs/components/prism-$name.min.js" "$here/"
done
cp "$work/prismjs/LICENSE" "$here/prism.LICENSE"
cp "$work/diff/dist/diff.min.js" "$here/"
cp "$work/diff/LICENSE" "$here/diff.LICENSE"

cd "$here"
[ "${1:-}" = --update ] && sha256sum ./*.min.js ./*.LICENSE >SHA256SUMS
sha256sum -c --quiet SHA256SUMS && echo "all files are as pinned"
