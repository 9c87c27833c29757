#!/usr/bin/env bash
# Makes the site of the guides with the toolchain's docc, for any server of static files. Every link and picture must exist.
#
#   deploy/docs.sh FOLDER [BASE_PATH]    writes the site to FOLDER; BASE_PATH is where it will be served, such as /sallyport
#
# The guides link to each other as files, as forges show them, and docc by names: links are rewritten in a copy. Links to other
# files of the repository lead to SALLYPORT_SOURCE_URL (https://forge.example.com/OWNER/sallyport/blob/main); without it only
# their text stays.
set -euo pipefail

if [[ $# -lt 1 || $# -gt 2 || $1 == -* ]]; then
    echo "usage: deploy/docs.sh FOLDER [BASE_PATH]" >&2
    exit 64
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

docc=$(command -v docc || true)
if [[ -z $docc ]] && swift=$(command -v swift); then
    docc=$(dirname "$(readlink -f "$swift")")/docc
fi
if [[ ! -x $docc ]]; then
    echo "docc is missing: it is in Swift's toolchain, https://www.swift.org/install/linux/" >&2
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$root/Sources/sallyport/Sallyport.docc" "$work/Sallyport.docc"

# A text may be broken into lines within a link, so each file is one line to sed.
source=${SALLYPORT_SOURCE_URL:-}
if [[ -n $source ]]; then
    outside='s#\]\((\.\./){3,4}([^)]*)\)#]('${source%/}'/\2)#g'
else
    outside='s#\[([^]]*)\]\((\.\./){3,4}[^)]*\)#\1#g'
fi
find "$work/Sallyport.docc" -name '*.md' -exec sed -i -zE \
    -e 's#\]\((\.\./)?([A-Za-z]+/)?([A-Za-z0-9]+)\.md\)#](doc:\3)#g' \
    -e 's#\]\((\.\./)?Resources/([^)/]+)\)#](\2)#g' \
    -e "$outside" {} +

arguments=(--fallback-display-name Sallyport --fallback-bundle-identifier sallyport --warnings-as-errors)
renderer=${DOCC_HTML_DIR:-$(dirname "$(readlink -f "$docc")")/../share/docc/render}
if [[ -e $renderer/index-template.html ]]; then
    arguments+=(--transform-for-static-hosting)
    if [[ $# -eq 2 ]]; then arguments+=(--hosting-base-path "$2"); fi
else
    echo "this docc has no renderer: $1 will have the data of the pages, and no pages" >&2
    arguments+=(--no-transform-for-static-hosting)
fi
"$docc" convert "$work/Sallyport.docc" "${arguments[@]}" --output-path "$work/site"

# The site's first page is the catalog's.
if [[ -e $work/site/index.html ]]; then
    echo '<!DOCTYPE html><meta http-equiv="refresh" content="0; url=documentation/sallyport/"><title>Sallyport</title>' \
        >"$work/site/index.html"
fi
mkdir -p "$1"
cp -r "$work/site/." "$1"
