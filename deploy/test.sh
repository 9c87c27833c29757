#!/usr/bin/env bash
# Builds the gateway and runs its tests: deploy/test.sh [--soak] [arguments of swift test]
# --soak adds what is long: fuzzing, gigabyte streams, thousands of connections, a real browser.
set -euo pipefail

# shellcheck source=deploy/build.sh
source "$(dirname "${BASH_SOURCE[0]}")/build.sh"

# Real servers behind the gateway, a real reader of its metrics, certificates, and clocks that differ.
packages=(curl nginx haproxy redis-server apache2-bin lighttpd python3 python3-venv openssl prometheus faketime)
soak=0
if [[ ${1-} == --soak ]]; then
    shift
    soak=1
    # The binary refuses variables that begin with SALLYPORT_ and mean nothing to it.
    export SOAK=1
    packages+=(chromium)
fi

sallyport_build "${packages[@]}"

# Ory's own client, as its users have it. Where PyPI cannot be reached, the test that runs it is skipped.
clients="$SALLYPORT_ROOT/.build/clients"
if ! "$clients/bin/python" -c 'import ory_client' 2>/dev/null; then
    { python3 -m venv --clear "$clients" &&
        timeout 180 "$clients/bin/pip" install -q --disable-pip-version-check --only-binary :all: ory-client==1.22.87; } >&2 ||
        rm -rf "$clients"
fi
# What is long is run one at a time: a thousand streams beside a browser would only starve each other.
order=()
if ((soak)); then order=(--no-parallel); fi
run() { swift test --package-path "$SALLYPORT_ROOT" --skip-build "${SALLYPORT_FLAGS[@]}" "${order[@]}" "$@"; }
if (($# > 0)); then
    run "$@"
else
    # Suites that drive whole processes block the threads they run on. Beside them the others would be starved for
    # seconds, in which sessions age and connections fall silent.
    processes='IntegrationTests|DemoTests|PackagingTests'
    run --skip "$processes|RedisStoreTests"
    run --filter RedisStoreTests
    run --filter "$processes"
fi

# One minute for each fuzzer, from the saved corpus; what it finds is kept beside the build and fails the run.
if ((soak)); then
    scratch="$SALLYPORT_ROOT/.build/fuzz"
    for name in RequestHead ResponseHead ChunkedBody Cookie YAML RedisReply; do
        FUZZ=1 swift build --package-path "$SALLYPORT_ROOT" --scratch-path "$scratch" -c release --product "Fuzz$name" >&2
        mkdir -p "$scratch/found/$name"
        # Swift's own handler of a crash would leave libFuzzer no time to keep what caused it.
        SWIFT_BACKTRACE=enable=no "$scratch/release/Fuzz$name" -max_total_time="${FUZZ_SECONDS:-60}" -artifact_prefix="$scratch/found/$name-" \
            "$scratch/found/$name" "$SALLYPORT_ROOT/Tests/Fuzz/$name/corpus"
    done
fi
