#!/usr/bin/env bash
# Reads what swift build prints, and tells how far it is: swift build 2>&1 | deploy/progress.sh [gateway]
# On a terminal one line changes; elsewhere there is a line every 30 seconds. Everything but progress is printed as it is.
set -euo pipefail
product=${1-}

# How many percent of the time of a whole build of the gateway are over when a module is compiled, on two cores. Files of C
# come first.
declare -A over=(
    [ArgumentParser]=35 [NIOCore]=38 [Transport]=40 [Settings]=46 [Sessions]=48 [Observability]=51 [NIOPosix]=55
    [NIOHTTP1]=59 [Providers]=64 [RedisStore]=67 [SignOn]=72 [Endpoints]=79 [RequestPath]=96
)
# Before the first step, packages are fetched and the build is planned.
planned=4 compiled_c=30

# Sets how far the build is after so many of its steps. A whole build begins with hundreds of short ones, and says little of
# the time if it is not the gateway's. If only what changed is built, each step takes its part.
advance() {
    local step=$1 total=$2 module=$3
    if ((first < 300)); then first=$total; fi
    if ((first < 300)); then
        percent=$((100 * step / total))
    elif [[ $product == gateway ]]; then
        percent=${over[$module]:-$((percent > compiled_c ? percent : step < first ? planned + (compiled_c - planned) * step / first : compiled_c))}
    else
        percent=0
    fi
    if ((percent > 0)); then end=$((SECONDS * 100 / percent)); fi
}

# Makes room where the line for people is.
clear_line() {
    if [[ -t 1 && -n $state ]]; then printf '\r\033[K'; fi
    state=''
}

# The line for people.
tell() {
    local minutes=$(((end - SECONDS + 30) / 60)) text=$state
    if ((percent > 0 && SECONDS >= 10)); then
        text="$percent %, about $((minutes > 1 ? minutes : 1)) min left, $state"
    fi
    if [[ -t 1 ]]; then printf '\r\033[K%.79s' "$text"; else echo "$text"; fi
}

steps='^\[([0-9]+)/([0-9]+)\] (Compiling )?([^ ]+)'
packages='^(Fetch|Updat|Comput|Creating working|Working copy|Building for)'
first=0 percent=0 end=0 state='' line='' told=$SECONDS
while :; do
    status=0
    # After five seconds without a line, what there is of it is kept, and the minutes change.
    IFS= read -r -t 5 part || status=$?
    line+=$part
    if ((status > 0 && status <= 128)) && [[ -z $line ]]; then break; fi
    if ((status <= 128)); then
        if [[ $line =~ $steps ]]; then
            advance "${BASH_REMATCH[@]:1:2}" "${BASH_REMATCH[4]}"
            state="step ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}: ${line#*] }"
        elif [[ $line =~ $packages ]]; then
            state=$line
        else
            clear_line
            printf '%s\n' "$line"
        fi
        line=''
    fi
    if [[ -n $state ]] && { [[ -t 1 ]] || ((SECONDS >= told + 30)); }; then
        told=$SECONDS
        tell
    fi
done
clear_line
