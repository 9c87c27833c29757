#!/usr/bin/env bash
# The build for the demo, the tests and CI. Run it, or source it and call sallyport_build or sallyport_build_gateway.
set -euo pipefail

# Every swift command gets the same flags, because others would build everything again. Line tables are what a backtrace
# needs of the debug information; the rest of it takes a sixth of the compiler's time. BoringSSL's, which is written in C
# and C++, needs none: that is a fifth of a quarter of the build.
# Each function has a section of its own: the linker leaves out those that nothing calls, and makes one of those with the
# same code.
SALLYPORT_FLAGS=(-c release -Xswiftc -cross-module-optimization -Xswiftc -enforce-exclusivity=unchecked -Xswiftc -gline-tables-only -Xcc -g0 -Xcxx -g0 -Xswiftc -Xfrontend -Xswiftc -function-sections -Xcc -ffunction-sections)
# SALLYPORT_PLAIN=1 builds with the compiler's defaults, also in Package.swift. The gateway does not know the variable.
if [[ ${SALLYPORT_PLAIN-} == 1 ]]; then SALLYPORT_FLAGS=(-c release); fi
SALLYPORT_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Installs packages without starting the servers among them: the tests start their own.
sallyport_install() {
    local policy=/usr/sbin/policy-rc.d made=0 status=0
    if [[ ! -e $policy ]]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
        made=1
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2 || status=$?
    if ((made)); then rm -f "$policy"; fi
    return "$status"
}

# Installs missing Debian packages, or lists them.
sallyport_packages() {
    local package missing=()
    for package in "$@"; do
        # shellcheck disable=SC2016 # ${Status} is dpkg-query's.
        if [[ $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) != 'install ok installed' ]]; then
            missing+=("$package")
        fi
    done
    if ((${#missing[@]} == 0)); then return 0; fi
    if ((EUID == 0)); then
        echo "installing ${missing[*]}" >&2
        sallyport_install "${missing[@]}" || { apt-get update -q >&2 && sallyport_install "${missing[@]}"; }
    else
        echo "missing packages; please run: sudo apt-get install ${missing[*]}" >&2
        return 1
    fi
}

# Installs what the build needs. Arguments: additional Debian packages for the caller.
sallyport_prepare() {
    if ! command -v swift >/dev/null; then
        echo "swift is missing: install Swift 6.3 from https://www.swift.org/install/linux/ and put it on the PATH" >&2
        return 1
    fi
    sallyport_packages git libstdc++-12-dev libssl-dev libcrypt-dev libargon2-dev libmaxminddb-dev libhiredis-dev \
        libnghttp2-dev libyaml-dev pkg-config "$@"
}

# swift build with the flags above, and its progress for people.
sallyport_swift_build() {
    local progress=("$SALLYPORT_ROOT/deploy/progress.sh")
    if [[ $* == *'--product sallyport'* ]]; then progress+=(gateway); fi
    swift build --package-path "$SALLYPORT_ROOT" "$@" "${SALLYPORT_FLAGS[@]}" 2>&1 | "${progress[@]}" >&2
}

# Builds the gateway alone. Arguments as for sallyport_prepare.
sallyport_build_gateway() {
    sallyport_prepare "$@"
    if [[ ! -x "$SALLYPORT_ROOT/.build/release/sallyport" ]]; then
        echo "building the gateway from its sources, which takes about 15 minutes on two cores the first time" >&2
    fi
    sallyport_swift_build --product sallyport
}

# Builds the gateway and the tests. Arguments as for sallyport_prepare.
sallyport_build() {
    sallyport_prepare "$@"
    sallyport_swift_build --build-tests
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
    sallyport_build "$@"
fi
