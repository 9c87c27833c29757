#!/usr/bin/env bash
# Searches every state of the models beside this script, and shows that each safeguard is needed: Tests/Models/check.sh [model]
# A line for each search: what holds, or for a model without one of its safeguards what fails then; states, seconds.
# All of them take about eight minutes of one core, half of it for Refresh with both faults, and 2.6 GiB.
set -euo pipefail

# shellcheck source=deploy/build.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../deploy/build.sh"
sallyport_packages spin gcc libc6-dev

models="$SALLYPORT_ROOT/Tests/Models"
only=${1-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0

# Makes and runs the search of a model under switches; leaves its report in $scratch/report.
search() {
    local model=$1
    shift
    rm -f "$scratch"/pan* "$scratch"/*.trail
    (
        cd "$scratch"
        spin "${@/#/-D}" -a "$models/$model.pml"
        gcc -w -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c
        nice ./pan -m100000 -w24
    ) >"$scratch/report" 2>&1 || true
}

report() { sed -n "s/$1/\\1/p" "$scratch/report" | head -n 1; }

show() {
    local states seconds
    states=$(report '^ *\([0-9.e+]*\) states, stored.*')
    seconds=$(report '.*elapsed time \([0-9.]*\) seconds.*')
    printf '%-9s %-46s %-44s %8s states %6s s\n' "$model" "$1" "$2" "${states:-no}" "${seconds:-0}"
}

# holds MODEL PROMISES [SWITCH ...]: the promises hold in every state.
holds() {
    local model=$1 promises=$2
    shift 2
    if [[ -n $only && $only != "$model" ]]; then return 0; fi
    search "$model" "$@"
    if grep -q 'errors: 0$' "$scratch/report" && ! grep -q 'Search not completed' "$scratch/report"; then
        show "${*:-all}" "$promises"
    else
        show "${*:-all}" "WRONG: $(report '^pan:1: \(.*\)')"
        tail -n 40 "$scratch/report" >&2
        wrong=1
    fi
}

# needs MODEL PROMISE SWITCH ...: without a safeguard, which the last switch takes out, the promise is broken.
needs() {
    local model=$1 promise=$2
    shift 2
    if [[ -n $only && $only != "$model" ]]; then return 0; fi
    search "$model" "$@"
    if grep -q "assertion violated $promise " "$scratch/report"; then
        show "$*" "breaks $promise"
    else
        show "$*" "WRONG: does not break $promise"
        wrong=1
    fi
}

holds SingleUse 'usedOnce, refusedIsNotUsed'
holds SingleUse 'usedOnce, refusedIsNotUsed, usedIsKept' FAITHFUL
holds SingleUse 'parentLived' SIGN_OUT
holds SingleUse 'parentLived, usedIsKept' SIGN_OUT FAITHFUL
needs SingleUse usedOnce NO_REIGN
needs SingleUse refusedIsNotUsed NO_MARKER
needs SingleUse refusedIsNotUsed NO_ATTEMPT
needs SingleUse refusedIsNotUsed NO_READ_BACK
needs SingleUse parentLived SIGN_OUT NO_PARENT
needs SingleUse usedIsKept FAITHFUL NO_WAIT
needs SingleUse usedIsKept FAITHFUL NO_CONFIRM
needs SingleUse usedIsKept FAITHFUL NO_REWRITE
needs SingleUse usedIsKept FAITHFUL NO_HOLD

holds SignOut 'knowerRefuses, endIsRepeated'
holds SignOut 'knowerRefuses, endIsRepeated, endIsKept' FAITHFUL
needs SignOut knowerRefuses NO_MEMORY
needs SignOut knowerRefuses NO_NOTE
needs SignOut knowerRefuses NO_NEWS
needs SignOut endIsRepeated NO_REPLAY
needs SignOut endIsRepeated NO_AFTERMATH
needs SignOut endIsKept FAITHFUL NO_WAIT
needs SignOut endIsKept FAITHFUL NO_REWRITE
needs SignOut endIsKept FAITHFUL NO_HOLD
# A limit that the model describes, not a safeguard.
needs SignOut knowerRefuses CONFIRM_COUNTS

holds Refresh 'familyLives, noneOlder' RESTARTS=0
holds Refresh 'familyLives, noneOlder' FAILOVERS=0
holds Refresh 'familyLives, noneOlder, rotationIsKept' FAITHFUL
holds Refresh 'noneOlder, endsForAll' THIEF RESTARTS=0
holds Refresh 'noneOlder, endsForAll' THIEF FAILOVERS=0
holds Refresh 'noneOlder, endsForAll, rotationIsKept' THIEF RESTARTS=0 FAITHFUL
needs Refresh familyLives NO_OVERLAP
needs Refresh familyLives NO_LATER
needs Refresh familyLives RESTARTS=0 FAILOVERS=0 NO_PRESENT
needs Refresh noneOlder THIEF RESTARTS=0 FAILOVERS=0 NO_SWAP
needs Refresh endsForAll THIEF RESTARTS=0 FAILOVERS=0 NO_END
needs Refresh rotationIsKept FAITHFUL NO_WAIT
needs Refresh rotationIsKept FAITHFUL NO_REWRITE
needs Refresh rotationIsKept FAITHFUL NO_HOLD
# A limit that the model describes.
needs Refresh rotationIsKept FAITHFUL FORMER_COUNTS

holds Lease 'usedByOne' RESTARTS=0 FAITHFUL
holds Lease 'newOnesAreKept' QUIET RESTARTS=0 FAILOVERS=0
holds Lease 'newOnesAreKept' QUIET RESTARTS=0 FAITHFUL
needs Lease usedByOne RESTARTS=0 FAITHFUL NO_LEASE
needs Lease usedByOne RESTARTS=0 FAITHFUL NO_LOSS
needs Lease usedByOne RESTARTS=0 FAITHFUL NO_SWAP
needs Lease usedByOne RESTARTS=0 FAITHFUL NO_WAIT
needs Lease usedByOne RESTARTS=0 FAITHFUL NO_HOLD
needs Lease newOnesAreKept QUIET RESTARTS=0 FAILOVERS=0 NO_SETTLING
needs Lease newOnesAreKept QUIET RESTARTS=0 FAITHFUL NEW_ATTEMPT
# Limits that the model describes.
needs Lease usedByOne RESTARTS=0
needs Lease usedByOne FAILOVERS=0
needs Lease newOnesAreKept QUIET FAILOVERS=0
needs Lease sentBeforeLost RESTARTS=0 FAILOVERS=0 UNSENT_COUNTS

holds Follow 'outageEndsNobody, askedOnce' RESTARTS=0 FAILOVERS=0
holds Follow 'noIsFollowed' QUIET RESTARTS=0 FAILOVERS=0
holds Follow 'outageEndsNobody, askedOnce, noEndsAll' LOOKS=1 RESTARTS=0 FAITHFUL
holds Follow 'holderLives, lastRevokes' HOLDERS RESTARTS=0 FAILOVERS=0
needs Follow askedOnce RESTARTS=0 FAILOVERS=0 NO_LEASE
needs Follow askedOnce RESTARTS=0 FAILOVERS=0 NO_SWAP
needs Follow askedOnce RESTARTS=0 FAILOVERS=0 NO_SETTLING
needs Follow askedOnce RESTARTS=0 FAILOVERS=0 WRITES=20 REST_ALWAYS
needs Follow outageEndsNobody RESTARTS=0 FAILOVERS=0 AWAY_ENDS
needs Follow noIsFollowed QUIET RESTARTS=0 FAILOVERS=0 NO_ABSENCE
needs Follow noIsFollowed QUIET RESTARTS=0 FAILOVERS=0 ENDS_ONCE
needs Follow noEndsAll LOOKS=1 RESTARTS=0 FAITHFUL NO_WAIT
needs Follow noEndsAll LOOKS=1 RESTARTS=0 FAITHFUL NO_HOLD
needs Follow holderLives HOLDERS RESTARTS=0 FAILOVERS=0 NO_SECOND
needs Follow holderLives HOLDERS RESTARTS=0 FAILOVERS=0 LISTED_SUFFICES
needs Follow holderLives HOLDERS RESTARTS=0 FAILOVERS=0 EMPTY_COUNTS
# Limits that the model describes.
needs Follow askedOnce RESTARTS=0
needs Follow askedOnce FAILOVERS=0

exit "$wrong"
