#!/usr/bin/env bash
# Builds the gateway and runs its tests: deploy/test.sh [--soak] [arguments of swift test]
# --soak adds what is long: fuzzing, gigabyte streams, thousands of connections, a real browser.
set -euo pipefail

# shellcheck source=deploy/build.sh
source "$(dirname "${BASH_SOURCE[0]}")/build.sh"

# Real servers behind the gateway, a real reader of its metrics, and certificates.
packages=(curl nginx apache2-bin python3 openssl prometheus)
if [[ ${1-} == --soak ]]; then
    shift
    # The binary refuses variables that begin with SALLYPORT_ and mean nothing to it.
    export SOAK=1
    packages+=(chromium)
fi

sallyport_build "${packages[@]}"
swift test --package-path "$SALLYPORT_ROOT" --skip-build "${SALLYPORT_FLAGS[@]}" "$@"
